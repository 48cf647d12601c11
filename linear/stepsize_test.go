package linear

import (
	"math"
	"testing"

	"github.com/bregman-ml/bregman/mirror"
)

// For any scale of the data, geometry and rule, a found step size lowers the loss for a thousand steps, and its first
// step leaves an exponential loss some gradient.
func TestAFoundStepBehaves(t *testing.T) {
	for _, scale := range []float64{1e-3, 1, 1e3} {
		dense, _ := random(12, 20, 30)
		for i := range 20 {
			_, row := dense.X.Row(i)
			for j := range row {
				row[j] *= scale
			}
		}
		for _, p := range []float64{1.01, 1.1, 2, 3, 10, 100} {
			if p == 100 && scale > 1 {
				continue // weights of 1e-5 have duals of 1e-495: there the data must be scaled
			}
			for _, d := range []Descent{{}, {Normalized: true}, {Steepest: p}, {Loss: Logistic{}}, {Loss: Square{}}} {
				d.Potential = mirror.Power(p)
				eta, err := d.FindStep(t.Context(), dense, nil)
				if err != nil {
					t.Fatal(err)
				}
				d.Eta = eta
				s, err := d.Start(dense, nil)
				if err != nil {
					t.Fatal(err)
				}
				first := s.Measure(2, nil).Loss
				s.Step()
				one := s.Measure(2, nil).Loss
				if err := s.Run(t.Context(), 1000); err != nil {
					if p > 1.01 { // there z ↦ z^100 turns a good step into an overflow: fit tries again with less
						t.Errorf("scale %v, p = %v, %+v: %v", scale, p, d, err)
					}
					continue
				}
				last := s.Measure(2, nil).Loss
				if p > 1.01 && !(last < first) || !d.Normalized && one < first*math.Exp(-max(1, p-1)) {
					t.Errorf("scale %v, p = %v, %+v: loss %v, %v after one step, %v after 1000",
						scale, p, d, first, one, last)
				}
			}
		}
	}
}
