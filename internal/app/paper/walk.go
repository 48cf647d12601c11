package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// walker follows a descent step by step and holds what the proofs speak of, measured with the true potential
// and the true mean exponential loss.
type walker struct {
	setting
	sub    subject
	psi    mirror.Potential
	u      []float64 // the max-margin direction, ‖u‖ₚ = 1
	margin float64   // γ̂ₚ
	c      float64   // max‖xᵢ‖_q
	n      float64   // examples

	t              int
	w, next        []float64 // w_t and w_{t+1}
	grad           []float64 // ∇L(w_t)
	loss, nextLoss float64
	norm, nextNorm float64
	convex         bool // D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0: what the lemmas assume
	since          int  // it has been so since this step
}

// alpha is the α of the proofs, in (0, 1).
const alpha = 0.9

// radius is an r_α for the exponential loss: beyond it L((1+α)‖w‖u) ≤ e^(−(1+α)‖w‖γ̂) ≤ e^(−‖w‖γ̂)/n ≤ L(w).
func (k *walker) radius() float64 { return math.Log(k.n) / (alpha * k.margin) }

func (k *walker) d(x, y []float64) float64 { return mirror.Divergence(k.psi, x, y) }

// at returns the loss and its gradient.
func (k *walker) at(w []float64) (loss float64, grad []float64) {
	n, d := k.prob.Dims()
	m, grad := make([]float64, n), make([]float64, d)
	k.prob.Margins(m, w)
	for i, v := range m {
		m[i] = -math.Exp(-v) / float64(n)
		loss -= m[i]
	}
	for i, y := range k.prob.Y {
		m[i] *= y
	}
	k.prob.X.AddMulT(grad, m)
	return loss, grad
}

// walk runs the subject's descent on a setting and calls each at every step.
func walk(ctx context.Context, sub subject, set setting, each func(*walker)) error {
	k := &walker{setting: set, sub: sub, psi: mirror.Power(set.p), c: set.prob.RowNorm(sub.conjugate(set.p))}
	n, _ := set.prob.Dims()
	k.n = float64(n)
	var err error
	if k.u, k.margin, err = sub.direction(set.prob, set.p); err != nil {
		return err
	}
	s, err := linear.Descent{Potential: sub.potential(set.p), Loss: sub.loss, Eta: set.eta}.Start(set.prob, set.w0)
	if err != nil {
		return err
	}
	k.next = slices.Clone(s.W)
	k.nextLoss, _ = k.at(k.next)
	k.nextNorm = mirror.Norm(k.next, k.p)
	for k.t = 0; k.t < set.steps; k.t++ {
		if k.t%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k.w, k.next = k.next, k.w
		k.loss, k.norm = k.nextLoss, k.nextNorm
		_, k.grad = k.at(k.w)
		s.Step()
		k.next = append(k.next[:0], s.W...)
		k.nextLoss, _ = k.at(k.next)
		k.nextNorm = mirror.Norm(k.next, k.p)
		if math.IsNaN(k.nextNorm) || math.IsInf(k.nextNorm, 0) {
			return fmt.Errorf("%v: the weights overflow at step %d", set, k.t)
		}
		if k.convex = k.local() >= -1e-15*k.eta*k.loss; !k.convex {
			k.since = k.t + 1
		}
		each(k)
	}
	return nil
}

// local is D_{ψ−ηL}(w_{t+1}, w_t).
func (k *walker) local() float64 {
	dl := k.nextLoss - k.loss
	for j, g := range k.grad {
		dl -= g * (k.next[j] - k.w[j])
	}
	return k.d(k.next, k.w) - k.eta*dl
}

// cases are the cases of the checks along a run: the plane and R¹⁰⁰, every seed, every p.
func cases(ps []float64, seeds int, plane, sparse int) []setting {
	var out []setting
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		for _, p := range ps {
			out = append(out,
				setting{fmt.Sprintf("R², seed %d", seed), problemR2(seed), start(seed, streamStart2, 2, 1), p, 1e-2, plane},
				setting{fmt.Sprintf("R¹⁰⁰, seed %d", seed), problemR100(seed), start(seed, streamStart100, 100, 0.1), p, 1e-2, sparse})
		}
	}
	return out
}

// alongRun checks what the paper proves of single steps and of sums of steps.
type alongRun struct {
	first, second, argmin                             *check
	decreasing, target, sum, growth, crossTerm, rate  *check
	reference, corollary, normUpper, normLower, norms *check
	telescope                                         telescope
	rng                                               *rand.Rand
	restart                                           []float64 // w at the step `since`
	restartAt                                         int
	restartLoss                                       float64
}

const oneStep = "largest relative excess of left over right"

func newAlongRun(seed uint64) *alongRun {
	return &alongRun{
		first: newCheck("Lemma 2, first form", "D(w, w_t) = D(w, w_{t+1}) + D_{ψ−ηL}(w_{t+1}, w_t) + ηD_L(w, w_t) − ηL(w) + ηL(w_{t+1})",
			"its proof writes w_{t−1} for w_{t+1}", "largest relative difference", 1e-11),
		second: newCheck("Lemma 2, second form", "D(w, w_t) = D(w, w_{t+1}) + D_{ψ−ηL}(w_{t+1}, w_t) − η⟨∇L(w_t), w − w_t⟩ − ηL(w_t) + ηL(w_{t+1})",
			"", "largest relative difference", 1e-11),
		argmin: newCheck("Argmin form of the update", "w_{t+1} minimises D(w, w_t)/η + ⟨∇L(w_t), w⟩: no point nearby is better", "",
			"largest relative excess over a neighbour", 1e-12),
		decreasing: newCheck("Lemma 3", "L(w_{t+1}) ≤ L(w_t) if D_{ψ−ηL}(w_{t+1}, w_t) ≥ 0", "", oneStep, 1e-14),
		target:     newCheck("Inequality (5), the moving target", "D(c_t·u, w_{t+1}) ≤ D(c_t·u, w_t) − ηL(w_{t+1}) + ηL(w_t) for c_t = (1+α)‖w_t‖, ‖w_t‖ > r_α", "", oneStep, 1e-11),
		sum: newCheck("Inequality (6), the summed moving target", "D(c_T·u, w_T) ≤ D(c_{t₀}·u, w_{t₀}) + ηL(w_{t₀}) − ηL(w_T) + ψ(c_T·u) − ψ(c_{t₀}·u) − Σ⟨∇ψ(w_{t+1}), (c_{t+1} − c_t)u⟩",
			"printed with −ηL(w_{t₀}) + ηL(w_T), the wrong signs", oneStep, 1e-9),
		growth:    newCheck("Growth of the cross term", "⟨∇ψ(w_T) − ∇ψ(w_{t₀}), u⟩ ≥ (‖w_T‖^(p−1) − ‖w_{t₀}‖^(p−1))/(1+α) + ηL(w_T) − ηL(w_{t₀})", "", oneStep, 1e-10),
		crossTerm: newCheck("Lemma 18, lower bound on ⟨−η∇L(w_t), w_t⟩", "(p−1)/p·(‖w_{t+1}‖ᵖ − ‖w_t‖ᵖ) + ηL(w_{t+1}) − ηL(w_t) ≤ ⟨−η∇L(w_t), w_t⟩", "", oneStep, 1e-11),
		rate:      newCheck("Rate of the loss", "L(w_t) − L(w) ≤ D(w, w_{t₀})/(η(t − t₀)), t₀ the first step from which on ψ − ηL is convex", "", oneStep, 1e-12),
		reference: newCheck("Lemma 11, the reference vector", "L((1+α)‖w‖u) ≤ L(w) for ‖w‖ > r_α = log n/(αγ̂)", "", oneStep, 1e-12),
		corollary: newCheck("Corollary 12, the cross term", "⟨∇L(w), w⟩ ≥ (1+α)‖w‖⟨∇L(w), u⟩ for ‖w‖ > r_α", "", oneStep, 1e-12),
		normUpper: newCheck("Lemma 16, step to the upper bound", "D(w* log T, w_T) ≤ D(w* log T, w_{t₀}) + η(1/e + L(w_{t₀}) − L(w_T)), w* of margin 1",
			"its proof misses an η and takes a sum for the mean: n/e for η/e", oneStep, 1e-11),
		normLower: newCheck("Lemma 16, step to the lower bound", "e^(−m_t)/(2n) ≤ D(w*, w_{t₀})/(η(t − t₀)), w* = (1 + log(2n)/m_t)‖w_t‖u, m_t > 0 the margin",
			"printed with 2n/m_t for log(2n)/m_t", oneStep, 1e-12),
		norms: newCheck("Margin and norm", "m_t ≤ C‖w_t‖ₚ", "", oneStep, 1e-13),
		rng:   rand.New(rand.NewPCG(seed, 0x77616c6b)),
	}
}

func (a *alongRun) all() []*check {
	return []*check{a.first, a.second, a.argmin, a.decreasing, a.target, a.sum, a.growth, a.crossTerm, a.rate, a.reference, a.corollary, a.normUpper, a.normLower, a.norms}
}

// under counts a conditional step and says whether to check it.
func (c *check) under(held bool) bool {
	c.steps++
	if held {
		c.held++
	}
	return held
}

// step sees one step of the walk.
func (a *alongRun) step(k *walker) {
	where := func() string { return fmt.Sprintf("%v, step %d", k.setting, k.t) }
	see := func(c *check, left, right float64, terms ...float64) {
		if e := excess(left, right, terms...); e > c.worst || math.IsNaN(e) {
			c.see(e, where())
		}
	}
	if k.t == 0 || k.since == k.t+1 {
		// sums start again after a step that breaks the condition
		a.restart, a.restartAt, a.restartLoss = slices.Clone(k.next), k.t+1, k.nextLoss
		if k.t == 0 && k.convex {
			a.restart, a.restartAt, a.restartLoss = slices.Clone(k.w), 0, k.loss
		}
		a.telescope = telescope{}
	}
	far := k.norm > max(1, k.radius())
	if a.decreasing.under(k.convex) {
		see(a.decreasing, k.nextLoss, k.loss)
	}
	if a.crossTerm.under(k.convex) {
		f := (k.p - 1) / k.p
		np, nn := math.Pow(k.norm, k.p), math.Pow(k.nextNorm, k.p)
		see(a.crossTerm, f*(nn-np)+k.eta*(k.nextLoss-k.loss), -k.eta*dot(k.grad, k.w), f*nn, f*np, k.eta*k.loss)
	}
	if a.target.under(k.convex && far) {
		cu := scaled((1+alpha)*k.norm, k.u)
		before, after := k.d(cu, k.w), k.d(cu, k.next)
		see(a.target, after, before-k.eta*k.nextLoss+k.eta*k.loss)
		a.telescope.add(k, before)
	} else {
		a.telescope = telescope{}
	}
	if a.corollary.under(far) {
		see(a.corollary, (1+alpha)*k.norm*dot(k.grad, k.u), dot(k.grad, k.w))
		l, _ := k.at(scaled((1+alpha)*k.norm, k.u))
		see(a.reference, l, k.loss)
	}
	a.reference.under(far)
	if k.t < 200 || k.t%97 == 0 {
		a.sampled(k, see)
	}
}

// sampled sees the steps whose checks cost more, and the sums up to them.
func (a *alongRun) sampled(k *walker, see func(c *check, left, right float64, terms ...float64)) {
	any := make([]float64, len(k.w)) // any w will do for Lemma 2
	for j := range any {
		any[j] = a.rng.NormFloat64()
	}
	l, _ := k.at(any)
	inner := 0.0
	for j, g := range k.grad {
		inner += g * (any[j] - k.w[j])
	}
	left, ahead, local := k.d(any, k.w), k.d(any, k.next), k.local()
	first := ahead + local + k.eta*(l-k.loss-inner) - k.eta*l + k.eta*k.nextLoss
	second := ahead + local - k.eta*inner - k.eta*k.loss + k.eta*k.nextLoss
	a.first.see(math.Abs(excess(left, first, ahead, k.eta*l, k.eta*inner)), fmt.Sprintf("%v, step %d", k.setting, k.t))
	a.second.see(math.Abs(excess(left, second, ahead, k.eta*inner, k.eta*k.loss)), fmt.Sprintf("%v, step %d", k.setting, k.t))
	a.argminForm(k, see)

	m, _ := k.prob.Margin(k.next)
	if m > 0 {
		see(a.norms, m, k.c*k.sub.norm(k.next, k.p))
	}
	t := k.t + 1 // all that follows is about w_t = next
	steps := float64(t - a.restartAt)
	if !a.rate.under(k.convex && steps >= 1) {
		a.normUpper.under(false)
		a.normLower.under(false)
		return
	}
	for _, c := range []float64{1, 5, 25} {
		w := scaled(c, k.u)
		lw, _ := k.at(w)
		see(a.rate, k.nextLoss-lw, k.d(w, a.restart)/(k.eta*steps))
	}
	if a.normUpper.under(t >= 2) {
		star := scaled(math.Log(float64(t))/k.margin, k.u)
		see(a.normUpper, k.d(star, k.next), k.d(star, a.restart)+k.eta*(1/math.E+a.restartLoss-k.nextLoss))
	}
	if a.normLower.under(m > 0) {
		star := scaled((1+math.Log(2*k.n)/m)*k.nextNorm, k.u)
		see(a.normLower, math.Exp(-m)/(2*k.n), k.d(star, a.restart)/(k.eta*steps))
	}
	if tel := a.telescope; a.sum.under(tel.started) {
		see(a.sum, tel.left, tel.right)
		see(a.growth, (math.Pow(k.nextNorm, k.p-1)-tel.normFrom)/(1+alpha)+k.eta*(k.nextLoss-tel.lossFrom), tel.inner-tel.innerFrom, tel.inner)
		a.growth.under(true)
	} else {
		a.growth.under(false)
	}
}

// argminForm compares the objective of the argmin at w_{t+1} with its values on both sides in each coordinate.
func (a *alongRun) argminForm(k *walker, see func(c *check, left, right float64, terms ...float64)) {
	for j := range k.next {
		// Only coordinate j of the objective changes: compare that term alone, or the others drown it.
		value := func(v float64) float64 {
			return mirror.Divergence(k.psi, []float64{v}, k.w[j:j+1])/k.eta + k.grad[j]*(v-k.w[j])
		}
		at := value(k.next[j])
		size := max(math.Abs(k.next[j]), math.Abs(k.w[j]))
		for _, h := range []float64{1e-2, -1e-2} {
			see(a.argmin, at, value(k.next[j]+h*size), math.Abs(k.grad[j])*size)
		}
	}
}

// telescope sums the moving target from t₀ on.
type telescope struct {
	started                    bool
	left, right                float64
	from, lossFrom, psiFrom    float64
	cross                      float64
	inner, innerFrom, normFrom float64 // ⟨∇ψ(w), u⟩ now and at t₀, ‖w_{t₀}‖^(p−1)
}

func (s *telescope) add(k *walker, before float64) {
	c, next := (1+alpha)*k.norm, (1+alpha)*k.nextNorm
	psi := func(c float64) float64 { return math.Pow(c, k.p) / k.p } // ψ(cu), ‖u‖ₚ = 1
	if !s.started {
		*s = telescope{started: true, from: before, lossFrom: k.loss, psiFrom: psi(c)}
	}
	z := make([]float64, len(k.next))
	if s.innerFrom == 0 {
		k.psi.Mirror(z, k.w)
		s.innerFrom, s.normFrom = dot(z, k.u), math.Pow(k.norm, k.p-1)
	}
	k.psi.Mirror(z, k.next)
	s.inner = dot(z, k.u)
	s.cross += (next - c) * s.inner
	s.left = k.d(scaled(next, k.u), k.next)
	s.right = s.from + k.eta*(s.lossFrom-k.nextLoss) + psi(next) - s.psiFrom - s.cross
}
