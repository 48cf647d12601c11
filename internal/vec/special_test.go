package vec

import (
	"fmt"
	"math"
	"testing"
)

var specials = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -2, 3, -7.5, math.Inf(1), math.Inf(-1),
	math.NaN(),
	5e-324, -5e-324, 1e-310, 0x1p-1022, -0x1p-1022, math.MaxFloat64, -math.MaxFloat64, 1e300, 1e-300, -1e-300, 0.999999,
	1.000001,
	0.1, math.NaN(), 0.3, 0.7, 1.7, math.Inf(1), 4.9, 5.3, 1e10, 1e-320, 12.7, 99.1}

// alike says whether a and b are the same special value, or finite, of equal sign and close.
func alike(a, b, tolerance float64) bool {
	switch {
	case a != a || b != b:
		return a != a && b != b
	case a == 0 || b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b && math.Signbit(a) == math.Signbit(b)
	}
	return math.Abs(a-b) <= tolerance*math.Abs(b)+5e-324
}

// compareAlone applies f to every special value alone, which ends in a tail, and to all of them at once,
// which puts it among others.
func compareAlone(t *testing.T, what string, f func(dst, x []float64), want func(float64) float64) {
	t.Helper()
	all := make([]float64, len(specials))
	f(all, specials)
	for i, x := range specials {
		alone := make([]float64, 1)
		f(alone, specials[i:i+1])
		if !alike(alone[0], want(x), 1e-12) {
			t.Errorf("%s of %v is %v, want %v", what, x, alone[0], want(x))
		}
		if math.Float64bits(all[i]) != math.Float64bits(alone[0]) {
			t.Errorf("%s of %v is %v among others and %v alone", what, x, all[i], alone[0])
		}
	}
}

// mathPow is math.Pow, except that it is exact for denormal bases, where math.Pow is not right.
func mathPow(x, y float64) float64 {
	if x > 0 && x < 0x1p-1022 && y != 0 && math.Abs(y) < 1000 {
		r, _ := exactPow(x, y).Float64()
		return r
	}
	return math.Pow(x, y)
}

func TestSpecialValuesAreThoseOfMath(t *testing.T) {
	implementations(t, func(t *testing.T) {
		compareAlone(t, "Exp", Exp, math.Exp)
		compareAlone(t, "Log", Log, func(x float64) float64 {
			if x > 0 && x < 1e-300 {
				return math.Log(x*0x1p100) - 100*math.Ln2
			}
			return math.Log(x)
		})
		for _, y := range []float64{0, 1, -1, 2, -2, 3, -3, 10, 63, 64, 65, 0.5, -0.5, 1.5, 1.0 / 3, 0.2, 1.0 / 9, 0.3, -0.7,
			2.5, 1e18, -1e18,
			1 << 53, 1<<53 + 2, 1e300, -1e305, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, -1e-300} {
			compareAlone(t, fmt.Sprintf("Pow(·, %v)", y), func(dst, x []float64) { Pow(dst, x, y) },
				func(x float64) float64 { return mathPow(x, y) })
			p := PowerOf(y)
			compareAlone(t, fmt.Sprintf("Abs power %v", y), p.Abs,
				func(x float64) float64 { return mathPow(math.Abs(x), y) })
			compareAlone(t, fmt.Sprintf("Signed power %v", y), p.Signed, func(x float64) float64 {
				if x != x {
					return x
				}
				return math.Copysign(mathPow(math.Abs(x), y), x)
			})
		}
	})
}

// in32 makes a function of float32 vectors, applied in place, one of float64 vectors.
func in32(f func(dst, x []float32)) func(dst, x []float64) {
	return func(dst, x []float64) {
		s := make([]float32, len(x))
		for i, v := range x {
			s[i] = float32(v)
		}
		f(s, s)
		for i, v := range s {
			dst[i] = float64(v)
		}
	}
}

func TestSpecialValuesAreThoseOfMathIn32Bits(t *testing.T) {
	compare := func(t *testing.T, what string, f func(dst, x []float32), want func(float64) float64) {
		t.Helper()
		for _, x := range append([]float64{1e-45, -1e-45, 1e-40, 0x1p-126, math.MaxFloat32, 104, -103, 88.7, 88.8},
			specials...) {
			for _, n := range []int{1, 8, 9} {
				in := make([]float64, n)
				for i := range in {
					in[i] = 1
				}
				in[n-1] = x
				got := make([]float64, n)
				in32(f)(got, in)
				w := float64(float32(want(float64(float32(x)))))
				if g := got[n-1]; !alike(g, w, 1e-6) && math.Abs(g-w) > 1.5e-45 {
					t.Errorf("%s of %v in %d is %v, want %v", what, float32(x), n, g, w)
				}
			}
		}
	}
	implementations(t, func(t *testing.T) {
		compare(t, "Exp32", Exp32, math.Exp)
		compare(t, "Log32", Log32, math.Log)
		compare(t, "Expm132", Expm132, math.Expm1)
		compare(t, "Log1p32", Log1p32, math.Log1p)
		compare(t, "Tanh32", Tanh32, math.Tanh)
		compare(t, "Erf32", Erf32, math.Erf)
		compare(t, "Logistic32", Logistic32, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })
		for _, y := range []float64{0, 1, -1, 2, 3, -3, 10, 0.5, 1.5, 0.2, 0.3, -0.7, 1e18, math.Inf(1), math.NaN()} {
			compare(t, fmt.Sprintf("Pow32(·, %v)", y), func(dst, x []float32) { Pow32(dst, x, y) },
				func(x float64) float64 { return math.Pow(x, y) })
			p := PowerOf32(y)
			compare(t, fmt.Sprintf("Abs power %v", y), p.Abs,
				func(x float64) float64 { return math.Pow(math.Abs(x), y) })
			compare(t, fmt.Sprintf("Signed power %v", y), p.Signed, func(x float64) float64 {
				if x != x {
					return x
				}
				return math.Copysign(math.Pow(math.Abs(x), y), x)
			})
		}
	})
}

// Where these functions are x up to x², zeros and denormals come out as they are.
func TestTinyValuesStayAsTheyAre(t *testing.T) {
	x := []float32{minus0, 0, 1e-45, -1e-45, 3e-45, -1e-40, 0x1p-126, -0x1p-126, 1e-30, minus0}
	implementations(t, func(t *testing.T) {
		got := make([]float32, len(x))
		for name, f := range map[string]func(dst, x []float32){"Expm132": Expm132, "Log1p32": Log1p32, "Tanh32": Tanh32} {
			f(got, x)
			for i, v := range x {
				if !same32(got[i], v) {
					t.Errorf("%s of %v is %v", name, v, got[i])
				}
			}
		}
	})
}
