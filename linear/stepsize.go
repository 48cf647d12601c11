package linear

import (
	"context"
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

// The search of FindStep: trials of a few steps, each with a step four times the one before.
const (
	trialSteps = 20
	trialRatio = 4
)

// FindStep returns a step size η for the descent on this problem, found by trials on all examples: of those that do not
// make the loss diverge, the one with the least loss after a few steps. A constant step size is too large if its first
// step removes most of the loss: one that removes all of an exponential loss leaves no gradient for the next steps. If
// the geometry is stiff (p near 1) a step may still overflow later. The search costs about as much as a few hundred
// steps.
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

// trial returns the loss after a few steps, +Inf if it diverges or collapses.
func (d Descent) trial(prob Problem, w0 []float64) float64 {
	s, err := d.Start(prob, w0)
	if err != nil {
		return math.Inf(1)
	}
	start := s.Measure(2, nil).Loss
	loss := start
	collapse := math.Exp(-max(1, d.exponent()-1)) // a first step from 0 gives margins of about p − 1
	for k := range trialSteps {
		s.Step()
		loss = s.Measure(2, nil).Loss
		if !(loss <= 20*start) || k == 0 && !d.Normalized && loss < start*collapse {
			return math.Inf(1)
		}
	}
	if loss > start {
		return math.Inf(1)
	}
	return loss
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
