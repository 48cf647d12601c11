package vec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func exactly64(v *big.Float) float64 {
	f, _ := v.Float64()
	return f
}

// ulps32 returns |got − want| in units of the last place of want as a float32.
func ulps32(got float32, want float64) float64 {
	w := float32(want)
	if got == w || got != got && w != w {
		return 0
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// worst32 reports the largest error over x, and fails above limit.
func worst32(t *testing.T, limit float64, x, got []float32, err func(x, got float32) float64) {
	t.Helper()
	largest, where := 0.0, 0
	for i := range x {
		if e := err(x[i], got[i]); !(e <= largest) {
			largest, where = e, i
		}
	}
	t.Logf("largest error %.3g", largest)
	if !(largest <= limit) {
		t.Errorf("error %.3g at x = %v: got %v", largest, x[where], got[where])
	}
}

func TestExp32IsWithinTwoUlp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float32{0, 88.72283, 88.72284, -87.33, -103.2, -103.97, -103.98, -104, 1e30, -1e30}
	for range 1500 {
		x = append(x, float32(r.Float64()*195-105), float32(r.NormFloat64()))
	}
	implementations(t, func(t *testing.T) {
		got := make([]float32, len(x))
		Exp32(got, x)
		worst32(t, 2, x, got, func(x, got float32) float64 {
			return ulps32(got, exactly64(exactExp(real(min(max(float64(x), -200), 200)))))
		})
	})
}

func TestLog32IsWithinTwoUlp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := []float32{1, 1e-45, 1e-40, 0x1p-126, math.MaxFloat32, math.Sqrt2, math.Sqrt2 / 2, 1 + 0x1p-23, 1 - 0x1p-24}
	for range 1500 {
		x = append(x, math.Float32frombits(r.Uint32N(0x7f800000)), 1+float32(r.NormFloat64()*math.Exp(-15*r.Float64())*0.1))
	}
	implementations(t, func(t *testing.T) {
		got := make([]float32, len(x))
		Log32(got, x)
		worst32(t, 2, x, got, func(x, got float32) float64 { return ulps32(got, exactly64(exactLog(float64(x)))) })
	})
}

// The float64 functions of package math are within an ulp of the truth, 2⁻²⁹ of one of a float32.
func TestCurvesAreWithinTheirBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	points := func(low, high float64) []float32 {
		x := []float32{float32(low), float32(high), 1e-45, -1e-45, 1e-40, -0x1p-126, 0x1p-25, -0x1p-25, 0x1p-24, -0x1p-24,
			0x1p-12, 0.5, -0.5}
		for range 100000 {
			x = append(x,
				float32(low+(high-low)*r.Float64()),
				float32(r.NormFloat64()),
				float32(r.NormFloat64()*math.Exp(-20*r.Float64())))
		}
		return x
	}
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	beyond := func(x []float32) []float32 { // ln(1+x) takes x > −1
		for i, v := range x {
			if v <= -1 {
				x[i] = float32(math.Exp(-float64(v)))
			}
		}
		for range 50000 {
			x = append(x, math.Float32frombits(r.Uint32N(0x7f800000)), -float32(1-math.Exp(-16*r.Float64())))
		}
		return x
	}
	for _, c := range []struct {
		name  string
		limit float64
		x     []float32
		f     func(dst, x []float32)
		want  func(float64) float64
	}{
		{"Expm132", 2, points(-25, 88.72), Expm132, math.Expm1},
		{"Log1p32", 2, beyond(points(-0.999, 10)), Log1p32, math.Log1p},
		{"Tanh32", 3, points(-10, 10), Tanh32, math.Tanh},
		{"Erf32", 3, points(-5, 5), Erf32, math.Erf},
		{"Logistic32", 3, points(-104, 20), Logistic32, logistic},
	} {
		t.Run(c.name, func(t *testing.T) {
			implementations(t, func(t *testing.T) {
				got := make([]float32, len(c.x))
				c.f(got, c.x)
				worst32(t, c.limit, c.x, got, func(x, got float32) float64 { return ulps32(got, c.want(float64(x))) })
			})
		})
	}
}

func TestPow32RelativeErrorBelow4e7(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	implementations(t, func(t *testing.T) {
		for _, y := range []float64{-1, 0.1, 0.2, -0.3, 0.5, 0.7, 1, 1.1, 1.5, 2, 2.5, 3, 4, 5, 9, 10, 33, 64, -17.25, 1000,
			1e6} {
			var x []float32
			for len(x) < 60 {
				v := float32(math.Exp((2*r.Float64() - 1) * min(40/math.Abs(y), 88)))
				if l := math.Abs(y * math.Log(float64(v))); l <= 40 && v > 0 && v <= math.MaxFloat32 {
					x = append(x, v)
				}
			}
			got := make([]float32, len(x))
			err := func(x, got float32) float64 {
				want := exactly64(exactPow(float64(x), y))
				return math.Abs(float64(got)-want) / want
			}
			Pow32(got, x, y)
			worst32(t, 4e-7, x, got, err)
			PowerOf32(y).Abs(got, x)
			worst32(t, 4e-7, x, got, err)
		}
	})
}

func TestPow32OverflowsAndUnderflowsAsItsRoundedValue(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	implementations(t, func(t *testing.T) {
		for _, y := range []float64{0.4, -3.3, 9.9, 64, -50, 1e5, -1e9} {
			var x []float32
			for range 100 {
				x = append(x, float32(math.Exp((2*r.Float64()-1)*min(120/math.Abs(y), 88))))
			}
			got := make([]float32, len(x))
			Pow32(got, x, y)
			// 2e-9 beside the rounding to float32, which is half an ulp.
			worst32(t, 0.6, x, got, func(x, got float32) float64 { return ulps32(got, exactly64(exactPow(float64(x), y))) })
		}
	})
}

// Half a unit 2⁻²⁴ of the factor in the table, half of the last addition, and half of one for what is added: a quarter
// of the root at most. The unit is relative, and may be twice that of the last place.
func TestRoots32AreAccurateForAllMagnitudes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	implementations(t, func(t *testing.T) {
		for k := 3; k <= maxRoot; k++ {
			y := 1 / float64(k)
			x := []float32{1e-45, 3e-45, 1e-40, 0x1p-126, 0x1p-125, 0x1p-101, 0x1p-100, 0x1p127, math.MaxFloat32, 1,
				0x1.fffffep126}
			for range 20000 {
				x = append(x, math.Float32frombits(r.Uint32N(0x7f800000)))
			}
			for range 2000 {
				x = append(x, math.Float32frombits(r.Uint32N(0x00800000)), float32(math.Exp(r.NormFloat64())))
			}
			got := make([]float32, len(x))
			PowerOf32(y).Abs(got, x)
			worst32(t, 2, x, got, func(x, got float32) float64 { return ulps32(got, pow(float64(x), y)) })
		}
	})
}

// The error depends on the mantissa alone, since products with powers of two are exact: so these are all errors there
// are, up to the mantissas left out.
func TestIntegerPowersIn32BitsAreWithinSixRoundings(t *testing.T) {
	const step = 11
	x := make([]float32, 0, 1<<23/step+1)
	for m := uint32(0); m < 1<<23; m += step {
		x = append(x, math.Float32frombits(0x3f800000|m))
	}
	got := make([]float32, len(x))
	implementations(t, func(t *testing.T) {
		for k := 3; k <= 13; k++ {
			PowerOf32(float64(k)).Abs(got, x)
			steps := stepsOf(uint(k))
			worst32(t, 6*0x1p-24, x, got, func(x, got float32) float64 {
				want := powInt(float64(x), steps)
				return math.Abs(float64(got)-want) / want
			})
		}
	})
}

// Between the smallest denormal and infinity, where the powers of float32 begin and end.
func TestIntegerPowersIn32BitsOverflowAndUnderflow(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	implementations(t, func(t *testing.T) {
		for k := 3; k <= 13; k++ {
			x := []float32{0, 1e-45, 1e-40, 1e-20, 1e20, math.MaxFloat32, inf32}
			for range 20000 {
				x = append(x, float32(math.Exp2((r.Float64()*300-160)/float64(k))))
			}
			got := make([]float32, len(x))
			PowerOf32(float64(k)).Abs(got, x)
			for i, v := range x {
				exact := powInt(float64(v), stepsOf(uint(k)))
				want := float64(float32(exact))
				if g := float64(got[i]); g != want && !(math.Abs(g-exact) <= 6*0x1p-24*exact+0x1p-149) &&
					!(math.Abs(exact/0x1p128-1) <= 7*0x1p-24 && (g == math.MaxFloat32 || math.IsInf(g, 1))) {
					t.Fatalf("%v to the power %d is %v, want %v", v, k, g, want)
				}
			}
		}
	})
}

// Where a power of two is the k-th power of another, its root is that.
func TestRootsOfPowersOfTwoAreExact(t *testing.T) {
	implementations(t, func(t *testing.T) {
		for k := 3; k <= maxRoot; k++ {
			for e := -149 / k; e*k < 128; e++ {
				x := []float32{float32(math.Ldexp(1, e*k))}
				PowerOf32(1/float64(k)).Signed(x, x)
				if want := float32(math.Ldexp(1, e)); x[0] != want {
					t.Errorf("root %d of 2^%d is %v, want %v", k, e*k, x[0], want)
				}
			}
		}
	})
}
