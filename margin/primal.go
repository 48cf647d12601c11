package margin

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// primal solves, for 1 < p < ∞ though meant for p > 2,
//
//	min ½‖w‖ₚ² − γ  subject to  Aw − γb = s ≥ 0
//
// by a primal-dual interior point method: ∇½‖w‖ₚ² = Aᵀa, bᵀa = 1, aᵢsᵢ = μ → 0. The Hessian of ½‖w‖ₚ² has the
// inverse (q−1)diag|ŵ|^(2−p) + (2−q)ŵŵᵀ, ŵ = w/‖w‖ₚ, whose diagonal is capped: coordinates near 0 have next to
// no curvature. Keeping w, rather than recovering it from v = Aᵀa, avoids the power q − 1 < 1, which has no
// derivative at 0. The constraints are linear and hold throughout. Steps and
// stopping are as in dual.
func (s *solver) primal(done func() bool) {
	s.mulT(s.w, s.y)
	s.primalFrom(s.w, done)
}

// primalFrom is primal from a given w.
func (s *solver) primalFrom(w []float64, done func() bool) {
	vec.Scale(s.w, 1/mirror.Norm(w, s.p), w)
	first := true
	for {
		size := mirror.Norm(s.w, s.p)
		s.mul(s.m, s.w)
		s.normalise()
		s.mulT(s.v, s.y)
		s.record(s.w, size, s.upper())
		if size == 0 || done() || !s.more() {
			return
		}
		if first {
			first = false
			s.primalStart(size)
			size = mirror.Norm(s.w, s.p)
		}
		s.primalHessian(size)
		if s.primalStep() < 1e-12 {
			return
		}
	}
}

// primalStart scales w for the least of ½‖w‖² − γ along it, and sets γ, s and a.
func (s *solver) primalStart(size float64) {
	l := s.least(s.m) / size
	scale := max(l, 0.1*s.best.upper) / size
	vec.Scale(s.w, scale, s.w)
	vec.Scale(s.m, scale, s.m)
	size *= scale
	s.gamma = s.least(s.m) - 0.1*size*size
	mu := 0.0
	for i := range s.s {
		s.s[i] = s.m[i] - s.gamma*s.b[i]
		mu += s.s[i] * s.y[i]
	}
	mu /= float64(s.n)
	for i := range s.y {
		s.y[i] = mu / s.s[i]
	}
	s.normalise()
	s.mulT(s.v, s.y)
}

// mostDiag caps D: a coordinate of no curvature may move by as much as rounding in Aᵀa allows, no further.
const mostDiag = 1e12

// primalHessian factors the Newton equations at w.
func (s *solver) primalHessian(size float64) {
	vec.Scale(s.normal.g, 1/size, s.w)
	vec.Scale(s.h, 1/size, s.m)
	s.primalDiagonal(size)
	for i, a := range s.y {
		s.theta[i] = s.s[i] / a
	}
	rest := 0.0
	if s.q > 2 {
		rest = 1 / ((s.q - 1) * (s.q - 2))
	}
	s.factor(2-s.q, rest)
}

// primalDiagonal sets D = (q−1)|ŵ|^(2−p), with ŵ in normal.g. Where w and the w that v = Aᵀa asks for are apart, the
// slope of the secant between them takes the place of the second derivative, which may be 0 at one of them.
func (s *solver) primalDiagonal(size float64) {
	unit, slope, asked := s.normal.g, s.try, s.dw
	vec.PowerOf(s.p-2).Abs(slope, unit)
	vec.Scale(asked, 1/size, s.v)
	s.invert.Signed(asked, asked)
	for j, u := range unit {
		d := (s.q - 1) / (slope[j] + 1/mostDiag)
		if far := asked[j] - u; s.p > 2 && math.Abs(far) > 1e-5*math.Abs(u) {
			rise := s.v[j]/size - u*slope[j]
			if c := far / rise; c > 0 {
				d = min(c, mostDiag)
			}
		}
		s.diag[j] = d
	}
}

// primalStep moves w, γ, s and a.
func (s *solver) primalStep() float64 {
	n := float64(s.n)
	mu := vec.Dot(s.y, s.s) / n
	mirror.DualityMap(s.try, s.w, s.p)
	var off float64
	for j, v := range s.v {
		s.dv[j] = v - s.try[j]
		off += s.dv[j] * s.dv[j] * s.diag[j]
	}
	for i, v := range s.s {
		s.rhs[i] = -v
	}
	if s.products != nil {
		s.setFew(s.dv)
	}
	s.primalSolve()
	tp, td := stepTo(s.s, s.ds, 1), stepTo(s.y, s.dy, 1)
	var after float64
	for i := range s.y {
		after += (s.y[i] + td*s.dy[i]) * (s.s[i] + tp*s.ds[i])
	}
	sigma := math.Pow(after/n/mu, 3)
	target := max(sigma*mu, min(mu, 0.1*off/n))
	for i := range s.rhs {
		s.rhs[i] += (target - tp*td*s.dy[i]*s.ds[i]) / s.y[i]
	}
	dg := s.primalSolve()
	if s.products != nil {
		s.stepFew(s.dw, s.dy, s.dv)
	}
	tp, td = stepTo(s.s, s.ds, 0.995), stepTo(s.y, s.dy, 0.995)
	tp = s.primalSearch(tp)
	vec.Axpy(tp, s.dw, s.w)
	s.gamma += tp * dg
	vec.Axpy(td, s.dy, s.y)
	if s.products != nil {
		vec.Axpy(tp, s.ds, s.m) // AΔw = Δs + bΔγ
		vec.Axpy(tp*dg, s.b, s.m)
	} else {
		s.mul(s.m, s.w)
	}
	for i := range s.s {
		s.s[i] = max(s.m[i]-s.gamma*s.b[i], 1e-3*s.s[i])
	}
	mu = vec.Dot(s.y, s.s) / n
	for i, v := range s.s {
		s.y[i] = min(max(s.y[i], 1e-5*mu/v), 1e5*mu/v)
	}
	return tp
}

// primalSolve solves for Δa, Δγ and Δs, and for Δw if that costs nothing.
func (s *solver) primalSolve() float64 {
	if s.products == nil {
		dg := s.solve(s.dw, s.dy, s.dv, s.rhs)
		s.slackStep(dg)
		return dg
	}
	dg := s.solveFew(s.dy, s.dv, s.rhs)
	for i, v := range s.rhs { // AΔw + ΘΔa − bΔγ = rhs
		s.ds[i] = v - s.theta[i]*s.dy[i]
	}
	return dg
}

// slackStep sets Δs = AΔw − bΔγ.
func (s *solver) slackStep(dg float64) {
	s.mul(s.ds, s.dw)
	vec.Axpy(-dg, s.b, s.ds)
}

// primalSearch shortens the step t while Δwᵀ(∇½‖w + tΔw‖² − ∇½‖w‖²) > max(1.5t, ¾)·ΔwᵀHΔw, see dualSearch. The slopes
// of secants in H may be smaller than those at w, which the first bound alone would not forgive.
func (s *solver) primalSearch(t float64) float64 {
	if s.products != nil {
		copy(s.try, s.fd)
	} else {
		s.mulT(s.try, s.dy)
		vec.Axpy(1, s.dv, s.try) // HΔw = AᵀΔa + rd
	}
	quad := vec.Dot(s.dw, s.try)
	mirror.DualityMap(s.try, s.w, s.p)
	before := vec.Dot(s.try, s.dw)
	for ; t > 1e-14; t *= 0.7 {
		copy(s.try, s.w)
		vec.Axpy(t, s.dw, s.try)
		mirror.DualityMap(s.try, s.try, s.p)
		if vec.Dot(s.try, s.dw)-before <= max(1.5*t, 0.75)*quad+1e-14*math.Abs(before) {
			break
		}
	}
	return t
}
