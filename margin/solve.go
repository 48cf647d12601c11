// Package margin computes the maximum ℓₚ margin exactly: min ‖w‖ₚ subject to yᵢ⟨xᵢ, w⟩ ≥ 1, for 1 ≤ p ≤ ∞,
// with a certificate that anyone can check from the solution and its dual weights alone.
package margin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// Settings says how far to go. The zero value is a sensible default.
type Settings struct {
	Gap           float64         // stop at this certified relative gap; 0: 1e-10, and 1e-8 where rounding allows no more
	MaxIterations int             // Newton steps over all stages; 0: 1000
	Progress      func(Iteration) // is told every step
}

// Iteration is what is known after N Newton steps: Lower ≤ γₚ ≤ Upper, or, of Project, bounds on the least divergence.
type Iteration struct {
	N            int
	Lower, Upper float64
}

// Solution is a maximum margin classifier with its proof: linear.Certify(prob, P, W, Dual, Fine) gives the certificate.
type Solution struct {
	P       float64
	W       []float64 // of margin 1: minᵢ yᵢ⟨xᵢ, w⟩ = 1, and ‖W‖ₚ = 1/Lower
	Dual    []float64 // a ≥ 0, Σa = 1
	Fine    []float64 // further digits of Dual, which the proof needs if columns differ much in scale; nil: none
	Support []int     // the examples with positive dual weight, ascending; the certificate needs no others
	Nonzero []int     // the features with a weight other than 0, ascending; likewise
	linear.Certificate
	Iterations int
	Method     string
}

// Solve maximises the ℓₚ margin of the problem, 1 ≤ p ≤ ∞, with labels ±1; or, of linear.Joint, the joint margin of
// several classes. The rows, dual weights and support vectors are then pairs of an example and another class.
//
// Data that no w separates gives a *NotSeparableError with the proof, which is exact. If the gap asked for is not
// reached, or ctx ends first, the best solution found comes with a *GapError; there is none, and the solution is nil,
// if no w with a positive margin was found. Separability does not depend on the scales of examples and features, but
// examples beyond 1e±290, or 1e150 times as long as others, are refused: their margins are not numbers to compute with.
func Solve(ctx context.Context, prob linear.Problem, p float64, set Settings) (*Solution, error) {
	if err := prob.CheckLabels(); err != nil {
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
		proof := &NotSeparableError{Rows: []int{zero}, Weights: []*big.Int{big.NewInt(1)}}
		return nil, proof.of(prob)
	}
	s := newSolver(ctx, prob, r, p, set)
	method, proof := s.run()
	if proof != nil {
		return nil, proof.of(prob)
	}
	return s.solution(method)
}

const (
	// smallRows is the number of rows up to which the n × n equations are cheap enough to prefer, or to try, also
	// for n > d.
	smallRows = 400
	// mostRows is the number up to which they are worth it in a working set for p = 1, where many rows touch the
	// margin and w need not be unique.
	mostRows = 3000
	// fewSteps bounds the steps on the products of few rows, which take 10 to 25.
	fewSteps = 60
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
	if s.even != nil {
		name, proof := s.runUneven()
		if proof != nil || s.settled() || s.ctx.Err() != nil {
			return name, proof
		}
		return s.runAsIs(name)
	}
	if s.p == 2 {
		if f := s.newFew(); f != nil {
			f.run(s, s.gap/2)
			if f.take(s); s.best.upper > cancelled && s.reached() {
				return "interior point on the dual", nil
			}
			s.setP(2)
			s.uniform()
			s.pairwise = f
		}
	}
	if proof := s.separate(); proof != nil || !(s.best.lower > 0) {
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
	smooth := s.p > 1 && !math.IsInf(s.p, 1)
	// a settled gap that is not the one aimed at is worth another look
	worth := smooth && max(s.n, s.d) <= 2*smallRows && !s.nested
	if s.reached() || s.settled() && !worth || s.ctx.Err() != nil || s.best.w == nil {
		return name, nil
	}
	if smooth && (s.best.upper < cancelled || s.settled()) {
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

// runUneven solves a problem whose columns are of very different scales. Whether it can be separated is decided with
// columns of one scale. From there on w itself is the unknown: what the dual weights say of it drowns in the rounding
// of the large columns. The d × d equations do not mix columns before they are divided by their sizes, the n × n ones
// do.
func (s *solver) runUneven() (string, *NotSeparableError) {
	even := newSolver(s.ctx, s.prob, s.even, 2, Settings{MaxIterations: s.most})
	proof := even.separate()
	s.n0 += even.n0
	if proof != nil {
		return "", proof
	}
	if even.best.w == nil || even.best.a == nil || s.ctx.Err() != nil {
		return "", nil
	}
	w := slices.Clone(even.best.w)
	for j, u := range s.even.unit {
		w[j] /= u
	}
	s.mul(s.m, w)
	known := make([]float64, s.n)
	for i, a := range even.best.a {
		known[i] = a * (s.length[i] / s.even.length[i])
	}
	for _, y := range [][]float64{known, slices.Repeat([]float64{1}, s.n)} { // equal weights are the better start
		copy(s.y, y)
		s.normalise()
		s.mulT(s.v, s.y)
		s.record(w, mirror.Norm(w, s.p), s.upper())
	}
	if !(s.best.lower > 0) {
		return "", nil
	}
	name := "interior point, columns brought to one scale"
	tall := s.n > s.d || s.d <= 2*smallRows
	for k, idle := 0, 0; k < 8 && idle < 2; k++ {
		before := s.best.gap()
		s.form(tall == (k != 1)) // the other equations are a second chance, as in run
		switch {
		case s.p > 1 && !math.IsInf(s.p, 1):
			s.primalFrom(s.awayFromZero(s.best.w), s.rising())
		default:
			s.limit(s.rising())
		}
		s.tighten()
		if s.settled() || s.ctx.Err() != nil || max(s.n, s.d) > 2*smallRows {
			break
		}
		if idle++; s.best.gap() < 0.9*before {
			idle = 0
		}
		s.again()
	}
	return name, nil
}

// awayFromZero returns w with its zeros replaced by something small. For p < 2 the curvature of the norm is infinite at
// 0, and a coordinate that starts there never moves.
func (s *solver) awayFromZero(w []float64) []float64 {
	if s.p >= 2 {
		return w
	}
	unit := s.units()
	var most float64
	for j, v := range w {
		most = max(most, math.Abs(v)*unit[j])
	}
	out := slices.Clone(w)
	for j, v := range w {
		if math.Abs(v)*unit[j] < 1e-4*most {
			out[j] = math.Copysign(1e-4*most/unit[j], cmp.Or(v, s.v[j]))
		}
	}
	return out
}

// runAsIs is run with columns as they are, which is a second chance for uneven ones: it may be the rows that differ in
// scale. What it finds counts if it is better.
func (s *solver) runAsIs(name string) (string, *NotSeparableError) {
	r := *s.rows
	r.even = nil
	plain := newSolver(s.ctx, s.prob, &r, s.p, Settings{Gap: s.gap, MaxIterations: s.most})
	plain.nested = s.nested
	other, proof := plain.run()
	s.n0 += plain.n0
	if proof != nil || plain.best.w == nil || plain.best.a == nil {
		return name, proof
	}
	before := s.best.gap()
	copy(s.y, plain.best.a)
	s.normalise()
	s.mulT(s.v, s.y)
	s.mul(s.m, plain.best.w)
	s.record(plain.best.w, mirror.Norm(plain.best.w, s.p), s.upper())
	s.tighten()
	if s.best.gap() < before && other != "" {
		name = other
	}
	return name, nil
}

// tighten makes the upper bound that of the best w, if it is not close enough.
func (s *solver) tighten() {
	for _, a := range [][]float64{s.y, s.best.a} { // the last weights are nearest to the best w
		if s.reached() || a == nil || s.best.w == nil || !(s.best.lower > 0) {
			return
		}
		target, known := s.stationary(a)
		k := s.polish(a, func() []float64 { return target }, known)
		if upper := k.run(s.gap); upper < s.best.upper {
			k.keep(upper, s.gap)
		}
	}
}

// rising returns a condition to stop: the gap is reached, or the margin has stopped rising. The upper bound is left to
// tighten.
func (s *solver) rising() func() bool {
	last, idle := 0.0, 0
	return func() bool {
		if idle++; s.best.lower > last*(1+1e-9) {
			last, idle = s.best.lower, 0
		}
		return s.reached() || idle > stoppedRising
	}
}

// stoppedRising is how many steps without a better margin end the search. Near 1e16 times as large columns it may rest
// for thirty.
const stoppedRising = 60

// solution returns the best point found, in terms of the original problem.
func (s *solver) solution(method string) (*Solution, error) {
	out := &Solution{P: s.p, Iterations: s.n0, Method: method}
	if s.best.a == nil || s.best.w == nil || !(s.best.lower > 0) {
		return nil, s.short(math.Inf(1))
	}
	s.tighten()
	gap := s.gap
	if !s.reached() { // rounding allows no more: a little less leaves room for zeros
		gap = max(s.best.gap(), min(2*s.best.gap(), s.enough))
	}
	s.prune(gap)
	s.pruneWeights(gap)
	out.Dual, out.Fine = s.rows.dual(s.best.a, s.best.fine)
	if s.quick() {
		least := toMarginOne(s.rows.leastMargin, s.best.w)
		out.W = s.rows.primal(s.best.w)
		out.Certificate = s.rows.certify(s.p, s.best.w, least, parts(out.Dual, out.Fine)...)
	} else {
		out.W = s.rows.primal(s.best.w)
		toMarginOne(s.prob.LeastMargin, out.W)
		out.Certificate = linear.Certify(s.prob, s.p, out.W, parts(out.Dual, out.Fine)...)
	}
	if !(out.Lower > 0) {
		return nil, s.short(math.Inf(1))
	}
	out.Support, out.Nonzero = nonzero(out.Dual), nonzero(out.W)
	if gap := out.Gap(); !(gap <= s.enough) {
		return out, s.short(gap)
	}
	return out, nil
}

// parts returns the vectors that there are.
func parts(all ...[]float64) [][]float64 {
	return slices.DeleteFunc(all, func(v []float64) bool { return v == nil })
}

// nonzero returns the places of the numbers other than 0.
func nonzero(x []float64) []int {
	var out []int
	for i, v := range x {
		if v != 0 {
			out = append(out, i)
		}
	}
	return out
}

// short says why the gap asked for was not reached.
func (s *solver) short(gap float64) *GapError {
	e := &GapError{Gap: gap, Want: s.enough, Iterations: s.n0, Rounding: s.n0 < s.most, Cause: s.ctx.Err(),
		Upper: math.Inf(1), Scale: s.rows.scale()}
	if need := min(s.n, s.d+1); math.IsInf(gap, 1) && need > mostExact {
		e.Unproved = need
	}
	if s.best.a != nil {
		a, fine := s.rows.dual(s.best.a, s.best.fine)
		e.Upper = linear.Certify(s.prob, s.p, make([]float64, s.full), parts(a, fine)...).Upper
	}
	return e
}

// toMarginOne scales w to the margin 1, as far as rounding allows. A w without a positive margin stays as it is.
// It returns the margin.
func toMarginOne(least func(w []float64) float64, w []float64) (m float64) {
	for range 4 {
		m = least(w)
		if !(m > 0) || math.Abs(m-1) < 4e-16 || math.IsInf(m, 1) {
			return m
		}
		for j := range w {
			w[j] /= m
		}
	}
	return least(w)
}
