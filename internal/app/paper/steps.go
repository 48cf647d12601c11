package paper

import (
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

const (
	oneStep = "largest relative excess of left over right"
	equals  = "largest relative difference"
)

// Which descents statements are about.
func exponential(w where) bool { return w.rule != "" && w.loss != polyTail.name }
func expLoss(w where) bool     { return w.loss == expTail.name }

// Where statements are checked, and their conditions.
func sampledStep(k *trajectory) bool { return k.sampled }
func convexStep(k *trajectory) bool  { return k.convex }
func sinceConvex(k *trajectory) bool { return k.convex && k.since() >= 1 }

// stepStatements are what the paper proves of single steps of p-GD.
var stepStatements = []statement[*trajectory]{
	{
		Name:     "Equation (MD), the update as an argmin",
		Claim:    "w_{t+1} minimises D(w, w_t)/η + ⟨∇L(w_t), w⟩: no point nearby is better",
		Quantity: "largest relative excess over a neighbour",
		Bound:    1e-12,
		At:       sampledStep,
		Check: func(k *trajectory, r *tally) {
			for j := range k.next {
				// Only coordinate j of the objective changes. Compare that term alone: the others are much larger. Its rounding
				// error is that of the terms of the gradient, which may cancel.
				value := func(v float64) float64 {
					return mirror.Divergence(k.psi, []float64{v}, k.w[j:j+1]) + k.s*k.grad[j]*(v-k.w[j])
				}
				here := value(k.next[j])
				size := max(math.Abs(k.next[j]), math.Abs(k.w[j]))
				for _, h := range []float64{0.5, -0.5, 1e-2, -1e-2, 1e-4, -1e-4} {
					r.atMost(here, value(k.next[j]+h*size), k.s*k.c*size, k.z[j]*size)
				}
			}
		},
	},
	{
		Name:     "Lemma 2, first form",
		Claim:    "D(w, w_t) = D(w, w_{t+1}) + D_{ψ−ηL}(w_{t+1}, w_t) + ηD_L(w, w_t) − ηL(w) + ηL(w_{t+1})",
		Slip:     "its proof writes w_{t−1} for w_{t+1}",
		Quantity: equals,
		Bound:    1e-10,
		At:       sampledStep,
		Check: func(k *trajectory, r *tally) {
			s, p := k.s, &k.sample
			r.equal(p.d, p.nextD+k.local+s*p.bregman-s*p.gain+s*k.ratio, p.nextD, s*p.gain, s*p.bregman, s)
		},
	},
	{
		Name:     "Lemma 2, second form",
		Claim:    "D(w, w_t) = D(w, w_{t+1}) + D_{ψ−ηL}(w_{t+1}, w_t) − η⟨∇L(w_t), w − w_t⟩ − ηL(w_t) + ηL(w_{t+1})",
		Quantity: equals,
		Bound:    1e-10,
		At:       sampledStep,
		Check: func(k *trajectory, r *tally) {
			s, p := k.s, &k.sample
			r.equal(p.d, p.nextD+k.local-s*p.inner-s+s*k.ratio, p.nextD, s*p.inner, s)
		},
	},
	{
		Name:     "Lemma 3, the loss never rises",
		Claim:    "L(w_{t+1}) ≤ L(w_t) if D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0 (Remark 5)",
		Quantity: oneStep,
		Bound:    1e-14,
		If:       convexStep,
		Check:    func(k *trajectory, r *tally) { r.atMost(k.ratio, 1) },
	},
	{
		Name:     "Lemma 18, lower bound on ⟨−η∇L(w_t), w_t⟩",
		Claim:    "(p−1)/p·(‖w_{t+1}‖ᵖ − ‖w_t‖ᵖ) + ηL(w_{t+1}) − ηL(w_t) ≤ ⟨−η∇L(w_t), w_t⟩",
		Quantity: oneStep,
		Bound:    1e-11,
		If:       convexStep,
		Check: func(k *trajectory, r *tally) {
			f := (k.degree - 1) / k.degree
			now, next := math.Pow(k.r, k.degree), math.Pow(k.nextR, k.degree)
			r.atMost(f*(next-now)-k.s*(1-k.ratio), -k.s*dot(k.grad, k.w), f*next, f*now, k.s)
		},
	},
	{
		AnyPoint: true,
		Name:     "Lemma 11, the reference vector, at the iterates",
		Claim:    "L((1+α)‖w_t‖u) ≤ L(w_t) for the least α that the proof allows, and for twice that",
		Quantity: "largest log L((1+α)‖w‖u) − log L(w)",
		Bound:    1e-10,
		At:       sampledStep,
		If:       func(k *trajectory) bool { return !math.IsInf(k.rho, 1) },
		Check: func(k *trajectory, r *tally) {
			for _, times := range []float64{1, 2} {
				r.record(k.logLoss(scaled(k.r+times*k.rho, k.u)) - k.log)
			}
		},
	},
	{
		AnyPoint: true,
		Name:     "Corollary 12, the cross term, at the iterates",
		Claim:    "⟨∇L(w_t), w_t⟩ ≥ (1+α)‖w_t‖⟨∇L(w_t), u⟩ for the same α",
		Quantity: oneStep,
		Bound:    1e-10,
		If:       func(k *trajectory) bool { return !math.IsInf(k.rho, 1) },
		Check: func(k *trajectory, r *tally) {
			for _, times := range []float64{1, 2} {
				r.atMost((k.r+times*k.rho)*dot(k.grad, k.u), dot(k.grad, k.w))
			}
		},
	},
	{
		Name:     "Inequality (5), the moving target",
		Claim:    "D(c_t·u, w_{t+1}) ≤ D(c_t·u, w_t) − ηL(w_{t+1}) + ηL(w_t) for c_t = (1+α)‖w_t‖, the same α",
		Quantity: oneStep,
		Bound:    1e-11,
		At:       func(k *trajectory) bool { return k.sampled || k.t < 1000 },
		If:       func(k *trajectory) bool { return k.convex && !math.IsInf(k.rho, 1) },
		Check: func(k *trajectory, r *tally) {
			for _, times := range []float64{1, 2} {
				c := scaled(k.r+times*k.rho, k.u)
				r.atMost(k.d(c, k.next), k.d(c, k.w)+k.s*(1-k.ratio))
			}
		},
	},
	{
		AnyPoint: true,
		Name:     "Margin and norm (proof of Lemma 16)",
		Claim:    "m_t ≤ C‖w_t‖ₚ and L(w_t) ≥ ℓ(m_t)/n, m_t the margin of w_t, C = max‖xᵢ‖_q",
		Quantity: oneStep,
		Bound:    1e-12,
		At:       func(k *trajectory) bool { return k.sampled && k.sample.nextMargin > 0 },
		Check: func(k *trajectory, r *tally) {
			m := k.sample.nextMargin
			r.atMost(m, k.c*k.sub.norm(k.next, k.p))
			r.atMost(k.tail.log(m)-math.Log(k.n), k.nextLog, 1)
		},
	},
}

// proofStatements are the rest of the main proof (Appendix B.3): sums of steps, up to the limit.
var proofStatements = []statement[*trajectory]{
	{
		Name:     "Cross term (Appendix B.3), first line",
		Claim:    "⟨∇ψ(w_T) − ∇ψ(w_{t₀}), u⟩ = −Ση⟨∇L(w_t), u⟩",
		Quantity: equals,
		Bound:    1e-9,
		At:       sampledStep,
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			r.equal(k.nextIn-k.first.inner, k.first.cross, k.nextIn, k.first.inner)
		},
	},
	{
		Name: "Inequality (6), the summed moving target",
		Claim: "D(c_T·u, w_T) ≤ D(c_{t₀}·u, w_{t₀}) + Ση(L(w_t) − L(w_{t+1})) + ψ(c_T·u) − ψ(c_{t₀}·u) − " +
			"Σ⟨∇ψ(w_{t+1}), (c_{t+1} − c_t)u⟩, α = 0.1, 0.5, 0.9",
		Slip: "printed with −ηL(w_{t₀}) + ηL(w_T), the wrong signs, and in the main text with L(w₁), ψ(c₁u) and a sum from " +
			"t = 1 for L(w₀), ψ(c₀u) and t = 0",
		Quantity: oneStep,
		Bound:    1e-9,
		At:       sampledStep,
		If:       farSince,
		Check: ofTargets(func(k *trajectory, m *movingTarget, alpha float64, r *tally) {
			c := (1 + alpha) * k.nextR
			r.atMost(k.d(scaled(c, k.u), k.next), m.from+m.fallen+k.value(c)-m.psiFrom-m.cross,
				k.value(c), m.psiFrom, m.cross)
		}),
	},
	{
		Name:     "Cross term (Appendix B.3), its growth",
		Claim:    "⟨∇ψ(w_T) − ∇ψ(w_{t₀}), u⟩ ≥ (‖w_T‖^(p−1) − ‖w_{t₀}‖^(p−1))/(1+α) + ηL(w_T) − ηL(w_{t₀})",
		Slip:     "with growing steps the last terms are summed, each divided by (1+α)‖w_t‖, as one line before in the proof",
		Quantity: oneStep,
		Bound:    1e-10,
		At:       sampledStep,
		If:       farSince,
		Check: ofTargets(func(k *trajectory, m *movingTarget, alpha float64, r *tally) {
			power := math.Pow(k.nextR, k.degree-1) / (1 + alpha)
			r.atMost(power+m.constant(k, alpha), k.nextIn)
		}),
	},
	{
		Name: "Cross term (Appendix B.3), telescoping",
		Claim: "Σ⟨∇ψ(w_{t+1}), (c_{t+1} − c_t)u⟩ ≥ (‖w_T‖ᵖ − ‖w_{t₀}‖ᵖ)/p + A(1+α)(‖w_T‖ − ‖w_{t₀}‖), A the constant of " +
			"the line before: the proof's (1/p)‖w_T‖ᵖ + O(‖w_T‖)",
		Slip: "it assumes that ‖w_t‖ never falls, and “multiply by ‖w_t‖ᵖ” in its last step is ‖w_{t−1}‖ᵖ. Checked as long " +
			"as the norm has not fallen",
		Quantity: oneStep,
		Bound:    1e-10,
		At:       sampledStep,
		If:       func(k *trajectory) bool { return farSince(k) && k.risingTarget() },
		Check: ofTargets(func(k *trajectory, m *movingTarget, alpha float64, r *tally) {
			if m.rising {
				r.atMost(m.telescoped(k, alpha), m.cross, k.value(k.nextR), k.value(m.rFrom))
			}
		}),
	},
	{
		Name: "Final limit (Appendix B.3)",
		Claim: "D(u, w_T/‖w_T‖) ≤ D₁/(c_T)ᵖ + ((1−ε)ᵖ − 1)/p + ε + 2d^(1/p)(1 − (1−ε)^(p−1)), 1−ε = 1/(1+α), D₁ the bound " +
			"on D(c_T·u, w_T) from (6) and the telescoping",
		Slip:     "printed with 1 − (1−ε)ᵖ in the last term: ∇ψ is homogeneous of degree p − 1",
		Quantity: oneStep,
		Bound:    1e-10,
		At:       sampledStep,
		If:       func(k *trajectory) bool { return farSince(k) && k.risingTarget() },
		Check: ofTargets(func(k *trajectory, m *movingTarget, alpha float64, r *tally) {
			if !m.rising {
				return
			}
			c, rest := (1+alpha)*k.nextR, 1/(1+alpha)
			bound := m.from + m.fallen + k.value(c) - m.psiFrom - m.telescoped(k, alpha)
			r.atMost(k.d(scaled(c, k.u), k.next), bound, k.value(c), m.psiFrom)
			dim := math.Pow(float64(len(k.u)), 1/k.p)
			r.atMost(k.sample.dist, bound/math.Pow(c, k.degree)+(math.Pow(rest, k.degree)-1)/k.degree+(1-rest)+
				2*dim*(1-math.Pow(rest, k.degree-1)), 1)
		}),
	},
	{
		Name:     "Cross-term limit (Appendix B.6)",
		Claim:    "D(u, w_T/‖w_T‖) ≤ α/(1+α) − A/‖w_T‖^(p−1), A the constant of the growth",
		Slip:     "“divide by ‖w_T‖” is ‖w_T‖^(p−1)",
		Quantity: oneStep,
		Bound:    1e-10,
		At:       sampledStep,
		If:       farSince,
		Check: ofTargets(func(k *trajectory, m *movingTarget, alpha float64, r *tally) {
			r.atMost(k.sample.dist, alpha/(1+alpha)-m.constant(k, alpha)/math.Pow(k.nextR, k.degree-1), 1)
		}),
	},
	limitStatement("Theorem 13, exponential loss", "", func(w where) bool { return expLoss(w) }),
	limitStatement("Theorem 13, other exponential tails (contribution 2: logistic loss)", "",
		func(w where) bool { return exponential(w) && !expLoss(w) }),
	limitStatement("Theorem 13, polynomial tail: the regularised direction (contribution 2)", "",
		func(w where) bool { return w.loss == polyTail.name }),
	limitStatement("Theorem 8 (Soudry et al.): gradient descent, logistic loss", "p = 2",
		func(w where) bool { return w.p == 2 && w.loss == logisticTail.name }),
	limitStatement("Theorem 9 (Ji et al.): gradient descent, polynomial tail", "p = 2",
		func(w where) bool { return w.p == 2 && w.loss == polyTail.name }),
}

// enough is how far a proved bound on the divergence has to be below its start to decide a limit: the descent has to
// come nearer by a quarter at least, or to 0.1, while its norm doubles.
const enough = 0.75

// limitStatement says that w_t/‖w_t‖ tends to u. What is checked is the bound that the paper's proof gives if α is not
// fixed but follows the norm, α_t = ρ/‖w_t‖: it tends to 0, like ‖w‖^(1−p) for p < 2, log‖w‖/‖w‖ for p = 2 and 1/‖w‖
// for p > 2.
func limitStatement(name, only string, runs func(where) bool) statement[*trajectory] {
	if only != "" {
		only = ", " + only
	}
	return statement[*trajectory]{
		Name: name,
		Claim: "w_t/‖w_t‖ₚ → u: D(u, w_T/‖w_T‖) ≤ 1 − (⟨∇ψ(w_{t₀}), u⟩ + Σ((p−1)/p·(‖w_{t+1}‖ᵖ − ‖w_t‖ᵖ) + ηL(w_{t+1}) − " +
			"ηL(w_t))/((1+α_t)‖w_t‖))/‖w_T‖^(p−1), which tends to 0" + only,
		Slip:     "the proof of the rate leaves α fixed and so ends at α/(1+α), not 0; with α_t = ρ/‖w_t‖ it ends at 0",
		Quantity: oneStep,
		Bound:    1e-10,
		Runs:     runs,
		At:       sampledStep,
		If:       func(k *trajectory) bool { return sinceConvex(k) && k.first.inside },
		Check: func(k *trajectory, r *tally) {
			bound := k.limitBound()
			r.atMost(k.sample.dist, bound, 1)
			if k.ended && (bound > max(enough*k.first.dist, 0.1) || k.nextR < 2*k.first.r) {
				r.undecide("in %d steps the norm goes from %.3g to %.3g and the proof's bound on D from %.2g to %.2g: it needs a "+
					"larger norm", k.length(), k.first.r, k.nextR, k.first.dist, bound)
			}
		},
	}
}

// limitBound is the bound of limitStatement at w_{t+1}.
func (k *trajectory) limitBound() float64 {
	return 1 - (k.first.inner+k.first.lower)/math.Pow(k.nextR, k.degree-1)
}

// telescoped is the lower bound on the cross sum.
func (m *movingTarget) telescoped(k *trajectory, alpha float64) float64 {
	return k.value(k.nextR) - k.value(m.rFrom) + m.constant(k, alpha)*(1+alpha)*(k.nextR-m.rFrom)
}

// farSince reports whether the norm is beyond r_α for one of the α, and steps have been convex since.
func farSince(k *trajectory) bool {
	for i := range k.targets {
		if k.targets[i].started {
			return true
		}
	}
	return false
}

// risingTarget reports whether the norm has never fallen since one of the targets started.
func (k *trajectory) risingTarget() bool {
	for i := range k.targets {
		if k.targets[i].started && k.targets[i].rising {
			return true
		}
	}
	return false
}

// ofTargets returns a check of every moving target that has started.
func ofTargets(check func(k *trajectory, m *movingTarget, alpha float64, r *tally)) func(*trajectory, *tally) {
	return func(k *trajectory, r *tally) {
		for i, alpha := range alphas {
			if k.targets[i].started {
				check(k, &k.targets[i], alpha, r)
			}
		}
	}
}
