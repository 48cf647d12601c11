package margin

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// separate finds out whether the data can be separated at all, by the least Euclidean norm in the convex hull of
// the rows (p = 2, the smoothest case): it is 0 if and only if they cannot. It stops as soon as some w has a
// positive margin, half as large as it can be, and leaves the dual weights as a start for the norm asked for;
// or with a proof, once the bound is small and an exact one is found. All rows count as of length 1 meanwhile: their
// lengths decide on the margin, not on whether there is one. If the margin is so small that the weights do not give a
// w that reaches it, w is searched for itself.
func (s *solver) separate() *NotSeparableError {
	p, tell, b := s.p, s.tell, s.b
	defer func() {
		s.b = b
		s.setP(p)
		s.tell, s.patience = tell, patience
		if s.best.w != nil {
			s.mul(s.m, s.best.w)
			s.best.lower = s.least(s.m) / mirror.Norm(s.best.w, p)
		}
	}()
	s.setP(2)
	s.patience = 15 // cancel is quicker than waiting
	s.tell = nil    // the bounds are not those asked for
	s.b = slices.Repeat([]float64{1}, s.n)
	var proof *NotSeparableError
	next := 1e-7 // the bound at which a proof is tried
	decided := func() bool {
		if s.best.upper <= next && !(s.best.gap() <= 1) {
			next = s.best.upper / 100
			proof = s.prove()
		}
		return proof != nil || s.best.gap() <= 1 || s.best.upper < vanished
	}
	cancel := func() {
		for _, share := range []float64{0, 1e-8, 1e-6, 1e-4, 1e-3} {
			for !decided() && s.ctx.Err() == nil && s.cancel(share) {
			}
		}
	}
	if s.pairwise == nil {
		s.pairwise = s.newFew()
	}
	if f := s.pairwise; f != nil {
		f.b = s.b
		f.run(s, 1)
		f.take(s)
		if s.best.upper < cancelled || !decided() {
			s.uniform()
		}
	}
	if s.pairwise == nil || s.best.upper < cancelled || !decided() {
		s.products = nil // a hard problem needs the last digits
		s.dual(decided)
		cancel()
	}
	if !decided() && s.ctx.Err() == nil && s.best.w != nil {
		s.again()
		s.patience = patience
		s.primal(decided)
		cancel()
	}
	if proof == nil && s.best.a != nil && !(s.best.lower > 0) && s.best.upper < 1e-3 && s.ctx.Err() == nil {
		proof = s.prove()
	}
	return proof
}

// prove looks for a proof near the best dual weights.
func (s *solver) prove() *NotSeparableError {
	a, _ := s.rows.dual(s.best.a, nil)
	return prove(s.prob, a)
}

// vanished is the bound on the margin, beside rows of length 1, below which a search for a w is hopeless: all of it is
// rounding. It says nothing about whether there is one.
const vanished = 1e-15

// cancel brings Aᵀa closer to 0 than the normal equations of many redundant rows can, and says whether it did.
func (s *solver) cancel(share float64) bool {
	if upper := s.fit(share); upper < 0.9*s.best.upper {
		s.best.upper = upper
		copy(s.best.a, s.y)
		s.best.fine = nil
		return true
	}
	return false
}

// fit sets the weights a to best.a∘(1 + u) for the least u that brings Aᵀa to 0 in the sense of least squares, found by
// conjugate gradients on the normal equations (CGLS; Hestenes & Stiefel 1952), as far as a ≥ 0 allows. Weights
// below the given share of the largest, which may stand in the way of that, are set to 0 first. It returns ‖Aᵀa‖_q.
func (s *solver) fit(share float64) float64 {
	least := share * slices.Max(s.best.a)
	for i, a := range s.best.a {
		s.y[i] = 0
		if a > least {
			s.y[i] = a
		}
	}
	s.normalise()
	s.mulT(s.v, s.y)
	vec.Scale(s.v, -1, s.v) // the residual −Aᵀ(a∘(1 + u))
	u, grad, dir := s.rhs, s.ds, s.dy
	clear(u)
	gradient := func() float64 {
		s.mul(grad, s.v)
		for i, a := range s.y {
			grad[i] *= a
		}
		return vec.Dot(grad, grad)
	}
	g2 := gradient()
	copy(dir, grad)
	stop := 1e-32 * g2
	for range 4*s.size + 50 {
		if g2 <= stop {
			break
		}
		for i, a := range s.y {
			s.m[i] = a * dir[i]
		}
		s.mulT(s.dv, s.m)
		t := g2 / vec.Dot(s.dv, s.dv)
		if math.IsInf(t, 0) || math.IsNaN(t) {
			break
		}
		vec.Axpy(t, dir, u)
		vec.Axpy(-t, s.dv, s.v)
		next := gradient()
		vec.Scale(dir, next/g2, dir)
		vec.Axpy(1, grad, dir)
		g2 = next
	}
	for i, a := range s.y {
		s.m[i] = a * u[i]
	}
	vec.Axpy(stepTo(s.y, s.m, 1), s.m, s.y)
	s.normalise()
	s.mulT(s.v, s.y)
	return mirror.Norm(s.v, s.q)
}
