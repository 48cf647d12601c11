package margin

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// negligible is the share of the length of its terms below which a mixture of examples counts as 0: the rounding of the
// data themselves decides on the sign of the margin.
const negligible = 1e-10

// NotSeparableError proves that no w separates the data: with a = Dual ≥ 0 of sum 1 every w has
// minᵢ yᵢ⟨xᵢ, w⟩ ≤ ⟨Σ aᵢyᵢxᵢ, w⟩ ≤ Bound·‖w‖ₚ, where Bound = ‖Σ aᵢyᵢxᵢ‖_q ≤ 1e-10·Terms, Terms = Σ aᵢ‖yᵢxᵢ‖_q.
// In other words, a mixture of the examples, each scaled to length 1, cancels to 1e-10 or less. The lengths of the
// examples do not matter; one that is 0 is a proof by itself, with Bound = Terms = 0.
type NotSeparableError struct {
	P     float64
	Dual  []float64
	Bound float64
	Terms float64
}

func (e *NotSeparableError) Error() string {
	k, last := 0, 0
	for i, a := range e.Dual {
		if a > 0 {
			k, last = k+1, i
		}
	}
	if k == 1 {
		return fmt.Sprintf("the data are not separable: all values of example %d are 0, and so is its margin for every w; leave it out, or add a constant feature (bias)", last+1)
	}
	return fmt.Sprintf("the data are not separable: a mixture of %d examples with their labels cancels to a length of %.2g (its terms: %.2g together), so no w has a positive margin on all of them; a constant feature (bias) or more features may help",
		k, e.Bound, e.Terms)
}

func notSeparable(prob linear.Problem, p float64, a []float64) *NotSeparableError {
	q := mirror.Conjugate(p)
	_, d := prob.Dims()
	v, c := make([]float64, d), make([]float64, len(a))
	var terms float64
	for i := range c {
		c[i] = a[i] * label(prob, i)
		if c[i] != 0 {
			_, val := prob.X.Row(i)
			terms += math.Abs(c[i]) * mirror.Norm(val, q)
		}
	}
	prob.X.AddMulT(v, c)
	return &NotSeparableError{P: p, Dual: a, Bound: mirror.Norm(v, q), Terms: terms}
}

// proven says whether the bound is small enough to count.
func (e *NotSeparableError) proven() bool { return e.Bound <= negligible*e.Terms }

// GapError says that the solution it comes with is not as good as was asked for; or, where Gap is +Inf, that there is
// none, because no w with a positive margin was found, nor a proof that there is none.
type GapError struct {
	Gap, Want  float64
	Iterations int
	Rounding   bool  // more iterations would not help
	Cause      error // why the solver was stopped from outside, nil if it was not
}

func (e *GapError) Error() string {
	switch none := math.IsInf(e.Gap, 1); {
	case e.Cause != nil && none:
		return fmt.Sprintf("stopped after %d iterations without a w that separates the data: %v", e.Iterations, e.Cause)
	case e.Cause != nil:
		return fmt.Sprintf("stopped after %d iterations at a relative gap of %.2g, wanted %.2g: %v", e.Iterations, e.Gap, e.Want, e.Cause)
	case none && e.Rounding:
		return fmt.Sprintf("no w that separates the data was found in %d iterations, nor a proof that there is none: a margin, if any, drowns in rounding; a constant feature (bias) or more features may help", e.Iterations)
	case none:
		return fmt.Sprintf("no w that separates the data was found in %d iterations, nor a proof that there is none", e.Iterations)
	case e.Rounding:
		return fmt.Sprintf("the relative gap is %.2g after %d iterations, wanted %.2g, but rounding allows no more: allow a larger gap", e.Gap, e.Iterations, e.Want)
	}
	return fmt.Sprintf("the relative gap is %.2g after %d iterations, wanted %.2g: allow a larger gap", e.Gap, e.Iterations, e.Want)
}

func (e *GapError) Unwrap() error { return e.Cause }
