package linear

import (
	"cmp"
	"context"
)

// SteepestDescent fits a linear model by steepest descent in the ℓₚ norm. The zero value is gradient descent on the
// exponential loss. One step, with g = ∇L(w) over all examples or a mini-batch and 1/p + 1/q = 1:
//
//	w ← w + η·argmin_v {⟨g, v⟩ + ½‖v‖ₚ²} = w − η·∇(½‖·‖_q²)(g).
//
// It stops after Steps steps, or once the margin of w is certified to be within the relative gap Gap of the maximum. A
// step size that was found by trial and overflows later is divided by 8, and the fit starts again.
//
// Reference: Gunasekar, Lee, Soudry & Srebro 2018, Characterizing implicit bias in terms of optimization geometry.
type SteepestDescent struct {
	P     float64   // the norm, above 1; 0: 2
	Loss  Loss      // nil: Exponential
	Eta   float64   // the step size η; 0: found by trial
	Batch int       // examples per step; 0: all
	Seed  uint64    // determines the order of mini-batches
	Start []float64 // the first weights; nil: 0
	Gap   float64   // the relative gap to stop at; 0: none
	Steps int       // the most steps; 0: 100,000
}

var _ Method = SteepestDescent{}

// Name returns "steepest".
func (m SteepestDescent) Name() string { return string(MethodSteepest) }

// Fit implements Method.
func (m SteepestDescent) Fit(ctx context.Context, prob Problem, h Hooks) (*Result, error) {
	r, err := begin(prob, common{method: MethodSteepest, p: cmp.Or(m.P, defaultP),
		loss: cmp.Or[Loss](m.Loss, Exponential{}), gap: m.Gap, steps: cmp.Or(m.Steps, defaultSteps), start: m.Start}, h)
	if err != nil {
		return nil, err
	}
	return r.fitDescent(ctx, Descent{Steepest: r.p, Loss: r.loss, Eta: m.Eta, Batch: m.Batch, Seed: m.Seed})
}
