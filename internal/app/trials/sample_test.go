package trials

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// With two and three degrees of freedom the distribution has a closed form.
func TestStudentAndWelchByHand(t *testing.T) {
	s := SampleOf([]float64{1, 2, 3, 4.5})
	// For three degrees of freedom P(|t| > x) = 1 − (2/π)(atan(x/√3) + (x/√3)/(1 + x²/3)).
	x := s.Mean / s.Error() / math.Sqrt(3)
	if want := 1 - 2/math.Pi*(math.Atan(x)+x/(1+x*x)); math.Abs(s.Student()-want) > 1e-12 {
		t.Errorf("Student %v, want %v", s.Student(), want)
	}
	// For two it is 1 − x/√(2 + x²).
	three := SampleOf([]float64{3, 5, 4.2})
	if x := three.Mean / three.Error(); math.Abs(three.Student()-(1-x/math.Sqrt(2+x*x))) > 1e-12 {
		t.Errorf("three values: %v", three.Student())
	}
	// Equal deviations and sizes: Welch has 2(n − 1) = 2 degrees of freedom, P(|t| > x) = 1 − x/√(2 + x²).
	a, b := SampleOf([]float64{1, 2}), SampleOf([]float64{4, 5})
	if x := 3 / math.Sqrt(0.5); math.Abs(Welch(a, b)-(1-x/math.Sqrt(2+x*x))) > 1e-12 {
		t.Errorf("Welch %v", Welch(a, b))
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{1, -1, 0}, 1}, {[]float64{2, 2, 2}, math.NaN()}, {[]float64{0, 0, 0}, math.NaN()},
		{[]float64{3, 5}, math.NaN()}, {[]float64{7}, math.NaN()}, {nil, math.NaN()}} {
		if got := SampleOf(c.values).Student(); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

// Equal differences are not a proof: taken for one, 46 % of the sweeps below, of six equal settings with two seeds,
// would have a significant difference. Whether they are equal must not depend on rounding.
func TestEqualDifferencesAreNotSure(t *testing.T) {
	a, b := map[uint64]float64{}, map[uint64]float64{}
	for seed, x := range []float64{3.3, 50.7, 90.1} {
		a[uint64(seed)], b[uint64(seed)] = x, x-0.01
	}
	if d := paired(a, b); d.N != 3 || math.Abs(d.Mean-0.01) > 1e-12 || d.Deviation != 0 || a[2]-b[2] == a[1]-b[1] {
		t.Errorf("%+v", d)
	}
	delete(a, 1)
	delete(b, 1)
	two := Pairs([]map[uint64]float64{a, b, nil})
	if d := two[0]; len(two) != 3 || d.N != 2 || !math.IsNaN(d.Chance) || two[1].N != 0 || Probability(d.Chance) != "–" {
		t.Errorf("%+v", two)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, seeds := range []int{2, 3, 5} {
		sure, sweeps := 0, 400
		for range sweeps {
			values := make([]map[uint64]float64, 6)
			for i := range values {
				values[i] = map[uint64]float64{}
				for s := range seeds {
					values[i][uint64(s)] = 90 + math.Round(rng.NormFloat64()*4)
				}
			}
			if slices.ContainsFunc(Pairs(values), func(p Pair) bool { return p.Chance < Significant }) {
				sure++
			}
		}
		// 5 % at most are expected, with a deviation of √(0.05·0.95/400) = 1.1 %: four of them above is not chance.
		if share := float64(sure) / float64(sweeps); share > 0.094 {
			t.Errorf("%d seeds: %.1f %% of sweeps of equal settings call a difference sure", seeds, 100*share)
		}
	}
}

func TestHolmByHand(t *testing.T) {
	got := Holm([]float64{0.04, math.NaN(), 0.01, 0.03, 0.5})
	// 0.01·4, 0.03·3, 0.04·2 raised to the one before, 0.5·1
	for i, want := range []float64{0.09, math.NaN(), 0.04, 0.09, 0.5} {
		if math.Abs(got[i]-want) > 1e-15 && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
	if one := Holm([]float64{0.9, 0.8}); one[0] != 1 || one[1] != 1 {
		t.Errorf("above 1: %v", one)
	}
}
