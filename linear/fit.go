package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Settings choose a method by name and set it up, in one flat struct. The zero value asks for the classifier of largest
// ℓ₂ margin, certified to 0.1 %.
type Settings struct {
	P      float64    // the geometry, above 1; 0: 2
	Method MethodName // "": MethodNewton if Lambda > 0, else MethodAccelerated
	Loss   Loss       // nil: Logistic for Newton, else Exponential. Accelerated takes only the exponential loss
	Soft   float64    // Accelerated: the share of worst margins whose mean is maximised; 0: the worst margin
	Lambda float64    // Newton: λ of the penalty (λ/2)‖w‖ₚ²

	// Gap stops the fit at this relative gap to the maximum margin, or to the least objective. 0 means 1e-3 for
	// Accelerated and Newton, and no such stop for the descents.
	Gap      float64
	Steps    int // the most steps; 0: 100,000
	Patience int // Accelerated: stop after this many steps without a positive margin; 0: never

	Start []float64 // Newton and the descents: the first weights; nil: 0

	// For the descents alone.
	Eta   float64 // the step size; 0: found by trial
	Batch int     // examples per step; 0: all
	Seed  uint64  // determines the order of mini-batches

	Hooks
}

// Fit fits a model by the method that the settings name. It is short for calling Fit of the method itself.
func Fit(ctx context.Context, prob Problem, set Settings) (*Result, error) {
	m, err := set.method()
	if err != nil {
		return nil, err
	}
	return m.Fit(ctx, prob, set.Hooks)
}

// method returns the method with its settings, or an error if some settings belong to another method. The method checks
// the values of its own settings.
func (set Settings) method() (Method, error) {
	name := set.Method
	if name == "" {
		if name = MethodAccelerated; set.Lambda > 0 {
			name = MethodNewton
		}
	}
	if _, err := MethodByName(string(name)); err != nil {
		return nil, err
	}
	switch {
	case set.Lambda != 0 && checkLambda(set.Lambda) != nil:
		return nil, checkLambda(set.Lambda)
	case checkSoft(set.Soft) != nil:
		return nil, checkSoft(set.Soft)
	case set.Soft > 0 && name != MethodAccelerated:
		return nil, fmt.Errorf("soft goes with the accelerated method, not with %s", name)
	case (name == MethodNewton) != (set.Lambda > 0):
		return nil, errors.New("a penalty lambda > 0 and the method newton go together")
	}
	switch name {
	case MethodAccelerated:
		switch {
		case set.Loss != nil && set.Loss != Loss(Exponential{}):
			return nil, fmt.Errorf("the accelerated method maximises the margin through the exponential loss: "+
				"the %v loss needs another method, or a penalty", set.Loss)
		case set.Batch != 0 || set.Eta != 0 || set.Start != nil:
			return nil, errors.New("the accelerated method finds its steps itself and starts at 0, " +
				"with all examples: a batch, a step size or a start need another method")
		}
		return Accelerated{P: set.P, Soft: set.Soft, Gap: set.Gap, Steps: set.Steps, Patience: set.Patience}, nil
	case MethodNewton:
		return Newton{P: set.P, Lambda: set.Lambda, Loss: set.Loss, Gap: set.Gap, Steps: set.Steps,
			Start: set.Start}, nil
	case MethodSteepest:
		return SteepestDescent{P: set.P, Loss: set.Loss, Eta: set.Eta, Batch: set.Batch, Seed: set.Seed,
			Gap: set.Gap, Steps: set.Steps, Start: set.Start}, nil
	}
	return MirrorDescent{P: set.P, Normalized: name == MethodNormalized, Squared: name == MethodSquared,
		Loss: set.Loss, Eta: set.Eta, Batch: set.Batch, Seed: set.Seed,
		Gap: set.Gap, Steps: set.Steps, Start: set.Start}, nil
}

func checkLambda(lambda float64) error {
	if !(lambda > 0) || math.IsInf(lambda, 1) {
		return fmt.Errorf("lambda = %v: want a positive number", lambda)
	}
	return nil
}

func checkSoft(soft float64) error {
	if !(soft >= 0) || soft > 1 {
		return fmt.Errorf("soft = %v: want a share of the examples such as 0.1", soft)
	}
	return nil
}
