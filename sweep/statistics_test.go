package sweep

import (
	"math"
	"testing"
)

// With one, two and three degrees of freedom the distribution has a closed form.
func TestStudentAndWelchByHand(t *testing.T) {
	s := SampleOf([]float64{1, 2, 3, 4.5})
	// For three degrees of freedom P(|t| > x) = 1 − (2/π)(atan(x/√3) + (x/√3)/(1 + x²/3)).
	x := s.Mean / s.Error() / math.Sqrt(3)
	if want := 1 - 2/math.Pi*(math.Atan(x)+x/(1+x*x)); math.Abs(s.Student()-want) > 1e-12 {
		t.Errorf("Student %v, want %v", s.Student(), want)
	}
	// One degree of freedom is Cauchy: P(|t| > x) = 1 − (2/π) atan x. Two seeds that differ by 3 and 5 are not sure.
	if got, want := SampleOf([]float64{3, 5}).Student(), 1-2/math.Pi*math.Atan(4); math.Abs(got-want) > 1e-12 || got < Sure {
		t.Errorf("two values: %v, want %v", got, want)
	}
	// Equal deviations and sizes: Welch has 2(n − 1) = 2 degrees of freedom, P(|t| > x) = 1 − x/√(2 + x²).
	a, b := SampleOf([]float64{1, 2}), SampleOf([]float64{4, 5})
	if x := 3 / math.Sqrt(0.5); math.Abs(Welch(a, b)-(1-x/math.Sqrt(2+x*x))) > 1e-12 {
		t.Errorf("Welch %v", Welch(a, b))
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{0.1 + 0.2, 0.3}, 0}, {[]float64{0, 0}, 1}, {[]float64{1, -1}, 1}, {[]float64{7}, math.NaN()}, {nil, math.NaN()}} {
		if got := SampleOf(c.values).Student(); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestHolmByHand(t *testing.T) {
	got := Holm([]float64{0.04, math.NaN(), 0.01, 0.03, 0.5})
	for i, want := range []float64{0.09, math.NaN(), 0.04, 0.09, 0.5} { // 0.01·4, 0.03·3, 0.04·2 raised to the one before, 0.5·1
		if math.Abs(got[i]-want) > 1e-15 && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
	if one := Holm([]float64{0.9, 0.8}); one[0] != 1 || one[1] != 1 {
		t.Errorf("above 1: %v", one)
	}
}
