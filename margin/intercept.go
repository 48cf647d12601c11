package margin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// SolveIntercept maximises the ℓₚ margin with a free intercept, minᵢ yᵢ(⟨xᵢ, w⟩ + b) for ‖w‖ₚ = 1: the last column of X
// is 1, and the last weight is b, which does not count in the norm. There must be two classes. Of linear.Joint, each
// class has an intercept of its own.
//
// It solves the problem with a constant column so large that its weight counts next to nothing, makes the dual weights
// of the two classes add up to the same, and certifies what comes out by linear.CertifyIntercept. The errors are those
// of Solve; the proof that no w separates the data is one for every intercept. The default gap is 1e-6: for p = 1 the
// weight of the constant counts linearly.
func SolveIntercept(ctx context.Context, prob linear.Problem, p float64, set Settings) (*Solution, error) {
	if err := prob.CheckLabels(); err != nil {
		return nil, err
	}
	if !interceptMakesSense(prob) {
		return nil, errors.New("a margin with an intercept needs examples of every class, two at least, and a feature " +
			"beside the constant")
	}
	goal := set.Gap
	if goal == 0 {
		goal = 1e-6
	}
	var best *Solution
	var last error
	centre := centred(prob.X)
	for k, sizes := 0, []float64{1e2, 1e4, 1e6}; k < len(sizes); k++ { // times the longest example
		factor := sizes[k] * max(prob.RowNorm(2), 1)
		scaled := linear.Problem{X: scaledConstant(prob.X, centre, factor), Y: prob.Y}
		s, err := Solve(ctx, scaled, p, Settings{Gap: goal / 10, MaxIterations: set.MaxIterations, Progress: set.Progress})
		var short *GapError
		var not *NotSeparableError
		if errors.As(err, &not) && !not.Verify(prob) && centre != nil { // what cancels is what centring has rounded
			centre = nil
			k--
			continue
		}
		if err != nil && !errors.As(err, &short) {
			if best == nil {
				return nil, err
			}
			break
		}
		if last = err; s != nil {
			if m, ok := prob.X.(*matrix.Pairs); ok {
				s = freeJoint(prob, m, p, s)
			} else {
				s = free(prob, p, s)
			}
			if best == nil || s.Gap() < best.Gap() {
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

// interceptMakesSense reports whether there are examples of every class, and a feature beside the constant.
func interceptMakesSense(prob linear.Problem) bool {
	class := func(i int) int {
		if prob.Y == nil || prob.Y[i] > 0 {
			return 1
		}
		return 0
	}
	classes, x := 2, prob.X
	if m, ok := prob.X.(*matrix.Pairs); ok {
		var of []int32
		x, of, classes = m.Examples()
		class = func(i int) int { return int(of[i]) }
	}
	n, d := x.Dims()
	seen := make([]bool, classes)
	for i := range n {
		seen[class(i)] = true
	}
	return d >= 2 && !slices.Contains(seen, false)
}

// centred returns the means of the columns of dense examples of pairs, the constant's taken as 0; nil for others. With
// free intercepts the margin does not depend on where the examples are, but large intercepts cost digits.
func centred(x matrix.Matrix) []float64 {
	m, ok := x.(*matrix.Pairs)
	if !ok {
		return nil
	}
	of, _, _ := m.Examples()
	if _, dense := of.(*matrix.Dense); !dense {
		return nil
	}
	n, d := of.Dims()
	mean := make([]float64, d)
	of.AddMulT(mean, slices.Repeat([]float64{1 / float64(n)}, n))
	mean[d-1] = 0
	return mean
}

// scaledConstant returns a copy with the last column, of pairs that of every class, times a factor, and the others less
// the centre, if there is one.
func scaledConstant(x matrix.Matrix, centre []float64, factor float64) matrix.Matrix {
	if m, ok := x.(*matrix.Pairs); ok {
		of, _, _ := m.Examples()
		return m.Of(scaledConstant(of, centre, factor))
	}
	_, d := x.Dims()
	factors := slices.Repeat([]float64{1}, d)
	factors[d-1] = factor
	scaled := matrix.Clone(x)
	matrix.ScaleColumns(scaled, centre, factors)
	return scaled
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
