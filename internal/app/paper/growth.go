package paper

import (
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

// growthStatements are about the loss, which tends to 0, and the norm, which grows like log t. Time is τ = Ση_t since
// t₀, which is η(t − t₀) for a constant step.
var growthStatements = []statement[*trajectory]{
	{
		Name:     "Lemma 4, the loss tends to 0",
		Claim:    "L(w_T) ≤ L(cu) + D(cu, w_{t₀})/τ for several c, τ = Ση_t, which tends to 0",
		Quantity: "largest log L(w_T) minus the logarithm of the bound",
		Bound:    1e-10,
		At:       sampledStep,
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			bound := k.lossBound()
			r.record(k.nextLog - bound)
			if k.ended && bound > k.first.loss-math.Log(10) {
				r.undecide("in %d steps the bound on the loss does not fall to a tenth: it needs a longer time", k.length())
			}
		},
	},
	{
		Name:     "Lemma 4, the norm tends to infinity, in ℓ₁, ℓ₂ and ℓ∞",
		Claim:    "‖w_T‖ ≥ ℓ⁻¹(n·B)/max‖xᵢ‖_* with the bound B on the loss of the line before, which tends to infinity",
		Quantity: oneStep,
		Bound:    1e-10,
		At:       sampledStep,
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			least := max(k.inverse(k.lossBound()+math.Log(k.n)), 0)
			for _, p := range []float64{1, 2, math.Inf(1)} {
				r.atMost(least/k.prob.RowNorm(mirror.Conjugate(p)), k.sub.norm(k.next, p))
			}
			if k.ended && !(least > 0) {
				r.undecide("in %d steps the bound on the norm is not positive yet: it needs a longer time", k.length())
			}
		},
	},
	{
		Name:     "Lemma 16, step to the upper bound",
		Claim:    "D(w* log τ/a, w_T) ≤ D(w* log τ/a, w_{t₀}) + b/e + Ση(L(w_t) − L(w_{t+1})), w* of margin 1",
		Slip:     "its proof misses an η and takes a sum for the mean: n/e for η/e",
		Quantity: oneStep,
		Bound:    1e-10,
		Runs:     exponential,
		At:       func(k *trajectory) bool { return k.sampled && k.first.logTau > 0 },
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			star := scaled(k.first.logTau/k.a/k.margin, k.u)
			r.atMost(k.d(star, k.next), k.d(star, k.first.w)+k.b/math.E+k.first.fallen, k.psi.Value(star))
		},
	},
	{
		Name: "Lemma 16, the upper bound",
		Claim: "‖w_T‖ ≤ r(τ), the root of (p−1)/p·rᵖ − λr^(p−1) = (p−1)/p·‖w_{t₀}‖ᵖ + λ‖w_{t₀}‖^(p−1) + b/e + Ση(L(w_t) − " +
			"L(w_{t+1})), λ = log τ/(aγ̂): r(τ)/log τ → p/((p−1)aγ̂)",
		Quantity: oneStep,
		Bound:    1e-10,
		Runs:     exponential,
		At:       func(k *trajectory) bool { return k.sampled && k.first.logTau > 0 },
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			bound := k.normBound()
			r.atMost(k.nextR, bound)
			stated := k.degree / (k.degree - 1) / k.margin / k.a * k.first.logTau
			if k.ended && bound > 2*stated {
				r.undecide("in %d steps log τ reaches %.3g, and the constants still outweigh it", k.length(), k.first.logTau)
			}
		},
	},
	{
		Name: "Lemma 16, step to the lower bound",
		Claim: "κb·e^(−am_T)/(2n) ≤ D(w*, w_{t₀})/τ, w* = (1 + log(2n/κ)/(am_T))‖w_T‖u, m_T > 0 the margin, " +
			"ℓ between κb·e^(−as) and b·e^(−as)",
		Slip:     "printed with 2n/m_t for log(2n)/m_t",
		Quantity: oneStep,
		Bound:    1e-10,
		Runs:     exponential,
		At:       func(k *trajectory) bool { return k.sampled && k.sample.nextMargin > 0 },
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			m := k.sample.nextMargin
			star := scaled(k.stretch(m)*k.nextR, k.u)
			r.record(math.Log(k.kappa*k.b/2/k.n) - k.a*m - math.Log(k.d(star, k.first.w)) + k.first.logTau)
		},
	},
	{
		Name: "Lemma 16, the lower bound",
		Claim: "‖w_T‖ ≥ (log τ − log(2n·D*/(κb)))/(aC), D* = ωᵖ/p + (p−1)/p·‖w_{t₀}‖ᵖ + ω‖w_{t₀}‖^(p−1) for " +
			"ω = (1 + log(2n/κ)/(am_T))·r(τ): log D* is p log log τ + O(1), the paper's bound",
		Quantity: oneStep,
		Bound:    1e-10,
		Runs:     exponential,
		At:       func(k *trajectory) bool { return k.sampled && k.first.logTau > 0 && k.sample.nextMargin > 0 },
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			omega, r0 := k.stretch(k.sample.nextMargin)*k.normBound(), k.first.r
			most := k.value(omega) + (k.degree-1)*k.value(r0) + omega*math.Pow(r0, k.degree-1)
			bound := (k.first.logTau - math.Log(2*k.n*most/k.kappa/k.b)) / k.a / k.c
			r.atMost(bound, k.nextR)
			if k.ended && !(bound > 0) {
				r.undecide("in %d steps log τ = %.3g: log τ − p log log τ and the constants are still below 0", k.length(),
					k.first.logTau)
			}
		},
	},
	{
		Name:     "rate of the loss (Lu et al.)",
		Claim:    "L(w_T) − L(w) ≤ D(w, w_{t₀})/τ for w = c·u",
		Quantity: "largest logarithm of left over right",
		Bound:    1e-10,
		Beyond:   true,
		At:       sampledStep,
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			for _, c := range []float64{0.8, 1, 1.2} {
				w := scaled(c*k.nextR, k.u)
				left := -math.Expm1(k.logLoss(w) - k.nextLog) // (L(w_T) − L(w))/L(w_T)
				if left <= 0 {
					r.record(-1)
					continue
				}
				r.record(math.Log(left) - math.Log(k.d(w, k.first.w)) + k.first.logTau + k.nextLog)
			}
		},
	},
}

// lossBound is the logarithm of the least of L(cu) + D(cu, w_{t₀})/τ over several c.
func (k *trajectory) lossBound() float64 {
	least := math.Inf(1)
	for _, c := range []float64{0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2} {
		w := scaled(c*k.nextR, k.u)
		least = min(least, addExp(k.logLoss(w), math.Log(k.d(w, k.first.w))-k.first.logTau))
	}
	return least
}

// stretch is 1 + log(2n/κ)/(am).
func (k *trajectory) stretch(m float64) float64 { return 1 + math.Log(2*k.n/k.kappa)/k.a/m }

// normBound is r(τ), the root of the upper bound of Lemma 16, by bisection.
func (k *trajectory) normBound() float64 {
	f, q, lambda, r0 := (k.degree-1)/k.degree, k.degree-1, k.first.logTau/k.a/k.margin, k.first.r
	right := f*math.Pow(r0, k.degree) + lambda*math.Pow(r0, q) + k.b/math.E + k.first.fallen
	left := func(r float64) float64 { return math.Pow(r, q) * (f*r - lambda) }
	low := lambda / f // left is negative below and rises from here on
	high := low + 1
	for left(high) < right {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; left(mid) < right {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
