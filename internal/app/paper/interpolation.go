package paper

import (
	"context"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/margin"
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
		If:       func(d *regressionDescent) bool { return d.eta <= d.most },
		Check: func(d *regressionDescent, r *tally) {
			for _, u := range d.solutions {
				r.atMost(mirror.Divergence(d.psi, u.W, d.next), mirror.Divergence(d.psi, u.W, d.w), d.psi.Value(u.W))
			}
		},
	},
	{
		Name:     "Regression: limit from 0",
		Claim:    "mirror descent from 0 ends at the interpolation w* of least ℓₚ norm: " + limitClaim,
		Quantity: limitQuantity,
		Bound:    rounding,
		Runs:     func(w where) bool { return w.data == fromZero },
		At:       func(d *regressionDescent) bool { return d.ended },
		Check:    (*regressionDescent).checkLimit,
	},
	{
		Name:     "Regression: limit from w₀ ≠ 0",
		Claim:    "mirror descent from w₀ ends at the interpolation w* of least D(w, w₀): " + limitClaim,
		Slip:     "Table 1 writes ‖w − w₀‖ₚ, where D(w, w₀) is meant; they differ if w₀ ≠ 0 and p ≠ 2",
		Quantity: limitQuantity,
		Bound:    rounding,
		Runs:     func(w where) bool { return w.data == fromOther },
		At:       func(d *regressionDescent) bool { return d.ended },
		Check:    (*regressionDescent).checkLimit,
	},
}

const (
	limitClaim    = "D(w*, w_T) ≤ ⟨λ_T − λ*, Xw_T − y⟩, where the right side is below 1e-6·D(w*, w₀)"
	limitQuantity = "excess of the left side over D(w*, w₀)"
)

// The starts of a regression.
const (
	fromZero  = "10 × 40, from 0"
	fromOther = "10 × 40, from w₀ ≠ 0"
)

const (
	// cautiousSteps is how many steps of a regression, at most, are checked one by one.
	cautiousSteps = 2_000
	// interpolated is the residual, relative to the largest target, at which a descent ends.
	interpolated = 1e-12
	// shrinkingPer is how many shrinking steps a descent makes for each 10³ by which weights differ: 50,000·(p−2) in all.
	shrinkingPer = 50_000
	// settledShare is the share of D(w*, w₀) below which the divergence that is left must be: else nothing was shown.
	settledShare = 1e-6
)

// regressionDescent is a descent at one of its first steps, or a descent at its end.
type regressionDescent struct {
	p         float64
	seed      uint64
	w0        []float64 // nil: 0
	psi       mirror.Potential
	solutions []*margin.Projection // the nearest to w₀, and two others: those nearest in other geometries
	t         int
	w, next   []float64 // w_t and w_{t+1}
	eta, most float64   // the step size, and the largest with D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0
	ended     bool
	end       *squareDescent // once it has
}

// location names the case, and the step if it is one of the first.
func (d *regressionDescent) location() location {
	l := location{fmt.Sprintf("%d × %d, seed %d, p = %v", regressionRows, regressionCols, d.seed, d.p), d.t}
	if d.w0 != nil {
		l.name += ", from w₀ ≠ 0"
	}
	if d.ended {
		l.step = -1
	}
	return l
}

// checkLimit compares the end of the descent with the exact projection ŵ, λ̂ and its excess D(ŵ, v̂), in an inequality
// that mirror descent satisfies at every step, and other methods do not. With ẑ = ∇ψ(v̂),
//
//	D(ŵ, w_T) ≤ D(ŵ, v̂) + ⟨z_T − ẑ, w_T − ŵ⟩,
//
// because D(ŵ, w_T) = D(ŵ, v̂) + D(v̂, w_T) + ⟨ẑ − z_T, ŵ − v̂⟩ and D(v̂, w_T) ≤ ⟨ẑ − z_T, v̂ − w_T⟩. Mirror descent
// has z_T − ẑ = Xᵀ(λ_T − λ̂), which makes the product ⟨λ_T − λ̂, (Xw_T − y) − (Xŵ − y)⟩: as small as the residual.
//
// A descent that is not near its limit satisfies the inequality too, but shows nothing.
func (d *regressionDescent) checkLimit(r *tally) {
	s, exact := d.end, d.solutions[0]
	off := make([]float64, len(s.off))
	s.residual(off, exact.W)
	allowed := exact.Excess + d.drift()
	for i, l := range s.lambda {
		allowed += (l - exact.Lambda[i]) * (s.off[i] - off[i])
	}
	r.record((d.divergence(exact.W, s.w) - allowed) / exact.Divergence)
	if allowed > settledShare*exact.Divergence {
		r.undecide("the residual is %.1e after %d steps, and D(w*, w_T) may still be %.1e of D(w*, w₀)", s.worst(), s.t,
			allowed/exact.Divergence)
	}
}

// drift bounds what rounding adds to ⟨z_T − ẑ, w_T − ŵ⟩: z_T and λ_T are sums of T terms, rounded to 2⁻⁵³ at each.
func (d *regressionDescent) drift() float64 {
	s, exact := d.end, d.solutions[0]
	size := make([]float64, len(s.z)) // |z_T| + |X|ᵀ|λ_T|
	for j, z := range s.z {
		size[j] = math.Abs(z)
	}
	for i, l := range s.lambda {
		_, row := s.prob.X.Row(i)
		for j, x := range row {
			size[j] += math.Abs(x * l)
		}
	}
	var sum float64
	for j, v := range size {
		sum += v * math.Abs(s.w[j]-exact.W[j])
	}
	return float64(s.t) * 0x1p-53 * sum
}

// divergence is D(x, y).
func (d *regressionDescent) divergence(x, y []float64) float64 { return mirror.Divergence(d.psi, x, y) }

// interpolations checks interpolationStatements on the system of every seed, from 0 and from another start.
func interpolations(sub subject, ps []float64, first uint64, seeds int) *statementGroup[*regressionDescent] {
	g := &statementGroup[*regressionDescent]{statements: interpolationStatements, oneCase: true}
	for seed := first; seed < first+uint64(seeds); seed++ {
		for _, p := range ps {
			for _, data := range []string{fromZero, fromOther} {
				g.runs = append(g.runs, run[*regressionDescent]{where{p: p, data: data, loss: "square"},
					func(ctx context.Context, each func(*regressionDescent)) error {
						return followRegression(ctx, sub, seed, p, data == fromOther, each)
					}})
			}
		}
	}
	return g
}

// followRegression runs the subject's descent from 0, or from another start, and calls each at its first steps and at
// its end. The steps are as long as the condition of the theorem allows. Where they do not reach the limit, as for
// large p, a second descent does, whose steps shrink.
func followRegression(ctx context.Context, sub subject, seed uint64, p float64, moved bool,
	each func(*regressionDescent)) error {
	reg := newRegression(seed)
	d := &regressionDescent{p: p, seed: seed, psi: mirror.Power(p)}
	if moved {
		d.w0 = reg.w0
	}
	for _, q := range []float64{p, 1.3, 4} {
		u, err := sub.project(reg.prob, q, d.w0)
		if err != nil {
			return err
		}
		d.solutions = append(d.solutions, u)
	}
	s := newSquareDescent(reg.prob, sub.potential(p), sub.square, d.w0)
	enough := interpolated * mirror.Norm(reg.prob.Y, math.Inf(1))
	d.eta, d.most = 1e-3, 1e-3
	for d.t = 0; d.t < cautiousSteps && s.worst() > enough; d.t++ {
		d.w = append(d.w[:0], s.w...)
		d.eta, d.most = s.stepWithin(nextStep(d.eta, d.most), d.divergence)
		if d.next = s.w; d.eta == 0 {
			break
		}
		each(d)
	}
	if s.worst() > enough && p > 2 {
		s = newSquareDescent(reg.prob, sub.potential(p), sub.square, d.w0)
		first, last := shrinkingSteps(reg.prob, p, d.w0)
		if err := s.shrink(ctx, first, last, int(shrinkingPer*(p-2)), func(int) {}); err != nil {
			return err
		}
	}
	d.end, d.ended = s, true
	each(d)
	return ctx.Err()
}
