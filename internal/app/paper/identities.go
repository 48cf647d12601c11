package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bregman-ml/bregman/mirror"
)

// rounding is the bound on identities: the powers are good to 1e-14, and a sum of a few dozen terms of both
// signs may lose another digit or two.
const rounding = 1e-12

const difference = "relative difference"

// identityStatements hold for ψ = (1/p)‖·‖ₚᵖ at any points.
var identityStatements = []statement[*points]{
	{
		Name:     "Equation (4a), Euler's identity",
		Claim:    "⟨∇ψ(w), w⟩ = ‖w‖ₚᵖ",
		Quantity: difference,
		Bound:    rounding,
		Check:    func(x *points, r *tally) { r.equal(dot(x.grad(x.w), x.w), math.Pow(x.norm, x.p)) },
	},
	{
		Name:     "Dual norm of the mirror map",
		Claim:    "‖∇ψ(w)‖_q = ‖w‖ₚ^(p−1)",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) {
			r.equal(x.sub.norm(x.grad(x.w), x.sub.conjugate(x.p)), math.Pow(x.norm, x.p-1))
		},
	},
	{
		Name:     "Definition 1, Bregman divergence",
		Claim:    "D(w, w′) = ψ(w) − ψ(w′) − ⟨∇ψ(w′), w − w′⟩",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) {
			w, v, z := x.psi.Value(x.w), x.psi.Value(x.v), x.grad(x.v)
			r.equal(x.d(x.w, x.v), w-v-dot(z, x.w)+dot(z, x.v), w, v, dot(z, x.v))
		},
	},
	{
		Name:     "Divergence from 0",
		Claim:    "D(0, w) = (p−1)/p·‖w‖ₚᵖ",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) {
			r.equal(x.d(make([]float64, len(x.w)), x.w), (x.p-1)/x.p*math.Pow(x.norm, x.p))
		},
	},
	{
		Name:     "Equation (4b), homogeneity",
		Claim:    "D(cw, cw′) = |c|ᵖ·D(w, w′)",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) {
			for _, c := range []float64{-1.7, 0.4, 2.3} {
				factor := math.Pow(math.Abs(c), x.p)
				r.equal(x.d(scaled(c, x.w), scaled(c, x.v)), factor*x.d(x.w, x.v),
					factor*(x.psi.Value(x.w)+x.psi.Value(x.v)))
			}
		},
	},
	{
		Name:     "Divergence of unit vectors",
		Claim:    "D(u, w̃) = 1 − ⟨∇ψ(w̃), u⟩ for ‖u‖ₚ = ‖w̃‖ₚ = 1",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) {
			u, w := scaled(1/x.norm, x.w), scaled(1/x.sub.norm(x.v, x.p), x.v)
			r.equal(x.d(u, w), 1-dot(x.grad(w), u), 1)
		},
	},
	{
		Name:     "Lemma 19, law of cosines",
		Claim:    "D(w, w′) = D(w, w″) + D(w″, w′) − ⟨∇ψ(w′) − ∇ψ(w″), w − w″⟩",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) { // w′ = u, w″ = v
			zu, zv := x.grad(x.u), x.grad(x.v)
			inner := 0.0
			for j := range x.w {
				inner += (zu[j] - zv[j]) * (x.w[j] - x.v[j])
			}
			r.equal(x.d(x.w, x.u), x.d(x.w, x.v)+x.d(x.v, x.u)-inner,
				inner, x.psi.Value(x.w), x.psi.Value(x.u), x.psi.Value(x.v))
		},
	},
	{
		Name:     "Inverse mirror map",
		Claim:    "∇ψ*(∇ψ(w)) = w",
		Quantity: difference,
		Bound:    rounding,
		Check: func(x *points, r *tally) {
			z := x.grad(x.w)
			x.psi.Inverse(z, z)
			var worst float64
			for j := range z {
				worst = max(worst, math.Abs(z[j]-x.w[j]))
			}
			r.equal(worst, 0, 1)
		},
	},
}

// points are three random points in the geometry of p.
type points struct {
	sub     subject
	p       float64
	seed    int
	psi     mirror.Potential
	w, v, u []float64
	norm    float64 // ‖w‖ₚ
}

func newPoints(sub subject, p float64, seed int) *points {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6964))
	random := func() []float64 { // away from 0, where |w|^(p−1) would underflow
		x := make([]float64, 8)
		for j := range x {
			x[j] = math.Copysign(0.2+rng.Float64(), rng.NormFloat64())
		}
		return x
	}
	x := &points{sub: sub, p: p, seed: seed, psi: sub.potential(p), w: random(), v: random(), u: random()}
	x.norm = sub.norm(x.w, p)
	return x
}

// location names the case.
func (x *points) location() location {
	return location{fmt.Sprintf("p = %v, seed %d", x.p, x.seed), -1}
}

// d is D(a, b).
func (x *points) d(a, b []float64) float64 { return x.sub.divergence(x.psi, a, b) }

// grad is ∇ψ(w).
func (x *points) grad(w []float64) []float64 {
	z := make([]float64, len(w))
	x.psi.Mirror(z, w)
	return z
}

// identities checks identityStatements at random points.
func identities(sub subject, ps []float64, first uint64, seeds int) *statementGroup[*points] {
	g := &statementGroup[*points]{statements: identityStatements}
	for _, p := range ps {
		g.runs = append(g.runs, run[*points]{where{p: p}, func(_ context.Context, each func(*points)) error {
			for seed := range seeds {
				each(newPoints(sub, p, int(first)-1+seed))
			}
			return nil
		}})
	}
	return g
}
