package margin_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// In general position a linear program ends in a vertex: with d unknowns at most d examples hold the margin for p = 1,
// as many as there are weights other than 0, and at most d + 1 − (weights at the bound) for p = ∞. For 1 < p < ∞ the
// dual is a point of a face of at most d + 1 examples.
func TestSupportVectorsAreThoseOfAVertex(t *testing.T) {
	const n, d = 300, 12
	for seed := range uint64(4) {
		// columns of one scale, and from 1e-3 to 1e3 as in a table as it was measured
		for _, spread := range []float64{0, 3} {
			rng := rand.New(rand.NewPCG(seed, 31))
			a := make([][]float64, n)
			for i := range a {
				for range d {
					a[i] = append(a[i], rng.NormFloat64())
				}
			}
			turn(rng, a, 0.01)
			scale(a, 2, func() float64 { return math.Pow(10, spread*(2*rng.Float64()-1)) })
			prob := linear.Problem{X: matrix.FromRows(a)}
			for _, p := range []float64{1, 1.1, 1.5, 2, 3, 10, math.Inf(1)} {
				sol := solve(t, prob, p)
				name := fmt.Sprintf("seed %d, 1e±%v, p = %v: %d support vectors, %d weights, gap %.1e",
					seed, spread, p, len(sol.Support), len(sol.Nonzero), sol.Gap())
				bound := 0
				for _, w := range sol.W {
					if math.Abs(w)*sol.Lower > 1-1e-6 {
						bound++
					}
				}
				switch {
				case p == 1 && len(sol.Support) != len(sol.Nonzero):
					t.Error(name)
				case math.IsInf(p, 1) && len(sol.Support) != d+1-bound:
					t.Errorf("%s, %d at the bound", name, bound)
				case len(sol.Support) > d+1:
					t.Error(name)
				}
				for _, i := range sol.Support { // each of them touches the margin
					_, row := prob.X.Row(i)
					var m float64
					for j, v := range row {
						m += v * sol.W[j]
					}
					if m > 1+1e-3 {
						t.Errorf("%s: example %d has margin %v", name, i, m)
					}
				}
			}
		}
	}
}
