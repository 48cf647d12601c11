package margin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// PathPoint is a point of the regularisation path: w̄ₚ(B) = argmin{L(w) : ‖w‖ₚ ≤ B} with B = ‖W‖ₚ.
type PathPoint struct {
	B      float64
	W      []float64
	Loss   float64
	Gap    float64 // (L(W) − min L)/L(W) is at most this
	Margin float64 // γ(W)/B
}

// Path follows the regularisation path of a loss with an ℓₚ ball, 1 < p < ∞.
//
// It solves min L(w) + λψ(w) with ψ = (1/p)‖·‖ₚᵖ for falling λ, each from the solution before: the solution lies on the
// path, at B = ‖w‖ₚ. With a = −L′ as weights of the examples the optimum is λ∇ψ(w) = Aᵀa, and a Newton step on it
// solves
//
//	(λP + AᵀHA)Δw = Aᵀa − λ∇ψ(w),   H = diag(ℓ″)/n,
//
// in R^n or R^d, whichever is smaller. For p > 2 the unknown is w and P = ψ″(w); for p ≤ 2, where ψ″ is infinite at 0,
// it is z = ∇ψ(w) and P⁻¹ = ψ*″(z), which is bounded. A step is halved until the objective falls.
//
// Each point is certified: for v = −∇L(w) convexity gives L(w) − L(w′) ≤ ⟨v, w′ − w⟩ ≤ B‖v‖_q − ⟨v, w⟩ for all w′ in
// the ball.
type Path struct {
	P    float64
	Loss Curved
	// range of B; 0: from 1/C to 200/C with C = max‖xᵢ‖_q. It ends earlier where the loss underflows or has its minimum
	From, To  float64
	PerDecade int // points per factor of ten in B, about; 0: 10
	// relative gap to aim at; 0: 1e-8. Where rounding stops progress up to 10⁴ times as much is taken; each point has
	// its own
	Gap  float64
	Each func(PathPoint)
}

// Curved is a loss with its second derivative.
type Curved interface {
	linear.Loss
	// Curvature sets dst = ℓ″(s).
	Curvature(dst, s []float64)
}

// Run returns the points of growing B. Points found before an error are returned with it.
func (s Path) Run(ctx context.Context, prob linear.Problem) ([]PathPoint, error) {
	if err := errors.Join(prob.CheckLabels(), mirror.CheckP(s.P)); err != nil {
		return nil, err
	}
	if s.Loss == nil || s.Loss.Residual() {
		return nil, errors.New("the path needs a classification loss: exp, logistic or poly")
	}
	f := newFollower(s, prob)
	var points []PathPoint
	for {
		if !(f.lambda > 1e-300 && f.lambda < 1e300) {
			return points, fmt.Errorf("the path ends at B = %.4g: for p = %v on data of this scale its multiplier leaves "+
				"the range of floats", f.lastB, s.P)
		}
		if err := f.solve(ctx); err != nil {
			return points, fmt.Errorf("at ‖w‖ = %.4g: %w", mirror.Norm(f.w, s.P), err)
		}
		pt := f.point()
		if !(pt.B > 0) {
			return points, fmt.Errorf("the path cannot start: for p = %v on data of this scale the weights underflow", s.P)
		}
		if pt.B >= f.from {
			points = append(points, pt)
			if s.Each != nil {
				s.Each(pt)
			}
		}
		if pt.B >= f.to || pt.Loss < 1e-280 || pt.B < f.lastB*(1+1e-6) { // there, underflowing, or at a finite minimiser
			return points, nil
		}
		f.next(pt)
	}
}

// follower is a path under way.
type follower struct {
	Path
	prob         linear.Problem
	psi          mirror.Potential
	n, d         int
	q            float64
	from, to     float64
	lambda       float64
	lastB        float64
	lastLambda   float64
	delta        float64
	w, z         []float64 // z = ∇ψ(w)
	m, a, h      []float64 // margins, weights −ℓ′/n, curvatures ℓ″/n
	v            []float64 // Aᵀa
	f            []float64 // λ∇ψ(w) − Aᵀa
	dw, dz, diag []float64
	rows         *gram
}

func newFollower(s Path, prob linear.Problem) *follower {
	n, d := prob.Dims()
	f := &follower{Path: s, prob: prob, psi: mirror.Power(s.P), n: n, d: d, q: mirror.Conjugate(s.P), delta: minDelta}
	if f.PerDecade == 0 {
		f.PerDecade = 10
	}
	if f.Path.Gap == 0 {
		f.Path.Gap = 1e-8
	}
	c := prob.RowNorm(f.q)
	if f.from = s.From; f.from == 0 {
		f.from = 1 / c
	}
	if f.to = s.To; f.to == 0 {
		f.to = 200 / c
	}
	f.from = min(f.from, f.to/2)
	vecs := func(k int) []float64 { return make([]float64, k) }
	f.w, f.z, f.v, f.f, f.dw, f.dz, f.diag = vecs(d), vecs(d), vecs(d), vecs(d), vecs(d), vecs(d), vecs(d)
	f.m, f.a, f.h = vecs(n), vecs(n), vecs(n)
	f.rows = newGram(prob)
	// Start close to w = 0, where λ∇ψ(w) = Aᵀa(0): with v = Aᵀa(0) and w = ∇ψ*(v/λ), ‖w‖ₚ = (‖v‖_q/λ)^(q−1) is a given
	// size.
	f.evaluate()
	size := f.from / 4
	f.lambda = mirror.Norm(f.v, f.q) * math.Pow(size, 1-s.P)
	vec.Scale(f.z, 1/f.lambda, f.v)
	f.psi.Inverse(f.w, f.z)
	return f
}

// evaluate computes margins, weights, curvatures and the objective at w.
func (f *follower) evaluate() (objective float64) {
	f.prob.Margins(f.m, f.w)
	loss := f.Loss.Sum(f.m) / float64(f.n)
	f.Loss.Weights(f.a, f.m)
	f.Loss.Curvature(f.h, f.m)
	vec.Scale(f.a, 1/float64(f.n), f.a)
	vec.Scale(f.h, 1/float64(f.n), f.h)
	clear(f.v)
	f.rows.addT(f.v, f.a)
	return loss + f.lambda*f.psi.Value(f.w)
}

// gap is the certified relative distance of the loss to its least value in the ball.
func (f *follower) gap() float64 {
	loss := f.Loss.Sum(f.m) / float64(f.n)
	return max(mirror.Norm(f.w, f.P)*mirror.Norm(f.v, f.q)-vec.Dot(f.v, f.w), 0) / loss
}

// solve makes Newton steps until the point is on the path.
func (f *follower) solve(ctx context.Context) error {
	const most = 200
	objective := f.evaluate()
	for range most {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.gap() <= f.Path.Gap && f.onPath() {
			return nil
		}
		next, moved := f.step(objective)
		if !moved { // rounding: no step lowers the objective
			if g := f.gap(); g > 1e4*f.Path.Gap {
				return fmt.Errorf("the path is lost with a relative gap of %.1e", g)
			}
			return nil // the point says its own gap
		}
		objective = next
	}
	return fmt.Errorf("no convergence in %d steps: the relative gap is %.1e", most, f.gap())
}

// step makes one damped Newton step. For p > 2 the damping δ of ψ″ follows how well steps went, since ψ″ vanishes at 0
// and the model with it; for p ≤ 2 halving is enough.
func (f *follower) step(objective float64) (next float64, moved bool) {
	w, z := append([]float64(nil), f.w...), append([]float64(nil), f.z...)
	for f.delta <= 1e3 {
		f.direction()
		slope := vec.Dot(f.f, f.dw)
		for t := 1.0; t > 1e-10; t /= 2 {
			f.move(w, z, t)
			if next = f.evaluate(); next < objective+min(1e-4*t*slope, 0) {
				if t == 1 {
					f.delta = max(f.delta/10, minDelta)
				}
				return next, true
			}
			if f.P > 2 && t < 0.2 && f.delta < 1e-2 {
				break
			}
		}
		f.move(w, z, 0)
		f.evaluate()
		if f.P <= 2 {
			return objective, false
		}
		f.delta *= 100
	}
	f.delta = minDelta
	return objective, false
}

// minDelta is the least damping, relative to the largest ψ″.
const minDelta = 1e-13

// onPath says that λ∇ψ(w) = Aᵀa holds well enough for B to be the point's own.
func (f *follower) onPath() bool {
	f.residual()
	return mirror.Norm(f.f, f.q) <= 1e-4*mirror.Norm(f.v, f.q)
}

func (f *follower) residual() {
	for j := range f.f {
		f.f[j] = f.lambda*f.z[j] - f.v[j]
	}
}

// direction computes the Newton step dw, and dz for p ≤ 2. diag is P⁻¹/λ.
func (f *follower) direction() {
	f.residual()
	p := f.P
	if p > 2 {
		top := mirror.Norm(f.w, math.Inf(1))
		for j, v := range f.w {
			f.diag[j] = 1 / (f.lambda * (p - 1) * math.Pow(top, p-2) * (math.Pow(math.Abs(v)/top, p-2) + f.delta))
		}
	} else {
		top := mirror.Norm(f.z, math.Inf(1))
		for j, v := range f.z {
			f.diag[j] = (f.q - 1) * math.Pow(max(math.Abs(v), 1e-9*top), f.q-2) / f.lambda
		}
	}
	y := f.rows.solve(f.diag, f.h, f.f) // y = H·A·Δw
	copy(f.dz, f.f)
	f.rows.addT(f.dz, y)
	for j := range f.dz {
		f.dw[j] = -f.diag[j] * f.dz[j]
		f.dz[j] /= -f.lambda
	}
}

// move sets (w, z) to the old ones plus t times the step, in w for p > 2 and in z else.
func (f *follower) move(w, z []float64, t float64) {
	if f.P > 2 {
		for j := range f.w {
			f.w[j] = w[j] + t*f.dw[j]
		}
		f.psi.Mirror(f.z, f.w)
		return
	}
	for j := range f.z {
		f.z[j] = z[j] + t*f.dz[j]
	}
	f.psi.Inverse(f.w, f.z)
}

func (f *follower) point() PathPoint {
	least := math.Inf(1)
	for _, m := range f.m {
		least = min(least, m)
	}
	b := mirror.Norm(f.w, f.P)
	return PathPoint{B: b, W: append([]float64(nil), f.w...), Loss: f.Loss.Sum(f.m) / float64(f.n), Gap: f.gap(),
		Margin: least / b}
}

// next lowers λ so that B grows by the wanted factor, by the slope of log B in log λ seen last, and scales w along.
func (f *follower) next(pt PathPoint) {
	grow := math.Pow(10, 1/float64(f.PerDecade))
	slope := -1 / (f.P) // a guess for the first: near 0 the loss is linear, B ~ λ^(−1/(p−1))
	if f.lastB > 0 && pt.B > f.lastB {
		slope = math.Log(pt.B/f.lastB) / math.Log(f.lambda/f.lastLambda)
	}
	f.lastB, f.lastLambda = pt.B, f.lambda
	fall := math.Log(grow) / slope
	f.lambda *= math.Exp(max(fall, -12))
	vec.Scale(f.w, grow, f.w)
	f.psi.Mirror(f.z, f.w)
}

// gram solves the n × n form of the Newton system, or the d × d form where d < n.
type gram struct {
	prob linear.Problem
	n, d int
	a    *mat.Dense // the rows yᵢxᵢ
	c    []float64
}

func newGram(prob linear.Problem) *gram {
	n, d := prob.Dims()
	g := &gram{prob: prob, n: n, d: d, a: mat.NewDense(n, d, nil), c: make([]float64, n)}
	for i := range n {
		idx, val := prob.X.Row(i)
		y := 1.0
		if prob.Y != nil {
			y = prob.Y[i]
		}
		row := g.a.RawRowView(i)
		for k, v := range val {
			if idx == nil {
				row[k] = y * v
			} else {
				row[idx[k]] = y * v
			}
		}
	}
	return g
}

// addT adds Aᵀ·c to dst.
func (g *gram) addT(dst, c []float64) {
	copy(g.c, c)
	for i, y := range g.prob.Y {
		g.c[i] *= y
	}
	g.prob.X.AddMulT(dst, g.c)
}

// solve returns y = H·A·Δw for (D⁻¹ + AᵀHA)Δw = −f: (H⁻¹ + ADAᵀ)y = −ADf, or through Δw itself where d < n.
func (g *gram) solve(diag, h, f []float64) []float64 {
	df := make([]float64, g.d)
	for j := range df {
		df[j] = diag[j] * f[j]
	}
	y := make([]float64, g.n)
	if g.d < g.n {
		k := mat.NewSymDense(g.d, nil)
		scaled := mat.NewDense(g.n, g.d, nil)
		for i := range g.n {
			vec.Scale(scaled.RawRowView(i), math.Sqrt(h[i]), g.a.RawRowView(i))
		}
		k.SymOuterK(1, scaled.T())
		// D^½(D⁻¹ + AᵀHA)D^½ = I + D^½AᵀHAD^½ is well scaled however small D is
		for i := range g.d {
			for j := i; j < g.d; j++ {
				k.SetSym(i, j, math.Sqrt(diag[i])*k.At(i, j)*math.Sqrt(diag[j]))
			}
			k.SetSym(i, i, 1+k.At(i, i))
		}
		rhs := mat.NewVecDense(g.d, nil)
		for j := range df {
			rhs.SetVec(j, -math.Sqrt(diag[j])*f[j])
		}
		dw := solveSym(k, rhs)
		for j := range df {
			df[j] = math.Sqrt(diag[j]) * dw.AtVec(j)
		}
		for i := range y {
			y[i] = h[i] * vec.Dot(g.a.RawRowView(i), df)
		}
		return y
	}
	// H^½(H⁻¹ + ADAᵀ)H^½ = I + H^½ADAᵀH^½
	scaled := mat.NewDense(g.n, g.d, nil)
	for i := range g.n {
		row, src, r := scaled.RawRowView(i), g.a.RawRowView(i), math.Sqrt(h[i])
		for j, v := range src {
			row[j] = r * v * math.Sqrt(diag[j])
		}
	}
	k := mat.NewSymDense(g.n, nil)
	k.SymOuterK(1, scaled)
	for i := range g.n {
		k.SetSym(i, i, 1+k.At(i, i))
	}
	rhs := mat.NewVecDense(g.n, nil)
	for i := range g.n {
		rhs.SetVec(i, -math.Sqrt(h[i])*vec.Dot(g.a.RawRowView(i), df))
	}
	sol := solveSym(k, rhs)
	for i := range y {
		y[i] = math.Sqrt(h[i]) * sol.AtVec(i)
	}
	return y
}

// solveSym solves a system with eigenvalues of at least 1.
func solveSym(k *mat.SymDense, rhs *mat.VecDense) *mat.VecDense {
	var chol mat.Cholesky
	out := mat.NewVecDense(rhs.Len(), nil)
	if chol.Factorize(k) {
		chol.SolveVecTo(out, rhs) // its error only says that the condition number is large
	} else {
		out.SolveVec(k, rhs)
	}
	return out
}
