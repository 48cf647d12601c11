package trials

import (
	"math"
	"testing"
)

func TestTheMeanOfTrialsHasABand(t *testing.T) {
	b := MeanOf([]Points{{X: []float64{1, 2, 4}, Y: []float64{1, 2, 4}}, {X: []float64{1, 4, 8}, Y: []float64{3, 6, 9}}},
		false)
	// at 2 the second is 4, a third of the way from 3 to 6
	if len(b.X) != 4 || b.Mean[0] != 2 || b.Mean[1] != 3 || b.Mean[3] != 9 {
		t.Errorf("%+v", b)
	}
	if d := b.High[0] - b.Mean[0]; math.Abs(d-math.Sqrt2) > 1e-15 || b.High[3] != 9 || b.N[3] != 1 {
		t.Errorf("%+v", b)
	}
	if b := MeanOf([]Points{{X: []float64{1, 100, math.NaN()}, Y: []float64{0, 2, 1}},
		{X: []float64{10, 11}, Y: []float64{1, math.Inf(1)}}}, true); b.Mean[1] != 1 || b.High[1] != 1 {
		t.Errorf("halfway on a logarithmic axis: %+v", b)
	}
	if b := MeanOf(nil, false); b.X != nil {
		t.Errorf("%+v", b)
	}
}
