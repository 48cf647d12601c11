package paper

import (
	"context"
	"math"

	"github.com/bregman-ml/bregman/mirror"
)

const oneStep = "largest relative excess of left over right"

// stepStatements are what the paper proves of single steps of p-GD and of sums of steps.
var stepStatements = []statement[*trajectory]{
	{
		Name: "Lemma 2, first form",
		Claim: "D(w, w_t) = D(w, w_{t+1}) + D_{ψ−ηL}(w_{t+1}, w_t) + ηD_L(w, w_t) − ηL(w) + " +
			"ηL(w_{t+1})",
		Slip:     "its proof writes w_{t−1} for w_{t+1}",
		Quantity: "largest relative difference",
		Bound:    1e-11,
		At:       sampledStep,
		Check: func(k *trajectory, r *tally) {
			eta, s := k.eta, k.sample
			r.equal(s.d, s.nextD+k.local+eta*(s.loss-k.loss-s.inner)-eta*s.loss+eta*k.nextLoss,
				s.nextD, eta*s.loss, eta*s.inner)
		},
	},
	{
		Name: "Lemma 2, second form",
		Claim: "D(w, w_t) = D(w, w_{t+1}) + D_{ψ−ηL}(w_{t+1}, w_t) − η⟨∇L(w_t), w − w_t⟩ − ηL(w_t) + " +
			"ηL(w_{t+1})",
		Quantity: "largest relative difference",
		Bound:    1e-11,
		At:       sampledStep,
		Check: func(k *trajectory, r *tally) {
			eta, s := k.eta, k.sample
			r.equal(s.d, s.nextD+k.local-eta*s.inner-eta*k.loss+eta*k.nextLoss,
				s.nextD, eta*s.inner, eta*k.loss)
		},
	},
	{
		Name:     "Argmin form of the update",
		Claim:    "w_{t+1} minimises D(w, w_t)/η + ⟨∇L(w_t), w⟩: no point nearby is better",
		Quantity: "largest relative excess over a neighbour",
		Bound:    1e-12,
		At:       sampledStep,
		Check: func(k *trajectory, r *tally) {
			for j := range k.next {
				// Only coordinate j of the objective changes. Compare that term alone: the others are much larger.
				value := func(v float64) float64 {
					return mirror.Divergence(k.psi, []float64{v}, k.w[j:j+1])/k.eta + k.grad[j]*(v-k.w[j])
				}
				here := value(k.next[j])
				size := max(math.Abs(k.next[j]), math.Abs(k.w[j]))
				for _, h := range []float64{1e-2, -1e-2} {
					r.atMost(here, value(k.next[j]+h*size), math.Abs(k.grad[j])*size)
				}
			}
		},
	},
	{
		Name:     "Lemma 3",
		Claim:    "L(w_{t+1}) ≤ L(w_t) if D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0",
		Quantity: oneStep,
		Bound:    1e-14,
		If:       convexStep,
		Check:    func(k *trajectory, r *tally) { r.atMost(k.nextLoss, k.loss) },
	},
	{
		Name:     "Inequality (5), the moving target",
		Claim:    "D(c_t·u, w_{t+1}) ≤ D(c_t·u, w_t) − ηL(w_{t+1}) + ηL(w_t) for c_t = (1+α)‖w_t‖, ‖w_t‖ > r_α",
		Quantity: oneStep,
		Bound:    1e-11,
		If:       func(k *trajectory) bool { return k.convex && k.far },
		Check: func(k *trajectory, r *tally) {
			r.atMost(k.target.after, k.target.before-k.eta*k.nextLoss+k.eta*k.loss)
		},
	},
	{
		Name: "Inequality (6), the summed moving target",
		Claim: "D(c_T·u, w_T) ≤ D(c_{t₀}·u, w_{t₀}) + ηL(w_{t₀}) − ηL(w_T) + ψ(c_T·u) − ψ(c_{t₀}·u) − " +
			"Σ⟨∇ψ(w_{t+1}), (c_{t+1} − c_t)u⟩",
		Slip:     "printed with −ηL(w_{t₀}) + ηL(w_T), the wrong signs",
		Quantity: oneStep,
		Bound:    1e-9,
		At:       afterConvexSteps,
		If:       func(k *trajectory) bool { return k.target.started },
		Check:    func(k *trajectory, r *tally) { r.atMost(k.target.left, k.target.right) },
	},
	{
		Name: "Growth of the cross term",
		Claim: "⟨∇ψ(w_T) − ∇ψ(w_{t₀}), u⟩ ≥ (‖w_T‖^(p−1) − ‖w_{t₀}‖^(p−1))/(1+α) + ηL(w_T) − " +
			"ηL(w_{t₀})",
		Quantity: oneStep,
		Bound:    1e-10,
		At:       afterConvexSteps,
		If:       func(k *trajectory) bool { return k.target.started },
		Check: func(k *trajectory, r *tally) {
			m := k.target
			grown := (math.Pow(k.nextNorm, k.p-1) - m.powerFrom) / (1 + alpha)
			r.atMost(grown+k.eta*(k.nextLoss-m.lossFrom), m.inner-m.innerFrom, m.inner)
		},
	},
	{
		Name:     "Lemma 18, lower bound on ⟨−η∇L(w_t), w_t⟩",
		Claim:    "(p−1)/p·(‖w_{t+1}‖ᵖ − ‖w_t‖ᵖ) + ηL(w_{t+1}) − ηL(w_t) ≤ ⟨−η∇L(w_t), w_t⟩",
		Quantity: oneStep,
		Bound:    1e-11,
		If:       convexStep,
		Check: func(k *trajectory, r *tally) {
			eta, f := k.eta, (k.p-1)/k.p
			now, next := math.Pow(k.norm, k.p), math.Pow(k.nextNorm, k.p)
			r.atMost(f*(next-now)+eta*(k.nextLoss-k.loss), -eta*dot(k.grad, k.w), f*next, f*now, eta*k.loss)
		},
	},
	{
		Name:     "Rate of the loss",
		Claim:    "L(w_t) − L(w) ≤ D(w, w_{t₀})/(η(t − t₀)), t₀ the first step from which on ψ − ηL is convex",
		Quantity: oneStep,
		Bound:    1e-12,
		At:       sampledStep,
		If:       sinceConvex,
		Check: func(k *trajectory, r *tally) {
			for _, c := range []float64{1, 5, 25} {
				w := scaled(c, k.u)
				r.atMost(k.nextLoss-k.lossAt(w), k.d(w, k.first.w)/(k.eta*k.since()))
			}
		},
	},
	{
		Name:     "Lemma 11, the reference vector",
		Claim:    "L((1+α)‖w‖u) ≤ L(w) for ‖w‖ > r_α = log n/(αγ̂)",
		Quantity: oneStep,
		Bound:    1e-12,
		If:       farStep,
		Check:    func(k *trajectory, r *tally) { r.atMost(k.lossAt(scaled((1+alpha)*k.norm, k.u)), k.loss) },
	},
	{
		Name:     "Corollary 12, the cross term",
		Claim:    "⟨∇L(w), w⟩ ≥ (1+α)‖w‖⟨∇L(w), u⟩ for ‖w‖ > r_α",
		Quantity: oneStep,
		Bound:    1e-12,
		If:       farStep,
		Check: func(k *trajectory, r *tally) {
			r.atMost((1+alpha)*k.norm*dot(k.grad, k.u), dot(k.grad, k.w))
		},
	},
	{
		Name: "Lemma 16, step to the upper bound",
		Claim: "D(w* log T, w_T) ≤ D(w* log T, w_{t₀}) + η(1/e + L(w_{t₀}) − L(w_T)), " +
			"w* of margin 1",
		Slip:     "its proof misses an η and takes a sum for the mean: n/e for η/e",
		Quantity: oneStep,
		Bound:    1e-11,
		At:       sampledStep,
		If:       func(k *trajectory) bool { return sinceConvex(k) && k.t+1 >= 2 },
		Check: func(k *trajectory, r *tally) {
			star := scaled(math.Log(float64(k.t+1))/k.margin, k.u)
			r.atMost(k.d(star, k.next), k.d(star, k.first.w)+k.eta*(1/math.E+k.first.loss-k.nextLoss))
		},
	},
	{
		Name: "Lemma 16, step to the lower bound",
		Claim: "e^(−m_t)/(2n) ≤ D(w*, w_{t₀})/(η(t − t₀)), w* = (1 + log(2n)/m_t)‖w_t‖u, " +
			"m_t > 0 the margin",
		Slip:     "printed with 2n/m_t for log(2n)/m_t",
		Quantity: oneStep,
		Bound:    1e-12,
		At:       sampledStep,
		If:       func(k *trajectory) bool { return sinceConvex(k) && k.sample.nextMargin > 0 },
		Check: func(k *trajectory, r *tally) {
			m := k.sample.nextMargin
			star := scaled((1+math.Log(2*k.n)/m)*k.nextNorm, k.u)
			r.atMost(math.Exp(-m)/(2*k.n), k.d(star, k.first.w)/(k.eta*k.since()))
		},
	},
	{
		Name:     "Margin and norm",
		Claim:    "m_t ≤ C‖w_t‖ₚ",
		Quantity: oneStep,
		Bound:    1e-13,
		At:       func(k *trajectory) bool { return k.sampled && k.sample.nextMargin > 0 },
		Check: func(k *trajectory, r *tally) {
			r.atMost(k.sample.nextMargin, k.c*k.sub.norm(k.next, k.p))
		},
	},
}

// Where statements are checked, and their conditions.
func sampledStep(k *trajectory) bool      { return k.sampled }
func convexStep(k *trajectory) bool       { return k.convex }
func farStep(k *trajectory) bool          { return k.far }
func sinceConvex(k *trajectory) bool      { return k.convex && k.since() >= 1 }
func afterConvexSteps(k *trajectory) bool { return k.sampled && sinceConvex(k) }

// steps checks stepStatements along the trajectories of all settings.
func steps(sub subject, sets []setting) *statementGroup[*trajectory] {
	g := &statementGroup[*trajectory]{statements: stepStatements, oneCase: true}
	for i, set := range sets {
		g.runs = append(g.runs, func(ctx context.Context, each func(*trajectory)) error {
			return follow(ctx, sub, set, uint64(i), each)
		})
	}
	return g
}
