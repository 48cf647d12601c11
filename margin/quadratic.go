package margin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// SolveQuadratic maximises the margin in the norm ‖w‖ = (Σ cⱼwⱼ²)^½, c > 0, of mirror.Quadratic(c). With columns
// divided by √cⱼ and u = √c∘w that is the Euclidean margin of u.
//
// The certificate is for this norm: minᵢ yᵢ⟨xᵢ, w⟩/‖w‖ ≤ γ ≤ ‖Σ aᵢyᵢxᵢ‖_*/Σaᵢ with ‖v‖_* = (Σ vⱼ²/cⱼ)^½. W is of
// margin 1.
func SolveQuadratic(ctx context.Context, prob linear.Problem, c []float64, set Settings) (*Solution, error) {
	if err := prob.CheckLabels(); err != nil {
		return nil, err
	}
	n, d := prob.Dims()
	if len(c) != d {
		return nil, fmt.Errorf("%d coefficients for %d features", len(c), d)
	}
	root := make([]float64, d)
	for j, v := range c {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("coefficient %d is %v: a norm needs positive ones", j+1, v)
		}
		root[j] = math.Sqrt(v)
	}
	var b matrix.Builder
	for i := range n {
		idx, val := prob.X.Row(i)
		for k, v := range val {
			if v != 0 {
				j := column(idx, k)
				b.Add(int32(j), v/root[j])
			}
		}
		b.EndRow()
	}
	sol, err := Solve(ctx, linear.Problem{X: b.Build(d), Y: prob.Y}, 2, set)
	var not *NotSeparableError
	if errors.As(err, &not) && !not.Verify(prob) { // the roots are rounded: what cancels with them need not cancel without
		return nil, &GapError{Gap: math.Inf(1), Want: set.Gap, Rounding: true, Upper: math.Inf(1)}
	}
	if sol != nil {
		for j := range sol.W {
			sol.W[j] /= root[j]
		}
	}
	return sol, err
}

// CertifyQuadratic is linear.Certify for the norm of SolveQuadratic.
func CertifyQuadratic(prob linear.Problem, c, w, a []float64) linear.Certificate {
	_, d := prob.Dims()
	u, v, signed := make([]float64, d), make([]float64, d), make([]float64, len(a))
	var sum float64
	for i, ai := range a {
		signed[i] = ai * label(prob, i)
		sum += ai
	}
	prob.X.AddMulT(v, signed)
	for j := range u {
		u[j] = w[j] * math.Sqrt(c[j])
		v[j] /= math.Sqrt(c[j])
	}
	m, _ := prob.Margin(w)
	return linear.Certificate{Lower: m / mirror.Norm(u, 2), Upper: mirror.Norm(v, 2) / sum}
}
