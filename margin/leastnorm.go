package margin

import (
	"context"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// Interpolation is the w of least ℓₚ norm among those with ⟨xᵢ, w⟩ = yᵢ, with its proof: for every λ and every such w,
// ‖w‖ₚ ≥ ⟨λ, y⟩/‖Xᵀλ‖_q.
type Interpolation struct {
	W, Lambda  []float64
	Norm       float64 // ‖W‖ₚ
	Lower      float64 // ⟨λ, y⟩/‖Xᵀλ‖_q for λ = Lambda
	Residual   float64 // maxᵢ |⟨xᵢ, w⟩ − yᵢ|
	Iterations int
}

// Gap returns Norm/Lower − 1.
func (s *Interpolation) Gap() float64 {
	if s.Norm == 0 {
		return 0
	}
	return linear.Certificate{Lower: s.Lower, Upper: s.Norm}.Gap()
}

// residualShare is the largest |⟨xᵢ, w⟩ − yᵢ|, as a share of ‖xᵢ‖₂‖w‖₂, of an interpolation.
const residualShare = 1e-12

// LeastNorm finds the least ℓₚ norm interpolation, 1 < p < ∞, by Newton's method on the conditions
//
//	Xw = y,   ∇½‖w‖ₚ² = Xᵀλ,
//
// from the solution for p = 2. For p < 2 the steps are those of the dual, max ⟨λ, y⟩ − ½‖Xᵀλ‖_q², for p > 2 those of
// the primal problem; see solver.dual and solver.primal, which differ from this by their inequalities. It stops at
// a gap of set.Gap between Norm and Lower.
func LeastNorm(ctx context.Context, prob linear.Problem, p float64, set Settings) (*Interpolation, error) {
	if err := prob.Check(); err != nil {
		return nil, err
	}
	n, _ := prob.Dims()
	if !(p > 1) || math.IsInf(p, 1) {
		return nil, fmt.Errorf("p = %v: the least ℓₚ norm interpolation needs 1 < p < ∞", p)
	}
	if prob.Y == nil {
		return nil, fmt.Errorf("no targets to interpolate")
	}
	r, zero, err := newRows(linear.Problem{X: prob.X})
	switch {
	case err != nil:
		return nil, err
	case zero >= 0:
		return nil, fmt.Errorf("example %d is zero: leave it out", zero+1)
	}
	k := &interpolator{solver: newSolver(ctx, prob, r, p, set), target: make([]float64, n)}
	k.free = true
	k.form(false)
	for i, y := range prob.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return nil, fmt.Errorf("example %d has the target %v", i+1, y)
		}
		k.target[i] = y / r.length[i]
		k.scale = max(k.scale, math.Abs(k.target[i]))
	}
	if k.scale == 0 {
		return &Interpolation{W: make([]float64, r.full), Lambda: make([]float64, n)}, nil
	}
	vec.Scale(k.target, 1/k.scale, k.target)
	return k.run()
}

// interpolator works on rows of unit length and targets of at most 1.
type interpolator struct {
	*solver
	target []float64
	scale  float64   // of the targets before
	atW    []float64 // the best w
	atL    []float64 // the best λ
}

func (k *interpolator) run() (*Interpolation, error) {
	if !k.euclidean() {
		return nil, errContradiction(k.n)
	}
	k.atW = append(k.atW, k.w...)
	p, gap := k.p, k.gap
	// Where q is large, D = (q−1)|v̂|^(q−2) is next to 0 in most coordinates unless v is nearly right: q grows
	// threefold from one stage to the next.
	for q := 4.0; q < mirror.Conjugate(p); q = 3*q - 2 {
		k.stage(mirror.Conjugate(q), 0.1)
	}
	k.stage(p, gap)
	out := k.result()
	if gap := out.Gap(); !(gap <= k.enough) {
		return out, k.short(gap)
	}
	return out, nil
}

// stage solves for one p, from the λ and, for p ≥ 2, the w at hand.
func (k *interpolator) stage(p, gap float64) {
	k.setP(p)
	k.gap = gap
	k.best.upper = mirror.Norm(k.atW, p)
	for k.certify(); !k.reached() && k.n0 < k.most && k.best.since <= k.patience && k.ctx.Err() == nil; k.certify() {
		k.n0++
		step := k.primalStepFree
		if p < 2 {
			step = k.dualStepFree
		}
		if step() < 1e-12 {
			break
		}
	}
}

// euclidean starts from w = Xᵀλ with XXᵀλ = y, and says whether there is such a λ.
func (k *interpolator) euclidean() bool {
	for j := range k.diag {
		k.diag[j] = 1
	}
	clear(k.theta)
	k.factor(0, 0)
	k.solve(k.w, k.y, nil, k.target)
	k.mulT(k.w, k.y)
	k.mul(k.m, k.w)
	return k.off() <= 1e-8*(1+mirror.Norm(k.w, 2))
}

// off returns maxᵢ |mᵢ − yᵢ|.
func (k *interpolator) off() float64 {
	var most float64
	for i, m := range k.m {
		most = max(most, math.Abs(m-k.target[i]))
	}
	return most
}

// certify scales λ to the best multiple and keeps the best w and λ. For p < 2 the w at hand is that of λ, which does
// not interpolate exactly: one least squares step in the current metric makes it do so.
func (k *interpolator) certify() {
	k.mulT(k.v, k.y)
	size := mirror.Norm(k.v, k.q)
	if product := vec.Dot(k.y, k.target); product > 0 {
		if lower := product / size; lower > k.best.lower {
			k.best.lower = lower
			k.atL = append(k.atL[:0], k.y...)
		}
		if k.p < 2 {
			vec.Scale(k.y, product/(size*size), k.y)
			vec.Scale(k.v, product/(size*size), k.v)
			mirror.DualityMap(k.w, k.v, k.q)
		}
	}
	k.hessian()
	copy(k.dw, k.w)
	for range 3 {
		k.mul(k.m, k.dw)
		if k.off() <= residualShare*mirror.Norm(k.dw, 2) {
			break
		}
		for i, m := range k.m {
			k.rhs[i] = k.target[i] - m
		}
		k.core(k.dv, k.dy, nil, k.rhs)
		vec.Axpy(1, k.dv, k.dw)
	}
	k.mul(k.m, k.dw)
	if norm := mirror.Norm(k.dw, k.p); norm < k.best.upper && k.off() <= 10*residualShare*mirror.Norm(k.dw, 2) {
		k.best.upper = norm
		k.atW = append(k.atW[:0], k.dw...)
	}
	k.best.since++
	if between := k.best.upper - k.best.lower; between < 0.9*k.best.mark {
		k.best.mark, k.best.since = between, 0
	}
}

// hessian factors the Newton equations at λ (p < 2) or at w and λ.
func (k *interpolator) hessian() {
	k.mul(k.m, k.w)
	size := mirror.Norm(k.w, k.p)
	// Levenberg's term keeps the equations regular far from the solution and vanishes with the residual there.
	damping := min(k.off()/size, 1) * 1e-3
	if k.p >= 2 {
		damping = 0
	}
	for i := range k.theta {
		k.theta[i] = damping
	}
	vec.Scale(k.h, 1/size, k.m)
	vec.Scale(k.g, 1/size, k.w)
	if k.p < 2 {
		k.dualDiagonal(mirror.Norm(k.v, k.q))
		k.factor(2-k.q, 1/((k.q-1)*(k.q-2)))
		return
	}
	k.primalDiagonal(size)
	k.factor(2-k.q, 0)
}

func (k *interpolator) dualStepFree() float64 {
	k.mul(k.m, k.w)
	for i, m := range k.m {
		k.rhs[i] = k.target[i] - m
	}
	k.solve(k.dw, k.dy, nil, k.rhs)
	t := k.dualSearch(1)
	vec.Axpy(t, k.dy, k.y)
	return t
}

func (k *interpolator) primalStepFree() float64 {
	mirror.DualityMap(k.try, k.w, k.p)
	for j, v := range k.v {
		k.dv[j] = v - k.try[j]
	}
	k.mul(k.m, k.w)
	for i, m := range k.m {
		k.rhs[i] = k.target[i] - m
	}
	k.solve(k.dw, k.dy, k.dv, k.rhs)
	t := k.primalSearch(1)
	vec.Axpy(t, k.dw, k.w)
	vec.Axpy(1, k.dy, k.y)
	return t
}

// result returns to the original rows and targets.
func (k *interpolator) result() *Interpolation {
	out := &Interpolation{Iterations: k.n0, Lambda: make([]float64, k.n)}
	if k.atW == nil {
		k.atW = k.w
	}
	vec.Scale(k.atW, k.scale, k.atW)
	out.W = k.rows.primal(k.atW)
	for i, l := range k.atL {
		out.Lambda[i] = l / k.length[i]
	}
	if k.atL != nil { // the multiple for which ∇½‖w‖ₚ² = Xᵀλ
		vec.Scale(out.Lambda, k.best.lower*k.scale/k.multiple(out.Lambda), out.Lambda)
	}
	out.Norm = mirror.Norm(out.W, k.p)
	v, m := make([]float64, k.full), make([]float64, k.n)
	k.prob.X.AddMulT(v, out.Lambda)
	out.Lower = vec.Dot(out.Lambda, k.prob.Y) / mirror.Norm(v, k.q)
	k.prob.X.Mul(m, out.W)
	for i := range m {
		out.Residual = max(out.Residual, math.Abs(m[i]-k.prob.Y[i]))
	}
	return out
}

// multiple returns ‖Xᵀλ‖_q.
func (k *interpolator) multiple(lambda []float64) float64 {
	v := make([]float64, k.full)
	k.prob.X.AddMulT(v, lambda)
	return mirror.Norm(v, k.q)
}
