package linear

import (
	"context"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// The search of FindStep: trials of a few steps, each with a step four times the one before.
const (
	trialSteps = 20
	trialRatio = 4
)

// FindStep returns a step size η for the descent on this problem, found by trials on all examples: of those that do not
// make the loss diverge, the one with the least loss after a few steps. A constant step size is too large if its first
// step removes most of the loss: one that removes all of an exponential loss leaves no gradient for the next steps.
// With other losses of margins it also has to be as small as the theorem on the limit direction asks if p ≤ 2, and not
// to overshoot if p > 2. If the geometry is stiff (p near 1) a step may still overflow later. The search costs about as
// much as a few hundred steps.
func (d Descent) FindStep(ctx context.Context, prob Problem, w0 []float64) (float64, error) {
	d.Batch, d.Eta = 0, 1
	if _, err := d.Start(prob, w0); err != nil {
		return 0, err
	}
	d.Eta = d.guessStep(prob)
	for d.Eta > 1e-300 && math.IsInf(d.trial(prob, w0), 1) { // down to one that behaves
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		d.Eta /= trialRatio
	}
	best, least := d.Eta, math.Inf(1)
	for worse := 0; worse < 3 && d.Eta < 1e300; d.Eta *= trialRatio { // up, past a bad one or two
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		switch loss := d.trial(prob, w0); {
		case loss < least*(1-1e-9):
			best, least, worse = d.Eta, loss, 0
		case loss > least || math.IsInf(loss, 1):
			worse++
		}
	}
	return best, nil
}

// trial returns the loss after a few steps, +Inf if it diverges or collapses or a step goes too far.
func (d Descent) trial(prob Problem, w0 []float64) float64 {
	s, err := d.Start(prob, w0)
	if err != nil {
		return math.Inf(1)
	}
	start := s.Measure(2, nil).Loss
	loss := start
	collapse := s.d.collapse()
	before := make([]float64, len(s.W))
	for k := range trialSteps {
		last := loss
		copy(before, s.W)
		s.Step()
		loss = s.Measure(2, nil).Loss
		if !(loss <= 20*start) || k == 0 && !d.Normalized && loss < start*collapse {
			return math.Inf(1)
		}
		if s.d.overshootHides() && (loss > start || s.tooFar(before, last, loss)) {
			return math.Inf(1)
		}
	}
	if loss > start {
		return math.Inf(1)
	}
	return loss
}

// collapse is the share of the loss that a first step must leave: ℓ(m)/ℓ(0), where m is p − 1, at least 1. A first step
// from 0 gives margins of about that.
func (d Descent) collapse() float64 {
	m := max(1, d.exponent()-1)
	if d.Loss.Residual() {
		return math.Exp(-m)
	}
	return d.Loss.Sum([]float64{m}) / d.Loss.Sum([]float64{0})
}

// overshootHides reports whether a constant step can go too far without making the loss explode. The exponential loss
// explodes, the others grow linearly. Their first step may throw some examples far to the wrong side, for a few times
// the loss, and the second all of them far to the right side, where no gradient is left: the direction stays that of
// two gradients.
func (d Descent) overshootHides() bool {
	_, explodes := d.Loss.(Exponential)
	return !explodes && !d.Normalized && !d.Loss.Residual()
}

// tooFar reports whether the step from before to W is too large for the theorem on the limit direction, which wants
// ψ − ηL to be convex at the iterates. By the step z⁺ = z − η∇L(w) this is a loss that falls by enough:
//
//	D_{ψ−ηL}(w⁺, w) = η(L(w) − L(w⁺)) − D_ψ(w, w⁺) ≥ 0.
//
// For p > 2 no useful step has this, because ψ″ vanishes at 0: neither the first step from 0 nor one in which a weight
// passes 0. There the first step alone is checked, in the sum of both orders, where ψ drops out,
//
//	D_{ψ−ηL}(w⁺, w) + D_{ψ−ηL}(w, w⁺) = −η⟨∇L(w⁺), w⁺ − w⟩ ≥ 0:
//
// it does not pass the least loss in its direction. Steepest descent has ½‖w⁺ − w‖ₚ² in the place of D_ψ, for any p.
func (s *State) tooFar(before []float64, last, loss float64) bool {
	rounding := 1e-12 * last
	if s.d.Steepest == 0 && s.d.exponent() > 2 {
		return s.T == 1 && !(s.slope(before) <= rounding)
	}
	return !(s.distance(before) <= s.d.Eta*(last-loss+rounding))
}

// distance returns D_ψ(before, w), or ½‖w − before‖ₚ² of steepest descent.
func (s *State) distance(before []float64) float64 {
	if s.d.Steepest == 0 {
		return mirror.Divergence(s.d.Potential, before, s.W)
	}
	norm := mirror.Norm(difference(s.W, before), s.d.Steepest)
	return norm * norm / 2
}

// slope returns ⟨∇L(w), w − before⟩ on all examples.
func (s *State) slope(before []float64) float64 {
	s.prob.X.Mul(s.score, s.W)
	s.label(s.score, nil, false)
	s.d.Loss.Weights(s.c, s.score)
	s.prob.X.Mul(s.score, difference(s.W, before))
	s.label(s.score, nil, false)
	return -vec.Dot(s.c, s.score) / float64(s.n)
}

// difference returns x − y.
func difference(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for j := range out {
		out[j] = x[j] - y[j]
	}
	return out
}

// guessStep is where the search starts, by the scale of the data: with C = maxᵢ‖xᵢ‖_q it is r^(p−1)/C for Power(p),
// whose first step from 0 gives weights of about r = min(p−1, 1)/C and margins of about 1; in other geometries C^(−2).
func (d Descent) guessStep(prob Problem) float64 {
	p := d.exponent()
	c := prob.RowNorm(mirror.Conjugate(p))
	step := 1 / (c * c)
	if d.Steepest == 0 {
		step = math.Pow(min(p-1, 1)/c, p-1) / c
	}
	if !(step > 0) {
		return 1e-290
	}
	return min(step, 1e290)
}

// exponent is the p of the geometry, 2 for those without one.
func (d Descent) exponent() float64 {
	if d.Steepest != 0 {
		return d.Steepest
	}
	if pw, ok := d.Potential.(interface{ Exponent() float64 }); ok {
		return pw.Exponent()
	}
	return 2
}
