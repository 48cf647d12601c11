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

// stepRule is how a descent chooses its step sizes η_t.
type stepRule string

const (
	// equalSteps is the paper's: one η, the one that FindStep finds.
	equalSteps stepRule = "constant step"
	// growingSteps takes η_t as large as the condition of the lemmas allows, D_{ψ−η_tL}(w_{t+1}, w_t) ≥ ½D_ψ. The paper's
	// proofs never use that η is the same at every step. What a constant step reaches after e⁵⁰⁰⁰ steps, these reach
	// after some ten thousand: with t·η replaced by Ση_t, every bound of the paper holds, and here the bounds are sharp.
	growingSteps stepRule = "growing steps"
)

// The length of descents. Statements that cost more are checked at sampled steps.
const (
	constantR2   = 60_000
	constantR100 = 4_000
	growingR2    = 12_000
	growingR100  = 4_000

	// polyFar is the margin at which a descent with a polynomial tail ends. There the norm grows by a factor at each step.
	polyFar = 1e5
)

// alphas are the α of the proofs, in (0, 1).
var alphas = []float64{0.1, 0.5, 0.9}

// geometry is a potential ψ = (1/k)‖·‖ᵏ. For p-GD the norm is the p-norm and k = p.
type geometry struct {
	psi    mirror.Potential
	degree float64 // k
	norm   func(w []float64) float64
}

func powerGeometry(p float64) geometry {
	return geometry{mirror.Power(p), p, func(w []float64) float64 { return mirror.Norm(w, p) }}
}

// d is the divergence.
func (g geometry) d(x, y []float64) float64 { return mirror.Divergence(g.psi, x, y) }

// value is ψ of a vector of norm r.
func (g geometry) value(r float64) float64 { return math.Pow(r, g.degree) / g.degree }

// descentOf is what is checked along a descent: the problem, the geometry, the loss and the rule of the steps.
type descentOf struct {
	setting
	geometry
	loss tail
	rule stepRule
	// step is the descent's potential, and direction the limit, ‖u‖ = 1, with its margin.
	step      func() mirror.Potential
	direction func() (u []float64, margin float64, err error)
	shorter   int // the number of steps is divided by this; 0: 1
}

// String names the case.
func (d descentOf) String() string { return fmt.Sprintf("%v, %s, %s", d.setting, d.loss.name, d.rule) }

// trajectory is a descent at one of its steps, with the quantities of the proofs. They are computed once, for all
// statements, with the true potential and the true mean loss. Losses are in logarithms, and what the proofs multiply by
// η is relative to L(w_t): with s = η_tL(w_t), for example, η_t∇L(w_t) = s·grad.
type trajectory struct {
	descentOf
	landscape
	sub    subject
	called string  // the name of the case
	eta    float64 // a constant step

	t              int
	w, next        []float64 // w_t and w_{t+1}
	z, nextZ       []float64 // ∇ψ of them
	grad, nextGrad []float64 // ∇L/L at them
	log, nextLog   float64   // log L at them
	ratio          float64   // L(w_{t+1})/L(w_t)
	s              float64   // η_tL(w_t)
	r, nextR       float64   // their norms
	inner, nextIn  float64   // ⟨∇ψ(·), u⟩ of them
	local          float64   // D_{ψ−ηL}(w_{t+1}, w_t)
	convex         bool      // local ≥ 0, up to rounding: what the lemmas assume
	rho            float64   // the least (1+α)‖w_t‖ − ‖w_t‖ for which Lemma 11 is proved here; +Inf: none
	sampled, ended bool      // a step at which all statements are checked; the last one

	first   anchor
	targets []movingTarget // one for each of alphas
	sample  sample         // if sampled
	history []ratePoint
}

// anchor is a step t₀ from which sums of steps start: since then ψ − ηL has been convex at every step.
type anchor struct {
	t                    int
	w                    []float64
	loss, r, inner, dist float64 // log L, norm, ⟨∇ψ, u⟩ and D(u, w/‖w‖) at w
	// Sums from t₀ on.
	logTau float64 // log Ση_t
	fallen float64 // Ση_t(L(w_t) − L(w_{t+1}))
	cross  float64 // −Ση_t⟨∇L(w_t), u⟩
	lower  float64 // what the proof of Theorem 13 has as a lower bound on cross
	inside bool    // rho has always been finite
}

// sample is what only sampled steps have.
type sample struct {
	rng        *rand.Rand
	w          []float64 // a random point
	gain       float64   // L(w)/L(w_t)
	bregman    float64   // D_L(w, w_t)/L(w_t), from the margins
	inner      float64   // ⟨grad, w − w_t⟩
	d, nextD   float64   // D(w, w_t) and D(w, w_{t+1})
	nextMargin float64   // of w_{t+1}
	dist       float64   // D(u, w_{t+1}/‖w_{t+1}‖)
}

// ratePoint is how near the limit is at some norm.
type ratePoint struct{ r, logTau, dist float64 }

// location names the case and the step.
func (k *trajectory) location() location { return location{k.called, k.t} }

// follow runs the subject's descent and calls each at every step.
func follow(ctx context.Context, sub subject, of descentOf, each func(*trajectory)) error {
	u, margin, err := of.direction()
	if err != nil {
		return err
	}
	k := &trajectory{descentOf: of, landscape: newLandscape(sub, of.setting, of.loss, u, margin), sub: sub,
		called:  of.String(),
		targets: make([]movingTarget, len(alphas))}
	d := len(u)
	for _, v := range []*[]float64{&k.w, &k.next, &k.z, &k.nextZ, &k.grad, &k.nextGrad} {
		*v = make([]float64, d)
	}
	k.sample.rng = rand.New(rand.NewPCG(uint64(d), 0x77616c6b))
	state, err := k.start(ctx)
	if err != nil {
		return fmt.Errorf("%v: %w", of, err)
	}
	size := 1e-3 // of the step that grows
	k.arrive(state.W)
	steps := of.length()
	for k.t = 0; k.t < steps; k.t++ {
		if k.t%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k.leave()
		if k.s = k.eta * math.Exp(k.log); of.rule == growingSteps {
			k.s = size
			k.grow()
			size = k.s
		}
		if of.rule == growingSteps {
			state.SetEta(k.s)
		}
		state.Step()
		k.arrive(state.W)
		if math.IsNaN(k.nextR) || math.IsInf(k.nextR, 0) {
			return fmt.Errorf("%v: the weights overflow at step %d", of, k.t)
		}
		k.ended = k.t == steps-1 || !of.loss.exponential() && k.margin*k.nextR > polyFar
		k.measure()
		if each(k); k.ended {
			break
		}
	}
	return nil
}

// length is the number of steps.
func (d descentOf) length() int {
	steps := constantR100
	switch {
	case d.rule == growingSteps && d.plane():
		steps = growingR2
	case d.rule == growingSteps:
		steps = growingR100
	case d.plane():
		steps = constantR2
	}
	return steps / max(d.shorter, 1)
}

// start returns the subject's descent at w₀. The constant step is found with the true algorithm.
func (k *trajectory) start(ctx context.Context) (*linear.State, error) {
	descent := linear.Descent{Potential: k.step(), Loss: k.sub.loss(k.tail.loss), Normalized: k.rule == growingSteps,
		Eta: 1}
	var err error
	if k.eta, err = (linear.Descent{Potential: k.psi, Loss: k.tail.loss}).FindStep(ctx, k.prob, k.w0); err != nil {
		return nil, err
	}
	if k.rule == equalSteps {
		descent.Eta = k.eta
	}
	return descent.Start(k.prob, k.w0)
}

// leave makes w_{t+1} the point that the next step starts from.
func (k *trajectory) leave() {
	k.w, k.next = k.next, k.w
	k.z, k.nextZ = k.nextZ, k.z
	k.grad, k.nextGrad = k.nextGrad, k.grad
	k.log, k.r, k.inner = k.nextLog, k.nextR, k.nextIn
}

// arrive sets w_{t+1}.
func (k *trajectory) arrive(w []float64) {
	copy(k.next, w)
	k.psi.Mirror(k.nextZ, k.next)
	k.nextLog = k.at(k.nextGrad, k.next)
	k.nextR = k.norm(k.next)
	k.nextIn = dot(k.nextZ, k.u)
}

// grow sets s for the next step. It tries a step half as large again as the last one. ψ − ηL has to be convex at w_t:
// for separable ψ, η·Σⱼ∂ⱼ²L/∂ⱼ²ψ ≤ ½ suffices. And the condition of the lemmas has to hold with room to spare. If a
// weight passes 0, where ψ″ vanishes for p > 2, only the latter is asked for. It gives up after 80 halvings.
func (k *trajectory) grow() {
	k.s *= 1.5
	if local := k.localStep(); local > k.s/100 {
		k.s = min(k.s, local)
	}
	for range 80 {
		for j := range k.nextZ {
			k.nextZ[j] = k.z[j] - k.s*k.grad[j]
		}
		k.psi.Inverse(k.next, k.nextZ)
		ratio := math.Exp(k.logLoss(k.next) - k.log)
		if d := k.d(k.next, k.w); d/2 >= k.s*k.lossDivergence(ratio) {
			return
		}
		k.s /= 2
	}
}

// localStep is the s at which ψ − ηL is convex at w_t for sure; +Inf for a potential that is not (1/p)‖·‖ₚᵖ.
func (k *trajectory) localStep() float64 {
	if k.degree != k.p {
		return math.Inf(1)
	}
	k.logLoss(k.w)
	clear(k.nextGrad)
	k.curvature(k.nextGrad)
	var sum float64
	for j, h := range k.nextGrad {
		sum += h / ((k.p - 1) * math.Pow(math.Abs(k.w[j]), k.p-2))
	}
	return 0.5 / sum
}

// lossDivergence is D_L(w_{t+1}, w_t)/L(w_t).
func (k *trajectory) lossDivergence(ratio float64) float64 {
	dl := ratio - 1
	for j, g := range k.grad {
		dl -= g * (k.next[j] - k.w[j])
	}
	return dl
}

// measure computes what statements share.
func (k *trajectory) measure() {
	k.ratio = math.Exp(k.nextLog - k.log)
	k.local = k.d(k.next, k.w) - k.s*k.lossDivergence(k.ratio)
	k.convex = k.local >= -1e-15*k.s
	k.rho = k.reference(k.r)
	if k.t == 0 {
		k.first = k.anchorAt(0, k.w, k.log, k.r, k.inner)
	}
	if k.convex {
		k.first.add(k)
	} else { // sums start again after a step that breaks the condition
		k.first = k.anchorAt(k.t+1, k.next, k.nextLog, k.nextR, k.nextIn)
	}
	for i, alpha := range alphas {
		k.targets[i].add(k, alpha)
	}
	if k.sampled = k.t < 100 || k.t%97 == 0 || k.ended; k.sampled {
		k.sample.draw(k)
	}
	if last := len(k.history) - 1; last < 0 || k.nextR > 1.1*k.history[last].r || k.ended {
		k.history = append(k.history, ratePoint{k.nextR, k.first.logTau, k.distance(k.next, k.nextR)})
	}
}

// distance is D(u, w/‖w‖).
func (k *trajectory) distance(w []float64, r float64) float64 { return k.d(k.u, scaled(1/r, w)) }

func (k *trajectory) anchorAt(t int, w []float64, loss, r, inner float64) anchor {
	return anchor{t: t, w: slices.Clone(w), loss: loss, r: r, inner: inner, dist: k.distance(w, r),
		logTau: math.Inf(-1), inside: true}
}

// add adds step t, which is convex, to the sums.
func (a *anchor) add(k *trajectory) {
	a.logTau = addExp(a.logTau, math.Log(k.s)-k.log)
	a.fallen += k.s * (1 - k.ratio)
	a.cross -= k.s * dot(k.grad, k.u)
	a.inside = a.inside && !math.IsInf(k.rho, 1)
	f := (k.degree - 1) / k.degree
	a.lower += (f*(math.Pow(k.nextR, k.degree)-math.Pow(k.r, k.degree)) - k.s*(1-k.ratio)) / (k.r + k.rho)
}

// since is t + 1 − t₀, the number of convex steps that led to w_{t+1}.
func (k *trajectory) since() int { return k.t + 1 - k.first.t }

func (s *sample) draw(k *trajectory) {
	if s.w == nil {
		s.w = make([]float64, len(k.w))
	}
	for j := range s.w {
		s.w[j] = s.rng.NormFloat64()
	}
	if k.logLoss(s.w) > k.log+20 { // too far from w_t to compare losses
		for j := range s.w {
			s.w[j] = k.w[j] + s.w[j]/k.c
		}
	}
	now := make([]float64, len(k.m))
	k.prob.Margins(now, k.w)
	logs := make([]float64, len(k.m))
	top := math.Inf(-1)
	for i, v := range now {
		logs[i] = k.tail.log(v)
		top = max(top, logs[i])
	}
	k.prob.Margins(k.m, s.w)
	var sum, bregman, gain float64
	for i, v := range k.m {
		weight := math.Exp(logs[i] - top)
		rise := weight * math.Expm1(k.tail.log(v)-logs[i])
		if k.tail.log(v)-logs[i] > 1 { // the product may be 0·∞
			rise = math.Exp(k.tail.log(v)-top) - weight
		}
		sum += weight
		gain += weight + rise
		bregman += rise + weight*k.slope(now[i])*(v-now[i])
	}
	s.gain, s.bregman = gain/sum, bregman/sum
	s.inner = 0
	for j, g := range k.grad {
		s.inner += g * (s.w[j] - k.w[j])
	}
	s.d, s.nextD = k.d(s.w, k.w), k.d(s.w, k.next)
	s.nextMargin, _ = k.prob.Margin(k.next)
	s.dist = k.distance(k.next, k.nextR)
}

// movingTarget is the point c_t·u, c_t = (1+α)‖w_t‖, and the sums of the main proof from t₀ on, the first step since
// which all steps have been convex, with ‖w_t‖ > max(1, r_α).
type movingTarget struct {
	started          bool
	rising           bool    // the norm has never fallen since t₀
	from, psiFrom    float64 // at t₀: D(c_{t₀}·u, w_{t₀}) and ψ(c_{t₀}·u)
	rFrom, innerFrom float64 // at t₀: ‖w‖ and ⟨∇ψ(w), u⟩
	cross            float64 // Σ⟨∇ψ(w_{t+1}), (c_{t+1} − c_t)u⟩
	fallen           float64 // Ση(L(w_t) − L(w_{t+1}))
	slack            float64 // the same, each divided by (1+α)‖w_t‖ if steps grow
}

// add adds step t, or resets the target if the step is not convex or the norm is too small.
func (m *movingTarget) add(k *trajectory, alpha float64) {
	if !k.convex || k.r <= 1 || k.rho > alpha*k.r {
		*m = movingTarget{}
		return
	}
	c, next := (1+alpha)*k.r, (1+alpha)*k.nextR
	if !m.started {
		*m = movingTarget{started: true, rising: true, from: k.d(scaled(c, k.u), k.w), psiFrom: k.value(c),
			rFrom: k.r, innerFrom: k.inner}
	}
	m.rising = m.rising && k.nextR >= k.r
	m.cross += (next - c) * k.nextIn
	fallen := k.s * (1 - k.ratio)
	m.fallen += fallen
	if k.rule == growingSteps { // the paper drops the factor, which costs as much as the rest if steps grow
		fallen /= c
	}
	m.slack += fallen
}

// constant is the O(1) of the main proof: ⟨∇ψ(w_T), u⟩ ≥ ‖w_T‖^(k−1)/(1+α) + constant.
func (m *movingTarget) constant(k *trajectory, alpha float64) float64 {
	return m.innerFrom - math.Pow(m.rFrom, k.degree-1)/(1+alpha) - m.slack
}
