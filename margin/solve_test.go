package margin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

func solve(t testing.TB, prob linear.Problem, p float64) *margin.Solution {
	t.Helper()
	sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
	if err != nil {
		t.Fatalf("p = %v: %v", p, err)
	}
	return sol
}

// Certified gaps are at most 1e-8 and were 1e-10 here: norms compared to 1e-9 can only tie, not turn round.
func TestEachSolutionHasTheLeastNormOfItsOwnP(t *testing.T) {
	for seed := range uint64(10) {
		set := dataset.R100(seed + 1)
		prob := linear.Problem{X: set.X, Y: set.Y}
		var sols []*margin.Solution
		for _, p := range ps {
			sols = append(sols, solve(t, prob, p))
		}
		for i, p := range ps {
			own := mirror.Norm(sols[i].W, p)
			for j, other := range sols {
				if norm := mirror.Norm(other.W, p); norm < own*(1-1e-9) {
					t.Errorf("seed %d: ‖w‖ for p = %v is %.12g at its own solution, %.12g at that for %v", seed+1, p, own, norm, ps[j])
				}
			}
		}
	}
}

func TestSolutionsSayWhatTheyPromise(t *testing.T) {
	prob := read(t, "../linear/testdata/r100_s1.svm")
	for _, p := range []float64{1, 1.01, 1.5, 2, 7, 100, math.Inf(1)} {
		sol := solve(t, prob, p)
		if m, _ := prob.Margin(sol.W); math.Abs(m-1) > 1e-15 {
			t.Errorf("p = %v: margin %v, want 1", p, m)
		}
		// Lower is 1/‖W‖ₚ up to the rounding of a norm.
		if l := 1 / mirror.Norm(sol.W, p); math.Abs(l/sol.Lower-1) > 1e-13 {
			t.Errorf("p = %v: lower bound %v, 1/‖w‖ = %v", p, sol.Lower, l)
		}
		var sum float64
		support := map[int]bool{}
		for _, i := range sol.Support {
			support[i] = true
		}
		for i, a := range sol.Dual {
			sum += a
			if a < 0 || (a > 0) != support[i] {
				t.Errorf("p = %v: weight %v of row %d, support %v", p, a, i, support[i])
			}
		}
		if math.Abs(sum-1) > 1e-14 {
			t.Errorf("p = %v: weights of sum %v", p, sum)
		}
		if c := linear.Certify(prob, p, sol.W, sol.Dual); c != sol.Certificate || sol.Fine != nil {
			t.Errorf("p = %v: certificate %v, recomputed %v", p, sol.Certificate, c)
		}
	}
}

// γₚ increases with p, and the ends are limits: at p = 1.0001 and p = 10⁵ the norms differ from those of the ends by
// factors of at most 100^(1−1/1.0001) = 1.0005 and 100^(1e-5) = 1.00005.
func TestTheEndsAreLimits(t *testing.T) {
	prob := read(t, "../linear/testdata/r100_s1.svm")
	for _, c := range []struct{ end, near, factor float64 }{{1, 1.0001, 1.0005}, {math.Inf(1), 1e5, 1.00005}} {
		end, near := solve(t, prob, c.end).Lower, solve(t, prob, c.near).Lower
		if r := max(end/near, near/end); r > c.factor {
			t.Errorf("γ is %.10g for p = %v and %.10g for p = %v", end, c.end, near, c.near)
		}
	}
}

func TestScalesDoNotMatter(t *testing.T) {
	for _, scale := range []float64{1e-150, 1e-6, 1e6, 1e150} {
		x := matrix.FromRows([][]float64{{1 * scale, 2 * scale}, {3 * scale, -1 * scale}})
		for _, p := range []float64{1, 1.1, 2, 10, math.Inf(1)} {
			sol := solve(t, linear.Problem{X: x}, p)
			if sol.Gap() > 1e-9 {
				t.Errorf("scale %v, p = %v: %v", scale, p, sol.Certificate)
			}
		}
	}
}

func TestTheSameProblemHasTheSameSolution(t *testing.T) {
	prob := drawRandom(12, true)
	for _, p := range []float64{1, 1.3, 2, 5, math.Inf(1)} {
		if a, b := solve(t, prob.Problem, p), solve(t, prob.Problem, p); !reflect.DeepEqual(a, b) {
			t.Errorf("p = %v: two runs differ", p)
		}
	}
}

// One example x: the margin is ‖x‖_q. One feature: the margin is the least |xᵢ|, for every p.
func TestSmallestProblems(t *testing.T) {
	for _, p := range []float64{1, 1.01, 1.5, 2, 3, 50, math.Inf(1)} {
		x := []float64{3, -4, 0, 1}
		sol := solve(t, linear.Problem{X: matrix.FromRows([][]float64{x}), Y: []float64{-1}}, p)
		if want := mirror.Norm(x, mirror.Conjugate(p)); math.Abs(sol.Lower/want-1) > 1e-9 {
			t.Errorf("one example, p = %v: %v, want %v", p, sol.Lower, want)
		}
		sol = solve(t, linear.Problem{X: matrix.FromRows([][]float64{{2}, {-3}, {5}}), Y: []float64{1, -1, 1}}, p)
		if math.Abs(sol.Lower-2) > 1e-9 || math.Abs(sol.W[0]-0.5) > 1e-9 {
			t.Errorf("one feature, p = %v: %v, w = %v", p, sol.Lower, sol.W)
		}
	}
}

func TestDataWithoutAMarginAreRefusedWithAProof(t *testing.T) {
	for name, rows := range map[string][][]float64{
		"a zero example":        {{1, 2}, {0, 0}, {3, 1}},
		"all zero":              {{0, 0}},
		"opposite examples":     {{1, 2}, {-1, -2}},
		"a triangle around 0":   {{1, 0}, {-1, 1}, {0, -1}},
		"0 between two of many": {{1, 2, 3}, {-2, -4, -6}, {5, 1, 1}, {1, 1, 0}},
	} {
		for _, p := range []float64{1, 1.1, 2, 10, math.Inf(1)} {
			prob := linear.Problem{X: matrix.FromRows(rows)}
			_, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
			var no *margin.NotSeparableError
			if !errors.As(err, &no) {
				t.Errorf("%s, p = %v: %v", name, p, err)
				continue
			}
			checkProof(t, prob, no)
			if strings.Contains(no.Error(), "\n") {
				t.Errorf("%q has several lines", no.Error())
			}
		}
	}
}

func TestWhatCannotBeSolvedIsAnError(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 2}, {2, 1}})
	for name, c := range map[string]struct {
		prob linear.Problem
		p    float64
	}{
		"no examples":       {linear.Problem{X: matrix.NewDense(3)}, 2},
		"too few labels":    {linear.Problem{X: x, Y: []float64{1}}, 2},
		"NaN":               {linear.Problem{X: matrix.FromRows([][]float64{{1, math.NaN()}})}, 2},
		"infinite":          {linear.Problem{X: matrix.FromRows([][]float64{{1, math.Inf(1)}})}, 2},
		"NaN label":         {linear.Problem{X: x, Y: []float64{1, math.NaN()}}, 2},
		"labels 0 and 1":    {linear.Problem{X: x, Y: []float64{1, 0}}, 2},
		"nothing at all":    {linear.Problem{}, 2},
		"p below 1":         {linear.Problem{X: x}, 0.5},
		"p is not a number": {linear.Problem{X: x}, math.NaN()},
	} {
		_, err := margin.Solve(context.Background(), c.prob, c.p, margin.Settings{})
		var not *margin.NotSeparableError
		if err == nil || errors.As(err, &not) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEarlyEndLeavesTheBestSolution(t *testing.T) {
	prob := read(t, "../linear/testdata/r100_s1.svm")
	for _, p := range []float64{1, 1.1, 2, 10, math.Inf(1)} {
		sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{MaxIterations: 4})
		var gap *margin.GapError
		if !errors.As(err, &gap) || sol == nil || sol.Upper < sol.Lower {
			t.Errorf("p = %v, 4 iterations: %v, %v", p, sol, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := margin.Solve(ctx, prob, p, margin.Settings{}); !errors.Is(err, context.Canceled) {
			t.Errorf("p = %v, cancelled: %v", p, err)
		}
	}
}

// The bounds told along the way enclose the margin found.
func TestProgressTellsBounds(t *testing.T) {
	prob := read(t, "../linear/testdata/r100_s1.svm")
	for _, p := range []float64{1, 1.1, 2, 10, math.Inf(1)} {
		want := solve(t, prob, p).Lower
		steps := 0
		_, err := margin.Solve(context.Background(), prob, p, margin.Settings{Progress: func(i margin.Iteration) {
			steps++
			if i.Lower > want*(1+1e-9) || i.Upper < want*(1-1e-9) {
				t.Errorf("p = %v, step %d: %v and %v do not enclose %v", p, i.N, i.Lower, i.Upper, want)
			}
		}})
		if err != nil || steps == 0 {
			t.Errorf("p = %v: %d steps, %v", p, steps, err)
		}
	}
}

func TestQuadraticNormsAreCertified(t *testing.T) {
	prob := drawRandom(12, true).Problem
	_, d := prob.Dims()
	rng := rand.New(rand.NewPCG(1, 9))
	c := make([]float64, d)
	for j := range c {
		c[j] = math.Exp(rng.NormFloat64())
	}
	sol, err := margin.SolveQuadratic(context.Background(), prob, c, margin.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got := margin.CertifyQuadratic(prob, c, sol.W, sol.Dual)
	if got.Gap() > 1e-9 || math.Abs(got.Lower/sol.Lower-1) > 1e-12 {
		t.Errorf("%v, recomputed %v", sol.Certificate, got)
	}
	// With all coefficients 4 the norm doubles.
	for j := range c {
		c[j] = 4
	}
	sol, err = margin.SolveQuadratic(context.Background(), prob, c, margin.Settings{})
	if want := solve(t, prob, 2); err != nil || math.Abs(2*sol.Lower/want.Lower-1) > 1e-9 {
		t.Errorf("%v (%v), want half of %v", sol.Certificate, err, want.Certificate)
	}
	if _, err := margin.SolveQuadratic(context.Background(), prob, make([]float64, d), margin.Settings{}); err == nil {
		t.Error("coefficients 0 were taken")
	}
}

// Most of 3000 rows in 1600 dimensions never touch the margin.
func TestAWorkingSetOfRowsSolvesLargeProblems(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const n, d = 3000, 1600
	rng := rand.New(rand.NewPCG(4, 4))
	var b matrix.Builder
	for range n {
		b.Add(0, 1+rng.ExpFloat64())
		for j := int32(1); j < d; j++ {
			if rng.IntN(200) == 0 {
				b.Add(j, 0.3*rng.NormFloat64())
			}
		}
		b.EndRow()
	}
	prob := linear.Problem{X: b.Build(d)}
	sol := solve(t, prob, 3)
	t.Logf("%s, %d iterations, %d support vectors, gap %.1e", sol.Method, sol.Iterations, len(sol.Support), sol.Gap())
	if c := linear.Certify(prob, 3, sol.W, sol.Dual); c.Gap() > 1e-8 || !strings.Contains(sol.Method, "working set") {
		t.Errorf("%s: gap %v", sol.Method, c.Gap())
	}
}

func BenchmarkDenseGaussian200x5000(b *testing.B) {
	const n, d = 200, 5000
	rng := rand.New(rand.NewPCG(2, 2))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	prob := linear.Problem{X: matrix.NewDense(d, x)}
	for _, p := range ps {
		b.Run(fmt.Sprintf("p=%v", p), func(b *testing.B) {
			for b.Loop() {
				sol := solve(b, prob, p)
				b.ReportMetric(float64(sol.Iterations), "iterations")
			}
		})
	}
}

func ExampleSolve() {
	x := matrix.FromRows([][]float64{{2, 1}, {1, 3}, {-1, -2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1}}
	sol, err := margin.Solve(context.Background(), prob, 2, margin.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("w = %.4f, margin %.4f, support vectors %v\n", sol.W, sol.Lower, sol.Support)
	// Output: w = [0.3333 0.3333], margin 2.1213, support vectors [0 2]
}
