package paper

import (
	"context"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// squareDescent is mirror descent on L(w) = ‖Xw − y‖²/(2n) with a step size of its own at every step:
//
//	z_{t+1} = z_t − η_t·Xᵀ(Xw_t − y)/n,   w_{t+1} = ∇ψ*(z_{t+1}).
//
// Whatever the step sizes, z_t = ∇ψ(w₀) + Xᵀλ_t. So if Xw_t − y → 0 and w_t → w, then w interpolates and has
// ∇ψ(w) − ∇ψ(w₀) in the range of Xᵀ, which makes it the interpolation nearest to w₀ in the divergence: step sizes
// decide whether the descent converges, not where to. Indeed it is gradient ascent on the dual d(λ) of that problem,
// see margin.Projection, and D(u, w_t) = D(u, w₀) − d(λ_t) for every interpolating u.
type squareDescent struct {
	prob   linear.Problem
	psi    mirror.Potential
	loss   linear.Loss
	n      float64
	w, z   []float64
	lambda []float64
	off    []float64 // Xw − y
	t      int

	weights    []float64 // −∂L/∂off
	grad       []float64 // ∇L(w)
	tryW, tryZ []float64
	tryOff     []float64
}

func newSquareDescent(prob linear.Problem, psi mirror.Potential, loss linear.Loss, w0 []float64) *squareDescent {
	n, d := prob.Dims()
	s := &squareDescent{prob: prob, psi: psi, loss: loss, n: float64(n)}
	for _, v := range []*[]float64{&s.w, &s.z, &s.grad, &s.tryW, &s.tryZ} {
		*v = make([]float64, d)
	}
	for _, v := range []*[]float64{&s.lambda, &s.off, &s.weights, &s.tryOff} {
		*v = make([]float64, n)
	}
	copy(s.w, w0) // none: 0
	psi.Mirror(s.z, s.w)
	s.residual(s.off, s.w)
	return s
}

// residual sets dst = Xw − y.
func (s *squareDescent) residual(dst, w []float64) {
	s.prob.X.Mul(dst, w)
	vec.Axpy(-1, s.prob.Y, dst)
}

// gradient sets weights and grad at w.
func (s *squareDescent) gradient() {
	s.loss.Weights(s.weights, s.off)
	vec.Scale(s.weights, -1/s.n, s.weights)
	clear(s.grad)
	s.prob.X.AddMulT(s.grad, s.weights)
}

// step makes one step of size eta.
func (s *squareDescent) step(eta float64) {
	s.gradient()
	mirror.Step(s.w, s.z, s.psi, eta, s.grad)
	vec.Axpy(-eta, s.weights, s.lambda)
	s.residual(s.off, s.w)
	s.t++
}

// stepWithin makes a step of size eta, halved until the condition of the theorem holds,
//
//	D_{ψ−ηL}(w_{t+1}, w_t) = D_ψ(w_{t+1}, w_t) − η‖X(w_{t+1} − w_t)‖²/(2n) ≥ 0,
//
// with the D_ψ given. It returns the size of the step and the largest for which the condition holds with these two
// points, 0 if no step was found.
func (s *squareDescent) stepWithin(eta float64, divergence func(x, y []float64) float64) (used, most float64) {
	s.gradient()
	for ; eta > 1e-300 && eta < 1e300; eta /= 2 { // a descent that does not move has no largest step
		copy(s.tryZ, s.z)
		mirror.Step(s.tryW, s.tryZ, s.psi, eta, s.grad)
		s.residual(s.tryOff, s.tryW)
		var moved float64 // ‖X(w_{t+1} − w_t)‖²
		for i, r := range s.tryOff {
			moved += (r - s.off[i]) * (r - s.off[i])
		}
		most = 2 * s.n * divergence(s.tryW, s.w) / moved
		if moved == 0 { // below rounding
			most = 2 * eta
		}
		if !(most >= eta) { // also where it overflows
			continue
		}
		s.w, s.tryW = s.tryW, s.w
		s.z, s.tryZ = s.tryZ, s.z
		s.off, s.tryOff = s.tryOff, s.off
		vec.Axpy(-eta, s.weights, s.lambda)
		s.t++
		return eta, most
	}
	return 0, 0
}

// mostGrowth bounds how much larger a step is than the one before: for p < 2 a step from 0 says nothing about the next.
const mostGrowth = 10

// nextStep is the size to try after a step: the largest that the condition allowed for that one. Along a straight line
// and for a quadratic ψ it is the shorter of the two steps of Barzilai and Borwein (1988).
func nextStep(used, most float64) float64 { return min(most, mostGrowth*used) }

// worst is maxᵢ|⟨xᵢ, w⟩ − yᵢ|.
func (s *squareDescent) worst() float64 { return mirror.Norm(s.off, math.Inf(1)) }

// shrinkingSteps returns the first step size and the last for p > 2, of a geometric sequence.
//
// A constant step does not do it for large p. Near its limit w the descent is linear: the errors of λ shrink by
// I − ηXAXᵀ/n at each step, A = diag(1/ψ″(w)), 1/ψ″(w) = |w|^(2−p)/(p−1). A weight that is a hundredth of the others
// has 10^(2(p−2)) times their 1/ψ″. The step must be below 2 over the largest eigenvalue, and the slowest error then
// takes as many steps to fall by e as the ratio of the eigenvalues says, regression.stiffness: from 0, on the systems
// of seeds 1, 2 and 3, 2e6, 2e3, 1e4 for p = 6, and 2e7, 6e15, 3e6 for p = 10. Before that, every weight that changes
// its sign on the way stops the others for as long. With n equations the smallest of the weights that they determine is
// about 1/n of the others, so that the ratio is about n^(p−2), and by chance much larger.
//
// For p → ∞, ψ* → ‖·‖₁: the dual is nearly piecewise linear, and a weight near 0 is a kink. Steps that shrink
// geometrically are the classical choice for such functions (Shor 1962; Goffin 1977): while they are too long for a
// weight, its z stays within a step of 0; once they are not, it settles. Each weight gets steps of its own size on the
// way. The first step suits weights of the size of w₀ and of a solution, the last ones of a thousandth of that.
func shrinkingSteps(prob linear.Problem, p float64, w0 []float64) (first, last float64) {
	n, d := prob.Dims()
	size := math.Sqrt((vec.Dot(w0, w0) + vec.Dot(prob.Y, prob.Y)/float64(n)) / float64(d))
	first = math.Pow(size, p-2)
	return first, first * math.Pow(1e-3, p-2)
}

// shrink makes steps of sizes that fall geometrically from first to last.
func (s *squareDescent) shrink(ctx context.Context, first, last float64, steps int, progress func(int)) error {
	const chunk = 50_000
	ratio := math.Pow(last/first, 1/float64(steps))
	for done := 0; done < steps; {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := min(chunk, steps-done)
		for range some {
			s.step(first)
			first *= ratio
		}
		done += some
		progress(some)
	}
	return nil
}
