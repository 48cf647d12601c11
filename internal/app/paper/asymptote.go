package paper

import (
	"context"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// asymptote is how p-GD with the exponential loss approaches the ℓₚ max-margin direction u of points in the plane.
//
// The dual vector z grows along ∇ψ(u), and only support vectors contribute to it in the end. Let v be tangent to the
// unit sphere at u, ⟨∇ψ(u), v⟩ = 0, and R = ‖w‖ₚ.
//
// Two or more support vectors: Σ e^(−⟨w, xᵢ⟩)xᵢ must point along ∇ψ(u), which fixes the ratios of the weights
// e^(−⟨w, xᵢ⟩). So w = R·u + ε·v with a bounded ε, the least point of Σ e^(−ε⟨v, xᵢ⟩) over the support vectors. Then
// D(u, w/R)·R² → K = ½ε²·vᵀ∇²ψ(u)v, whatever p is.
//
// If the support vectors are symmetric, ε = 0 and K = 0. What remains decays: of itself like R^(2−p)·e^(−κR) with
// κ = (p−1)·mean⟨v, xᵢ⟩²/(γ̂·vᵀ∇²ψ(u)v), the mean by the weights; and with the pull of the nearest other point, at a
// distance g from the margin, like e^(−gR).
//
// One support vector x: z is a multiple of x and a constant, which depends on the whole run. So D ~ R^(−2(p−1)).
//
// The norm: ηt ~ (p−1)·R^(p−2)·e^(γ̂R)/(γ̂²c) with c the mean of e^(γ̂R − ⟨w, xᵢ⟩), hence
// γ̂R = log t − (p−2) log log t + O(1). With one support vector and p < 3/2 there is a term R^(3−2p) more.
type asymptote struct {
	P       float64
	U       []float64 // the direction, ‖u‖ₚ = 1
	Margin  float64   // γ̂
	Support []int
	Spread  bool    // the support vectors differ along v
	K       float64 // the limit of D·R², if they do
	Settle  float64 // κ
	Gap     float64 // g
	Share   float64 // c
	Least   float64 // the least weight of a support vector, of a sum of 1
}

// supportWithin is how close to the margin a support vector is, relative to it: the solver is exact to 1e-12.
const supportWithin = 1e-7

// newAsymptote solves the problem, whose labels are absorbed. From the support vectors u follows to the last digits.
func newAsymptote(ctx context.Context, prob linear.Problem, p float64) (*asymptote, error) {
	n, d := prob.Dims()
	if d != 2 || prob.Y != nil {
		return nil, fmt.Errorf("%d features: asymptotes are computed in the plane, with labels absorbed", d)
	}
	s, err := margin.Solve(ctx, prob, p, margin.Settings{Gap: 1e-12})
	if err != nil {
		return nil, err
	}
	a := &asymptote{P: p, U: scaled(s.Lower, s.W), Gap: math.Inf(1)}
	m, along := make([]float64, n), make([]float64, n) // ⟨u, xᵢ⟩ and ⟨v, xᵢ⟩
	prob.Margins(m, s.W)
	prob.Margins(along, a.tangent())
	first, last := -1, -1 // the support vectors farthest apart
	for i, v := range m {
		if v < 1+supportWithin {
			a.Support = append(a.Support, i)
			if first < 0 || along[i] < along[first] {
				first = i
			}
			if last < 0 || along[i] > along[last] {
				last = i
			}
		}
	}
	_, x := prob.X.Row(first)
	_, y := prob.X.Row(last)
	w := make([]float64, 2)
	if a.Spread = along[last]-along[first] > supportWithin*s.Lower; a.Spread {
		if w[0], w[1] = y[1]-x[1], x[0]-y[0]; dot(w, x) < 0 {
			w = scaled(-1, w)
		}
	} else {
		mirror.DualityMap(w, x, mirror.Conjugate(p))
	}
	a.U = scaled(1/mirror.Norm(w, p), w)
	a.Margin = dot(a.U, x)
	prob.Margins(m, a.U)
	prob.Margins(along, a.tangent())
	for _, i := range a.Support {
		m[i] = math.Inf(1)
	}
	for _, v := range m {
		a.Gap = min(a.Gap, v-a.Margin)
	}
	a.settle(along, n)
	return a, nil
}

// tangent returns v, ∇ψ(u) turned by a right angle.
func (a *asymptote) tangent() []float64 {
	g := make([]float64, 2)
	mirror.Power(a.P).Mirror(g, a.U)
	return []float64{-g[1], g[0]}
}

// settle computes K, κ and c from the ⟨v, xᵢ⟩.
func (a *asymptote) settle(along []float64, n int) {
	if !a.Spread {
		a.Share = float64(len(a.Support)) / float64(n)
		return
	}
	var curve float64 // vᵀ∇²ψ(u)v
	for j, v := range a.tangent() {
		curve += (a.P - 1) * math.Pow(math.Abs(a.U[j]), a.P-2) * v * v
	}
	var eps, sum, slope, second float64
	for range 100 { // Newton's method on the convex Σ e^(−ε⟨v, xᵢ⟩)
		sum, slope, second = 0, 0, 0
		for _, i := range a.Support {
			e := math.Exp(-eps * along[i])
			sum, slope, second = sum+e, slope-along[i]*e, second+along[i]*along[i]*e
		}
		if math.Abs(slope) <= 1e-15*math.Sqrt(second*sum) {
			break
		}
		eps -= slope / second
	}
	if a.K = eps * eps * curve / 2; a.K < 1e-18 { // rounding: the support vectors are symmetric
		a.K = 0
	}
	a.Settle = (a.P - 1) * second / sum / (a.Margin * curve)
	a.Share = sum / float64(n)
	a.Least = 1
	for _, i := range a.Support {
		a.Least = min(a.Least, math.Exp(-eps*along[i])/sum)
	}
}

// law is the order of a divergence: D ~ C·t^(−Power)·log^(−Log) t.
type law struct {
	Power, Log float64
	C          float64 // NaN: it depends on the whole run
}

// law returns the order of D(u, w/‖w‖).
func (a *asymptote) law() law {
	p := a.P
	switch {
	case !a.Spread:
		return law{0, 2 * (p - 1), math.NaN()}
	case a.K > 0:
		return law{0, 2, a.K * a.Margin * a.Margin}
	case a.Settle < a.Gap:
		rate := a.Settle / a.Margin
		return law{2 * rate, 2 + 2*(p-2)*(1-rate), math.NaN()}
	default:
		rate := a.Gap / a.Margin
		return law{2 * rate, 2 - 2*(p-2)*rate, math.NaN()}
	}
}

// polylog reports whether D falls like a power of log t, not of t.
func (a *asymptote) polylog() bool { return a.law().Power == 0 }

// words writes the law of D for a table.
func (a *asymptote) words() string {
	switch l := a.law(); {
	case !a.Spread:
		return fmt.Sprintf("log^−%v t", l.Log)
	case a.K > 0:
		return fmt.Sprintf("%.3g/‖w‖² ~ log^−2 t", a.K)
	default:
		return fmt.Sprintf("t^−%.3g", l.Power)
	}
}

// compare returns a negative number if a divergence of this order is the smaller one in the end, a positive one if it
// is the larger, and 0 if the orders are equal and their constants are or are unknown.
func (l law) compare(o law) float64 {
	const same = 1e-9
	switch {
	case math.Abs(l.Power-o.Power) > same:
		return o.Power - l.Power
	case math.Abs(l.Log-o.Log) > same:
		return o.Log - l.Log
	case math.IsNaN(l.C) || math.IsNaN(o.C):
		return 0
	}
	return l.C - o.C
}

// norm returns ‖w_t‖ₚ at log t for steps of size η, by the equation for ηt. It is right up to o(1), unless there is one
// support vector and p ≤ 3/2, and needs γ̂‖w‖ > 2.
func (a *asymptote) norm(logT, eta float64) float64 {
	want := logT + math.Log(eta*a.Margin*a.Margin*a.Share/(a.P-1))
	r := max(want, 2) / a.Margin
	for range 100 {
		f := a.Margin*r + (a.P-2)*math.Log(r) - want
		step := f / (a.Margin + (a.P-2)/r)
		if r -= step; math.Abs(step) < 1e-14*r {
			break
		}
	}
	return r
}
