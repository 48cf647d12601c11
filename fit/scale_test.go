package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

func TestScalersGiveOneScaleAndGoWithTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	var b matrix.Builder
	data := make([]float64, 50*6)
	for i := range data {
		if rng.IntN(3) > 0 {
			data[i] = rng.NormFloat64() * math.Pow(10, float64(i%6-3))
			b.Add(int32(i%6), data[i])
		}
		if i%6 == 5 {
			b.EndRow()
		}
	}
	for name, x := range map[string]matrix.Matrix{"dense": matrix.NewDense(6, data), "sparse": b.Build(6)} {
		for _, kind := range []string{"std", "max"} {
			raw := matrix.Clone(x)
			s, err := NewScaler(kind, x, false)
			if err != nil {
				t.Fatal(err)
			}
			scaled := matrix.Clone(x)
			if err := s.Apply(scaled); err != nil {
				t.Fatal(err)
			}
			again, _ := NewScaler(kind, scaled, false)
			for j, f := range again.Factor {
				if math.Abs(f-1) > 1e-9 || again.Center != nil && math.Abs(again.Center[j]) > 1e-12 {
					t.Errorf("%s %s: feature %d still has factor %v", name, kind, j, f)
				}
			}
			m := Model{Loss: "exp", Classes: []float64{-1, 1}, Weights: [][]float64{{1, -2, 3, 0.5, -1, 0.1}}}
			_, want, _ := m.Predict(scaled)
			m.Scale = s
			data, _ := m.Encode()
			back, err := DecodeModel(data)
			if err != nil {
				t.Fatal(err)
			}
			_, got, err := back.Predict(raw)
			for i := range got[0] {
				// A sum of six products with entries of about 1: rounding of 1e-15.
				if err != nil || math.Abs(got[0][i]-want[0][i]) > 1e-12 {
					t.Fatalf("%s %s: score %v, want %v (%v)", name, kind, got[0][i], want[0][i], err)
				}
			}
		}
	}
}
