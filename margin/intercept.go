package margin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// SolveIntercept maximises the ℓₚ margin with a free intercept, minᵢ yᵢ(⟨xᵢ, w⟩ + b) for ‖w‖ₚ = 1: the last column of X
// is 1, and the last weight is b, which does not count in the norm. There must be two classes.
//
// It solves the problem with a constant column so large that its weight counts next to nothing, makes the dual weights
// of the two classes add up to the same, and certifies what comes out by linear.CertifyIntercept. The errors are those
// of Solve; the proof that no w separates the data is one for every intercept. The default gap is 1e-6: for p = 1 the
// weight of the constant counts linearly.
func SolveIntercept(ctx context.Context, prob linear.Problem, p float64, set Settings) (*Solution, error) {
	if err := prob.CheckLabels(); err != nil {
		return nil, err
	}
	n, d := prob.Dims()
	var of [2]int
	for i := range n {
		if prob.Y == nil || prob.Y[i] > 0 {
			of[1]++
		} else {
			of[0]++
		}
	}
	if of[0] == 0 || of[1] == 0 || d < 2 {
		return nil, errors.New("a margin with an intercept needs examples of two classes, and a feature beside the constant")
	}
	goal := set.Gap
	if goal == 0 {
		goal = 1e-6
	}
	var best *Solution
	var last error
	for _, size := range []float64{1e2, 1e4, 1e6} { // times the longest example
		scaled := matrix.Clone(prob.X)
		factor := make([]float64, d)
		for j := range factor {
			factor[j] = 1
		}
		factor[d-1] = size * max(prob.RowNorm(2), 1)
		matrix.ScaleColumns(scaled, nil, factor)
		s, err := Solve(ctx, linear.Problem{X: scaled, Y: prob.Y}, p, Settings{Gap: goal / 10,
			MaxIterations: set.MaxIterations, Progress: set.Progress})
		var short *GapError
		if err != nil && !errors.As(err, &short) {
			if best == nil {
				return nil, err
			}
			break
		}
		if last = err; s != nil {
			if s = free(prob, p, s); best == nil || s.Gap() < best.Gap() {
				s.Iterations += iterations(best)
				best = s
			}
			if best.Gap() <= goal {
				return best, nil
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if best == nil {
		return nil, last
	}
	if ctx.Err() != nil {
		return best, ctx.Err()
	}
	return best, fmt.Errorf("the gap of the margin with an intercept is %.2g, not %.2g", best.Gap(), goal)
}

func iterations(s *Solution) int {
	if s == nil {
		return 0
	}
	return s.Iterations
}

// free turns the solution with a large constant column into one with a free intercept.
func free(prob linear.Problem, p float64, s *Solution) *Solution {
	n, d := prob.Dims()
	out := *s
	out.W = append([]float64(nil), s.W...)
	w := out.W
	w[d-1] = 0
	score := make([]float64, n)
	prob.X.Mul(score, w)
	least := [2]float64{math.Inf(1), math.Inf(1)} // margins of the two classes
	for i, v := range score {
		if prob.Y == nil || prob.Y[i] > 0 {
			least[1] = min(least[1], v)
		} else {
			least[0] = min(least[0], -v)
		}
	}
	reached := (least[0] + least[1]) / 2
	for j := range d - 1 {
		w[j] /= reached
	}
	w[d-1] = (least[0] - least[1]) / 2 / reached
	out.Dual = balanced(prob.Y, s.Dual)
	out.Fine = nil // it belongs to the sums before they were balanced
	out.Certificate = linear.CertifyIntercept(prob, p, w, out.Dual)
	return &out
}

// balanced makes the dual weights of each class add up to 1/2.
func balanced(y, a []float64) []float64 {
	var sum [2]float64
	class := func(i int) int {
		if y == nil || y[i] > 0 {
			return 1
		}
		return 0
	}
	for i, v := range a {
		sum[class(i)] += v
	}
	out := make([]float64, len(a))
	for i, v := range a {
		out[i] = v / sum[class(i)] / 2
	}
	return out
}
