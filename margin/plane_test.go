package margin_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// planeMargin solves the ℓₚ max-margin problem in R² by trying every candidate, the slow exact twin of the solver: the
// optimum has one support vector a, and then w = ∇(½‖·‖_q²)(a), or two, a and b, and then w is normal to a − b.
func planeMargin(rows [][]float64, p float64) (best float64) {
	try := func(w []float64) {
		norm := mirror.Norm(w, p)
		if norm == 0 {
			return
		}
		for _, sign := range []float64{1, -1} {
			least := math.Inf(1)
			for _, r := range rows {
				least = min(least, sign*(r[0]*w[0]+r[1]*w[1])/norm)
			}
			best = max(best, least)
		}
	}
	w := make([]float64, 2)
	for i, a := range rows {
		mirror.DualityMap(w, a, mirror.Conjugate(p))
		try(w)
		for _, b := range rows[:i] {
			try([]float64{a[1] - b[1], b[0] - a[0]})
		}
	}
	return best
}

func TestSolveAgreesWithTryingEverythingInThePlane(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range 200 {
		n := 1 + rng.IntN(20)
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = []float64{0.4 + rng.NormFloat64()/4, 0.3 + rng.NormFloat64()/4}
		}
		p := []float64{1.1, 1.5, 2, 3, 6, 10}[k%6]
		want := planeMargin(rows, p)
		s, err := margin.Solve(t.Context(), linear.Problem{X: matrix.FromRows(rows)}, p, margin.Settings{})
		if want < 1e-6 { // too close to call
			continue
		}
		if err != nil || math.Abs(s.Lower/want-1) > 1e-9 {
			t.Errorf("%d rows, p = %v: %v (%v), want %v", n, p, s, err, want)
		}
	}
}
