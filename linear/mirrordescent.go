package linear

import (
	"cmp"
	"context"

	"github.com/bregman-ml/bregman/mirror"
)

// MirrorDescent fits a linear model by mirror descent with the potential ψ of p. The zero value is gradient descent on
// the exponential loss.
//
// One step, with g = ∇L(w) over all examples or a mini-batch:
//
//	constant     z ← z − η·g,        w = ∇ψ*(z),   ψ = (1/p)‖·‖ₚᵖ: p-GD
//	Normalized   z ← z − η·g/L(w),   w = ∇ψ*(z),   ψ = (1/p)‖·‖ₚᵖ
//	Squared      z ← z − η·g/L(w),   w = ∇ψ*(z),   ψ = ½‖·‖ₚ²
//
// On separable data and with a loss of exponential tail, w/‖w‖ₚ tends to the direction of largest ℓₚ margin, slowly
// with a constant step and faster with the others.
//
// It stops after Steps steps, or once the margin of w is certified to be within the relative gap Gap of the maximum. A
// step size that was found by trial and overflows later is divided by 8, and the fit starts again.
//
// A Descent makes the same steps one at a time, with any potential.
//
// References: Sun, Ahn, Thrampoulidis & Azizan 2022, Mirror descent maximizes generalized margin and can be implemented
// efficiently; Nacson et al. 2019, Convergence of gradient descent on separable data.
type MirrorDescent struct {
	P          float64   // the exponent of ψ, above 1; 0: 2
	Normalized bool      // divide each step by the loss
	Squared    bool      // take ½‖·‖ₚ² as ψ; implies Normalized
	Loss       Loss      // nil: Exponential
	Eta        float64   // the step size η; 0: found by trial
	Batch      int       // examples per step; 0: all
	Seed       uint64    // determines the order of mini-batches
	Start      []float64 // the first weights; nil: 0
	Gap        float64   // the relative gap to stop at; 0: none
	Steps      int       // the most steps; 0: 100,000
}

var _ Method = MirrorDescent{}

// Name returns "pgd", "normalized" or "squared".
func (m MirrorDescent) Name() string { return string(m.name()) }

func (m MirrorDescent) name() MethodName {
	switch {
	case m.Squared:
		return MethodSquared
	case m.Normalized:
		return MethodNormalized
	}
	return MethodPGD
}

// Fit implements Method.
func (m MirrorDescent) Fit(ctx context.Context, prob Problem, h Hooks) (*Result, error) {
	r, err := begin(prob, common{method: m.name(), p: cmp.Or(m.P, defaultP), loss: cmp.Or[Loss](m.Loss, Exponential{}),
		gap: m.Gap, steps: cmp.Or(m.Steps, defaultSteps), start: m.Start}, h)
	if err != nil {
		return nil, err
	}
	psi := mirror.Power(r.p)
	if m.Squared {
		psi = mirror.SquaredNorm(r.p)
	}
	return r.fitDescent(ctx, Descent{Potential: psi, Loss: r.loss, Eta: m.Eta, Normalized: m.Normalized || m.Squared,
		Batch: m.Batch, Seed: m.Seed})
}
