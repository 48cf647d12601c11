package linear

import (
	"context"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// multipliers maximises the margin of large sparse data. It solves
//
//	minimise ½‖w‖ₚ² subject to Aw ≥ 1,   aᵢ = yᵢxᵢ,   1 < p ≤ 3,
//
// by the method of multipliers, with semismooth Newton steps on the augmented Lagrangian
//
//	L(w) = ½‖w‖ₚ² + Σ zᵢ²/(2Cᵢ),   z = max(a + C(1 − Aw), 0),   Cᵢ ∝ 1/‖aᵢ‖²,
//
// whose gradient is ∇½‖w‖ₚ² − Aᵀz. A step solves
//
//	(P + (2−p)ĝĝᵀ + BᵀCB)·Δw = −∇L,   P = √(p−1)·diag|ŵ|^(p−2),   ŵ = w/‖w‖ₚ,   ĝ = sign(ŵ)|ŵ|^(p−1),
//
// by conjugate gradients, where B has the examples with zᵢ > 0: examples enter and leave in any number from step to
// step. The second derivative of ½‖w‖ₚ² has p−1 in place of the root. For p < 2 it is too small when weights change
// their sign; with 1 in its place, the model would be above ½‖w‖ₚ² everywhere, and steps too short.
//
// If a step has to be shortened much, as B changed on the way, the next one has fewer conjugate gradients, which is
// cheaper and turns less from the gradient. When the gradient is small, z becomes a, and C grows if the worst margin
// does not approach 1 quickly. A moderate C is enough, and the equations are conditioned well.
//
// All w and all z bound the margin:
//
//	min(Aw)/‖w‖ₚ  ≤  γₚ  ≤  ‖Aᵀz‖_q/Σzᵢ,   1/p + 1/q = 1.
//
// The weights of the lower bound are the best mean of the last best ones and w. If no weights separate the data, z
// diverges, and the upper bound falls below any number.
//
// References: Hestenes 1969, Multiplier and gradient methods; Li, Sun & Toh 2018 (arXiv 1607.05428).
type multipliers struct {
	prob Problem
	p, q float64
	n, d int

	t      int     // products with examples in both directions
	work   float64 // how many passes over all examples they are worth
	w      []float64
	m      []float64 // Aw
	a      []float64
	even   []float64 // the mean ‖aᵢ‖² over ‖aᵢ‖²
	c      float64   // C
	most   int       // conjugate gradients of the next step
	idle   int       // steps without any
	before float64   // how far the worst margin was below 1 when a last changed
	cert   Certificate
	best   []float64 // the weights of the lower bound
	bestM  []float64 // their margins; neither is set while cert.Lower is −Inf
	check  float64   // the work at which progress is checked next
	last   Certificate

	rows              []int         // the examples with z > 0
	of                matrix.Matrix // a copy of them, or all
	at                []int         // their places there; nil: it is a copy
	sub               matrix.Matrix // memory for a copy
	z, s              []float64     // of these examples
	v                 []float64     // Aᵀz
	g, r, dir, hd, dw []float64
	curve, gh, scale  []float64 // P, ĝ, and the diagonal of the equations
	dm                []float64
	near              []int // examples that can matter for a step or a mean
	x, y              []float64
	pow               vec.Power // p − 2
}

// When the method is used, and how it steps. Tuned on sparse problems of 6·10⁵ to 5·10⁶ entries with 2 to 10 times as
// many examples as features, for p = 1.1 to 3, and tried on 3·10⁷ entries. No constant matters much.
const (
	multiplierEntries = 1 << 17 // with fewer entries the accelerated method takes 0.2 seconds at most
	multiplierSteps   = 1000    // with fewer steps the accelerated method is used
	multiplierP       = 3.0     // for larger p the curvature of ½‖w‖² near 0 is too small
	multiplierWide    = 4       // with more features than so many an example, the accelerated method is faster,
	multiplierSmallP  = 1.5     // but not for p below this
	multiplierShort   = 1e-8    // examples shorter than the root of this share of the mean count as that long
	multiplierCopy    = 3       // with less than this part of the examples, a copy of them is worth its memory
	multiplierStart   = 30.0    // C begins with so many times the value that balances both parts of L
	multiplierFirst   = 240.0   // passes after which progress is checked; the next check is after twice as many
	multiplierShrink  = 0.5     // from check to check the gap must shrink to this share of itself,
	multiplierClose   = 1e-3    // or be less than this

	stepForcing = 0.2 // accuracy of a step, relative to the gradient
	stepMost    = 200 // conjugate gradients of a step
	stepLeast   = 10
	stepShort   = 0.3 // after a step that was shortened to less, the next has stepFewer of its conjugate gradients
	stepFewer   = 0.3
	stepWhole   = 0.7 // and after one above this, stepMore
	stepMore    = 1.4

	gradientMost  = 0.1 // a changes when ∇L, squared and relative to ‖w‖², is below this,
	gradientShare = 0.5 // below this share of what the worst margin lacks of 1,
	gradientGap   = 0.2 // or below this share of the gap asked for
	infeasible    = 0.7 // C grows if what the worst margin lacks is more than this share of what it lacked before
	penaltyGrowth = 1.5
)

// multipliersSuit reports whether the method is to be tried.
func multipliersSuit(prob Problem, p, soft float64, steps int) bool {
	_, sparse := prob.X.(*matrix.CSR)
	n, d := prob.Dims()
	return sparse && prob.X.NNZ() >= multiplierEntries && p <= multiplierP && soft == 0 && steps >= multiplierSteps &&
		(d <= multiplierWide*n || p < multiplierSmallP)
}

// newMultipliers begins with a = 0 and the w that equal weights of the examples give. It returns nil if their margins
// have no positive sum.
func newMultipliers(prob Problem, p float64) *multipliers {
	s := emptyMultipliers(prob, p)
	for i, e := range s.even {
		s.dm[i] = math.Sqrt(e)
	}
	prob.addAbsorbed(s.v, s.dm)
	vec.Scale(s.v, 1/float64(s.n), s.v)
	mirror.DualityMap(s.w, s.v, s.q)
	prob.Margins(s.m, s.w)
	s.work++
	var mean float64
	for i, m := range s.m {
		mean += m * math.Sqrt(s.even[i]) / float64(s.n)
	}
	if !(mean > 0) || math.IsInf(mean, 1) {
		return nil
	}
	vec.Scale(s.w, 1/mean, s.w)
	vec.Scale(s.m, 1/mean, s.m)
	lack := 1e-3 * float64(s.n)
	for i, m := range s.m {
		lack += s.even[i] * max(1-m, 0)
	}
	norm := mirror.Norm(s.w, p)
	s.c = multiplierStart * norm * norm / lack
	return s
}

func emptyMultipliers(prob Problem, p float64) *multipliers {
	n, d := prob.Dims()
	f := func(k int) []float64 { return make([]float64, k) }
	s := &multipliers{prob: prob, p: p, q: mirror.Conjugate(p), n: n, d: d, w: f(d), m: f(n), a: f(n), dm: f(n),
		best: f(d), bestM: f(n), v: f(d), g: f(d), r: f(d), dir: f(d), hd: f(d), dw: f(d), curve: f(d), gh: f(d),
		scale: f(d), pow: vec.PowerOf(p - 2), most: stepMost, before: math.Inf(1),
		check: multiplierFirst, cert: unknown, last: unknown, even: f(n)}
	matrix.Rows(prob.X, func(i int, _ []int32, val []float64) { s.even[i] = vec.Dot(val, val) })
	mean := total(s.even) / float64(n)
	for i, square := range s.even {
		s.even[i] = mean / max(square, multiplierShort*mean)
	}
	return s
}

var unknown = Certificate{Lower: math.Inf(-1), Upper: math.Inf(1)}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// evaluate updates both bounds and prepares a step.
func (s *multipliers) evaluate() {
	s.choose()
	s.offer()
}

// choose computes z and the upper bound, and copies the examples with z > 0.
func (s *multipliers) choose() {
	s.rows, s.z = s.rows[:0], s.z[:0]
	for i, m := range s.m {
		if z := s.a[i] + s.c*s.even[i]*(1-m); z > 0 {
			s.rows, s.z = append(s.rows, i), append(s.z, z)
		}
	}
	if s.of, s.at = s.prob.X, s.rows; len(s.rows) <= s.n/multiplierCopy {
		s.sub = matrix.SelectInto(s.sub, s.prob.X, s.rows)
		s.of, s.at = s.sub, nil
	}
	s.s = grow(s.s, len(s.rows))
	for k, i := range s.rows {
		if s.s[k] = s.z[k]; s.prob.Y != nil {
			s.s[k] *= s.prob.Y[i]
		}
	}
	clear(s.v)
	if s.at == nil {
		s.of.AddMulT(s.v, s.s)
	} else {
		s.of.AddMulTRows(s.v, s.at, s.s)
	}
	s.work += s.share() / 2
	if sum := total(s.z); sum > 0 && !math.IsInf(sum, 1) {
		s.cert.Upper = min(s.cert.Upper, mirror.Norm(s.v, s.q)/sum)
	}
}

// share is the share of the examples in use.
func (s *multipliers) share() float64 { return float64(len(s.rows)) / float64(s.n) }

// grow returns x with length n, whatever it holds.
func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// offer replaces the best weights by the best mean of them and w.
func (s *multipliers) offer() {
	size := mirror.Norm(s.w, s.p)
	if math.IsInf(s.cert.Lower, -1) {
		copy(s.best, s.w)
		copy(s.bestM, s.m)
		s.cert.Lower = minOf(s.m) / size
		return
	}
	// The least margin of a mean is at most γₚ times its norm: larger ones can be left out.
	most := s.cert.Upper * max(size, mirror.Norm(s.best, s.p)) * (1 + 1e-9)
	s.x, s.y = s.x[:0], s.y[:0]
	for i, b := range s.bestM {
		if m := s.m[i]; b <= most || m <= most {
			s.x, s.y = append(s.x, b), append(s.y, m)
		}
	}
	lower, at := s.cert.Lower, 0.0
	if len(s.x) == 0 { // rounding
		return
	}
	for _, t := range []float64{0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1} {
		least := math.Inf(1)
		for k, b := range s.x {
			least = min(least, b+t*(s.y[k]-b))
		}
		mix(s.hd, t, s.best, s.w)
		if l := least / mirror.Norm(s.hd, s.p); l > lower {
			lower, at = l, t
		}
	}
	if at > 0 {
		s.cert.Lower = lower
		mix(s.best, at, s.best, s.w)
		mix(s.bestM, at, s.bestM, s.m)
	}
}

// step makes a Newton step from where evaluate was called, and then changes a and C if the gradient was small. Gap is
// the one asked for. It reports false, with nothing changed, if ctx ended.
func (s *multipliers) step(ctx context.Context, gap float64) bool {
	t0, work, size := s.t, s.work, mirror.Norm(s.w, s.p)
	s.equations(size)
	var off float64
	for j, g := range s.g {
		off += g * g / s.curve[j]
	}
	used := s.solve(ctx)
	if ctx.Err() != nil {
		s.t, s.work = t0, work
		return false
	}
	if s.idle++; used > 0 {
		s.idle = 0
	} else {
		s.t++
	}
	s.prob.Margins(s.dm, s.dw)
	s.work += 0.5
	t := s.search()
	vec.Axpy(t, s.dw, s.w)
	vec.Axpy(t, s.dm, s.m)
	switch {
	case t < stepShort:
		s.most = max(stepLeast, int(stepFewer*float64(used)))
	case t >= stepWhole:
		s.most = min(stepMost, int(stepMore*float64(s.most)))
	}
	lack := max(1-minOf(s.m), 0)
	if off <= size*size*max(min(gradientMost, gradientShare*lack), gradientGap*gap) {
		for i, m := range s.m {
			s.a[i] = max(s.a[i]+s.c*s.even[i]*(1-m), 0)
		}
		if lack > infeasible*s.before {
			s.c *= penaltyGrowth
		}
		s.before = lack
	}
	return true
}

// tiny keeps the curvature finite at weights that are 0.
const tiny = 1e-12

// equations computes −∇L and the matrix of a step.
func (s *multipliers) equations(size float64) {
	mirror.DualityMap(s.gh, s.w, s.p)
	for j, v := range s.v {
		s.g[j] = v - s.gh[j]
	}
	vec.Scale(s.gh, 1/size, s.gh)
	for j, w := range s.w {
		s.curve[j] = math.Abs(w)/size + tiny
	}
	s.pow.Abs(s.curve, s.curve)
	vec.Scale(s.curve, math.Sqrt(s.p-1), s.curve)
	copy(s.scale, s.curve)
	rows, _ := s.of.Dims()
	c := s.dm[:rows]
	clear(c)
	for k, i := range s.rows {
		if s.at == nil {
			i = k
		}
		c[i] = s.c * s.even[s.rows[k]]
	}
	matrix.AddSquaresT(s.scale, s.of, c)
}

// multiply sets dst = (P + (2−p)ĝĝᵀ + BᵀCB)·x.
func (s *multipliers) multiply(dst, x []float64) {
	times(dst, s.curve, x)
	if s.p != 2 {
		vec.Axpy((2-s.p)*vec.Dot(s.gh, x), s.gh, dst)
	}
	prod, c := s.s, s.x[:len(s.rows)]
	s.of.MulAddT(dst, s.at, prod, c, x, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			c[k] = s.c * s.even[s.rows[k]] * prod[k] // the labels are ±1
		}
	})
	s.t++
	s.work += s.share()
}

// solve computes Δw by conjugate gradients, with the diagonal as preconditioner, and returns their number.
func (s *multipliers) solve(ctx context.Context) (k int) {
	s.x = grow(s.x, len(s.rows))
	clear(s.dw)
	copy(s.r, s.g)
	rr := 0.0
	for j, r := range s.r {
		s.dir[j] = r / s.scale[j]
		rr += r * s.dir[j]
	}
	stop := stepForcing * stepForcing * rr
	for k = 0; k < s.most && rr > stop && ctx.Err() == nil; k++ {
		s.multiply(s.hd, s.dir)
		curvature := vec.Dot(s.dir, s.hd)
		if !(curvature > 0) {
			break
		}
		alpha := rr / curvature
		vec.Axpy(alpha, s.dir, s.dw)
		vec.Axpy(-alpha, s.hd, s.r)
		next := 0.0
		for j, r := range s.r {
			next += r * r / s.scale[j]
		}
		beta := next / rr
		for j, r := range s.r {
			s.dir[j] = r/s.scale[j] + beta*s.dir[j]
		}
		rr = next
	}
	return k
}

// search returns the length of the step: 1, or a zero of the derivative of L along it if that is before 1.
func (s *multipliers) search() float64 {
	s.near, s.x, s.y = s.near[:0], s.x[:0], s.y[:0]
	for i, m := range s.m {
		c := s.c * s.even[i]
		z, dz := s.a[i]+c*(1-m), c*s.dm[i]
		if z > 0 || z > dz { // zᵢ(t) = z − t·dz is positive at 0 or at 1, and else nowhere between
			s.near, s.x, s.y = append(s.near, i), append(s.x, z), append(s.y, dz)
		}
	}
	slope := func(t float64) float64 {
		copy(s.hd, s.w)
		vec.Axpy(t, s.dw, s.hd)
		mirror.DualityMap(s.hd, s.hd, s.p)
		sum := vec.Dot(s.hd, s.dw)
		for k, z := range s.x {
			if z -= t * s.y[k]; z > 0 {
				sum -= z * s.dm[s.near[k]]
			}
		}
		return sum
	}
	first := math.Abs(slope(0))
	if !(slope(1) > stepShort*first) {
		return 1
	}
	lo, hi := 0.0, 1.0
	t := 0.5
	for range 12 {
		switch d := slope(t); {
		case math.Abs(d) < 0.1*first:
			return t
		case d > 0:
			hi = t
		default:
			lo = t
		}
		t = (lo + hi) / 2
	}
	return t
}

// failing reports whether another method should take over: numbers are not finite, no margin is in sight after the
// passes of the first check, or the gap hardly shrinks.
func (s *multipliers) failing() bool {
	size := mirror.Norm(s.w, s.p)
	if !(size > 0) || math.IsInf(size, 1) || !(s.c > 0) || math.IsInf(s.c, 1) || math.IsNaN(s.cert.Lower) ||
		math.IsNaN(s.cert.Upper) || s.idle >= mostIdle {
		return true
	}
	if s.work < s.check {
		return false
	}
	before := s.last.Gap()
	for s.last = s.cert; s.check <= s.work; {
		s.check *= 2
	}
	return s.cert.Gap() > multiplierClose && !(s.cert.Gap() <= multiplierShrink*before) || !(s.cert.Lower > 0)
}
