package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// implementations runs f with the Go twins, and with the assembly where there is one.
func implementations(t *testing.T, f func(t *testing.T)) {
	defer func(was bool) { accelerated = was }(accelerated)
	for _, accelerated = range slices.Compact([]bool{false, hasAVX2}) {
		name := "go"
		if accelerated {
			name = "avx2"
		}
		t.Run(name, f)
	}
}

// worst reports the largest error over x, and fails above limit.
func worst(t *testing.T, limit float64, x, got []float64, err func(x, got float64) float64) {
	t.Helper()
	largest, where := 0.0, 0
	for i := range x {
		if e := err(x[i], got[i]); !(e <= largest) {
			largest, where = e, i
		}
	}
	t.Logf("largest error %.3g", largest)
	if !(largest <= limit) {
		t.Errorf("error %.3g at x = %v (%x): got %v", largest, x[where], x[where], got[where])
	}
}

func TestExpIsWithinTwoUlp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, 1e-17, -1e-17, 709.782712893384, 709.7827128933841,
		-708.4, -745.1332191019411, -745.1332191019412, -745.2, -746, 710, 1e300, -1e300, math.Ln2 / 2, -math.Ln2 / 2}
	for range 1500 {
		x = append(x, r.Float64()*1460-748, r.NormFloat64(), -740-6*r.Float64())
	}
	for k := -1074; k <= 1023; k += 7 { // near the ends of the reduced range
		x = append(x, (float64(k)+0.5)*math.Ln2)
	}
	implementations(t, func(t *testing.T) {
		got := make([]float64, len(x))
		Exp(got, x)
		worst(t, 2, x, got, func(x, got float64) float64 {
			x = min(max(x, -2000), 2000)
			return ulps(got, exactExp(real(x)))
		})
	})
}

func TestLogIsWithinTwoUlp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := []float64{1, 5e-324, 1e-310, 0x1p-1022, math.MaxFloat64, math.Sqrt2, math.Sqrt2 / 2,
		math.Nextafter(1, 2), math.Nextafter(1, 0), math.Nextafter(math.Sqrt2/2, 0), 0x1p1023}
	for range 1500 {
		x = append(x, math.Exp(r.Float64()*1400-700), 1+r.NormFloat64()*math.Exp(-30*r.Float64())*0.1,
			math.Float64frombits(r.Uint64()>>12))
	}
	implementations(t, func(t *testing.T) {
		got := make([]float64, len(x))
		Log(got, x)
		worst(t, 2, x, got, func(x, got float64) float64 {
			if x == 1 {
				return math.Abs(got)
			}
			return ulps(got, exactLog(x))
		})
	})
}

// Many points, against package math, which is within an ulp of the truth.
func TestManyRandomPointsAgreeWithMath(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	x, positive := make([]float64, 200000), make([]float64, 200000)
	for i := range x {
		x[i] = r.Float64()*1400 - 700
		positive[i] = math.Float64frombits(1<<52 + r.Uint64N(0x7fe<<52))
	}
	implementations(t, func(t *testing.T) {
		got := make([]float64, len(x))
		Exp(got, x)
		worst(t, 5e-16, x, got, func(x, got float64) float64 { return math.Abs(got/math.Exp(x) - 1) })
		Log(got, positive)
		worst(t, 5e-16, positive, got, func(x, got float64) float64 { return math.Abs(got/math.Log(x) - 1) })
		Pow(got, positive, 0.3)
		worst(t, 5e-14, positive, got, func(x, got float64) float64 { return math.Abs(got/math.Pow(x, 0.3) - 1) })
	})
}

// bases returns positive x with |y·ln x| ≤ most.
func bases(r *rand.Rand, n int, y, most float64) []float64 {
	var x []float64
	for len(x) < n {
		v := math.Exp((2*r.Float64() - 1) * most / math.Abs(y) * math.Exp(-10*r.Float64()*float64(len(x)%2)))
		if v > 0 && v <= math.MaxFloat64 && math.Abs(y*math.Log(v)) <= most {
			x = append(x, v)
		}
	}
	return x
}

func TestPowRelativeErrorBelow1e14(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	exponents := []float64{0.1, -0.3, 0.7, 1.1, -1, 2.5, math.Pi, 9.999, -17.25, 77, 100.5, 1000, -12345.678, 1e6, 1e-3,
		0.999999}
	implementations(t, func(t *testing.T) {
		for _, y := range exponents {
			x := bases(r, 150, y, 40)
			got := make([]float64, len(x))
			Pow(got, x, y)
			worst(t, 1e-14, x, got, func(x, got float64) float64 { return relative(got, exactPow(x, y)) })
			PowerOf(y).Abs(got, x)
			worst(t, 1e-14, x, got, func(x, got float64) float64 { return relative(got, exactPow(x, y)) })
		}
	})
}

// The general power carries its logarithm in two parts, and is much better than promised.
func TestGeneralPowerIsWithinAFewUlp(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	implementations(t, func(t *testing.T) {
		for _, y := range []float64{0.3, 0.7, 2.7, -9.3, 77.7, 1000.1} {
			for _, c := range []struct{ most, limit float64 }{{1, 2.5e-16}, {40, 4e-16}, {700, 6e-15}} {
				x := bases(r, 400, y, c.most)
				got := make([]float64, len(x))
				PowerOf(y).Abs(got, x)
				worst(t, c.limit, x, got, func(x, got float64) float64 { return relative(got, exactPow(x, y)) })
			}
		}
	})
}

func TestEveryPowerPlanHasRelativeErrorBelow1e14(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var exponents []float64
	for k := 1; k <= maxInteger; k++ {
		exponents = append(exponents, float64(k))
	}
	for k := 2; k <= maxRoot+1; k++ {
		exponents = append(exponents, 1/float64(k))
	}
	exponents = append(exponents, 1.5, 2.2, -2)
	implementations(t, func(t *testing.T) {
		for _, y := range exponents {
			p := PowerOf(y)
			if p.Exponent() != y {
				t.Fatalf("PowerOf(%v) has exponent %v", y, p.Exponent())
			}
			x := bases(r, 60, y, 40)
			got := make([]float64, len(x))
			p.Abs(got, x)
			worst(t, 1e-14, x, got, func(x, got float64) float64 { return relative(got, exactPow(x, y)) })
		}
	})
}

// A root of a normal number is always normal, so its error is small over the whole range.
func TestRootsAreAccurateForAllMagnitudes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	implementations(t, func(t *testing.T) {
		for k := 3; k <= maxRoot; k++ {
			y := 1 / float64(k)
			x := []float64{5e-324, 1e-310, 0x1p-1022, 0x1p-1021, 0x1p1023, math.MaxFloat64, 1, 0x1p-1020, 0x1.ffffffp1022}
			for range 60 {
				x = append(x, math.Float64frombits(r.Uint64N(0x7ff<<52)))
			}
			got := make([]float64, len(x))
			PowerOf(y).Abs(got, x)
			// The assembly takes the root itself. The Go twin, which also does the denormals, raises to the float64
			// nearest to 1/k, which is off by the fraction 2⁻⁵³ at most, and |y·ln x| reaches 248.
			worst(t, 1, x, got, func(x, got float64) float64 {
				limit := 248 * 0x1p-53
				if accelerated && x >= 0x1p-1021 && x <= 0x1p1023 {
					limit = 4e-16
				}
				return relative(got, exactExp(zero().Quo(exactLog(x), real(float64(k))))) / limit
			})
		}
	})
}

func TestPowOverflowsAndUnderflowsAsMathPow(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	implementations(t, func(t *testing.T) {
		for _, y := range []float64{0.4, -3.3, 9.9, 63, 64, -50, 1e5, -1e9, 1e40, -1e200, 2, 1.5} {
			x := bases(r, 400, y, 800)
			for range 100 {
				x = append(x, math.Float64frombits(r.Uint64N(0x7ff<<52)))
			}
			got := make([]float64, len(x))
			Pow(got, x, y)
			worst(t, 1, x, got, func(x, got float64) float64 {
				l := y * math.Log(x)
				switch {
				case l > 709.79:
					if math.IsInf(got, 1) {
						return 0
					}
				case l < -745.2:
					if got == 0 {
						return 0
					}
				case l > 709.77 && math.IsInf(got, 1):
					return 0
				default:
					// 1e-14 at 40 is 2e-13 at 750, beside the last place of a denormal.
					want := exactPow(x, y)
					w, _ := want.Float64()
					return math.Abs(got-w) / (2e-13*w + 2*5e-324)
				}
				return math.Inf(1)
			})
		}
	})
}
