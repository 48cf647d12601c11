package linear

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
)

// proximalState minimises L(w) + (λ/2)‖w‖ₚ² for p = 1 and p = ∞ by accelerated proximal gradients:
//
//	w⁺ = prox(y − ∇L(y)/H),   y = w⁺ + β(w⁺ − w)
//
// H is found by backtracking, and the momentum restarts when it points uphill. The intercepts are moved to their
// optimum before the duality gap is computed, which is that of Newton.
//
// References: Beck & Teboulle 2009, A fast iterative shrinkage-thresholding algorithm; O'Donoghue & Candès 2015, on
// restarts.
type proximalState struct {
	loss meanLoss
	goal penalty
	m    int

	t        int
	h        float64 // H
	momentum float64
	w, y     []float64
	next     []float64
	score    []float64 // of w
	scoreY   []float64
	scoreNew []float64
	v, c, u  []float64
	free     *newtonState // centres the intercepts

	mean, f, excess, dual float64
}

func newProximal(loss meanLoss, w0 []float64) *proximalState {
	d, m, n := loss.dims()
	f := func(k int) []float64 { return make([]float64, k) }
	s := &proximalState{loss: loss, m: m, h: 1, w: slices.Clone(w0), y: f(d), next: f(d), score: f(n), scoreY: f(n),
		scoreNew: f(n), v: f(d), c: f(n), u: f(m)}
	s.free = &newtonState{loss: loss, d: d, m: m, s: f(d), v: f(d), c: f(n), xd: f(n)}
	return s
}

// begin sets out for another penalty.
func (s *proximalState) begin(goal penalty) {
	s.goal, s.t, s.momentum, s.dual = goal, 0, 1, math.Inf(-1)
	s.loss.scores(s.score, s.w)
	s.evaluate()
}

// evaluate centres the intercepts and computes the gap at w, from which the next step starts without momentum.
func (s *proximalState) evaluate() {
	s.free.w, s.free.score = s.w, s.score
	s.mean = s.free.center()
	s.loss.descent(s.v, s.c, s.score)
	w, v := s.w[:s.m], s.v[:s.m]
	s.f = s.mean + s.goal.value(w)
	s.dual = max(s.dual, s.f-s.goal.gap(w, v, vec.Dot(v, w)))
	s.excess = s.f - s.dual
	copy(s.y, s.w)
	copy(s.scoreY, s.score)
}

// evaluateEvery is after how many steps the gap is computed.
const evaluateEvery = 10

func (s *proximalState) step() {
	mean := s.loss.mean(s.scoreY)
	s.loss.descent(s.v, s.c, s.scoreY)
	for s.h *= 0.9; ; s.h *= 2 {
		for j := range s.next {
			s.next[j] = s.y[j] + s.v[j]/s.h
		}
		s.proximal(s.next[:s.m], s.goal.lambda/s.h)
		s.loss.scores(s.scoreNew, s.next)
		var linear, square float64
		for j, x := range s.next {
			d := x - s.y[j]
			linear += s.v[j] * d
			square += d * d
		}
		if s.loss.mean(s.scoreNew) <= mean-linear+s.h/2*square+1e-15*mean {
			break
		}
	}
	var uphill float64
	for j, x := range s.next {
		uphill += (s.y[j] - x) * (x - s.w[j])
	}
	before := s.momentum
	if s.momentum = (1 + math.Sqrt(1+4*before*before)) / 2; uphill > 0 {
		before, s.momentum = 1, 1
	}
	beta := (before - 1) / s.momentum
	for j, x := range s.next {
		s.y[j] = x + beta*(x-s.w[j])
	}
	for i, x := range s.scoreNew {
		s.scoreY[i] = x + beta*(x-s.score[i])
	}
	s.w, s.next = s.next, s.w
	s.score, s.scoreNew = s.scoreNew, s.score
	if s.t++; s.t%evaluateEvery == 0 {
		momentum, y, scoreY := s.momentum, slices.Clone(s.y), slices.Clone(s.scoreY)
		s.evaluate()
		s.momentum = momentum
		copy(s.y[:s.m], y[:s.m])
		if s.m == len(s.y) {
			copy(s.scoreY, scoreY)
		} else {
			s.loss.scores(s.scoreY, s.y)
		}
	}
}

// proximal replaces w by argmin ½‖x − w‖² + (a/2)‖x‖ₚ².
func (s *proximalState) proximal(w []float64, a float64) {
	if s.goal.p == 1 {
		shrink(w, s.u, a)
		return
	}
	// By Moreau: the map of the conjugate (1/2a)‖·‖₁² takes the rest.
	rest := slices.Clone(w)
	vec.Scale(rest, 1/a, rest)
	shrink(rest, s.u, 1/a)
	vec.Axpy(-a, rest, w)
}

// shrink replaces w by argmin ½‖x − w‖² + (a/2)‖x‖₁²: all magnitudes fall by a‖x‖₁, to 0 at the least. u is scratch.
func shrink(w, u []float64, a float64) {
	for j, v := range w {
		u[j] = math.Abs(v)
	}
	slices.SortFunc(u, func(x, y float64) int {
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	var sum, by float64
	for k, v := range u {
		next := a * (sum + v) / (1 + a*float64(k+1))
		if v <= next {
			break
		}
		sum += v
		by = next
	}
	for j, v := range w {
		w[j] = math.Copysign(max(math.Abs(v)-by, 0), v)
	}
}
