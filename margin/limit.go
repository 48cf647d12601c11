package margin

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// limit solves p = 1 and p = ∞, which are linear programs, by Mehrotra's predictor-corrector method (1992):
//
//	p = 1:  min Σ(w⁺ + w⁻)  subject to  A(w⁺ − w⁻) − b = s,    and  max bᵀa  subject to  σ± = 1 ∓ Aᵀa
//	p = ∞:  max γ  subject to  Aw − γb = s,  ζ± = 1 ∓ w,       and  min Σ(λ⁺ + λ⁻)  subject to  λ⁺ − λ⁻ = Aᵀa,  bᵀa = 1
//
// with all of s, a, w±, σ±, ζ±, λ± ≥ 0 and, at the optimum, s·a = 0, w±·σ± = 0 or ζ±·λ± = 0. Both start strictly
// feasible, the first from a w that separates, and stay so up to rounding. The inner pairs are eliminated from the
// Newton equations and leave those of normal with D = w⁺/σ⁺ + w⁻/σ⁻ or D = 1/(λ⁺/ζ⁺ + λ⁻/ζ⁻).
type limit struct {
	*solver
	pos, neg pairs
	shift    []float64 // p = 1: the part of Δw that does not depend on Δa; p = ∞: f
}

// pairs are complementary: x belongs to the primal problem, y to the dual. c is the right-hand side of
// yΔx + xΔy = c.
type pairs struct{ x, y, dx, dy, c []float64 }

func newPairs(d int) pairs {
	var p pairs
	for _, v := range []*[]float64{&p.x, &p.y, &p.dx, &p.dy, &p.c} {
		*v = make([]float64, d)
	}
	return p
}

func (s *solver) limit(done func() bool) {
	s.products = nil // vertices need the last digits
	l := &limit{solver: s, pos: newPairs(s.d), neg: newPairs(s.d), shift: make([]float64, s.d)}
	if !l.start() {
		return
	}
	for {
		l.settle()
		if done() || !s.more() || l.step() < 1e-10 {
			return
		}
	}
}

func (l *limit) one() bool { return l.p == 1 }

// start chooses strictly feasible points near the w and the dual weights at hand. It says whether there are some.
func (l *limit) start() bool {
	l.normalise()
	l.mulT(l.v, l.y)
	most := mirror.Norm(l.v, math.Inf(1))
	if l.one() {
		l.free, l.gamma = true, 1
		copy(l.w, l.best.w)
		l.mul(l.m, l.w)
		least := l.least(l.m)
		if !(least > 0) {
			return false
		}
		vec.Scale(l.w, 2/least, l.w)
		vec.Scale(l.y, 0.5/most, l.y)
		vec.Scale(l.v, 0.5/most, l.v)
		mean := mirror.Norm(l.w, 1) / float64(l.d)
		for j, w := range l.w {
			l.pos.x[j], l.neg.x[j] = max(w, 0)+0.1*mean, max(-w, 0)+0.1*mean
			l.pos.y[j], l.neg.y[j] = 1-l.v[j], 1+l.v[j]
		}
		l.mul(l.s, l.w)
		vec.Axpy(-1, l.b, l.s)
		return true
	}
	clear(l.w)
	for j, v := range l.v {
		l.pos.x[j], l.neg.x[j] = 1, 1
		l.pos.y[j], l.neg.y[j] = max(v, 0)+0.5*most, max(-v, 0)+0.5*most
	}
	l.gamma = -most
	for i, b := range l.b {
		l.s[i] = most * b
	}
	return true
}

// settle brings what rounding moved back in line, and certifies.
func (l *limit) settle() {
	if l.one() {
		for j := range l.w {
			l.w[j] = l.pos.x[j] - l.neg.x[j]
		}
	} else {
		l.normalise()
	}
	l.mulT(l.v, l.y)
	l.mul(l.m, l.w)
	if size := mirror.Norm(l.w, l.p); size > 0 {
		l.record(l.w, size, l.upper()/vec.Dot(l.b, l.y))
	}
}

// step takes a predictor and a corrector, and returns the length of the shorter of its two parts.
func (l *limit) step() float64 {
	count := float64(l.n + 2*l.d)
	mu := (vec.Dot(l.y, l.s) + vec.Dot(l.pos.x, l.pos.y) + vec.Dot(l.neg.x, l.neg.y)) / count
	l.matrix()
	l.aim(0, false)
	l.direction()
	tp, td := l.lengths(1)
	after := product(l.s, l.ds, l.y, l.dy, tp, td)
	for _, k := range []*pairs{&l.pos, &l.neg} {
		after += product(k.x, k.dx, k.y, k.dy, tp, td)
	}
	sigma := math.Pow(after/count/mu, 3)
	l.aim(sigma*mu, true)
	dg := l.direction()
	tp, td = l.lengths(0.999)
	if min(tp, td) < 0.1 { // the second-order correction can point out of the cone: a careful step instead
		l.aim(max(sigma, 0.3)*mu, false)
		dg = l.direction()
		tp, td = l.lengths(0.999)
	}
	vec.Axpy(tp, l.ds, l.s)
	vec.Axpy(td, l.dy, l.y)
	vec.Axpy(tp, l.dw, l.w)
	for _, k := range []*pairs{&l.pos, &l.neg} {
		vec.Axpy(tp, k.dx, k.x)
		vec.Axpy(td, k.dy, k.y)
	}
	l.gamma += tp * dg
	return min(tp, td)
}

func product(x, dx, y, dy []float64, tx, ty float64) float64 {
	var sum float64
	for i := range x {
		sum += (x[i] + tx*dx[i]) * (y[i] + ty*dy[i])
	}
	return sum
}

func (l *limit) lengths(share float64) (tp, td float64) {
	tp = min(stepTo(l.s, l.ds, share), stepTo(l.pos.x, l.pos.dx, share), stepTo(l.neg.x, l.neg.dx, share))
	td = min(stepTo(l.y, l.dy, share), stepTo(l.pos.y, l.pos.dy, share), stepTo(l.neg.y, l.neg.dy, share))
	return tp, td
}

// matrix factors the Newton equations.
func (l *limit) matrix() {
	for j := range l.diag {
		up, down := l.pos.x[j]/l.pos.y[j], l.neg.x[j]/l.neg.y[j]
		if l.one() {
			l.diag[j] = up + down
		} else {
			l.diag[j] = 1 / (1/up + 1/down)
		}
	}
	for i, a := range l.y {
		l.theta[i] = l.s[i] / a
	}
	l.factor(0, 0)
}

// aim sets the right-hand sides for the complementarity target, with the products of the last direction
// as second-order correction.
func (l *limit) aim(target float64, correct bool) {
	set := func(c, x, dx, y, dy []float64) {
		for i := range c {
			c[i] = target - x[i]*y[i]
			if correct {
				c[i] -= dx[i] * dy[i]
			}
		}
	}
	set(l.rhs, l.s, l.ds, l.y, l.dy)
	set(l.pos.c, l.pos.x, l.pos.dx, l.pos.y, l.pos.dy)
	set(l.neg.c, l.neg.x, l.neg.dx, l.neg.y, l.neg.dy)
	for i, a := range l.y {
		l.rhs[i] = l.rhs[i]/a - (l.m[i] - l.gamma*l.b[i] - l.s[i])
	}
}

// direction solves the Newton equations and sets all steps.
func (l *limit) direction() (dg float64) {
	if l.one() {
		return l.directionOne()
	}
	for j := range l.shift {
		dual := l.v[j] - (l.pos.y[j] - l.neg.y[j])
		l.shift[j] = dual - l.pos.c[j]/l.pos.x[j] + l.neg.c[j]/l.neg.x[j]
	}
	dg = l.solve(l.dw, l.dy, l.shift, l.rhs)
	for j, dw := range l.dw {
		l.pos.dx[j], l.neg.dx[j] = -dw, dw
		l.pos.dy[j] = (l.pos.c[j] + l.pos.y[j]*dw) / l.pos.x[j]
		l.neg.dy[j] = (l.neg.c[j] - l.neg.y[j]*dw) / l.neg.x[j]
	}
	l.slackStep(dg)
	return dg
}

func (l *limit) directionOne() float64 {
	for j, v := range l.v {
		// σ± are 1 ∓ v up to rounding, which is put right on the way.
		up := l.pos.c[j] - l.pos.x[j]*(1-v-l.pos.y[j])
		down := l.neg.c[j] - l.neg.x[j]*(1+v-l.neg.y[j])
		l.shift[j] = up/l.pos.y[j] - down/l.neg.y[j]
	}
	l.mul(l.ds, l.shift)
	vec.Axpy(-1, l.ds, l.rhs)
	l.solve(l.dw, l.dy, nil, l.rhs)
	l.mulT(l.dv, l.dy)
	for j, dv := range l.dv {
		l.pos.dy[j] = -dv + (1 - l.v[j] - l.pos.y[j])
		l.neg.dy[j] = dv + (1 + l.v[j] - l.neg.y[j])
		l.pos.dx[j] = (l.pos.c[j] - l.pos.x[j]*l.pos.dy[j]) / l.pos.y[j]
		l.neg.dx[j] = (l.neg.c[j] - l.neg.x[j]*l.neg.dy[j]) / l.neg.y[j]
		l.dw[j] = l.pos.dx[j] - l.neg.dx[j]
	}
	l.slackStep(0)
	return 0
}
