package linearmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/matrix"
)

// uneven has columns of different scales, one that does not vary and one that is mostly 0.
func uneven() [][]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]float64, 200)
	for i := range rows {
		rows[i] = []float64{rng.NormFloat64(), 1e6 + rng.NormFloat64(), 7, 0, 1e-3 * rng.NormFloat64()}
		if i%10 == 0 {
			rows[i][3] = 5 * rng.Float64()
		}
	}
	return rows
}

func sparse(rows [][]float64) matrix.Matrix {
	var b matrix.Builder
	for _, r := range rows {
		for j, v := range r {
			if v != 0 {
				b.Add(int32(j), v)
			}
		}
		b.EndRow()
	}
	return b.Build(len(rows[0]))
}

// Effects are the weights of the data's own columns times their deviations, by two passes over the table.
func TestEffectsAreWeightsTimesDeviations(t *testing.T) {
	rows := uneven()
	deviation := func(j int) float64 {
		var mean, square float64
		for _, r := range rows {
			mean += r[j] / float64(len(rows))
		}
		for _, r := range rows {
			square += (r[j] - mean) * (r[j] - mean) / float64(len(rows))
		}
		return math.Sqrt(square)
	}
	m := fit.Model{Classes: []float64{1, 2, 5}, Features: []string{"a", "b", "c", "d", "e", "bias"}, Bias: true,
		Scale:   &fit.Scaler{Kind: "std", Factor: []float64{2, 3, 4, 0.5, 1000, 1}},
		Weights: [][]float64{{1, -2, 9, 0, 1, 99}, {0, 0, 0, 0, 0, 5}, {3, 2, 1, -4, 0.5, 0}}}
	for name, x := range map[string]matrix.Matrix{"dense": matrix.FromRows(rows), "sparse": sparse(rows)} {
		got := Effects(m, x)
		want := map[string]float64{}
		for k, class := range []string{"1", "2", "5"} {
			for j := range 5 {
				if e := m.Weights[k][j] * m.Scale.Factor[j] * deviation(j); math.Abs(e) > 1e-9 { // not of what does not vary
					want[class+m.Features[j]] = e
				}
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d effects, want %d: %+v", name, len(got), len(want), got)
		}
		for k, e := range got {
			// b is about a million, and deviates from it by 1: squares of its values would have lost four digits
			if w, ok := want[e.Class+e.Feature]; !ok || math.Abs(e.Effect-w) > 1e-9*math.Abs(w) {
				t.Errorf("%s: class %s, %s: %v, want %v", name, e.Class, e.Feature, e.Effect, w)
			}
			if k > 0 && e.Class == got[k-1].Class && math.Abs(e.Effect) > math.Abs(got[k-1].Effect) {
				t.Errorf("%s: %s is larger than the one before", name, e.Feature)
			}
		}
		if w := got[0].Weight; got[0].Feature != "b" || w != -6 {
			t.Errorf("%s: the first is %+v", name, got[0])
		}
	}
}

func TestEffectsNameClassesAndColumns(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 2}, {2, 5}})
	for _, c := range []struct {
		m              fit.Model
		class, feature string
	}{
		{fit.Model{Classes: []float64{-1, 1}, Weights: [][]float64{{1, 0}}}, "1", "1"},
		{fit.Model{Weights: [][]float64{{1, 0}}}, "", "1"},
		{fit.Model{Classes: []float64{1}, ZeroBased: true, Weights: [][]float64{{0, 2}}}, "1", "1"},
	} {
		if got := Effects(c.m, x); len(got) != 1 || got[0].Class != c.class || got[0].Feature != c.feature {
			t.Errorf("%+v: %+v", c.m, got)
		}
	}
	many := make([]float64, 100)
	rows := [][]float64{make([]float64, 100), make([]float64, 100)}
	for j := range many {
		many[j], rows[1][j] = 1+float64(j), 1
	}
	if got := Effects(fit.Model{Weights: [][]float64{many}}, matrix.FromRows(rows)); len(got) != 30 ||
		got[0].Feature != "100" {
		t.Errorf("%d effects of 100 columns, the first %+v", len(got), got[0])
	}
}

// A fit reports the same effects, whether it scales a copy of the data or the data in place.
func TestAFitReportsTheEffectsOfItsFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	path := table(t, "large,small,label", 60, func(int) string {
		a, b, y := rng.NormFloat64(), rng.NormFloat64(), 0
		if a+0.2*b+0.3*rng.NormFloat64() > 0 {
			y = 1
		}
		return fmt.Sprintf("%v,%v,%d", 1000*a, b/1000, y)
	})
	for _, f := range []Fit{{Data: path, Objective: "auto", Loss: "auto", Scale: "std"},
		{Data: path, Objective: "margin", Scale: "std", Soft: 0.2}} {
		name := f.Objective
		r, _, _, err := fitted(t, f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(r.Effects) != 2 || r.Effects[0].Feature != "large" || r.Effects[0].Class != "1" {
			t.Fatalf("%s: %+v", name, r.Effects)
		}
		for _, e := range r.Effects {
			if dev := e.Effect / e.Weight; dev < 200*map[string]float64{"large": 1, "small": 1e-6}[e.Feature] ||
				dev > 5000*map[string]float64{"large": 1, "small": 1e-6}[e.Feature] {
				t.Errorf("%s: %s deviates by %v", name, e.Feature, dev)
			}
		}
	}
}
