package linear

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

func TestFitRefusesWhatIsNotAProblem(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 2}, {2, 1}, {-1, 1}})
	bad := matrix.FromRows([][]float64{{1, 2}, {2, math.NaN()}, {-1, 1}})
	for _, info := range Methods {
		method := info.Name
		set := Settings{Method: method, Steps: 10}
		if method == MethodNewton {
			set.Lambda = 0.1
		}
		for want, prob := range map[string]Problem{
			"example 2 has the label 0: want 1 or -1":  {X: x, Y: []float64{1, 0, 1}},
			"example 3 has the label 2: want 1 or -1":  {X: x, Y: []float64{1, -1, 2}},
			"example 1 has the label NaN":              {X: x, Y: []float64{math.NaN(), 1, 1}},
			"example 2 has the value NaN in feature 2": {X: bad, Y: []float64{1, 1, -1}},
			"no data: the problem has no examples":     {},
			"no data: 0 examples":                      {X: matrix.NewDense(3)},
		} {
			if r, err := Fit(t.Context(), prob, set); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v, want %q", method, r, err, want)
			}
		}
	}
}

func TestRegressionTakesAnyTargets(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 2}, {2, 1}, {-1, 1}})
	prob := Problem{X: x, Y: []float64{0, 7, -3}}
	if _, err := (MirrorDescent{Loss: Square{}, Steps: 10}).Fit(t.Context(), prob, Hooks{}); err != nil {
		t.Error(err)
	}
}

func TestAnEmptyCheckpointIsAnError(t *testing.T) {
	prob, _ := random(11, 5, 3)
	for _, info := range Methods {
		method := info.Name
		set := Settings{Method: method, Steps: 10, Hooks: Hooks{Resume: &Checkpoint{Method: string(method)}}}
		if method == MethodNewton {
			set.Lambda = 0.1
		}
		if _, err := Fit(t.Context(), prob, set); err == nil {
			t.Errorf("%s resumes from nothing", method)
		}
	}
}

// Rows (±t, 1) with t near 1e10: w = (0, 1) has margin 1, which is 1e-10 of a row. A fit that does not find it must not
// claim that there is none: its bounds hold the optimum.
func TestBoundsHoldNextToLongExamples(t *testing.T) {
	for _, scale := range []float64{1e6, 1e10, 1e12, 1e15} {
		var rows [][]float64
		for i := range 20 {
			rows = append(rows, []float64{(scale + float64(i)) * float64(1-2*(i%2)), 1})
		}
		for _, p := range []float64{1.1, 1.5, 2, 3, 10} {
			for _, method := range []MethodName{MethodAccelerated, MethodNormalized, MethodPGD} {
				prob := Problem{X: matrix.FromRows(rows)}
				r, err := Fit(t.Context(), prob, Settings{P: p, Method: method, Steps: 500})
				if err != nil {
					continue // an overflow: nothing is claimed
				}
				if r.Upper < 1 || r.Lower > 1+1e-4 {
					t.Errorf("%v, p = %v, %s: %v does not hold 1", scale, p, method, r.Certificate)
				}
			}
		}
	}
}
