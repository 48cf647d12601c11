package paper

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bregman-ml/bregman/mirror"
)

// rounding is the bound on identities: the powers are good to 1e-14, and a sum of a few dozen terms of both
// signs may lose another digit or two.
const rounding = 1e-12

// identities checks what holds for ψ = (1/p)‖·‖ₚᵖ at any points, over random ones.
func identities(sub subject, ps []float64, seeds int) []Finding {
	checks := map[string]*check{}
	var order []*check
	get := func(name, claim, quantity string) *check {
		c, ok := checks[name]
		if !ok {
			c = newCheck(name, claim, "", quantity, rounding)
			checks[name] = c
			order = append(order, c)
		}
		return c
	}
	for _, p := range ps {
		psi, q := sub.potential(p), sub.conjugate(p)
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(uint64(seed), 0x6964))
			where := fmt.Sprintf("p = %v, seed %d", p, seed)
			random := func() []float64 { // away from 0, where |w|^(p−1) would underflow
				x := make([]float64, 8)
				for j := range x {
					x[j] = math.Copysign(0.2+rng.Float64(), rng.NormFloat64())
				}
				return x
			}
			grad := func(w []float64) []float64 {
				z := make([]float64, len(w))
				psi.Mirror(z, w)
				return z
			}
			see := func(name, claim string, left, right float64, terms ...float64) {
				c := get(name, claim, "relative difference")
				c.Cases++
				c.see(math.Abs(excess(left, right, terms...)), where)
			}
			w, v, u := random(), random(), random()
			d := func(x, y []float64) float64 { return sub.divergence(psi, x, y) }
			n := sub.norm(w, p)
			see("Equation (4a), Euler's identity", "⟨∇ψ(w), w⟩ = ‖w‖ₚᵖ", dot(grad(w), w), math.Pow(n, p))
			see("Dual norm of the mirror map", "‖∇ψ(w)‖_q = ‖w‖ₚ^(p−1)", sub.norm(grad(w), q), math.Pow(n, p-1))
			see("Definition 1, Bregman divergence", "D(w, w′) = ψ(w) − ψ(w′) − ⟨∇ψ(w′), w − w′⟩", d(w, v), psi.Value(w)-psi.Value(v)-dot(grad(v), w)+dot(grad(v), v),
				psi.Value(w), psi.Value(v), dot(grad(v), v))
			see("Divergence from 0", "D(0, w) = (p−1)/p·‖w‖ₚᵖ", d(make([]float64, len(w)), w), (p-1)/p*math.Pow(n, p))
			for _, c := range []float64{-1.7, 0.4, 2.3} {
				see("Equation (4b), homogeneity", "D(cw, cw′) = |c|ᵖ·D(w, w′)", d(scaled(c, w), scaled(c, v)), math.Pow(math.Abs(c), p)*d(w, v),
					math.Pow(math.Abs(c), p)*(psi.Value(w)+psi.Value(v)))
			}
			unit, other := scaled(1/n, w), scaled(1/sub.norm(v, p), v)
			see("Divergence of unit vectors", "D(u, w̃) = 1 − ⟨∇ψ(w̃), u⟩ for ‖u‖ₚ = ‖w̃‖ₚ = 1", d(unit, other), 1-dot(grad(other), unit), 1)
			gw, gv := grad(v), grad(u) // D(w, u) through v
			inner := 0.0
			for j := range w {
				inner += (gv[j] - gw[j]) * (w[j] - v[j])
			}
			see("Lemma 19, law of cosines", "D(w, w′) = D(w, w″) + D(w″, w′) − ⟨∇ψ(w′) − ∇ψ(w″), w − w″⟩", d(w, u), d(w, v)+d(v, u)-inner,
				inner, psi.Value(w), psi.Value(u), psi.Value(v))
			see("Inverse mirror map", "∇ψ*(∇ψ(w)) = w", mirrorRoundTrip(psi, w), 0, 1)
		}
		scalarInequalities(sub, p, get)
	}
	var out []Finding
	for _, c := range order {
		out = append(out, c.done())
	}
	return out
}

func mirrorRoundTrip(psi mirror.Potential, w []float64) float64 {
	z := make([]float64, len(w))
	psi.Mirror(z, w)
	psi.Inverse(z, z)
	var worst float64
	for j := range w {
		worst = max(worst, math.Abs(z[j]-w[j]))
	}
	return worst
}

// scalarInequalities are the two inequalities in δ of the appendix, on a grid; where δ = 0 both are equalities.
func scalarInequalities(sub subject, p float64, get func(name, claim, quantity string) *check) {
	for k := range 400 {
		delta := -1 + math.Pow(10, -4+float64(k)/50) // from −0.9999 to 10⁴
		if p > 6 && delta > 100 {
			continue // (1+δ)ᵖ needs no more
		}
		where := fmt.Sprintf("p = %v, δ = %.3g", p, delta)
		up, up1 := sub.powers(p, 1+delta)
		c := get("Scalar inequality I", "(p−1)/p·((1+δ)ᵖ − 1) ≥ (1+δ)^(p−1) − 1 for δ ≥ −1, on a grid of δ", "largest relative excess")
		c.Cases++
		c.see(excess(up1-1, (p-1)/p*(up-1), up, 1), where)
		c = get("Scalar inequality II", "((1+δ)ᵖ − 1)/p ≤ δ(1+δ)^(p−1) for δ ≥ −1, on a grid of δ", "largest relative excess")
		c.Cases++
		c.see(excess((up-1)/p, delta*up1, up, 1), where)
	}
}
