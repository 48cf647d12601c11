package margin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// Projection is the w with ⟨xᵢ, w⟩ = yᵢ that is nearest to w₀ in the divergence D of ψ = (1/p)‖·‖ₚᵖ, with its proof.
// For every λ let v = ∇ψ*(∇ψ(w₀) + Xᵀλ). Then every w has
//
//	D(w, w₀) = D(w, v) + ⟨λ, Xw − y⟩ + d(λ),   d(λ) = ⟨λ, y⟩ − ψ*(∇ψ(w₀) + Xᵀλ) + ψ*(∇ψ(w₀)),
//
// so that no interpolating w has a divergence below d(λ). For such a w and the nearest one, w*, Pythagoras' theorem is
// D(w, v) = D(w, w*) + D(w*, v): Excess bounds how far W and V are from w*.
type Projection struct {
	W, Lambda  []float64
	V          []float64 // ∇ψ*(∇ψ(w₀) + XᵀLambda)
	Divergence float64   // D(W, w₀)
	Excess     float64   // D(W, V)
	Rounding   float64   // what W and V being float64 may add to Excess, see Gap
	Lower      float64   // Divergence − Excess − Rounding: no interpolating w has a smaller divergence
	Residual   float64   // maxᵢ |⟨xᵢ, W⟩ − yᵢ|
	Iterations int
}

// Gap returns (Excess + Rounding)/Divergence, a bound on 1 − d(Lambda)/D(w, w₀) for an exactly interpolating w beside
// W. Nothing in it is a small difference of large numbers, so that rounding does not hide a gap: D is accurate to
// 1e-15/(p−1) of itself. Rounding is the sum of
//
//   - |⟨Lambda, XW − y⟩|: the exact w differs from W by some δ with Xδ = y − XW, and D(·, w₀) from W to w by that
//     product, up to the square of δ;
//   - Σ eⱼ|Wⱼ − Vⱼ|, where eⱼ is the rounding of the powers in ∇ψ(w₀) and in V: an error e of the dual vector changes
//     D(W, V) by ⟨e, V − W⟩, up to its square.
func (s *Projection) Gap() float64 {
	if s.Divergence == 0 {
		return 0
	}
	return (s.Excess + s.Rounding) / s.Divergence
}

// Project finds the w with ⟨xᵢ, w⟩ = yᵢ for all examples that is nearest to w0 in the divergence of mirror.Power(p),
// 1 < p < ∞: the limit of mirror descent with that potential and square loss from w0. A nil w0 is 0; then it is the
// w of least ℓₚ norm, see LeastNorm.
//
// It is found by Newton's method on
//
//	Xw = y,   ∇ψ(w) = ∇ψ(w₀) + Xᵀλ,
//
// for p < 2 with w given by the second equation, which makes it the maximum of the smooth concave d(λ), for p ≥ 2 with
// w on the plane of the first. It stops at a relative gap of set.Gap between Divergence and Lower. If it is not
// reached, the best projection found comes with a *GapError. It is made for p from 1.05 to 20: beyond, the powers p of
// weights differ by more than float64 can tell, unless w0 is 0 or small.
func Project(ctx context.Context, prob linear.Problem, p float64, w0 []float64, set Settings) (*Projection, error) {
	if err := prob.Check(); err != nil {
		return nil, err
	}
	_, d := prob.Dims()
	if !(p > 1) || math.IsInf(p, 1) {
		return nil, fmt.Errorf("p = %v: the nearest interpolation needs 1 < p < ∞", p)
	}
	if prob.Y == nil {
		return nil, fmt.Errorf("no targets to interpolate")
	}
	if w0 == nil {
		w0 = make([]float64, d)
	}
	if len(w0) != d {
		return nil, fmt.Errorf("w0 has %d weights, the data has %d features", len(w0), d)
	}
	if err := mirror.Power(p).Check(w0); err != nil {
		return nil, fmt.Errorf("w0: %w", err)
	}
	r, zero, err := newRows(linear.Problem{X: prob.X})
	switch {
	case err != nil:
		return nil, err
	case zero >= 0:
		return nil, fmt.Errorf("example %d is zero: leave it out", zero+1)
	}
	k := newProjector(ctx, prob, r, p, w0, set)
	for i, y := range prob.Y {
		k.target[i] = y / r.length[i]
		k.scale = max(k.scale, math.Abs(k.target[i]))
	}
	if k.scale == 0 {
		return k.result(), nil
	}
	// A power of two: w₀ and the targets keep all their digits.
	k.scale = math.Ldexp(1, exponentOf(k.scale))
	if size := math.Pow(k.scale, p); math.IsInf(size, 1) || size < 1e-290 || size > 1e290 {
		return nil, fmt.Errorf("weights of about %.2g have a divergence of about %.2g for p = %v, beyond what can be "+
			"computed with: scale the targets and w0", k.scale, size, p)
	}
	vec.Scale(k.target, 1/k.scale, k.target)
	vec.Scale(k.start, 1/k.scale, k.start)
	return k.run()
}

// projector works on rows of unit length, and on targets and a start of at most 1.
type projector struct {
	*normal
	flat *normal // the same in the Euclidean metric
	ctx  context.Context
	prob linear.Problem
	p    float64
	psi  mirror.Potential
	w0   []float64 // as given
	set  Settings
	most int // Newton steps
	n0   int // so far

	target []float64
	scale  float64   // of targets and start before
	start  []float64 // w₀, in the columns that have entries
	z0     []float64 // ∇ψ(w₀)

	w, lambda []float64
	z, v      []float64 // z₀ + Xᵀλ and ∇ψ*(z)
	atW, atL  []float64 // the best w and λ
	excess    float64   // of these: D(w, v)

	m, dl, rhs    []float64 // n
	dw, dz, f, at []float64 // d
}

func newProjector(ctx context.Context, prob linear.Problem, r *rows, p float64, w0 []float64, set Settings) *projector {
	k := &projector{normal: newNormal(r), flat: newNormal(r), ctx: ctx, prob: prob, w0: w0, set: set,
		most: set.MaxIterations}
	if k.most == 0 {
		k.most = 1000
	}
	for _, m := range []*normal{k.normal, k.flat} {
		m.free = true
		m.form(false)
	}
	for _, v := range []*[]float64{&k.target, &k.lambda, &k.m, &k.dl, &k.rhs} {
		*v = make([]float64, r.n)
	}
	for _, v := range []*[]float64{&k.start, &k.z0, &k.w, &k.z, &k.v, &k.dw, &k.dz, &k.f, &k.at} {
		*v = make([]float64, r.d)
	}
	for i, j := range r.cols {
		k.start[i] = w0[j]
		k.scale = max(k.scale, math.Abs(w0[j]))
	}
	k.setP(p)
	return k
}

// setP changes the geometry. What is known of the best w and λ holds for the old one only.
func (k *projector) setP(p float64) {
	k.p, k.psi = p, mirror.Power(p)
	k.psi.Mirror(k.z0, k.start)
	k.excess = math.Inf(1)
}

func (k *projector) run() (*Projection, error) {
	if !k.euclidean() {
		return nil, errContradiction(k.n)
	}
	if k.lack(k.start) <= residualShare*mirror.Norm(k.start, 2) { // the start interpolates
		k.atW, k.atL = nil, nil
		return k.result(), nil
	}
	p, gap, enough := k.p, k.set.Gap, k.set.Gap
	if gap == 0 {
		gap, enough = 1e-10, 1e-8
	}
	// Where q is large, the Hessian of d is next to 0 in most coordinates unless z is nearly right: q grows threefold
	// from one stage to the next.
	for q := 4.0; q < mirror.Conjugate(p); q = 3*q - 2 {
		k.stage(mirror.Conjugate(q), 0.1)
	}
	k.stage(p, gap)
	out := k.result()
	if gap := out.Gap(); !(gap <= enough) {
		return out, &GapError{Gap: gap, Want: enough, Iterations: k.n0, Rounding: k.n0 < k.most, Cause: k.ctx.Err(),
			Upper: math.Inf(1)}
	}
	return out, nil
}

// errContradiction says that n equations have no solution.
func errContradiction(n int) error {
	return fmt.Errorf("no w has ⟨xᵢ, w⟩ = yᵢ for all %d examples: some are combinations of others, with another "+
		"target", n)
}

// euclidean starts from the interpolating w nearest to w₀ in the Euclidean norm, and says whether there is one.
func (k *projector) euclidean() bool {
	for j := range k.flat.diag {
		k.flat.diag[j] = 1
	}
	k.flat.factor(0, 0)
	copy(k.w, k.start)
	for range 2 {
		k.lack(k.w)
		k.flat.solve(k.dw, k.dl, nil, k.rhs)
		vec.Axpy(1, k.dw, k.w)
	}
	k.atW, k.atL = append(k.atW, k.w...), append(k.atL, k.lambda...)
	return k.lack(k.w) <= 1e-8*(1+mirror.Norm(k.w, 2))
}

// lack sets rhs to y − Xw and returns its largest magnitude.
func (k *projector) lack(w []float64) float64 {
	k.mul(k.m, w)
	var most float64
	for i, m := range k.m {
		k.rhs[i] = k.target[i] - m
		most = max(most, math.Abs(k.rhs[i]))
	}
	return most
}

// moreSteps is how many steps follow one that reaches the gap. Each about squares the error of W.
const moreSteps = 3

// stage solves for one p, from the w at hand.
func (k *projector) stage(p, gap float64) {
	k.setP(p)
	k.fit()
	step := k.primalStep
	if p < 2 {
		step = k.dualStep
	}
	since, extra := 0, moreSteps
	for k.ctx.Err() == nil && k.n0 < k.most && since <= patience {
		k.n0++
		before := k.excess
		length := step()
		if since++; k.excess < 0.9*before {
			since = 0
		}
		if k.set.Progress != nil {
			k.set.Progress(k.iteration())
		}
		if k.excess <= gap*mirror.Divergence(k.psi, k.atW, k.start) {
			if extra--; extra < 0 || since > 0 {
				break
			}
		}
		if length < 1e-14 {
			break
		}
	}
	copy(k.w, k.atW)
}

// fit sets λ to what brings z₀ + Xᵀλ closest to ∇ψ(w), in the metric of ψ at w.
func (k *projector) fit() {
	k.psi.Mirror(k.f, k.w)
	vec.Axpy(-1, k.z0, k.f)
	vec.Scale(k.f, -1, k.f)
	k.curvature(k.w)
	clear(k.theta)
	k.factor(0, 0)
	clear(k.rhs)
	k.solve(k.dw, k.lambda, k.f, k.rhs)
	k.follow()
}

// follow sets z and v to those of λ.
func (k *projector) follow() {
	k.mulT(k.z, k.lambda)
	vec.Axpy(1, k.z0, k.z)
	k.psi.Inverse(k.v, k.z)
}

// curvature sets the diagonal to that of the inverse Hessian of ψ at w, |w|^(2−p)/(p−1). For p > 2 it is capped, at
// what is returned: n equations determine at most n coordinates near 0, which have next to no curvature; that of the
// others is the scale.
func (k *projector) curvature(w []float64) (most float64) {
	size := mirror.Norm(w, math.Inf(1))
	if k.p > 2 {
		for j, v := range w {
			k.at[j] = math.Abs(v)
		}
		slices.Sort(k.at)
		size = cmp.Or(k.at[min(k.n, k.d-1)], size)
	}
	vec.Scale(k.diag, 1/size, w)
	vec.PowerOf(math.Abs(k.p-2)).Abs(k.diag, k.diag)
	scale := math.Pow(size, 2-k.p) / (k.p - 1)
	for j, d := range k.diag {
		if k.p > 2 {
			d = 1 / (d + 1/mostDiag)
		}
		k.diag[j] = scale * d
	}
	return scale * mostDiag
}

// dualStep takes a Newton step of λ, for p < 2, where w = v is that of λ. It keeps v, moved to the plane, as a
// candidate first.
func (k *projector) dualStep() float64 {
	k.curvature(k.v)
	// Levenberg's term keeps the equations regular far from the solution and vanishes with the residual there.
	damping := 1e-3 * min(k.lack(k.v), 1) * mirror.Norm(k.diag, math.Inf(1))
	for i := range k.theta {
		k.theta[i] = damping
	}
	k.factor(0, 0)
	copy(k.w, k.v)
	k.land()
	k.keep()
	k.lack(k.v)
	k.solve(k.dw, k.dl, nil, k.rhs)
	k.mulT(k.dz, k.dl)
	reach := vec.Dot(k.dl, k.target)
	t := lineSearch(func(t float64) float64 {
		copy(k.at, k.z)
		vec.Axpy(t, k.dz, k.at)
		k.psi.Inverse(k.at, k.at)
		return reach - vec.Dot(k.dz, k.at)
	})
	vec.Axpy(t, k.dl, k.lambda)
	k.follow()
	return t
}

// primalStep takes a Newton step of w and λ, for p ≥ 2.
func (k *projector) primalStep() float64 {
	most := k.curvature(k.w)
	k.psi.Mirror(k.f, k.w)
	for j, g := range k.f {
		k.f[j] = k.z[j] - g
		// Where w and the v that λ asks for are apart, the slope of the secant between them takes the place of the second
		// derivative, which may be 0 at one of them.
		if far := k.v[j] - k.w[j]; math.Abs(far) > 1e-5*math.Abs(k.w[j]) {
			if c := far / k.f[j]; c > 0 {
				k.diag[j] = min(c, most)
			}
		}
	}
	k.factor(0, 0)
	k.lack(k.w)
	k.solve(k.dw, k.dl, k.f, k.rhs)
	vec.Axpy(1, k.dl, k.lambda)
	k.follow()
	t := lineSearch(func(t float64) float64 {
		copy(k.at, k.w)
		vec.Axpy(t, k.dw, k.at)
		k.psi.Mirror(k.at, k.at)
		return vec.Dot(k.z, k.dw) - vec.Dot(k.at, k.dw)
	})
	vec.Axpy(t, k.dw, k.w)
	k.land()
	k.keep()
	return t
}

// land moves w to the plane Xw = y: in the metric of the last equations, which costs the least divergence, and once
// more in the Euclidean one, whose equations are more accurate.
func (k *projector) land() {
	for _, metric := range []*normal{k.normal, k.normal, k.flat} {
		if k.lack(k.w) <= 0x1p-52*mirror.Norm(k.w, 2) {
			return
		}
		metric.core(k.dw, k.dl, nil, k.rhs)
		vec.Axpy(1, k.dw, k.w)
	}
}

// keep keeps w and λ if they are the best so far and w interpolates.
func (k *projector) keep() {
	excess := mirror.Divergence(k.psi, k.w, k.v)
	if excess < k.excess && k.lack(k.w) <= 10*residualShare*mirror.Norm(k.w, 2) {
		k.excess = excess
		k.atW, k.atL = append(k.atW[:0], k.w...), append(k.atL[:0], k.lambda...)
	}
}

// lineSearch finds about the zero of a falling slope, from 1 on.
func lineSearch(slope func(t float64) float64) float64 {
	first := slope(0)
	if !(first > 0) {
		return 0
	}
	lo, hi := 0.0, math.Inf(1)
	for t := 1.0; ; {
		switch s := slope(t); {
		case s > 0.5*first && t < 1e6:
			lo = t
		case s < -0.5*first || math.IsNaN(s):
			hi = t
		default:
			return t
		}
		if t = (lo + hi) / 2; math.IsInf(t, 1) {
			t = 2 * lo
		}
		if t < 1e-14 || hi-lo < 1e-3*hi {
			return t
		}
	}
}

// iteration is what is known so far, in terms of the original problem.
func (k *projector) iteration() Iteration {
	unit := math.Pow(k.scale, k.p)
	upper := mirror.Divergence(k.psi, k.atW, k.start)
	return Iteration{N: k.n0, Lower: unit * (upper - k.excess), Upper: unit * upper}
}

// result returns to the original rows and targets.
func (k *projector) result() *Projection {
	out := &Projection{Iterations: k.n0, W: slices.Clone(k.w0), Lambda: make([]float64, k.n)}
	for i, w := range k.atW {
		out.W[k.cols[i]] = w * k.scale
	}
	for i, l := range k.atL {
		out.Lambda[i] = l * math.Pow(k.scale, k.p-1) / k.length[i]
	}
	out.certify(k.prob, k.p, k.w0)
	return out
}

// powerError bounds the relative error of a power, see package vec.
const powerError = 5e-15

// certify computes all that follows from W and Lambda.
func (s *Projection) certify(prob linear.Problem, p float64, w0 []float64) {
	n, d := prob.Dims()
	psi := mirror.Power(p)
	z0, v := make([]float64, d), make([]twofold.Sum, d)
	psi.Mirror(z0, w0)
	for j, z := range z0 {
		v[j].Add(z)
	}
	var product float64 // ⟨λ, XW − y⟩
	for i := range n {
		var off twofold.Sum
		off.Add(-prob.Y[i])
		idx, val := prob.X.Row(i)
		for k, x := range val {
			j := column(idx, k)
			off.AddProduct(x, s.W[j])
			v[j].AddProduct(x, s.Lambda[i])
		}
		product += s.Lambda[i] * off.Value()
		s.Residual = max(s.Residual, math.Abs(off.Value()))
	}
	s.V = make([]float64, d)
	for j := range v {
		s.V[j] = v[j].Value()
	}
	psi.Inverse(s.V, s.V)
	s.Divergence, s.Excess = mirror.Divergence(psi, s.W, w0), mirror.Divergence(psi, s.W, s.V)
	s.Rounding = math.Abs(product)
	for j, z := range z0 {
		s.Rounding += powerError * (math.Abs(z) + p*math.Abs(v[j].Value())) * math.Abs(s.W[j]-s.V[j])
	}
	s.Lower = s.Divergence - s.Excess - s.Rounding
}
