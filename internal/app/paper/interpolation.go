package paper

import (
	"context"
	"fmt"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// interpolationStatements are about mirror descent with square loss on an under-determined system.
var interpolationStatements = []statement[*regressionDescent]{
	{
		Name: "Regression: divergence never rises",
		Claim: "D(w, w_{t+1}) ≤ D(w, w_t) for interpolating w (three of them), " +
			"if D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0",
		Quantity: oneStep,
		Bound:    1e-12,
		At:       func(d *regressionDescent) bool { return !d.ended },
		If:       func(d *regressionDescent) bool { return d.local >= -1e-18 },
		Check: func(d *regressionDescent, r *tally) {
			for _, u := range d.solutions {
				r.atMost(mirror.Divergence(d.psi, u, d.next), mirror.Divergence(d.psi, u, d.w), d.psi.Value(u))
			}
		},
	},
	{
		Name:     "Regression: limit",
		Claim:    "mirror descent from 0 ends at the interpolation of least ℓₚ norm (p ≤ 3)",
		Slip:     "Table 1 writes ‖w − w₀‖ₚ, which is D(w, w₀) if w₀ ≠ 0 and p ≠ 2",
		Quantity: "largest relative distance to the exact solution",
		Bound:    1e-6,
		At:       func(d *regressionDescent) bool { return d.ended },
		Check: func(d *regressionDescent, r *tally) {
			exact := d.solutions[0]
			diff := slices.Clone(d.next)
			for j := range diff {
				diff[j] -= exact[j]
			}
			r.record(mirror.Norm(diff, d.p) / mirror.Norm(exact, d.p))
		},
	},
}

// firstSteps is how many steps of a regression are checked one by one.
const firstSteps = 2_000

// regressionDescent is a descent from 0 at one of its first steps, or at its end.
type regressionDescent struct {
	p         float64
	seed      uint64
	psi       mirror.Potential
	solutions [][]float64 // the one of least ℓₚ norm, and two others: those of least norm in other geometries
	t         int
	w, next   []float64 // w_t and w_{t+1}; at the end, next is the last
	local     float64   // D_{ψ−ηL}(w_{t+1}, w_t)
	ended     bool
}

// location names the case, and the step if it is one of the first.
func (d *regressionDescent) location() location {
	l := location{fmt.Sprintf("%d × %d, seed %d, p = %v", regressionRows, regressionCols, d.seed, d.p), d.t}
	if d.ended {
		l.step = -1
	}
	return l
}

// interpolations checks interpolationStatements on the system of every seed.
func interpolations(sub subject, ps []float64, first uint64, seeds int) *statementGroup[*regressionDescent] {
	g := &statementGroup[*regressionDescent]{statements: interpolationStatements, oneCase: true}
	for seed := first; seed < first+uint64(seeds); seed++ {
		for _, p := range ps {
			g.runs = append(g.runs, run[*regressionDescent]{where{p: p, loss: "square"}, func(ctx context.Context, each func(*regressionDescent)) error {
				d := &regressionDescent{p: p, seed: seed, psi: mirror.Power(p)}
				return d.follow(ctx, sub, each)
			}})
		}
	}
	return g
}

// follow runs the subject's descent and calls each at its first steps and, up to p = 3, at its end. For larger p a
// constant step does not settle.
func (d *regressionDescent) follow(ctx context.Context, sub subject, each func(*regressionDescent)) error {
	prob := newRegression(d.seed).prob
	for _, q := range []float64{d.p, 1.3, 4} {
		u, err := sub.interpolate(prob, q)
		if err != nil {
			return err
		}
		d.solutions = append(d.solutions, u)
	}
	eta := regressionStep(d.p)
	s, err := linear.Descent{Potential: sub.potential(d.p), Loss: sub.square, Eta: eta}.Start(prob, nil)
	if err != nil {
		return err
	}
	n, cols := prob.Dims()
	residual := make([]float64, n)
	loss := func(w []float64) (sum float64) {
		prob.X.Mul(residual, w)
		for i, y := range prob.Y {
			residual[i] -= y
			sum += residual[i] * residual[i] / 2 / float64(n)
		}
		return sum
	}
	d.w, d.next = slices.Clone(s.W), s.W
	for d.t = range firstSteps {
		before := loss(d.w)
		grad := make([]float64, cols)
		for i := range residual {
			residual[i] /= float64(n)
		}
		prob.X.AddMulT(grad, residual)
		s.Step()
		d.next = s.W
		dl := loss(s.W) - before
		for j := range grad {
			dl -= grad[j] * (s.W[j] - d.w[j])
		}
		d.local = mirror.Divergence(d.psi, s.W, d.w) - eta*dl
		each(d)
		copy(d.w, s.W)
	}
	if d.p > 3 {
		return nil
	}
	if err := s.Run(ctx, regressionSteps); err != nil {
		return err
	}
	d.next, d.ended = s.W, true
	each(d)
	return nil
}
