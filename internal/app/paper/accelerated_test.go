package paper

import (
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/linear"
)

// Ten data sets, default settings, w = 0. A gap of 0.1 % is enough for the diagonal: neighbouring rows of the exact
// table differ by 1 % and more.
func TestAcceleratedFitsKeepTheDiagonalInEveryDataSet(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		prob := problemR100(seed)
		var rows [][]float64
		for _, p := range numbers.Ps {
			r, err := linear.Fit(t.Context(), prob, linear.Settings{P: p})
			if err != nil {
				t.Fatal(err)
			}
			most := 500
			if p > 3 {
				most = 1500
			}
			if r.Gap() > 1e-3 || r.Steps > most {
				t.Errorf("seed %d, p = %v: gap %.1e after %d iterations", seed, p, r.Gap(), r.Steps)
			}
			rows = append(rows, atMarginOne(prob, r.W))
		}
		if ok := diagonal(rows); slices.Contains(ok, false) {
			t.Errorf("seed %d: the diagonal holds for %v: %v", seed, numbers.Ps, ok)
		}
	}
}
