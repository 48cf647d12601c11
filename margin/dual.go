package margin

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// dual solves, for 1 < p ≤ 2,
//
//	min ½‖Aᵀa‖_q²  subject to  bᵀa = 1, a ≥ 0
//
// by a primal-dual interior point method: with v = Aᵀa, w = ∇½‖v‖_q² and m = Aw the conditions are
// m − γb = s, aᵢsᵢ = μ → 0. Since q ≥ 2 the Hessian of ½‖v‖_q², (q−1)diag|v̂|^(q−2) + (2−q)ŵŵᵀ with v̂ = v/‖v‖_q
// and ŵ = w/‖w‖ₚ, is bounded, and w is exact for v at every step: bᵀa = 1 and the certificate hold throughout.
//
// A step is Mehrotra's predictor and corrector (1992), shortened where the gradient grows much faster along it than the
// Hessian says; μ does not fall far below the residual of the first condition, or the steps get stuck at the
// boundary. It stops when done says so, after the last iteration, or when the steps vanish.
func (s *solver) dual(done func() bool) {
	first := true
	for {
		s.normalise()
		s.mulT(s.v, s.y)
		size := mirror.Norm(s.v, s.q)
		unitDual(s.w, s.v, size, s.invert)
		s.mul(s.m, s.w)
		s.record(s.w, mirror.Norm(s.w, s.p), size)
		if size == 0 || done() || !s.more() {
			return
		}
		copy(s.h, s.m)
		copy(s.normal.g, s.w)
		vec.Scale(s.w, size, s.w)
		vec.Scale(s.m, size, s.m)
		if first {
			first = false
			s.gamma = s.least(s.m)
			mu := max(size*size-s.gamma, 1e-3*size*size) / float64(s.n)
			for i, a := range s.y {
				s.s[i] = mu / a
			}
		}
		s.dualHessian(size)
		if s.dualStep() < 1e-12 {
			return
		}
	}
}

// dualHessian factors the Newton equations at v.
func (s *solver) dualHessian(size float64) {
	s.dualDiagonal(size)
	for i, a := range s.y {
		s.theta[i] = s.s[i] / a
	}
	rest := 0.0
	if s.q > 2 {
		rest = 1 / ((s.q - 1) * (s.q - 2))
	}
	s.factor(2-s.q, rest)
}

// dualDiagonal sets D = (q−1)|v̂|^(q−2).
func (s *solver) dualDiagonal(size float64) {
	for j, v := range s.v {
		s.diag[j] = v / size
	}
	vec.PowerOf(s.q-2).Abs(s.diag, s.diag)
	vec.Scale(s.diag, s.q-1, s.diag)
}

// dualStep moves a and s, and returns the length of the step.
func (s *solver) dualStep() float64 {
	n := float64(s.n)
	mu := vec.Dot(s.y, s.s) / n
	for i, m := range s.m {
		s.rhs[i] = s.gamma*s.b[i] - m
	}
	s.solveDual()
	for i := range s.ds {
		s.ds[i] = -s.s[i] - s.theta[i]*s.dy[i]
	}
	t := min(stepTo(s.y, s.dy, 1), stepTo(s.s, s.ds, 1))
	var after, off float64
	for i := range s.y {
		after += (s.y[i] + t*s.dy[i]) * (s.s[i] + t*s.ds[i])
		off += s.y[i] * math.Abs(s.m[i]-s.gamma*s.b[i]-s.s[i])
	}
	sigma := math.Pow(after/n/mu, 3)
	target := max(sigma*mu, min(mu, 0.1*off/n))
	for i := range s.rhs {
		c := (target - t*t*s.dy[i]*s.ds[i]) / s.y[i]
		s.rhs[i] += c
		s.ds[i] = c - s.s[i]
	}
	dg := s.solveDual()
	for i := range s.ds {
		s.ds[i] -= s.theta[i] * s.dy[i]
	}
	t = min(stepTo(s.y, s.dy, 0.995), stepTo(s.s, s.ds, 0.995))
	t = s.dualSearch(t)
	vec.Axpy(t, s.dy, s.y)
	vec.Axpy(t, s.ds, s.s)
	s.gamma += t * dg
	mu = vec.Dot(s.y, s.s) / n
	for i, a := range s.y {
		s.s[i] = min(max(s.s[i], 1e-5*mu/a), 1e5*mu/a)
	}
	return t
}

// solveDual solves for Δa and Δγ.
func (s *solver) solveDual() float64 {
	if s.products != nil {
		return s.solveFew(s.dy, nil, s.rhs)
	}
	return s.solve(s.dw, s.dy, nil, s.rhs)
}

// dualSearch shortens the step t while Δvᵀ(w(t) − w) > max(1.5t, ¾)·ΔvᵀHΔv. The slope along the step starts at
// −ΔvᵀHΔv or below: up to three quarters of that it still descends.
func (s *solver) dualSearch(t float64) float64 {
	if s.q == 2 {
		return t
	}
	s.mulT(s.dv, s.dy)
	var quad float64
	for j, v := range s.dv {
		quad += s.diag[j] * v * v
	}
	gd := vec.Dot(s.h, s.dy)
	quad += s.kappa * gd * gd
	before := vec.Dot(s.w, s.dv)
	for ; t > 1e-14; t *= 0.7 {
		copy(s.try, s.v)
		vec.Axpy(t, s.dv, s.try)
		mirror.DualityMap(s.try, s.try, s.q)
		if vec.Dot(s.try, s.dv)-before <= max(1.5*t, 0.75)*quad+1e-14*math.Abs(before) {
			break
		}
	}
	return t
}
