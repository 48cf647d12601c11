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

const (
	stepsR2   = 20_000 // along a trajectory in the plane
	stepsR100 = 5_000
	largeEta  = 1e-2 // a hundred times the paper's, to get far in fewer steps
)

// alpha is the α of the proofs, in (0, 1).
const alpha = 0.9

// trajectory is a descent at one of its steps, with the quantities of the proofs. They are computed once, for all
// statements, with the true potential and the true mean exponential loss.
type trajectory struct {
	setting
	sub    subject
	eta    float64
	psi    mirror.Potential
	u      []float64 // the max-margin direction, ‖u‖ₚ = 1
	margin float64   // γ̂ₚ
	radius float64   // r_α
	c      float64   // max‖xᵢ‖_q
	n      float64   // examples

	t              int
	w, next        []float64 // w_t and w_{t+1}
	grad           []float64 // ∇L(w_t)
	loss, nextLoss float64
	norm, nextNorm float64
	local          float64 // D_{ψ−ηL}(w_{t+1}, w_t)
	convex         bool    // local ≥ 0, up to rounding: what the lemmas assume
	far            bool    // ‖w_t‖ > r_α
	sampled        bool    // one of the steps at which the statements that cost more are checked

	first  anchor       // t₀: ψ − ηL has been convex since
	target movingTarget // if convex and far
	sample sample       // if sampled
}

// anchor is a step t₀ from which sums of steps start.
type anchor struct {
	t    int
	w    []float64
	loss float64
}

// sample is what only sampled steps have.
type sample struct {
	rng        *rand.Rand
	w          []float64 // a random point
	loss       float64   // L(w)
	inner      float64   // ⟨∇L(w_t), w − w_t⟩
	d, nextD   float64   // D(w, w_t) and D(w, w_{t+1})
	nextMargin float64   // of w_{t+1}
}

// String names the case and the step.
func (k *trajectory) String() string { return fmt.Sprintf("%v, step %d", k.setting, k.t) }

func (k *trajectory) d(x, y []float64) float64 { return mirror.Divergence(k.psi, x, y) }

// lossAt is L(w).
func (k *trajectory) lossAt(w []float64) float64 {
	loss, _ := k.at(w)
	return loss
}

// at returns the loss and its gradient.
func (k *trajectory) at(w []float64) (loss float64, grad []float64) {
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

// follow runs the subject's descent on a setting and calls each at every step. The seed is that of the random points.
func follow(ctx context.Context, sub subject, set setting, seed uint64, each func(*trajectory)) error {
	k := &trajectory{setting: set, sub: sub, eta: largeEta, psi: mirror.Power(set.p),
		c: set.prob.RowNorm(sub.conjugate(set.p))}
	k.sample.rng = rand.New(rand.NewPCG(seed, 0x77616c6b))
	n, _ := set.prob.Dims()
	k.n = float64(n)
	var err error
	if k.u, k.margin, err = sub.direction(set.prob, set.p); err != nil {
		return err
	}
	// Beyond this r_α, for the exponential loss, L((1+α)‖w‖u) ≤ e^(−(1+α)‖w‖γ̂) ≤ e^(−‖w‖γ̂)/n ≤ L(w).
	k.radius = math.Log(k.n) / (alpha * k.margin)
	s, err := linear.Descent{Potential: sub.potential(set.p), Loss: sub.loss, Eta: k.eta}.Start(set.prob, set.w0)
	if err != nil {
		return err
	}
	k.next = slices.Clone(s.W)
	k.nextLoss = k.lossAt(k.next)
	k.nextNorm = mirror.Norm(k.next, k.p)
	steps := stepsR100
	if set.plane() {
		steps = stepsR2
	}
	for k.t = 0; k.t < steps; k.t++ {
		if k.t%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k.w, k.next = k.next, k.w
		k.loss, k.norm = k.nextLoss, k.nextNorm
		_, k.grad = k.at(k.w)
		s.Step()
		k.next = append(k.next[:0], s.W...)
		k.nextLoss = k.lossAt(k.next)
		k.nextNorm = mirror.Norm(k.next, k.p)
		if math.IsNaN(k.nextNorm) || math.IsInf(k.nextNorm, 0) {
			return fmt.Errorf("%v: the weights overflow at step %d", set, k.t)
		}
		k.measure()
		each(k)
	}
	return nil
}

// measure computes what statements share.
func (k *trajectory) measure() {
	k.local = k.localDivergence()
	k.convex = k.local >= -1e-15*k.eta*k.loss
	k.far = k.norm > max(1, k.radius)
	switch {
	case !k.convex: // sums start again after a step that breaks the condition
		k.first = anchor{k.t + 1, slices.Clone(k.next), k.nextLoss}
	case k.t == 0:
		k.first = anchor{0, slices.Clone(k.w), k.loss}
	}
	if k.convex && k.far {
		k.target.move(k)
	} else {
		k.target = movingTarget{}
	}
	if k.sampled = k.t < 200 || k.t%97 == 0; k.sampled {
		k.sample.draw(k)
	}
}

// localDivergence is D_{ψ−ηL}(w_{t+1}, w_t).
func (k *trajectory) localDivergence() float64 {
	dl := k.nextLoss - k.loss
	for j, g := range k.grad {
		dl -= g * (k.next[j] - k.w[j])
	}
	return k.d(k.next, k.w) - k.eta*dl
}

// since is t + 1 − t₀, the number of convex steps that led to w_{t+1}.
func (k *trajectory) since() float64 { return float64(k.t + 1 - k.first.t) }

func (s *sample) draw(k *trajectory) {
	s.w = make([]float64, len(k.w))
	for j := range s.w {
		s.w[j] = s.rng.NormFloat64()
	}
	s.loss = k.lossAt(s.w)
	s.inner = 0
	for j, g := range k.grad {
		s.inner += g * (s.w[j] - k.w[j])
	}
	s.d, s.nextD = k.d(s.w, k.w), k.d(s.w, k.next)
	s.nextMargin, _ = k.prob.Margin(k.next)
}

// movingTarget is the point c_t·u, c_t = (1+α)‖w_t‖, and the sums of its inequality from t₀ on, the first step since
// which all steps have been convex and far.
type movingTarget struct {
	started                     bool
	before, after               float64 // D(c_t·u, w_t) and D(c_t·u, w_{t+1})
	left, right                 float64 // of the sum
	from, lossFrom, psiFrom     float64 // at t₀: D(c_{t₀}·u, w_{t₀}), L(w_{t₀}), ψ(c_{t₀}·u)
	cross                       float64 // Σ⟨∇ψ(w_{t+1}), (c_{t+1} − c_t)u⟩
	inner, innerFrom, powerFrom float64 // ⟨∇ψ(w), u⟩ at t+1 and at t₀, ‖w_{t₀}‖^(p−1)
}

// move adds step t.
func (m *movingTarget) move(k *trajectory) {
	c, next := (1+alpha)*k.norm, (1+alpha)*k.nextNorm
	psi := func(c float64) float64 { return math.Pow(c, k.p) / k.p } // ψ(cu), ‖u‖ₚ = 1
	cu := scaled(c, k.u)
	before, after := k.d(cu, k.w), k.d(cu, k.next)
	if !m.started {
		*m = movingTarget{started: true, from: before, lossFrom: k.loss, psiFrom: psi(c)}
	}
	m.before, m.after = before, after
	z := make([]float64, len(k.next))
	if m.innerFrom == 0 {
		k.psi.Mirror(z, k.w)
		m.innerFrom, m.powerFrom = dot(z, k.u), math.Pow(k.norm, k.p-1)
	}
	k.psi.Mirror(z, k.next)
	m.inner = dot(z, k.u)
	m.cross += (next - c) * m.inner
	m.left = k.d(scaled(next, k.u), k.next)
	m.right = m.from + k.eta*(m.lossFrom-k.nextLoss) + psi(next) - m.psiFrom - m.cross
}
