package margin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
)

// everyP are norms of all methods.
var everyP = []float64{1, 1.1, 1.5, 1.9, 2, 3, 10, math.Inf(1)}

// mirrored has 20 Gaussian rows in R⁵ and their negatives, with a last column e: every w but the last axis errs
// on a row or its negative, so that the margin is e for every p.
func mirrored(seed uint64, e float64) linear.Problem {
	rng := rand.New(rand.NewPCG(seed, 5))
	var a [][]float64
	for range 20 {
		row, negative := make([]float64, 6), make([]float64, 6)
		for j := range 5 {
			row[j] = rng.NormFloat64()
			negative[j] = -row[j]
		}
		row[5], negative[5] = e, e
		a = append(a, row, negative)
	}
	return linear.Problem{X: matrix.FromRows(a)}
}

// rotated is mirrored, turned by Householder's reflection along (1, 2, …, 6): no column is small by itself. The margin
// for p = 2 is e but for rounding.
func rotated(seed uint64, e float64) linear.Problem {
	prob := mirrored(seed, e)
	n, d := prob.Dims()
	var a [][]float64
	for i := range n {
		_, val := prob.X.Row(i)
		var dot, square float64
		for j, v := range val {
			dot += float64(j+1) * v
			square += float64((j + 1) * (j + 1))
		}
		row := make([]float64, d)
		for j, v := range val {
			row[j] = v - 2*dot/square*float64(j+1)
		}
		a = append(a, row)
	}
	return linear.Problem{X: matrix.FromRows(a)}
}

// Rounding moves the rows by 1e-16 or so, and with them the margin: it is one of the matrix as it is, which for p = 2
// is e to 1e-15/e. Where float64 finds no w it must not say that there is none.
func TestBarelySeparableDirectionsAreNeverRefused(t *testing.T) {
	for _, e := range []float64{1e-5, 1e-7, 1e-8, 3e-9, 1e-12} {
		for seed := range uint64(3) {
			for _, p := range everyP {
				sol, err := margin.Solve(context.Background(), rotated(seed, e), p, margin.Settings{})
				var short *margin.GapError
				if err != nil && !errors.As(err, &short) || e == 1e-5 && err != nil {
					t.Errorf("e = %v, p = %v: %v", e, p, err)
				}
				if p == 2 && sol != nil && !(sol.Lower < e+1e-15 && sol.Upper > e-1e-15) {
					t.Errorf("e = %v, p = 2: %v", e, sol.Certificate)
				}
			}
		}
	}
}

func TestBarelySeparableDataAreSolvedForEveryP(t *testing.T) {
	check := func(t *testing.T, prob linear.Problem, p, want float64) {
		t.Helper()
		// The weights are right to 1e-16 or so, and with them the bound, beside rows of length 1.
		most := max(1e-8, 3e-16/want)
		sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
		var short *margin.GapError
		if err != nil && !(errors.As(err, &short) && short.Rounding && short.Gap <= most) {
			t.Errorf("p = %v: %v", p, err)
		}
		if sol == nil {
			return
		}
		c := linear.Certify(prob, p, sol.W, sol.Dual)
		t.Logf("p = %v: margin %v, gap %.1e, %d iterations, %s", p, c.Lower, c.Gap(), sol.Iterations, sol.Method)
		if c.Gap() > most || !(math.Abs(c.Lower/want-1) <= most) {
			t.Errorf("p = %v: margin %v with gap %.1e, want %v", p, c.Lower, c.Gap(), want)
		}
	}
	for _, e := range []float64{1e-5, 1e-7, 1e-8, 3e-9} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("mirrored, e=%v, seed %d", e, seed), func(t *testing.T) {
				for _, p := range everyP {
					check(t, mirrored(seed, e), p, e)
				}
			})
		}
	}
	// ⟨(1, 0), w⟩ = ⟨(−1, e), w⟩ for w = (e, 2), which nearly is the second axis.
	t.Run("two rows", func(t *testing.T) {
		const e = 1e-9
		prob := linear.Problem{X: matrix.FromRows([][]float64{{1, 0}, {-1, e}})}
		for _, p := range everyP {
			check(t, prob, p, e/2)
		}
	})
}

func TestWithoutAPositiveMarginThereIsNoSolution(t *testing.T) {
	none := 0
	for _, p := range everyP {
		for most := 1; most < 40; most++ {
			sol, err := margin.Solve(context.Background(), rotated(1, 3e-9), p, margin.Settings{MaxIterations: most})
			if sol != nil && !(sol.Lower > 0) {
				t.Errorf("p = %v, %d iterations: %v, %v", p, most, sol.Certificate, err)
			}
			if sol == nil {
				none++
				var short *margin.GapError
				if !errors.As(err, &short) || !math.IsInf(short.Gap, 1) ||
					!strings.Contains(err.Error(), "no w that separates the data was found") {
					t.Errorf("p = %v, %d iterations: %v", p, most, err)
				}
			}
		}
	}
	if none == 0 {
		t.Error("a few iterations were always enough: nothing was tested")
	}
}

func TestSeparabilityDoesNotDependOnTheLengthsOfExamples(t *testing.T) {
	for name, rows := range map[string][][]float64{
		"two long":       {{1e12, 1e-12}, {1e12, -1e-12}, {1, 3}},
		"one very long":  {{1e100, 3e100}, {2, -1}},
		"one very short": {{1e-100, 3e-100}, {2, -1}},
		"all very long":  {{1e200, 3e200}, {2e200, -1e200}},
		"all very short": {{1e-200, 3e-200}, {2e-200, -1e-200}},
		"a ladder":       {{1, 0}, {1e5, 1e5}, {-1e10, 2e10}, {1e-5, 3e-5}},
	} {
		prob := linear.Problem{X: matrix.FromRows(rows)}
		for _, p := range everyP {
			sol, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
			if err != nil {
				t.Errorf("%s, p = %v: %v", name, p, err)
				continue
			}
			if c := linear.Certify(prob, p, sol.W, sol.Dual); c.Gap() > 1e-8 {
				t.Errorf("%s, p = %v: %v", name, p, c)
			}
		}
	}
	for name, rows := range map[string][][]float64{
		"opposite, one very long":     {{1e100, 2e100}, {-1, -2}, {3, 1}},
		"a triangle of three lengths": {{1e-50, 0}, {-1, 1}, {0, -1e50}},
		"a zero beside long ones":     {{1e100, 1e100}, {0, 0}},
	} {
		prob := linear.Problem{X: matrix.FromRows(rows)}
		for _, p := range everyP {
			_, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
			var no *margin.NotSeparableError
			if !errors.As(err, &no) {
				t.Errorf("%s, p = %v: %v", name, p, err)
				continue
			}
			checkProof(t, prob, no)
		}
	}
}

func TestLengthsThatCannotBeComputedWithAreNamed(t *testing.T) {
	for name, rows := range map[string][][]float64{
		"too long":  {{1e308, 1e308, 1e308}, {1e308, -1e308, 1e308}, {-1e308, 1e308, 1e308}, {-1e308, -1e308, 1.7e308}},
		"too short": {{1e-310, 3e-310}, {2e-310, -1e-310}},
		"too mixed": {{1e-100, 3e-100}, {2e100, -1e100}},
	} {
		for _, p := range everyP {
			sol, err := margin.Solve(context.Background(), linear.Problem{X: matrix.FromRows(rows)}, p, margin.Settings{})
			if sol != nil || err == nil || !strings.Contains(err.Error(), "the lengths of the examples") {
				t.Errorf("%s, p = %v: %v, %v", name, p, sol, err)
			}
		}
	}
}

func TestRoundingEndsAStrictSolveEarly(t *testing.T) {
	for _, p := range everyP {
		prob := drawRandom(12, true)
		sol, err := margin.Solve(context.Background(), prob.Problem, p, margin.Settings{Gap: 1e-300})
		if err == nil && sol.Gap() == 0 {
			continue
		}
		var short *margin.GapError
		if !errors.As(err, &short) || !short.Rounding || !strings.Contains(err.Error(), "rounding allows no more") {
			t.Errorf("p = %v: %v", p, err)
			continue
		}
		t.Logf("p = %v: %v", p, err)
		if sol.Gap() > 1e-10 || sol.Iterations > 200 {
			t.Errorf("p = %v: gap %.1e after %d iterations", p, sol.Gap(), sol.Iterations)
		}
	}
}

// The command line has no setting for the iterations.
func TestGapErrorsAdviseWhatEveryCallerCanDo(t *testing.T) {
	for _, e := range []*margin.GapError{{Gap: 1e-7, Want: 1e-8, Iterations: 9}, {Gap: 1e-7, Want: 1e-8, Iterations: 9,
		Rounding: true}} {
		if !strings.HasSuffix(e.Error(), ": allow a larger gap") {
			t.Errorf("%q", e)
		}
	}
}
