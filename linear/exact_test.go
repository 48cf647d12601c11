package linear_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
)

// For any data, the two bounds of a fit hold the optimum of the exact solver, which has its own bounds. Rounding of
// sums of a dozen products is 1e-15 of them, or of the largest example if they cancel. So both are allowed 1e-12 of
// that.
func TestAcceleratedBoundsHoldTheExactMargin(t *testing.T) {
	for seed := range uint64(250) {
		rng := rand.New(rand.NewPCG(seed, 12))
		n, d := 1+rng.IntN(15), 1+rng.IntN(12)
		p := 1.05 * math.Pow(50/1.05, rng.Float64())
		scale := math.Pow(10, 200*rng.Float64()-100)
		near := math.Pow(10, -8*rng.Float64()) // how close to each other the classes are
		rows, y := make([][]float64, n), make([]float64, n)
		for i := range rows {
			y[i] = float64(2*rng.IntN(2) - 1)
			rows[i] = make([]float64, d)
			for j := range rows[i] {
				rows[i][j] = scale * rng.NormFloat64()
			}
			rows[i][0] = scale * near * y[i] * (1 + rng.ExpFloat64())
		}
		prob := linear.Problem{X: matrix.FromRows(rows), Y: y}
		exact, err := margin.Solve(t.Context(), prob, p, margin.Settings{Gap: 1e-7})
		if exact == nil {
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		r, err := linear.Fit(t.Context(), prob, linear.Settings{P: p, Steps: 3000})
		if err != nil {
			t.Fatal(err)
		}
		slack := 1e-12 * prob.RowNorm(p/(p-1))
		if r.Lower > exact.Upper+slack || r.Upper < exact.Lower-slack || r.Upper < r.Lower-slack {
			t.Errorf("seed %d: %d × %d, p = %v, scale %.1e, near %.1e: [%v, %v], exact [%v, %v]",
				seed, n, d, p, scale, near, r.Lower, r.Upper, exact.Lower, exact.Upper)
		}
		if m, _ := prob.Margin(r.W); r.Lower > 0 && !(m > 0) {
			t.Errorf("seed %d: a positive bound %v, but the weights err: %v", seed, r.Lower, m)
		}
	}
}
