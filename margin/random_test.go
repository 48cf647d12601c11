package margin_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
)

var full = flag.Bool("margin.full", false, "1000 random problems instead of 60, and 200 without a margin instead of 20")

// random is a problem with what is known of it.
type random struct {
	linear.Problem
	p    float64
	what string
}

// drawRandom draws one of the shapes and scales there are. Where separable is true the rows are turned to the
// positive side of a hidden w, at least a little away from it; else some rows are made to cancel.
func drawRandom(seed uint64, separable bool) random {
	rng := rand.New(rand.NewPCG(seed, 77))
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	dim := func() int { return int(math.Round(2 * math.Pow(100, rng.Float64()))) } // 2 … 200, evenly in the logarithm
	n, d := dim(), dim()
	density := 1.0
	if rng.IntN(2) == 0 {
		density = between(0.05, 0.5)
	}
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, d)
		for j := range a[i] {
			if rng.Float64() < density {
				a[i][j] = rng.NormFloat64()
			}
		}
		a[i][rng.IntN(d)] = rng.NormFloat64() // no empty row
	}
	zeros := rng.IntN(3) == 0 && d > 3
	if zeros {
		for range 1 + d/10 {
			j := 1 + rng.IntN(d-1)
			for i := range a {
				a[i][j] = 0
			}
		}
	}
	if separable {
		turn(rng, a, between(0.001, 0.3))
	}
	duplicates := rng.IntN(3) == 0
	if duplicates {
		for range 1 + n/5 {
			copy(a[rng.IntN(n)], a[rng.IntN(n)])
		}
	}
	factor := func(most float64) float64 { return math.Pow(10, most*(2*rng.Float64()-1)) }
	if !separable { // without rounding: whole numbers, and powers of two
		cancel(rng, a)
		factor = func(most float64) float64 { return math.Exp2(math.Round(most * (2*rng.Float64() - 1) / math.Log10(2))) }
	}
	kind := rng.IntN(4)
	scale(a, kind, func() float64 { return factor(2) })
	overall := factor(6)
	y := make([]float64, n)
	for i := range a {
		y[i] = 1
		if rng.IntN(2) == 0 {
			y[i] = -1
		}
		for j := range a[i] {
			a[i][j] *= overall * y[i]
		}
	}
	p := math.Exp(between(math.Log(1.01), math.Log(50)))
	if rng.IntN(2) == 0 { // the small p evenly in the logarithm of p − 1
		p = 1 + math.Exp(between(math.Log(0.01), math.Log(49)))
	}
	x, form := store(rng, a)
	return random{linear.Problem{X: x, Y: y}, p,
		fmt.Sprintf("seed %d: %d × %d %s, density %.2f, zero columns %v, duplicates %v, scales %d, p = %.4g", seed, n, d,
			form, density, zeros, duplicates, kind, p)}
}

// turn makes every row's product with a hidden w at least share times what its lengths allow.
func turn(rng *rand.Rand, a [][]float64, share float64) {
	d := len(a[0])
	w := make([]float64, d)
	for j := range w {
		w[j] = rng.NormFloat64()
		w[j] += math.Copysign(0.1, w[j])
	}
	for _, r := range a {
		var dot, ww, rr float64
		for j, v := range r {
			if v != 0 { // keeps zeros zero
				dot += v * w[j]
				ww += w[j] * w[j]
				rr += v * v
			}
		}
		want := math.Abs(dot) + share*math.Sqrt(ww*rr)
		if rr == 0 { // all of its columns were emptied
			r[0] = math.Copysign(1, w[0])
			continue
		}
		for j, v := range r {
			if v != 0 {
				r[j] += (want - dot) / ww * w[j]
			}
		}
	}
}

// cancel rounds all entries to multiples of 2⁻²⁰ and replaces a row by minus a positive mixture of some others,
// exactly: no w is positive on all of them.
func cancel(rng *rand.Rand, a [][]float64) {
	n := len(a)
	for _, r := range a {
		for j, v := range r {
			r[j] = math.Round(v*0x1p20) / 0x1p20
		}
	}
	k := 1 + rng.IntN(min(n-1, 8))
	sum := make([]float64, len(a[0]))
	for i := range k {
		c := float64(1+rng.IntN(200)) / 64
		for j, v := range a[i] {
			sum[j] -= c * v
		}
	}
	copy(a[n-1], sum)
}

// scale multiplies rows (kind 1), columns (2) or both (3) by factors.
func scale(a [][]float64, kind int, factor func() float64) {
	if kind&1 != 0 {
		for _, r := range a {
			f := factor()
			for j := range r {
				r[j] *= f
			}
		}
	}
	if kind&2 != 0 {
		for j := range a[0] {
			f := factor()
			for _, r := range a {
				r[j] *= f
			}
		}
	}
}

func store(rng *rand.Rand, a [][]float64) (matrix.Matrix, string) {
	if rng.IntN(2) == 0 {
		return matrix.FromRows(a), "dense"
	}
	var b matrix.Builder
	for _, r := range a {
		for j, v := range r {
			if v != 0 {
				b.Add(int32(j), v)
			}
		}
		b.EndRow()
	}
	return b.Build(len(a[0])), "sparse"
}

func TestRandomProblemsAreSolved(t *testing.T) {
	n := 60
	if *full {
		n = 1000
	}
	var fine, middle, iterations, slowest int
	var worst float64
	for seed := range uint64(n) {
		prob := drawRandom(seed, true)
		began := time.Now()
		sol, err := margin.Solve(context.Background(), prob.Problem, prob.p, margin.Settings{})
		took := time.Since(began)
		if sol == nil {
			t.Errorf("%s: %v", prob.what, err)
			continue
		}
		gap := linear.Certify(prob.Problem, prob.p, sol.W, sol.Dual).Gap()
		worst = max(worst, gap)
		iterations += sol.Iterations
		slowest = max(slowest, sol.Iterations)
		if gap > 1e-6 {
			t.Errorf("%s: gap %.1e after %d iterations, %v", prob.what, gap, sol.Iterations, took)
		} else if gap > 1e-10 {
			t.Logf("%s: gap %.1e after %d iterations, %v", prob.what, gap, sol.Iterations, took)
		}
		if prob.p >= 1.05 && prob.p <= 20 {
			middle++
			if gap <= 1e-9 {
				fine++
			}
		}
	}
	t.Logf("%d problems: worst gap %.1e, %.1f iterations on average, %d at most; 1.05 ≤ p ≤ 20: %d of %d within 1e-9", n,
		worst, float64(iterations)/float64(n), slowest, fine, middle)
	if float64(fine) < 0.99*float64(middle) {
		t.Errorf("with 1.05 ≤ p ≤ 20 only %d of %d problems have a gap of 1e-9", fine, middle)
	}
}

func TestRandomProblemsWithoutAMarginAreRefused(t *testing.T) {
	n := 20
	if *full {
		n = 200
	}
	for seed := range uint64(n) {
		prob := drawRandom(seed, false)
		sol, err := margin.Solve(context.Background(), prob.Problem, prob.p, margin.Settings{})
		var no *margin.NotSeparableError
		if !errors.As(err, &no) {
			t.Errorf("%s: %v", prob.what, err)
			if sol != nil {
				t.Log(sol.Certificate, sol.Iterations)
			}
			continue
		}
		checkProof(t, prob.Problem, no)
	}
}

// checkProof verifies what the error claims.
func checkProof(t *testing.T, prob linear.Problem, no *margin.NotSeparableError) {
	t.Helper()
	if !no.Verify(prob) {
		t.Errorf("%d examples with weights %v do not cancel", len(no.Rows), no.Weights)
	}
	no.Weights[0].Add(no.Weights[0], big.NewInt(1))
	if no.Verify(prob) && len(no.Rows) > 1 {
		t.Error("wrong weights pass as a proof")
	}
}
