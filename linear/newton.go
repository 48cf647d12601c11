package linear

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
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

// newton minimises f(w) = L(w) + (λ/2)‖w‖₂² by Newton's method: each step solves ∇²f·s = −∇f by conjugate gradients, as far as is
// worth it, and goes along s until f falls enough. f is λ-strongly convex, so that
//
//	f(w) − min f  ≤  ‖∇f(w)‖²/(2λ),
//
// which for these losses is the duality gap at the dual weights −ℓ′. It stops there.
//
// References: Lin, Weng & Keerthi 2008, Trust region Newton method for large-scale logistic regression; Galli & Lin 2022, on
// its line search.
type newton struct {
	prob Problem
	loss curved
	l2   float64
	n, d int

	t     int
	w     []float64
	f     float64 // the objective
	mean  float64 // L(w)
	bound float64 // ‖∇f‖²/(2λ)

	score     []float64 // margins or residuals at w
	g         []float64 // ∇f(w)
	curv      []float64 // ℓ″/n
	s, r, h   []float64 // step, residual and direction of conjugate gradients
	hd        []float64
	xd, c     []float64 // of the examples
	products  int
	exhausted bool // no step makes f smaller: rounding
}

func newNewton(prob Problem, loss Loss, l2 float64, w0 []float64) (*newton, error) {
	l, ok := loss.(curved)
	if !ok {
		return nil, fmt.Errorf("the %v loss has no second derivative: --l2 goes with exp, logistic, poly and square", loss)
	}
	n, d := prob.Dims()
	f := func(k int) []float64 { return make([]float64, k) }
	s := &newton{prob: prob, loss: l, l2: l2, n: n, d: d, w: f(d), score: f(n), g: f(d), curv: f(n), s: f(d), r: f(d), h: f(d), hd: f(d), xd: f(n), c: f(n)}
	copy(s.w, w0)
	s.scores(s.score, s.w)
	s.evaluate()
	return s, nil
}

// scores sets dst to the margins or residuals of w.
func (s *newton) scores(dst, w []float64) {
	if !s.loss.Residual() {
		s.prob.Margins(dst, w)
		return
	}
	s.prob.X.Mul(dst, w)
	vec.Axpy(-1, s.prob.Y, dst)
}

// signed multiplies c by the labels, where the scores are margins.
func (s *newton) signed(c []float64) {
	if s.loss.Residual() {
		return
	}
	for i, y := range s.prob.Y {
		c[i] *= y
	}
}

// evaluate computes f, its gradient and its curvature from the scores.
func (s *newton) evaluate() {
	s.mean = s.loss.Sum(s.score) / float64(s.n)
	s.f = s.mean + s.l2/2*vec.Dot(s.w, s.w)
	s.loss.Weights(s.c, s.score)
	vec.Scale(s.c, -1/float64(s.n), s.c)
	s.signed(s.c)
	vec.Scale(s.g, s.l2, s.w)
	s.prob.X.AddMulT(s.g, s.c)
	s.loss.Curvature(s.curv, s.score)
	vec.Scale(s.curv, 1/float64(s.n), s.curv)
	s.bound = vec.Dot(s.g, s.g) / (2 * s.l2)
}

// apply sets dst = ∇²f·v.
func (s *newton) apply(dst, v []float64) {
	s.products++
	vec.Scale(dst, s.l2, v)
	s.prob.X.MulAddT(dst, nil, s.xd, s.c, v, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s.c[i] = s.curv[i] * s.xd[i]
		}
	})
}

// The accuracy of the Newton step and the decrease asked of it (Armijo), and the most conjugate gradients a step.
const (
	newtonForcing = 0.1
	newtonArmijo  = 1e-4
	newtonInner   = 250
)

// step makes one Newton step.
func (s *newton) step() {
	s.solve()
	slope := vec.Dot(s.g, s.s)
	s.prob.X.Mul(s.xd, s.s)
	s.signed(s.xd)
	ww, ws, ss := vec.Dot(s.w, s.w), vec.Dot(s.w, s.s), vec.Dot(s.s, s.s)
	for t := 1.0; ; t /= 2 {
		for i, v := range s.xd {
			s.c[i] = s.score[i] + t*v
		}
		f := s.loss.Sum(s.c)/float64(s.n) + s.l2/2*(ww+2*t*ws+t*t*ss)
		if f <= s.f+newtonArmijo*t*slope {
			vec.Axpy(t, s.s, s.w)
			copy(s.score, s.c)
			break
		}
		if t < 1e-10 {
			s.exhausted = true
			break
		}
	}
	s.evaluate()
	s.t++
}

// solve finds s with ‖∇²f·s + ∇f‖ ≤ forcing·‖∇f‖ by conjugate gradients.
func (s *newton) solve() {
	clear(s.s)
	vec.Scale(s.r, -1, s.g)
	copy(s.h, s.r)
	rr := vec.Dot(s.r, s.r)
	stop := newtonForcing * newtonForcing * rr
	for k := 0; k < newtonInner && rr > stop && rr > 0; k++ {
		s.apply(s.hd, s.h)
		curvature := vec.Dot(s.h, s.hd)
		if !(curvature > 0) {
			break
		}
		alpha := rr / curvature
		vec.Axpy(alpha, s.h, s.s)
		vec.Axpy(-alpha, s.hd, s.r)
		next := vec.Dot(s.r, s.r)
		beta := next / rr
		for j, v := range s.r {
			s.h[j] = v + beta*s.h[j]
		}
		rr = next
	}
}

// done says whether f is proved to be within the relative gap of its minimum, or no step helps.
func (s *newton) done(gap float64) bool { return s.bound <= gap*math.Abs(s.f) || s.exhausted }

// checkpoint returns the state, and restore goes back to it.
func (s *newton) checkpoint() Checkpoint {
	return Checkpoint{Newton, s.t, nil, [][]float64{slices.Clone(s.w), slices.Clone(s.score)}}
}

func (s *newton) restore(c Checkpoint) error {
	if len(c.Vectors) != 2 || len(c.Vectors[0]) != s.d || len(c.Vectors[1]) != s.n {
		return errOtherData
	}
	s.t = c.Step
	copy(s.w, c.Vectors[0])
	copy(s.score, c.Vectors[1])
	s.evaluate()
	return nil
}
