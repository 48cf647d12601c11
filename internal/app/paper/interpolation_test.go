package paper

import (
	"math"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// The ends of the descents are told from other solutions of the same equations, at which the residual is 0 too; and the
// condition of the theorem is met on all steps that are checked.
func TestTheLimitOfARegressionIsToldFromOtherSolutions(t *testing.T) {
	for _, p := range []float64{1.05, 2, 3, 6, 20} {
		for _, moved := range []bool{false, true} {
			steps := 0
			err := followRegression(t.Context(), ours(t.Context()), 1, p, moved, func(d *regressionDescent) {
				if !d.ended {
					if steps++; d.eta > d.most {
						t.Errorf("%v: the step is %v, the condition allows %v", d, d.eta, d.most)
					}
					return
				}
				measure := func() float64 {
					r := newTally(false)
					r.here = d
					d.checkLimit(r)
					return r.worst
				}
				if v := measure(); !(v <= rounding) {
					t.Errorf("%v: %v", d, v)
				}
				other := d.solutions[1].W
				copy(d.end.w, other)
				d.end.residual(d.end.off, other)
				if v := measure(); v < 1e-3 {
					t.Errorf("%v: the solution nearest in the geometry of 1.3 passes: %v", d, v)
				}
			})
			if err != nil || steps < 10 {
				t.Errorf("p = %v: %d steps, %v", p, steps, err)
			}
		}
	}
}

// The dual vector of the descent is what it claims to be, ∇ψ(w₀) + Xᵀλ, whatever the steps.
func TestASquareDescentStaysInTheRangeOfTheData(t *testing.T) {
	r := newRegression(2)
	for _, p := range []float64{1.5, 6} {
		psi := mirror.Power(p)
		s := newSquareDescent(r.prob, psi, linear.Square{}, r.w0)
		for k := range 1000 {
			s.step(1e-3 * math.Exp(-float64(k%7)))
		}
		if eta, most := s.stepWithin(1, func(x, y []float64) float64 { return mirror.Divergence(psi, x, y) }); eta > most {
			t.Errorf("p = %v: step %v, the condition allows %v", p, eta, most)
		}
		z := make([]float64, len(r.w0))
		psi.Mirror(z, r.w0)
		r.prob.X.AddMulT(z, s.lambda)
		for j := range z {
			if math.Abs(z[j]-s.z[j]) > 1e-13*mirror.Norm(z, math.Inf(1)) {
				t.Errorf("p = %v: z[%d] = %v, want %v", p, j, s.z[j], z[j])
			}
		}
		psi.Inverse(z, s.z)
		if d := mirror.Norm(minus(z, s.w), math.Inf(1)); d != 0 {
			t.Errorf("p = %v: w is not ∇ψ*(z): %v", p, d)
		}
	}
}
