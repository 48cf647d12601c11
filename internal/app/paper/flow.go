package paper

import (
	"context"
	"errors"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// flow is the mirror flow of the exponential loss in the plane, p-GD in the limit of small steps:
//
//	dz/dt = −η∇L(w),   w = ∇ψ*(z),   ψ = (1/p)‖·‖ₚᵖ.
//
// The time t counts steps of size η. The flow is followed in τ = log(1 + t), in which it is as smooth near t = 10⁶⁰ as
// near t = 1:
//
//	dz/dτ = Σᵢ cᵢxᵢ,   cᵢ = e^(τ + log(η/n) − ⟨xᵢ, w⟩).
//
// If the margin is small, the direction settles much faster than the norm grows, and the equation is stiff. Hence its
// steps are linearly implicit Euler steps, (1 − hJ)Δ = h·dz/dτ, extrapolated to h = 0 (Deuflhard, Hairer and Zugck,
// 1987).
type flow struct {
	Tau float64
	Z   [2]float64

	p      float64
	psi    mirror.Potential
	prob   linear.Problem // with labels absorbed
	offset float64        // log(η/n)
	c      []float64      // margins, then the weights cᵢ
	h      float64        // the next step in τ
}

const (
	// flowColumns is the number of columns of the extrapolation, and its order.
	flowColumns = 8
	// flowTolerance is the error that a step may have, relative to ‖z‖. The direction is damped, so that its error
	// stays of this size: an angle of 1e-12, a divergence of 1e-24.
	flowTolerance = 1e-12
	// flowSteps is the most steps between two times. The flow needs some hundred for 60 decades.
	flowSteps = 10_000
)

// errStiff says that a flow needs too many steps. For p = 6 a weight that stays near 0 makes dw/dz too steep.
var errStiff = errors.New("the mirror flow is too stiff")

// newFlow starts at w0 and t = 0.
func newFlow(prob linear.Problem, p, eta float64, w0 []float64) *flow {
	n, _ := prob.Dims()
	f := &flow{p: p, psi: mirror.Power(p), prob: prob, c: make([]float64, n), h: 1e-3,
		offset: math.Log(eta / float64(n))}
	f.psi.Mirror(f.Z[:], w0)
	return f
}

// W returns the weights.
func (f *flow) W() []float64 {
	w := make([]float64, 2)
	f.psi.Inverse(w, f.Z[:])
	return w
}

// slope returns dz/dτ and leaves the weights cᵢ.
func (f *flow) slope(tau float64, z [2]float64) (dz [2]float64) {
	var w [2]float64
	f.psi.Inverse(w[:], z[:])
	f.prob.X.Mul(f.c, w[:])
	for i, m := range f.c {
		f.c[i] = tau + f.offset - m
	}
	vec.Exp(f.c, f.c)
	f.prob.X.AddMulT(dz[:], f.c)
	return dz
}

// jacobian returns J = −Σ cᵢ xᵢxᵢᵀ·diag(dw/dz) at f.Z. Extrapolation has its order with any J; the right one makes the
// steps stable. So dw/dz, which for p > 2 is infinite at 0, may be bounded.
func (f *flow) jacobian() [2][2]float64 {
	f.slope(f.Tau, f.Z)
	var aa, ab, bb float64
	for i, c := range f.c {
		_, x := f.prob.X.Row(i)
		aa, ab, bb = aa+c*x[0]*x[0], ab+c*x[0]*x[1], bb+c*x[1]*x[1]
	}
	least := 1e-30 * math.Hypot(f.Z[0], f.Z[1])
	var dw [2]float64
	for k, z := range f.Z {
		dw[k] = math.Pow(max(math.Abs(z), least), 1/(f.p-1)-1) / (f.p - 1)
	}
	return [2][2]float64{{-aa * dw[0], -ab * dw[1]}, {-ab * dw[0], -bb * dw[1]}}
}

// step returns z after a step of h and the error it may have.
func (f *flow) step(h float64) (z [2]float64, off float64) {
	j := f.jacobian()
	var t [flowColumns][2]float64 // t[i]: columns i … k extrapolated
	for k := range t {
		n := k + 1
		s := h / float64(n)
		a, b, c, d := 1-s*j[0][0], -s*j[0][1], -s*j[1][0], 1-s*j[1][1]
		det := a*d - b*c
		y := f.Z
		for m := range n {
			dz := f.slope(f.Tau+float64(m+1)*s, y)
			y[0] += s * (d*dz[0] - b*dz[1]) / det
			y[1] += s * (a*dz[1] - c*dz[0]) / det
		}
		t[k] = y
		for i := k - 1; i >= 0; i-- { // Aitken and Neville
			r := float64(n)/float64(i+1) - 1
			t[i][0] = t[i+1][0] + (t[i+1][0]-t[i][0])/r
			t[i][1] = t[i+1][1] + (t[i+1][1]-t[i][1])/r
		}
	}
	return t[0], math.Hypot(t[0][0]-t[1][0], t[0][1]-t[1][1])
}

// run follows the flow to the time τ.
func (f *flow) run(ctx context.Context, tau float64) error {
	for steps := 0; f.Tau < tau; steps++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if steps == flowSteps {
			return errStiff
		}
		h := min(f.h, tau-f.Tau)
		z, off := f.step(h)
		off /= flowTolerance * math.Hypot(z[0], z[1])
		grow := 0.9 * math.Pow(max(off, 1e-20), -1./flowColumns)
		if !(off <= 1) { // also if a trial overflowed
			f.h = h * max(grow, 0.1)
			if math.IsNaN(f.h) {
				f.h = 0.1 * h
			}
			continue
		}
		f.Z, f.Tau = z, f.Tau+h
		if h == f.h || grow < 1 { // not if tau alone made the step short
			f.h = h * min(grow, 4)
		}
	}
	f.Tau = tau
	return nil
}
