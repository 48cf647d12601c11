package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// facets maximises the margin of large sparse data. It minimises
//
//	F(a) = ½‖Aᵀa‖_q² − Σaᵢ over a ≥ 0,   aᵢ = yᵢxᵢ,   1/p + 1/q = 1,   1 < p ≤ 2,
//
// whose minimum is −1/(2γₚ²). Only support vectors have a weight, so most of the work is on a part of the examples. A
// round has two parts. Accelerated projected gradients find out which weights are 0, and conjugate gradients solve
//
//	(A·D·Aᵀ + μM)·Δ = −∇F,   D = ∇²½‖v‖_q² = (q−1)·diag(ω^(q−2)) + (2−q)ggᵀ,   v = Aᵀa,   ω = |v|/‖v‖_q
//
// for the weights that are not, where M is the diagonal of A·D·Aᵀ. Then a+tΔ is projected on a ≥ 0, with t such that F
// falls. The damping μ shrinks as long as few weights become 0 in a step. For p < 2 the first rounds solve for p = 2,
// and p−1 is halved until the p asked for is reached.
//
// Every a and every w bound the margin:
//
//	min(Aw)/‖w‖ₚ  ≤  γₚ  ≤  ‖Aᵀa‖_q/Σaᵢ.
//
// The bounds are those of all examples. The upper one converges quickly. For the lower one, w is the best mean of the
// last best w and the new ones: ∇½‖v‖_q² at a, and its linear prediction at a+Δ.
//
// References: Moré & Toraldo 1991, On the solution of large quadratic programming problems with bound constraints;
// Beck & Teboulle 2009, A fast iterative shrinkage-thresholding algorithm.
type facets struct {
	prob Problem
	p, q float64 // of this stage
	goal float64 // the p asked for
	n, d int
	pow  vec.Power // q − 2

	t      int     // products with examples in both directions
	work   float64 // how many passes over all examples they are worth
	rounds int
	a      []float64
	v      []float64 // Aᵀa
	f      float64
	w      []float64 // ∇½‖v‖_q²
	m      []float64 // its margins
	cert   Certificate
	best   []float64 // the weights of the lower bound
	bestM  []float64 // their margins; best is not set while cert.Lower is −Inf
	damp   float64   // μ
	lip    float64   // the Lipschitz constant of ∇F relative to M
	inner  int       // the most conjugate gradients in a round

	growth float64 // of ‖v‖ in the last round
	check  float64 // the work at which progress is checked next
	last   Certificate

	sub            matrix.Matrix // the examples in use
	rows           []int
	free           []int // those of them with a weight
	y, x, size     []float64
	diagonal, g    []float64 // D = diagonal + (2−q)ggᵀ
	r, s, c, dir   []float64
	dx, next, prev []float64
	u, tv, dt, dv  []float64
	vn, vp         []float64
}

// When facets are used, and when they fail. Tuned on sparse problems of 5·10⁶ to 3·10⁷ entries, p = 1.1 to 2.
const (
	facetEntries   = 1 << 20 // with fewer entries the accelerated method takes a second at most
	facetSteps     = 1000    // with fewer steps the accelerated method is used
	facetSlack     = 0.1     // examples without weight are used if their margin is below 1 + facetSlack
	facetLeast     = 20      // the least conjugate gradients in a round
	facetMost      = 200
	facetFew       = 0.002 // with a smaller share of weights that become 0, conjugate gradients double
	facetSmall     = 0.01  // with a smaller one, μ shrinks, and with a larger one conjugate gradients are few again
	facetLarge     = 0.05  // with a larger one, μ grows
	facetRidge     = 0.1   // M has at least this share of its mean
	facetDamp      = 1e-6  // the least μ
	facetStage     = 3     // rounds for p = 2, if p is less
	facetFirst     = 240.0 // passes after which a margin must be positive; the next check is after twice as many
	facetGrowth    = 6.0   // without a margin, ‖v‖ grows by more than this in a round, and with one by less
	facetProgress  = 0.7   // from check to check the gap must shrink to this share of itself
	facetBackward  = 0.4   // t is multiplied by this until F falls
	facetLeastStep = 0.05
)

// facetsSuit reports whether facets are to be tried.
func facetsSuit(prob Problem, p, soft float64, steps int) bool {
	_, sparse := prob.X.(*matrix.CSR)
	return sparse && prob.X.NNZ() >= facetEntries && p <= 2 && soft == 0 && steps >= facetSteps
}

// rhythm returns the gradient steps of a round and the least conjugate gradients: few at first, when many examples are
// in use, and many for small p, for which weights settle slowly.
func (s *facets) rhythm() (gradients, inner int) {
	if s.p < 1.4 {
		return 3 * facetLeast, 2 * facetLeast
	}
	return min(facetLeast/4*s.rounds, facetLeast), facetLeast
}

// newFacets begins with equal weights. It returns nil if their sum is 0 or not finite.
func newFacets(prob Problem, p float64) *facets {
	s := emptyFacets(prob, p)
	for i := range s.a {
		s.a[i], s.m[i] = 1, 1
	}
	prob.addAbsorbed(s.v, s.m)
	s.stage(2)
	if norm := mirror.Norm(s.v, 2); !(norm > 0) || math.IsInf(norm, 1) {
		return nil
	}
	s.rescale()
	s.margins()
	return s
}

func emptyFacets(prob Problem, p float64) *facets {
	n, d := prob.Dims()
	f := func(k int) []float64 { return make([]float64, k) }
	return &facets{prob: prob, goal: p, n: n, d: d, a: f(n), v: f(d), w: f(d), m: f(n), best: f(d), bestM: f(n),
		diagonal: f(d), g: f(d), u: f(d), tv: f(d), dt: f(d), dv: f(d), vn: f(d), vp: f(d), damp: 1, lip: 1,
		inner: facetLeast, check: facetFirst, cert: unknown, last: unknown}
}

var unknown = Certificate{Lower: math.Inf(-1), Upper: math.Inf(1)}

func (s *facets) stage(p float64) {
	s.p, s.q = p, mirror.Conjugate(p)
	s.pow = vec.PowerOf(s.q - 2)
}

// rescale multiplies a by what makes F least.
func (s *facets) rescale() {
	norm := mirror.Norm(s.v, s.q)
	c := total(s.a) / norm / norm
	vec.Scale(s.a, c, s.a)
	vec.Scale(s.v, c, s.v)
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// margins computes w, its margins and the bounds.
func (s *facets) margins() {
	mirror.DualityMap(s.w, s.v, s.q)
	s.prob.Margins(s.m, s.w)
	s.work += 0.5
	if s.p == s.goal {
		s.offer(s.w)
		s.cert.Upper = min(s.cert.Upper, mirror.Norm(s.v, s.q)/total(s.a))
	}
}

// offer replaces the best weights by the best mean of them and w, whose margins are m.
func (s *facets) offer(w []float64) {
	if math.IsInf(s.cert.Lower, -1) {
		copy(s.best, w)
		copy(s.bestM, s.m)
		s.cert.Lower = minOf(s.m) / mirror.Norm(w, s.p)
		return
	}
	lower, at := s.cert.Lower, 0.0
	for _, t := range []float64{0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1} {
		least := math.Inf(1)
		for i, b := range s.bestM {
			least = min(least, b+t*(s.m[i]-b))
		}
		mix(s.dt, t, s.best, w)
		if l := least / mirror.Norm(s.dt, s.p); l > lower {
			lower, at = l, t
		}
	}
	if at > 0 {
		s.cert.Lower = lower
		mix(s.best, at, s.best, w)
		mix(s.bestM, at, s.bestM, s.m)
	}
}

// round improves a and the bounds.
func (s *facets) round() {
	if s.rounds >= facetStage && s.p != s.goal {
		p := 1 + (s.p-1)/2
		if p < 1+1.2*(s.goal-1) {
			p = s.goal
		}
		s.stage(p)
		s.rescale()
		s.lip, s.damp = 1, max(s.damp, 0.01)
		s.margins()
	}
	s.rounds++
	norm := mirror.Norm(s.v, s.q)
	gradients, least := s.rhythm()
	s.choose()
	s.curve()
	s.gradients(gradients)
	if s.q != 2 {
		s.curve()
	}
	whole, share := s.newton()
	switch {
	case !whole:
		s.damp = min(4*s.damp, 10)
	case share < facetSmall:
		s.damp = max(s.damp/4, facetDamp)
	case share > facetLarge:
		s.damp = min(2*s.damp, 10)
	}
	switch {
	case whole && share < facetFew:
		s.inner = min(2*s.inner, facetMost)
	case !whole || share > facetSmall:
		s.inner = least
	}
	s.inner = max(s.inner, least)
	clear(s.a)
	for k, i := range s.rows {
		s.a[i] = s.x[k]
	}
	s.rescale()
	s.growth = mirror.Norm(s.v, s.q) / norm
	s.margins()
}

// choose copies the examples to use.
func (s *facets) choose() {
	s.rows = s.rows[:0]
	for i, m := range s.m {
		if s.a[i] > 0 || m < 1+facetSlack {
			s.rows = append(s.rows, i)
		}
	}
	n := len(s.rows)
	if s.sub = s.prob.X; n < s.n {
		s.sub = matrix.Select(s.prob.X, s.rows)
	}
	for _, x := range []*[]float64{&s.y, &s.x, &s.size, &s.r, &s.s, &s.c, &s.dir, &s.dx, &s.next, &s.prev} {
		if cap(*x) < n {
			*x = make([]float64, n)
		}
		*x = (*x)[:n]
	}
	for k, i := range s.rows {
		if s.x[k], s.y[k] = s.a[i], 1; s.prob.Y != nil {
			s.y[k] = s.prob.Y[i]
		}
	}
}

// curve computes D at v, and M.
func (s *facets) curve() {
	if s.q == 2 {
		for j := range s.diagonal {
			s.diagonal[j] = 1
		}
	} else {
		vec.Scale(s.u, 1/mirror.Norm(s.v, s.q), s.v)
		s.pow.Abs(s.diagonal, s.u)
		times(s.g, s.diagonal, s.u)
		vec.Scale(s.diagonal, s.q-1, s.diagonal)
	}
	matrix.Rows(s.sub, func(k int, idx []int32, val []float64) {
		var sum float64
		for e, x := range val {
			sum += x * x * s.diagonal[idx[e]]
		}
		s.size[k] = sum
	})
	ridge := facetRidge * total(s.size) / float64(len(s.size))
	for k := range s.size {
		s.size[k] += ridge
	}
}

// bend sets dst = D·x and returns ⟨x, D·x⟩.
func (s *facets) bend(dst, x []float64) float64 {
	times(dst, s.diagonal, x)
	if s.q != 2 {
		vec.Axpy((2-s.q)*vec.Dot(s.g, x), s.g, dst)
	}
	return vec.Dot(dst, x)
}

// value returns F for v = Aᵀa and Σa.
func (s *facets) value(v []float64, sum float64) float64 {
	n := mirror.Norm(v, s.q)
	return n*n/2 - sum
}

// count counts a product with so many of the examples in use, in both directions.
func (s *facets) count(examples int) {
	s.t++
	s.work += float64(s.sub.NNZ()) / float64(s.prob.X.NNZ()) * float64(examples) / float64(len(s.rows))
}

// gradients makes so many accelerated projected gradient steps.
func (s *facets) gradients(most int) {
	copy(s.prev, s.x)
	copy(s.vp, s.v)
	theta, beta := 1.0, 0.0
	for range most {
		for range mostTries {
			if s.gradient(beta) {
				break
			}
		}
		var uphill float64
		for i, x := range s.next {
			d := x - s.x[i]
			uphill += (s.x[i] + beta*(s.x[i]-s.prev[i]) - x) * d
		}
		s.prev, s.x, s.next = s.x, s.next, s.prev
		s.vp, s.v, s.vn = s.v, s.vn, s.vp
		before := theta
		theta = (1 + math.Sqrt(1+4*theta*theta)) / 2
		if beta = (before - 1) / theta; uphill > 0 {
			theta, beta = 1, 0
		}
	}
	s.lip *= 0.9
}

// gradient sets next to a step from y = x + β(x − prev), and vn to its v. It reports whether F is below its quadratic
// model; if not, the Lipschitz constant has grown.
func (s *facets) gradient(beta float64) bool {
	for j, v := range s.v {
		s.u[j] = v + beta*(v-s.vp[j])
	}
	mirror.DualityMap(s.w, s.u, s.q)
	clear(s.vn)
	s.sub.MulAddT(s.vn, nil, s.s, s.c, s.w, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s.s[i] = s.y[i]*s.s[i] - 1
			s.next[i] = max(s.x[i]+beta*(s.x[i]-s.prev[i])-s.s[i]/(s.lip*s.size[i]), 0)
			s.c[i] = s.y[i] * s.next[i]
		}
	})
	s.count(len(s.rows))
	var sum, slope, square float64
	for i, x := range s.next {
		y := s.x[i] + beta*(s.x[i]-s.prev[i])
		d := x - y
		sum += y
		slope += s.s[i] * d
		square += s.size[i] * d * d
	}
	from := s.value(s.u, sum)
	excess := s.value(s.vn, total(s.next)) - from - slope
	if need := 2 * excess / square; need > s.lip && excess > 1e-13*math.Abs(from) {
		s.lip = min(max(need, 1.5*s.lip), 4*s.lip)
		return false
	}
	return true
}

// facetForcing is the accuracy of the Newton step, relative to the gradient.
const facetForcing = 0.01

// newton makes a projected Newton step. It reports whether t = 1, and the share of the weights that became 0.
func (s *facets) newton() (whole bool, share float64) {
	s.free = s.free[:0]
	for k, x := range s.x {
		if x > 0 {
			s.free = append(s.free, k)
		}
	}
	n := len(s.free)
	if n == 0 {
		return false, 1
	}
	dx := s.dx[:n]
	s.solve(dx)
	if s.p == s.goal && s.p != 2 { // w at a+Δ, if D did not change
		s.bend(s.tv, s.dv)
		vec.Axpy(1, s.w, s.tv)
		s.prob.Margins(s.m, s.tv)
		s.work += 0.5
		s.offer(s.tv)
	}
	f := s.value(s.v, total(s.x))
	for t := 1.0; t > facetLeastStep; t *= facetBackward {
		zeros := 0
		for i, k := range s.free {
			x := max(s.x[k]+t*dx[i], 0)
			if x == 0 {
				zeros++
			}
			s.next[i], s.c[i] = x, s.y[k]*x
		}
		clear(s.vn)
		s.sub.AddMulTRows(s.vn, s.free, s.c[:n])
		s.count(n)
		if now := s.value(s.vn, total(s.next[:n])); now < f {
			s.f = now
			s.v, s.vn = s.vn, s.v
			for i, k := range s.free {
				s.x[k] = s.next[i]
			}
			return t == 1, float64(zeros) / float64(n)
		}
	}
	return false, 1
}

// solve computes Δ for the free weights by conjugate gradients with M as preconditioner, and dv = AᵀΔ. A product in
// both directions is one pass: Aᵀ is applied to the residual, from which Aᵀ of the next direction follows.
func (s *facets) solve(dx []float64) {
	n := len(dx)
	r, prod, c, dir := s.r[:n], s.s[:n], s.c[:n], s.dir[:n]
	clear(dx)
	clear(s.dv)
	clear(dir)
	for i := range r {
		r[i] = 1
	}
	pass := func(with []float64, alpha float64) (norm float64) { // r −= α(A·with + μM·dir), u = AᵀM⁻¹r
		clear(s.u)
		s.sub.MulAddT(s.u, s.free, prod, c, with, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				k := s.free[i]
				r[i] -= alpha * (s.y[k]*prod[i] + s.damp*s.size[k]*dir[i])
				c[i] = s.y[k] * r[i] / s.size[k]
			}
		})
		s.count(n)
		for i, v := range r {
			norm += v * v / s.size[s.free[i]]
		}
		return norm
	}
	mirror.DualityMap(s.w, s.v, s.q)
	rr := pass(s.w, 1) // r = −∇F
	stop := facetForcing * facetForcing * rr
	beta := 0.0
	copy(s.tv, s.u)
	for range s.inner {
		for i, k := range s.free {
			dir[i] = r[i]/s.size[k] + beta*dir[i]
		}
		curvature := s.bend(s.dt, s.tv)
		for i, k := range s.free {
			curvature += s.damp * s.size[k] * dir[i] * dir[i]
		}
		if !(curvature > 0) || !(rr > stop) {
			return
		}
		alpha := rr / curvature
		vec.Axpy(alpha, dir, dx)
		vec.Axpy(alpha, s.tv, s.dv)
		next := pass(s.dt, alpha)
		beta, rr = next/rr, next
		for j, v := range s.tv {
			s.tv[j] = s.u[j] + beta*v
		}
	}
}

// failing reports whether another method should take over: no margin is in sight, or the gap hardly shrinks.
func (s *facets) failing() bool {
	if math.IsNaN(s.f) || math.IsInf(s.f, 0) || math.IsNaN(s.cert.Lower) {
		return true
	}
	if s.rounds > 1 && s.growth > facetGrowth && !(s.cert.Lower > 0) {
		return true
	}
	if s.work < s.check {
		return false
	}
	before := s.last.Gap()
	for s.last = s.cert; s.check <= s.work; {
		s.check *= 2
	}
	return !(s.cert.Gap() <= facetProgress*before) || math.IsInf(s.cert.Gap(), 1)
}
