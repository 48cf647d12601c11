package margin

import (
	"context"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// solver is the state the interior point methods share.
type solver struct {
	*normal
	ctx         context.Context
	prob        linear.Problem
	p, q        float64
	gap, enough float64 // what to aim at, what to be content with
	most        int     // iterations
	n0          int     // iterations so far
	tell        func(Iteration)
	patience    int
	nested      bool // solves a part of the rows
	pairwise    *few // nil: not made

	invert vec.Power // q − 1

	y, s  []float64 // the dual weights and the slacks
	w     []float64
	gamma float64
	best  best

	m, dy, ds, rhs []float64 // n
	v, dw, dv, try []float64 // d
}

// best is the best certificate seen: w and a need not be of the same iteration.
type best struct {
	w, a         []float64
	fine         []float64 // what a lacks of the weights that give upper; nil: nothing
	lower, upper float64

	mark  float64 // the distance between the bounds when it last fell by a tenth
	since int     // steps since
}

func (b *best) gap() float64 {
	return linear.Certificate{Lower: b.lower, Upper: b.upper}.Gap()
}

func newSolver(ctx context.Context, prob linear.Problem, r *rows, p float64, set Settings) *solver {
	s := &solver{normal: newNormal(r), ctx: ctx, prob: prob, gap: set.Gap, most: set.MaxIterations, tell: set.Progress}
	s.enough = s.gap
	if s.gap == 0 {
		s.gap, s.enough = 1e-10, 1e-8
	}
	s.patience = patience
	if s.most == 0 {
		s.most = 1000
	}
	for _, v := range []*[]float64{&s.y, &s.s, &s.m, &s.dy, &s.ds, &s.rhs} {
		*v = make([]float64, r.n)
	}
	for _, v := range []*[]float64{&s.w, &s.v, &s.dw, &s.dv, &s.try} {
		*v = make([]float64, r.d)
	}
	s.setP(p)
	s.uniform()
	return s
}

// setP changes p. The bounds known hold for the old one only.
func (s *solver) setP(p float64) {
	s.p, s.q = p, mirror.Conjugate(p)
	s.invert = vec.PowerOf(s.q - 1)
	s.best.lower, s.best.upper = math.Inf(-1), math.Inf(1)
	s.best.mark, s.best.since = math.Inf(1), 0
}

// uniform gives all examples the same weight.
func (s *solver) uniform() {
	for i := range s.y {
		s.y[i] = 1 / (float64(s.n) * s.b[i])
	}
}

// again starts from the best weights, a little away from 0.
func (s *solver) again() {
	var sum float64
	for i, a := range s.best.a {
		sum += a * s.b[i]
	}
	for i, a := range s.best.a {
		s.y[i] = 0.9*a/sum + 0.1/(float64(s.n)*s.b[i])
	}
	s.best.mark, s.best.since = math.Inf(1), 0
}

// normalise keeps bᵀa = 1.
func (s *solver) normalise() {
	vec.Scale(s.y, 1/vec.Dot(s.b, s.y), s.y)
}

// record certifies with w of norm size and margins m, and the current weights with ‖Aᵀa‖_q = upper.
func (s *solver) record(w []float64, size, upper float64) {
	lower := s.least(s.m) / size
	if lower > s.best.lower {
		s.best.lower = lower
		s.best.w = append(s.best.w[:0], w...)
	}
	if upper < s.best.upper {
		s.best.upper = upper
		s.best.a, s.best.fine = append(s.best.a[:0], s.y...), nil
	}
	s.best.since++
	if between := s.best.upper - s.best.lower; between < 0.9*s.best.mark {
		s.best.mark, s.best.since = between, 0
	}
}

// upper returns ‖v‖_q for v = Aᵀa. If columns differ much in scale it adds what rounding may have taken off v: else
// sums that happen to cancel in float64 would pass for a proof.
func (s *solver) upper() float64 {
	if s.even == nil {
		return mirror.Norm(s.v, s.q)
	}
	for j, v := range s.v {
		s.try[j] = math.Abs(v)
	}
	for i, a := range s.y {
		idx, val := s.a.Row(i)
		for k, x := range val {
			s.try[column(idx, k)] += float64(s.n) * 0x1p-53 * math.Abs(a*x)
		}
	}
	return mirror.Norm(s.try, s.q)
}

// least returns minᵢ mᵢ/bᵢ.
func (s *solver) least(m []float64) float64 {
	l := math.Inf(1)
	for i, v := range m {
		l = min(l, v/s.b[i])
	}
	return l
}

// reached says whether the gap asked for is certified.
func (s *solver) reached() bool { return s.best.gap() <= s.gap }

// report tells about the bounds known.
func (s *solver) report() {
	r := slices.Min(s.length)
	s.tell(Iteration{N: s.n0, Lower: s.best.lower * r, Upper: s.best.upper * r})
}

const (
	// patience is how many steps may pass without the bounds moving closer by a tenth: then rounding has won.
	patience = 100
	// patienceNear is the same where the bounds agree to near: only rounding keeps Newton steps from halving that.
	patienceNear = 30
	near         = 1e-6
)

// stalled says whether the bounds have stopped moving.
func (s *solver) stalled() bool {
	return s.best.since > s.patience || s.best.since > patienceNear && s.best.gap() < near
}

// settled says whether the gap is good enough.
func (s *solver) settled() bool { return s.best.gap() <= s.enough }

// more says whether another step may be taken, and tells about the last.
func (s *solver) more() bool {
	if s.tell != nil {
		s.report()
	}
	if s.n0 >= s.most || s.stalled() || s.ctx.Err() != nil {
		return false
	}
	s.n0++
	return true
}

// unitDual sets dst = ∇½‖x‖² for the norm with the given power, divided by the norm: of unit dual norm.
func unitDual(dst, x []float64, size float64, power vec.Power) {
	for j, v := range x {
		dst[j] = v / size
	}
	power.Signed(dst, dst)
}

// stepTo returns the largest t ≤ 1 with x + t·dx ≥ (1 − share)·x, for x > 0.
func stepTo(x, dx []float64, share float64) float64 {
	t := 1.0
	for i, v := range dx {
		if v < 0 && -v*t > share*x[i] {
			t = share * x[i] / -v
		}
	}
	return t
}
