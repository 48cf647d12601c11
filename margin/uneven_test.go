package margin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// drawUneven draws a problem whose columns are multiplied by factors from 10^−most to 10^most; powers of two if it is
// not separable.
func drawUneven(seed uint64, most float64, separable bool) random {
	rng := rand.New(rand.NewPCG(seed, 78))
	dim := func() int { return int(math.Round(2 * math.Pow(30, rng.Float64()))) } // 2 … 60
	n, d := dim(), dim()
	density := 1.0
	if rng.IntN(3) == 0 {
		density = 0.3
	}
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, d)
		for j := range a[i] {
			if rng.Float64() < density {
				a[i][j] = rng.NormFloat64()
			}
		}
		a[i][rng.IntN(d)] = rng.NormFloat64()
	}
	factor := func() float64 { return math.Pow(10, most*(2*rng.Float64()-1)) }
	if separable {
		turn(rng, a, 0.001+0.3*rng.Float64())
	} else {
		cancel(rng, a)
		power := factor
		factor = func() float64 { return math.Exp2(math.Round(math.Log2(power()))) }
	}
	scale(a, 2, factor)
	p := 1 + math.Exp(math.Log(0.05)+rng.Float64()*math.Log(19/0.05)) // 1.05 … 20
	x, form := store(rng, a)
	return random{linear.Problem{X: x}, p, fmt.Sprintf("seed %d: %d × %d %s, 1e±%v, p = %.4g", seed, n, d, form, most, p)}
}

// exactly computes a certificate with sums in 3000 bits, which hold them all without rounding.
func exactly(prob linear.Problem, p float64, w []float64, a ...[]float64) linear.Certificate {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(3000).SetFloat64(x) }
	n, d := prob.Dims()
	v := make([]*big.Float, d)
	for j := range v {
		v[j] = number(0)
	}
	total, least := number(0), math.Inf(1)
	for i := range n {
		y := 1.0
		if prob.Y != nil {
			y = prob.Y[i]
		}
		m := number(0)
		idx, val := prob.X.Row(i)
		for k, x := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			m.Add(m, number(0).Mul(number(x*y), number(w[j])))
			for _, part := range a {
				v[j].Add(v[j], number(0).Mul(number(x*y), number(part[i])))
			}
		}
		for _, part := range a {
			total.Add(total, number(part[i]))
		}
		f, _ := m.Float64()
		least = min(least, f)
	}
	sums := make([]float64, d)
	for j := range sums {
		sums[j], _ = v[j].Float64()
	}
	all, _ := total.Float64()
	return linear.Certificate{Lower: least / mirror.Norm(w, p), Upper: mirror.Norm(sums, mirror.Conjugate(p)) / all}
}

// The exact certificate may differ from the one given by the rounding of norms, 1e-13, and must not be wider.
func checkExactly(t *testing.T, prob random, sol *margin.Solution) {
	t.Helper()
	a := [][]float64{sol.Dual}
	if sol.Fine != nil {
		a = append(a, sol.Fine)
	}
	c := exactly(prob.Problem, prob.p, sol.W, a...)
	if !(c.Lower > sol.Lower*(1-1e-12)) || !(c.Upper < sol.Upper*(1+1e-12)) {
		t.Errorf("%s: %v, exactly %v", prob.what, sol.Certificate, c)
	}
}

func TestColumnsOfAnyScaleAreSolvedOrNotDecided(t *testing.T) {
	for _, c := range []struct {
		most  float64
		n     int
		share float64 // to be solved
	}{{8, 500, 0.95}, {30, 250, 0.5}, {100, 250, 0.2}} {
		solved, iterations, slowest := 0, 0, 0
		for seed := range uint64(c.n) {
			prob := drawUneven(seed, c.most, true)
			sol, err := margin.Solve(context.Background(), prob.Problem, prob.p, margin.Settings{})
			var short *margin.GapError
			switch {
			case err == nil:
				solved++
				iterations += sol.Iterations
				slowest = max(slowest, sol.Iterations)
			case !errors.As(err, &short):
				t.Errorf("%s: %v", prob.what, err)
			}
			if sol != nil {
				checkExactly(t, prob, sol)
			}
		}
		t.Logf("1e±%v: %d of %d, %.1f iterations, %d at most", c.most, solved, c.n, float64(iterations)/float64(solved),
			slowest)
		if float64(solved) < c.share*float64(c.n) {
			t.Errorf("1e±%v: only %d of %d are solved", c.most, solved, c.n)
		}
	}
}

func TestColumnsOfAnyScaleWithoutAMarginAreRefused(t *testing.T) {
	for seed := range uint64(200) {
		prob := drawUneven(seed, []float64{2, 8, 30, 100}[seed%4], false)
		_, err := margin.Solve(context.Background(), prob.Problem, prob.p, margin.Settings{})
		var no *margin.NotSeparableError
		if !errors.As(err, &no) {
			t.Errorf("%s: %v", prob.what, err)
			continue
		}
		checkProof(t, prob.Problem, no)
	}
}

// A column of identifiers or times beside one that tells the classes apart: w = (0, 1) has margin 1, and no w has more,
// as identifiers are of both signs once labels are absorbed.
func TestAColumnOfIdentifiersHidesNoMargin(t *testing.T) {
	for _, first := range []float64{1e4, 1e7, 1e10, 1e12, 1.7e12, 1e16} {
		var x [][]float64
		var y []float64
		for i := range 20 {
			label := float64(1 - 2*(i%2))
			x, y = append(x, []float64{first + float64(10*i), label}), append(y, label)
		}
		for _, p := range []float64{1, 1.1, 1.5, 2, 3, 10, math.Inf(1)} {
			prob := linear.Problem{X: matrix.FromRows(x), Y: y}
			sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
			if err != nil {
				t.Errorf("from %v, p = %v: %v", first, p, err)
				continue
			}
			// identifiers differ by 1e-14 of themselves or more: w₁ gains as little
			if sol.Lower < 1-1e-7 || sol.Lower > 1+1e-6 {
				t.Errorf("from %v, p = %v: %v", first, p, sol.Certificate)
			}
		}
	}
}

func TestUndecidedNamesTheColumn(t *testing.T) {
	e := &margin.GapError{Gap: math.Inf(1), Want: 1e-8, Iterations: 9, Rounding: true, Upper: 0.5,
		Scale: &margin.Scale{Column: 2, Small: 0, Ratio: 1e20}}
	for _, want := range []string{"not decided in float64", "at most 0.5", "rescale column 3", "1e+20 times", "column 1"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q does not say %q", e, want)
		}
	}
}

// One column is large, or one example, or the start has a 0 where p < 2 has no curvature: base cases of what the two
// paths for uneven columns have to solve.
func TestSmallUnevenProblemsAreSolved(t *testing.T) {
	for name, rows := range map[string][][]float64{
		"a large column":        {{1e10, 1}, {-1e10, 2}},
		"a larger column":       {{1e13, 1}, {-1e13, 2}},
		"a long example":        {{0, 1e20}, {1, -1}, {-1, 2}},
		"a longer example":      {{0, 1e40}, {1, -1}, {-1, 2}},
		"a short example":       {{0, 1e-20}, {1, -1}, {-1, 2}},
		"rows of single values": {{1e20, 0}, {0, 1}, {1e20, -1}},
	} {
		prob := linear.Problem{X: matrix.FromRows(rows)}
		for _, p := range []float64{1.05, 1.1, 1.5, 2, 3, 10} {
			if _, err := margin.Solve(context.Background(), prob, p, margin.Settings{}); err != nil {
				t.Errorf("%s, p = %v: %v", name, p, err)
			}
		}
	}
}
