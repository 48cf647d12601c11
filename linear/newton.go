package linear

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// curved is a loss with a second derivative.
type curved interface {
	Loss
	// Curvature sets dst = ℓ″(s).
	Curvature(dst, s []float64)
}

var (
	_ curved = Exponential{}
	_ curved = Logistic{}
	_ curved = PolynomialTail{}
	_ curved = Square{}
)

// Newton minimises f(w) = L(w) + λh(w), h = ½‖·‖ₚ², by Newton's method. Each step solves
//
//	(∇²L + λ∇²h)·s = −∇f,   ∇²h = (p−1)·diag(ω^(p−2)) + (2−p)·uuᵀ,   ω = |w|/‖w‖ₚ,   u = ∇‖w‖ₚ,
//
// by conjugate gradients, as accurately as is worthwhile, and searches along s until f falls enough. For p ≥ 2 the
// search is along w + t·s. For p < 2, ∇²h is infinite at 0, so the step is made in z = ∇h(w), in which the penalty is
// linear: z + t·∇²h·s. For coordinates with ω almost 0, Δz follows from −∇f − ∇²L·s = λΔz itself.
//
// Far from its solution Newton's method is slow for p near 1 and for large p. So it starts with p = 2 and doubles or
// halves p−1 until it reaches the p asked for. Each p starts from the weights of the one before, with a λ that keeps
// their penalty unchanged, and takes one to five steps.
//
// For large p the penalty's curvature is almost 0 for all but the largest weights, and a step takes weights to where it
// is far from 0. So ∇²h has the slope of the secant between w and the weights ∇h*(−∇L/λ) that the examples ask for in
// place of a smaller second derivative: one class of Fashion-MNIST with p = 10 takes 20 steps with it, and 38 without.
//
// With large p and correlated features the system is nearly singular, and conjugate gradients with the diagonal need
// hundreds of products. If p is not 2 and they take long, the factored system of a sample of the examples is their
// preconditioner (see sketch): then ten suffice.
//
// Every w has a dual point, the examples' weights −ℓ′/n. With v = −∇L(w) the gap between the two is that of the penalty
// alone (Fenchel and Young):
//
//	f(w) − min f  ≤  λ/2·‖w‖ₚ² + 1/(2λ)·‖v‖_q² − ⟨v, w⟩,   1/p + 1/q = 1;   for p = 2 that is ‖∇f(w)‖²/(2λ).
//
// It stops once this bound is at most Gap·|f(w)|, after Steps steps, or if rounding keeps every step from lowering f.
//
// References: Lin, Weng & Keerthi 2008, Trust region Newton method for large-scale logistic regression; Galli & Lin
// 2022, on its line search; Rockafellar 1970, Convex analysis, section 31, on duality.
type Newton struct {
	P      float64   // the norm of the penalty, above 1; 0: 2
	Lambda float64   // λ, above 0: there is no default
	Loss   Loss      // a loss with a second derivative, as all of Losses have; nil: Logistic
	Gap    float64   // the relative gap to stop at; 0: 1e-3
	Steps  int       // the most steps; 0: 100,000
	Start  []float64 // the first weights; nil: 0
}

var _ Method = Newton{}

// Name returns "newton".
func (m Newton) Name() string { return string(MethodNewton) }

// Fit implements Method.
func (m Newton) Fit(ctx context.Context, prob Problem, h Hooks) (*Result, error) {
	if err := checkLambda(m.Lambda); err != nil {
		return nil, err
	}
	r, err := begin(prob, common{method: MethodNewton, p: cmp.Or(m.P, defaultP), loss: cmp.Or[Loss](m.Loss, Logistic{}),
		gap: cmp.Or(m.Gap, defaultGap), steps: cmp.Or(m.Steps, defaultSteps), start: m.Start}, h)
	if err != nil {
		return nil, err
	}
	loss, err := lossOf(prob, r.loss)
	if err != nil {
		return nil, err
	}
	s := newNewton(loss, penalty{r.p, m.Lambda}, m.Start)
	if r.Resume != nil {
		err = s.restore(*r.Resume)
	}
	if err != nil {
		return nil, err
	}
	for {
		err := ctx.Err()
		done := err != nil || s.done(r.gap) || s.t >= r.steps
		pt := Point{Step: s.t, Loss: s.mean, Norm: mirror.Norm(s.w, r.p), Gap: s.bound / math.Abs(s.f),
			Margin: math.NaN(), Divergence: math.NaN(), Angle: math.NaN()}
		if !r.loss.Residual() && pt.Norm > 0 {
			pt.Margin = minOf(s.score) / pt.Norm
		}
		r.record(pt, s.w)
		if done {
			r.result.W, r.result.Steps = s.w, s.t
			r.result.Loss, r.result.Objective, r.result.Excess = s.mean, s.f, s.bound
			if pt.Norm > 0 && !r.loss.Residual() {
				r.result.Lower = pt.Margin
			}
			return r.end(r.saveLast(err, s.checkpoint))
		}
		if err := r.save(s.checkpoint); err != nil {
			return r.end(err)
		}
		s.step(ctx)
	}
}

// newtonState is the state of Newton, in the notation of its comment.
type newtonState struct {
	loss   meanLoss
	goal   penalty // the one asked for
	now    penalty // the one being solved on the way to it
	n, d   int     // scores and weights
	m      int     // weights that are penalised: the first ones
	row, y float64 // see meanLoss

	t     int
	w     []float64
	mean  float64 // L(w)
	f     float64 // the objective
	dual  float64 // the largest lower bound of min f so far
	bound float64 // f − dual

	score     []float64 // margins or residuals at w
	v         []float64 // −∇L(w)
	z         []float64 // ∇h(w), for the penalty now
	g         []float64 // λz − v
	value     float64   // the objective with the penalty now
	excess    float64   // how far value may be above its minimum
	diagonal  []float64 // λ(p−1)ω^(p−2)
	u         []float64
	inverse   []float64 // of the diagonal of the system
	s, r, h   []float64 // step, residual and direction of conjugate gradients
	hd, hs    []float64 // ∇²f·h and ∇²L·s
	dz        []float64
	xd, c, c2 []float64 // of the scores
	products  int
	after     int     // conjugate gradients with the diagonal before a sketch
	sketch    *sketch // nil: not needed yet
	sketches  int
	exhausted bool // no step lowers f: rounding
}

// penalty is λ·½‖w‖ₚ².
type penalty struct {
	p, lambda float64
}

// value returns λ/2·‖w‖ₚ².
func (a penalty) value(w []float64) float64 {
	n := mirror.Norm(w, a.p)
	return a.lambda / 2 * n * n
}

// gap returns λ/2·‖w‖ₚ² + 1/(2λ)·‖v‖_q² − ⟨v, w⟩ for the given product. Only rounding makes it negative.
func (a penalty) gap(w, v []float64, product float64) float64 {
	n := mirror.Norm(v, mirror.Conjugate(a.p)) / math.Sqrt(a.lambda)
	return a.value(w) + n*n/2 - product
}

// lossOf returns the mean loss of a problem of one weight vector.
func lossOf(prob Problem, loss Loss) (meanLoss, error) {
	l, ok := loss.(curved)
	if !ok {
		return nil, fmt.Errorf("the %v loss has no second derivative: "+
			"a penalty goes with exp, logistic, poly and square", loss)
	}
	return newSeparate(newLayout(prob.X, 1, false), [][]float64{prob.Y}, l, nil), nil
}

// newNewton begins at w0, or at 0 if that is nil.
func newNewton(loss meanLoss, goal penalty, w0 []float64) *newtonState {
	d, m, n := loss.dims()
	f := func(k int) []float64 { return make([]float64, k) }
	s := &newtonState{loss: loss, goal: goal, n: n, d: d, m: m, dual: math.Inf(-1), after: newtonInner,
		w: f(d), v: f(d), z: f(d), g: f(d), s: f(d), r: f(d), h: f(d), hd: f(d),
		score: f(n), xd: f(n), c: f(n)}
	s.row, s.y = loss.sizes()
	if goal.p != 2 {
		s.diagonal, s.u, s.inverse, s.hs, s.dz, s.c2 = f(d), f(d), f(d), f(d), f(d), f(n)
		s.after = sketchAfter(loss)
	}
	copy(s.w, w0)
	s.now = penalty{2, goal.lambda}
	s.loss.scores(s.score, s.w)
	s.evaluate()
	if goal.p != 2 {
		// The first λ is such that the penalty of −∇L(w) is the same for both p.
		v, lambda := s.v[:m], goal.lambda
		if r := mirror.Norm(v, goal.p) / mirror.Norm(v, 2); r > 0 && lambda*r*r > 0 && !math.IsInf(lambda*r*r, 1) {
			s.now.lambda *= r * r
			s.evaluate()
		}
	}
	return s
}

// evaluate computes objectives, bounds, gradient and curvature from w and its scores.
func (s *newtonState) evaluate() {
	s.mean = s.center()
	mass := s.loss.descent(s.v, s.c, s.score)
	s.loss.bend(s.score)

	product := vec.Dot(s.v[:s.m], s.w[:s.m])
	s.f = s.mean + s.goal.value(s.w[:s.m])
	gap := s.goal.gap(s.w[:s.m], s.v[:s.m], product)
	// Scores and v are sums that cancel: by Hölder's inequality they are off by a few ulps of ‖x‖·‖w‖ an example.
	size := s.f + max(gap, 0) + 2*math.Abs(product) + (s.row*mirror.Norm(s.w, 2)+s.y)*mass
	if dual := s.f - gap - 0x1p-50*size; dual > s.dual { // false for NaN
		s.dual = dual
	}
	s.bound = s.f - s.dual
	s.gradient(product)
}

// center moves the intercepts to where the mean loss is least, which the bound by the dual point presumes, and returns
// the mean loss.
func (s *newtonState) center() float64 {
	mean := s.loss.mean(s.score)
	if s.m == s.d {
		return mean
	}
	step, v := s.s[s.m:], s.v[s.m:] // the scratch of a step
	for range centerSteps {
		mass := s.loss.pull(v, s.c, s.score)
		if maxAbs(v) <= centered*mass {
			break
		}
		s.loss.bend(s.score)
		s.loss.newton(step, v)
		s.loss.shift(s.xd, step)
		t, next := 1.0, 0.0
		for ; t > 1e-3; t /= 2 {
			for i, d := range s.xd {
				s.c[i] = s.score[i] + t*d
			}
			if next = s.loss.mean(s.c); next <= mean*(1+centerRounding) {
				break
			}
		}
		if t <= 1e-3 {
			return s.loss.mean(s.score)
		}
		mean = next
		vec.Axpy(t, step, s.w[s.m:])
		copy(s.score, s.c)
	}
	return mean
}

// The most steps that center the intercepts, the sum of the examples' weights, as a share of their magnitudes, at which
// they count as centred, and by how much rounding may raise a mean: a last step is not to be halved for it.
const (
	centerSteps    = 20
	centered       = 1e-12
	centerRounding = 1e-12
)

func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// gradient computes what depends on the penalty now.
func (s *newtonState) gradient(product float64) {
	s.value = s.mean + s.now.value(s.w[:s.m])
	s.excess = s.now.gap(s.w[:s.m], s.v[:s.m], product)
	mirror.DualityMap(s.z[:s.m], s.w[:s.m], s.now.p) // z of an intercept stays 0
	for j, v := range s.v {
		s.g[j] = s.now.lambda*s.z[j] - v
	}
}

// The accuracy of the Newton step, the decrease asked of it (Armijo) and the most conjugate gradients in a step. An
// intermediate p is left at a relative gap of newtonStage.
const (
	newtonForcing = 0.1
	bentForcing   = 0.01 // if p is not 2: a rough step is good enough across a valley, but not along it
	lastForcing   = 1e-6 // if that did not help
	newtonArmijo  = 1e-4
	newtonInner   = 250
	newtonStage   = 0.1
	newtonLeft    = 0.02 // or with a sketch, for p > 2, once a step promises to lower the objective by less
)

// step makes one Newton step, for the next p if this one is done. If the context ends meanwhile, the state is
// unchanged.
func (s *newtonState) step(ctx context.Context) {
	s.exhausted = false
	before, sketch := s.now, s.sketch
	if s.t > 0 && s.now != s.goal && s.excess <= newtonStage*s.value {
		s.advance()
	}
	s.curvature()
	forcing := newtonForcing
	if s.now.p != 2 {
		forcing = bentForcing
	}
	s.solve(ctx, forcing)
	if ctx.Err() != nil {
		s.now, s.sketch = before, sketch
		s.gradient(vec.Dot(s.v[:s.m], s.w[:s.m]))
		return
	}
	promised := -vec.Dot(s.g, s.s) / 2
	moved := s.move(true)
	if !moved {
		s.solve(context.Background(), lastForcing) // rare, and too late to undo the step
		moved = s.move(true)
	}
	if !moved { // towards ∇h*(v/λ), along which f falls by the gap: slow, but certain
		vec.Scale(s.h, 1/s.now.lambda, s.v)
		mirror.DualityMap(s.s, s.h, mirror.Conjugate(s.now.p))
		vec.Axpy(-1, s.w, s.s)
		moved = s.move(false)
	}
	if !moved {
		if s.exhausted = s.now == s.goal; !s.exhausted {
			s.advance()
		}
	} else if s.sketch != nil && s.goal.p > 2 && s.now != s.goal && promised <= newtonLeft*s.value {
		s.advance()
	}
	s.t++
}

// move searches, evaluates and reports progress: a lower objective or, if rounding hides that, a smaller gap.
func (s *newtonState) move(dual bool) bool {
	value, excess := s.value, s.excess
	if !s.search(dual) {
		return false
	}
	s.evaluate()
	return s.value < value || s.excess < 0.9*excess
}

// advance moves to the next p: it doubles or halves p−1, and chooses λ so that w has the penalty of the goal.
func (s *newtonState) advance() {
	rest := (s.goal.p - 1) / (s.now.p - 1)
	p := 1 + 2*(s.now.p-1)
	if rest < 1 {
		rest, p = 1/rest, 1+(s.now.p-1)/2
	}
	r := mirror.Norm(s.w[:s.m], s.goal.p) / mirror.Norm(s.w[:s.m], p)
	if s.now = (penalty{p, s.goal.lambda * r * r}); rest < 2.6 || !(s.now.lambda > 0) || math.IsInf(s.now.lambda, 1) {
		s.now = s.goal
	}
	s.gradient(vec.Dot(s.v[:s.m], s.w[:s.m]))
}

// search halves t until f falls enough at w + t·s, or equals its old value to rounding, and reports whether it does.
// With dual, if p is not 2, it also tries z + t·∇²h·s and takes the better of the two.
func (s *newtonState) search(dual bool) bool {
	slope := vec.Dot(s.g, s.s)
	s.loss.product(s.xd, s.s)
	if dual = dual && s.now.p != 2; dual {
		s.dualStep()
	}
	for t := 1.0; t >= 1e-15; t /= 2 {
		for i, v := range s.xd {
			s.c[i] = s.score[i] + t*v
		}
		for j, v := range s.s {
			s.h[j] = s.w[j] + t*v
		}
		f := s.objective(s.c, s.h)
		if dual {
			for j, v := range s.dz {
				s.r[j] = s.z[j] + t*v
			}
			mirror.DualityMap(s.r[:s.m], s.r[:s.m], mirror.Conjugate(s.now.p))
			for j := s.m; j < s.d; j++ {
				s.r[j] = s.h[j]
			}
			s.loss.scores(s.c2, s.r)
			if f2 := s.objective(s.c2, s.r); f2 < f || math.IsNaN(f) {
				f = f2
				copy(s.h, s.r)
				copy(s.c, s.c2)
			}
		}
		if f <= s.value+newtonArmijo*t*slope+4e-16*s.value {
			copy(s.w, s.h)
			copy(s.score, s.c)
			return true
		}
	}
	s.loss.mean(s.score) // another step is solved for at w
	s.loss.bend(s.score)
	return false
}

// objective returns the objective with the penalty now, at w with the given scores.
func (s *newtonState) objective(score, w []float64) float64 {
	return s.loss.mean(score) + s.now.value(w[:s.m])
}

// dualStep computes Δz = ∇²h·s.
func (s *newtonState) dualStep() {
	us := vec.Dot(s.u, s.s)
	for j, c := range s.diagonal[:s.m] {
		if s.now.p < 2 && (s.inverse[j] == 0 || s.inverse[j]*c > 1-1e-6) { // the penalty decides alone
			s.dz[j] = -(s.g[j] + s.hs[j]) / s.now.lambda
		} else {
			s.dz[j] = c*s.s[j]/s.now.lambda + (2-s.now.p)*s.u[j]*us
		}
	}
}

// curvature computes ∇²h at w and the diagonal of the system, if p is not 2.
func (s *newtonState) curvature() {
	p, norm := s.now.p, mirror.Norm(s.w[:s.m], s.now.p)
	if p == 2 {
		return
	}
	for j, v := range s.w[:s.m] {
		s.h[j] = v / norm
		s.u[j] = s.z[j] / norm
	}
	diagonal := s.diagonal[:s.m] // 0 for intercepts, as u is
	vec.PowerOf(p-2).Abs(diagonal, s.h[:s.m])
	vec.Scale(diagonal, s.now.lambda*(p-1), diagonal)
	if p > 2 {
		s.secants()
	}
	s.invert()
}

// secants raises the curvature of the penalty where it is less than the slope of the secant between w and the weights
// ∇h*(v/λ) that the examples ask for.
func (s *newtonState) secants() {
	asked, v := s.s[:s.m], s.h[:s.m] // the scratch of a step
	vec.Scale(v, 1/s.now.lambda, s.v[:s.m])
	mirror.DualityMap(asked, v, mirror.Conjugate(s.now.p))
	for j, w := range s.w[:s.m] {
		if far := asked[j] - w; math.Abs(far) > secantFar*math.Abs(w) {
			if c := s.now.lambda * (v[j] - s.z[j]) / far; c > s.diagonal[j] && !math.IsInf(c, 1) {
				s.diagonal[j] = c
			}
		}
	}
}

// secantFar is the relative distance between weights from which on a secant is used: for less, it is the tangent.
const secantFar = 1e-5

// invert computes the inverse of the diagonal of the system.
func (s *newtonState) invert() {
	clear(s.hd)
	s.loss.squares(s.hd)
	for j, c := range s.diagonal {
		s.inverse[j] = 0
		if m := s.hd[j] + c; m > 0 && !math.IsInf(m, 1) {
			s.inverse[j] = 1 / m
		}
	}
}

// solve finds s with ‖∇²f·s + ∇f‖ ≤ forcing·‖∇f‖ by conjugate gradients. If p is not 2, the norm is that of the inverse
// diagonal. It ends early if the context does.
func (s *newtonState) solve(ctx context.Context, forcing float64) {
	p, lambda := s.now.p, s.now.lambda
	clear(s.s)
	vec.Scale(s.r, -1, s.g)
	sketched := false
	precondition := func() float64 { // puts it into hd, and returns its product with r
		switch {
		case sketched:
			s.sketch.solve(s.hd, s.r)
		case p == 2:
			copy(s.hd, s.r)
		default:
			times(s.hd, s.r, s.inverse)
		}
		return vec.Dot(s.hd, s.r)
	}
	if p != 2 {
		clear(s.hs)
	}
	rr := precondition()
	copy(s.h, s.hd)
	stop := forcing * forcing * rr
	after := s.after
	if s.sketch != nil && s.goal.p > 2 {
		after = 0 // once needed, always: p rises and penalties fall
	}
	for k := 0; k < newtonInner && rr > stop && rr > 0 && ctx.Err() == nil; k++ {
		if k == after {
			s.precondition()
			sketched = true
			copy(s.h, s.r)
			vec.Scale(s.r, -1, s.g)
			stop = forcing * forcing * precondition() // in the norm of the sketch
			copy(s.r, s.h)
			if rr = precondition(); rr <= stop {
				break
			}
			copy(s.h, s.hd)
		}
		s.products++
		s.loss.apply(s.hd, s.h)
		curvature := vec.Dot(s.h, s.hd)
		if p == 2 {
			curvature += lambda * vec.Dot(s.h[:s.m], s.h[:s.m])
		} else {
			uh := vec.Dot(s.u, s.h)
			for j, h := range s.h {
				if h != 0 {
					curvature += s.diagonal[j] * h * h
				}
			}
			curvature += lambda * (2 - p) * uh * uh
		}
		if !(curvature > 0) {
			if k == 0 {
				copy(s.s, s.h)
			}
			break
		}
		alpha := rr / curvature
		vec.Axpy(alpha, s.h, s.s)
		vec.Axpy(-alpha, s.hd, s.r)
		if p == 2 {
			vec.Axpy(-alpha*lambda, s.h[:s.m], s.r[:s.m])
		} else {
			vec.Axpy(alpha, s.hd, s.hs)
			vec.Axpy(-alpha*lambda*(2-p)*vec.Dot(s.u, s.h), s.u, s.r)
			for j, h := range s.h {
				if h != 0 {
					s.r[j] -= alpha * s.diagonal[j] * h
				}
			}
		}
		next := precondition()
		beta := next / rr
		for j, v := range s.hd {
			s.h[j] = v + beta*s.h[j]
		}
		rr = next
	}
}

// precondition makes the sketch for w.
func (s *newtonState) precondition() {
	if s.sketch == nil {
		s.sketch = newSketch(s.loss)
	}
	if s.now.p == 2 {
		for j := range s.diagonal[:s.m] {
			s.diagonal[j] = s.now.lambda
		}
		s.invert()
	}
	s.sketch.update(s.loss)
	s.sketch.factor(s.diagonal, s.inverse)
	s.sketches++
}

// times sets dst = x·y coordinate by coordinate.
func times(dst, x, y []float64) {
	for j, v := range x {
		dst[j] = v * y[j]
	}
}

// done reports whether f is proved to be within the relative gap of its minimum, or no step helps. Before the first
// step only a zero gradient counts: w = 0 may be good enough for a strong penalty, but it does not classify.
func (s *newtonState) done(gap float64) bool {
	return s.exhausted || s.bound <= gap*math.Abs(s.f) && (s.t > 0 || s.g0())
}

// g0 reports whether the gradient is 0.
func (s *newtonState) g0() bool {
	return !slices.ContainsFunc(s.g, func(v float64) bool { return v != 0 })
}

// newtonEntries are the entries of a checkpoint, which checkpoint fills in and restore reads.
var newtonEntries = entries{scalars: []string{"p", "lambda", "lower"}, vectors: []string{"weights", "scores"}}

// sketchVector is the entry for the curvatures of a sketch, if there is one.
const sketchVector = "sketch"

func (s *newtonState) checkpoint() Checkpoint {
	c := Checkpoint{
		Method: string(MethodNewton),
		Step:   s.t,
		Scalars: map[string]float64{
			"p":      s.now.p,
			"lambda": s.now.lambda,
			"lower":  s.dual,
		},
		Vectors: map[string][]float64{
			"weights": slices.Clone(s.w),
			"scores":  slices.Clone(s.score),
		},
	}
	if s.sketch != nil {
		c.Vectors[sketchVector] = slices.Concat(s.sketch.curved...)
	}
	return c
}

func (s *newtonState) restore(c Checkpoint) error {
	if err := c.check(newtonEntries); err != nil {
		return err
	}
	s.t, s.now, s.dual = c.Step, penalty{c.Scalars["p"], c.Scalars["lambda"]}, c.Scalars["lower"]
	if len(c.Vectors["weights"]) != s.d || len(c.Vectors["scores"]) != s.n ||
		mirror.CheckP(s.now.p) != nil || !(s.now.lambda > 0) || math.IsNaN(s.dual) {
		return errOtherData
	}
	if v, ok := c.Vectors[sketchVector]; ok {
		if len(v) != s.n {
			return errOtherData
		}
		s.sketch = newSketch(s.loss)
		for k := range s.sketch.curved {
			s.sketch.gather(k, s.loss.shape().part(v, k))
		}
	}
	copy(s.w, c.Vectors["weights"])
	copy(s.score, c.Vectors["scores"])
	s.evaluate()
	return nil
}
