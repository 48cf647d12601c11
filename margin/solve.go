// Package margin computes the maximum ℓₚ margin exactly: min ‖w‖ₚ subject to yᵢ⟨xᵢ, w⟩ ≥ 1, for 1 ≤ p ≤ ∞,
// with a certificate that anyone can check from the solution and its dual weights alone.
package margin

import (
	"context"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/linear"
)

// Settings says how far to go. The zero value is a sensible default.
type Settings struct {
	Gap           float64         // stop at this certified relative gap; 0: 1e-10, and 1e-8 where rounding allows no more
	MaxIterations int             // Newton steps over all stages; 0: 1000
	Progress      func(Iteration) // is told every step
}

// Iteration is what is known after N Newton steps: Lower ≤ γₚ ≤ Upper.
type Iteration struct {
	N            int
	Lower, Upper float64
}

// Solution is a maximum margin classifier with its proof.
type Solution struct {
	P       float64
	W       []float64 // of margin 1: minᵢ yᵢ⟨xᵢ, w⟩ = 1, and ‖W‖ₚ = 1/Lower
	Dual    []float64 // a ≥ 0, Σa = 1
	Support []int     // the examples with positive dual weight, ascending
	linear.Certificate
	Iterations int
	Method     string
}

// Solve maximises the ℓₚ margin of the problem, 1 ≤ p ≤ ∞.
//
// Data that no w separates gives a *NotSeparableError with the proof. Where the gap asked for is not reached,
// or ctx ends first, the best solution found comes with a *GapError; there is none, and the solution is nil, where no
// w with a positive margin was found. Separability does not depend on the lengths of the examples, but those beyond
// 1e±290, or 1e150 times as long as others, are refused: their margins are no numbers to compute with.
func Solve(ctx context.Context, prob linear.Problem, p float64, set Settings) (*Solution, error) {
	if err := prob.Check(); err != nil {
		return nil, err
	}
	if !(p >= 1) {
		return nil, fmt.Errorf("p = %v: the ℓₚ margin needs 1 ≤ p ≤ ∞", p)
	}
	r, zero, err := newRows(prob)
	switch {
	case err != nil:
		return nil, err
	case zero >= 0:
		n, _ := prob.Dims()
		return nil, notSeparable(prob, p, unit(n, zero))
	}
	s := newSolver(ctx, prob, r, p, set)
	method, proof := s.run()
	if proof != nil {
		return nil, proof
	}
	return s.solution(method)
}

func unit(n, i int) []float64 {
	a := make([]float64, n)
	a[i] = 1
	return a
}

const (
	// smallRows is the number of rows up to which the n × n equations are cheap enough to prefer, or to try, also
	// for n > d.
	smallRows = 400
	// mostRows is the number up to which they are worth it in a working set for p = 1, where many rows touch the
	// margin and w need not be unique.
	mostRows = 3000
	// cancelled is the length of v = Aᵀa, for rows of length 1, below which w = ∇½‖v‖² may not be accurate enough:
	// v is right to 1e-16, w to 1e-16/‖v‖, and the margin, which is as small as v, to 1e-16/‖v‖².
	cancelled = 1e-2
)

// run chooses the method. For n > d the d × d equations are the smaller ones; the n × n equations are often
// the more accurate where the dual weights are found directly (p ≤ 2), and a second chance elsewhere. Where
// both are large, or many rows have worn out the accuracy, a working set of rows takes over. Barely separable data need
// w itself, not the one that the dual weights give.
func (s *solver) run() (string, *NotSeparableError) {
	if s.large() {
		return "working set of rows", s.workingSet(s.spread(500))
	}
	if proof := s.separate(); proof != nil {
		return "", proof
	}
	tall := s.n > s.d
	method, name := s.primal, "interior point"
	switch {
	case s.p == 1:
		method, name = s.limit, "interior point, linear program"
		tall = tall && s.n > 2*smallRows && !(s.nested && s.n <= mostRows)
	case math.IsInf(s.p, 1):
		method, name = s.limit, "interior point, linear program"
	case s.p <= 2:
		method, name = s.dual, "interior point on the dual"
		tall = tall && s.n > smallRows
	}
	s.form(tall)
	method(s.reached)
	if s.settled() || s.ctx.Err() != nil || s.best.w == nil {
		return name, nil
	}
	if s.p > 1 && !math.IsInf(s.p, 1) && s.best.upper < cancelled {
		name += ", then on w"
		if s.refine(tall); s.settled() || s.ctx.Err() != nil {
			return name, nil
		}
		s.form(tall)
	}
	if s.n > max(smallRows, s.d) && !s.nested {
		return name + ", then a working set of rows", s.workingSet(s.near(1e-3, smallRows))
	}
	if max(s.n, s.d) <= 2*smallRows {
		s.form(!tall)
		s.again()
		method(s.reached)
	}
	return name, nil
}

// refine starts again from the best w, with both forms of the equations in turn where both are small: the d × d ones
// find the step of w first, the n × n ones that of a, and which of them rounding spares depends on the data.
func (s *solver) refine(tall bool) {
	defer func() { s.patience = patience }()
	s.patience = patienceNear
	for k, idle := 0, 0; k < 8 && idle < 2; k++ {
		before := s.best.gap()
		if max(s.n, s.d) <= 2*smallRows {
			s.form(tall == (k%2 == 0))
		}
		s.again()
		s.primalFrom(s.best.w, s.reached)
		if s.settled() || s.ctx.Err() != nil {
			return
		}
		if idle++; s.best.gap() < 0.9*before {
			idle = 0
		}
	}
}

// solution returns the best point found, in terms of the original problem.
func (s *solver) solution(method string) (*Solution, error) {
	out := &Solution{P: s.p, Iterations: s.n0, Method: method}
	if s.best.a == nil || s.best.w == nil {
		return nil, s.short(math.Inf(1))
	}
	s.prune()
	out.Dual = s.rows.dual(s.best.a)
	out.W = s.rows.primal(s.best.w)
	if !(s.best.lower > 0) {
		if e := notSeparable(s.prob, s.p, out.Dual); e.proven() {
			return nil, e
		}
	}
	toMarginOne(s.prob, out.W)
	out.Certificate = linear.Certify(s.prob, s.p, out.W, out.Dual)
	if !(out.Lower > 0) {
		return nil, s.short(math.Inf(1))
	}
	for i, a := range out.Dual {
		if a > 0 {
			out.Support = append(out.Support, i)
		}
	}
	if gap := out.Gap(); !(gap <= s.enough) {
		return out, s.short(gap)
	}
	return out, nil
}

// short says why the gap asked for was not reached.
func (s *solver) short(gap float64) *GapError {
	return &GapError{Gap: gap, Want: s.enough, Iterations: s.n0, Rounding: s.n0 < s.most, Cause: s.ctx.Err()}
}

// toMarginOne scales w to the margin 1, not less by a rounding. A w without a positive margin is left alone.
func toMarginOne(prob linear.Problem, w []float64) {
	for range 4 {
		m, _ := prob.Margin(w)
		if !(m > 0) || m == 1 || math.IsInf(m, 1) {
			return
		}
		for j := range w {
			w[j] /= m
		}
	}
}
