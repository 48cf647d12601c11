package margin

import (
	"fmt"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// negligible is the share of max‖xᵢ‖_q below which a margin counts as none: the rounding of the data themselves
// decides on its sign.
const negligible = 1e-10

// NotSeparableError proves that no w separates the data: with a = Dual ≥ 0 of sum 1 every w has
// minᵢ yᵢ⟨xᵢ, w⟩ ≤ ⟨Σ aᵢyᵢxᵢ, w⟩ ≤ Bound·‖w‖ₚ, where Bound = ‖Σ aᵢyᵢxᵢ‖_q ≤ 1e-10·max‖xᵢ‖_q.
type NotSeparableError struct {
	P     float64
	Dual  []float64
	Bound float64

	scale float64 // max‖xᵢ‖_q
}

func (e *NotSeparableError) Error() string {
	k := 0
	for _, a := range e.Dual {
		if a > 0 {
			k++
		}
	}
	if k == 1 {
		return fmt.Sprintf("the data are not separable: an example has a length of %.2g beside others of %.2g, so its margin is zero or drowns in rounding; leave it out, or scale the examples alike",
			e.Bound, e.scale)
	}
	return fmt.Sprintf("the data are not separable: a mixture of %d examples with their labels cancels to a length of %.2g (single ones: up to %.2g), so no w has a positive margin on all of them; a constant feature (bias) or more features may help",
		k, e.Bound, e.scale)
}

func notSeparable(prob linear.Problem, p float64, a []float64) *NotSeparableError {
	q := mirror.Conjugate(p)
	_, d := prob.Dims()
	v, c := make([]float64, d), make([]float64, len(a))
	var scale float64
	for i := range c {
		c[i] = a[i] * label(prob, i)
		_, val := prob.X.Row(i)
		scale = max(scale, mirror.Norm(val, q))
	}
	prob.X.AddMulT(v, c)
	return &NotSeparableError{P: p, Dual: a, Bound: mirror.Norm(v, q), scale: scale}
}

// proven says whether the bound is small enough to count.
func (e *NotSeparableError) proven() bool { return e.Bound <= negligible*e.scale }

// GapError says that the solution it comes with is not as good as was asked for.
type GapError struct {
	Gap, Want  float64
	Iterations int
	Cause      error // why the solver was stopped from outside, nil if it was not
}

func (e *GapError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("stopped after %d iterations at a relative gap of %.2g, wanted %.2g: %v", e.Iterations, e.Gap, e.Want, e.Cause)
	}
	return fmt.Sprintf("the relative gap is %.2g after %d iterations, wanted %.2g: allow a larger gap, or more iterations", e.Gap, e.Iterations, e.Want)
}

func (e *GapError) Unwrap() error { return e.Cause }
