package linear

import (
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

// The search of FindStep: a trial of a few steps, each with a step four times the one before.
const (
	trialSteps = 20
	trialRatio = 4
	maxTrials  = 80
)

// FindStep returns a step η for the descent on this problem, found by trials: from a step that is surely small it
// goes up as long as the loss after a few steps goes down, and returns the best. The first steps decide, because there the
// loss is most curved. It costs about as much as a few hundred steps.
func (d Descent) FindStep(prob Problem, w0 []float64) (float64, error) {
	if err := prob.Check(); err != nil {
		return 0, err
	}
	d.Eta = d.smallStep(prob)
	best, least := d.Eta, math.Inf(1)
	rises := 0
	for range maxTrials {
		s, err := d.Start(prob, w0)
		if err != nil {
			return 0, err
		}
		for range trialSteps {
			s.Step()
		}
		switch loss := s.Measure(2, nil).Loss; {
		case loss < least:
			best, least, rises = d.Eta, loss, 0
		default: // also NaN: one rise may be luck, two are enough
			rises++
		}
		if d.Eta *= trialRatio; rises == 2 || math.IsInf(d.Eta, 1) || least == 0 {
			break
		}
	}
	return best, nil
}

// smallStep is a step below which the loss does not rise, by the scale of the data: with C = maxᵢ‖xᵢ‖_q it is
// (p−1)^(p−1)·C^(−p) for Power(p), whose first step from 0 gives coordinates of about r = (p−1)/C, where
// ψ″ = (p−1)r^(p−2) outweighs ηC², the curvature of a loss of 1. In other geometries C^(−2) is right. A hundredth of that is the start.
func (d Descent) smallStep(prob Problem) float64 {
	p := 2.0
	if d.Steepest != 0 {
		p = d.Steepest
	} else if pw, ok := d.Potential.(interface{ Exponent() float64 }); ok {
		p = pw.Exponent()
	}
	c := prob.RowNorm(mirror.Conjugate(p))
	step := 1 / (c * c)
	if d.Steepest == 0 {
		step = math.Pow((p-1)/c, p-1) / c
	}
	return min(max(step/100, 1e-290), 1e290)
}
