package mirror

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestNormKnowsTheUsualOnes(t *testing.T) {
	x := []float64{3, -4, 0}
	for _, c := range []struct{ p, want float64 }{{1, 7}, {2, 5}, {math.Inf(1), 4}, {3, math.Cbrt(91)}} {
		if got := Norm(x, c.p); !close(got, c.want, 1e-15) {
			t.Errorf("‖x‖_%v = %v, want %v", c.p, got, c.want)
		}
	}
	if Norm(nil, 2) != 0 || !math.IsNaN(Norm([]float64{1, math.NaN(), 2}, 3)) ||
		!math.IsInf(Norm([]float64{1, math.Inf(-1)}, 3), 1) {
		t.Error("nothing, NaN and Inf")
	}
}

func TestNormNeitherOverflowsNorUnderflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]float64{1, 1.01, 1.5, 2, 3, 10, 100}).Draw(t, "p")
		scale := rapid.SampledFrom([]float64{1e-320, 1e-300, 1e-30, 1, 1e30, 1e306}).Draw(t, "scale")
		x, y := make([]float64, 5), make([]float64, 5)
		for j := range x {
			y[j] = rapid.Float64Range(-10, 10).Draw(t, "x")
			x[j] = y[j] * scale
		}
		tol := 1e-13 // the power's 1e-14 times a few terms
		if scale == 1e-320 {
			tol = 0.1 // ‖y‖ is only known to the few bits a denormal has
		}
		if got, want := Norm(x, p), Norm(y, p)*scale; !close(got, want, tol) && math.Abs(got-want) > 1e-322 {
			t.Fatalf("‖%v·y‖_%v = %v, want %v", scale, p, got, want)
		}
	})
}

// exactNorm computes ‖x‖ₚ for whole p in 200 bits, the root by Newton's method.
func exactNorm(x []float64, p int) float64 {
	f := func() *big.Float { return new(big.Float).SetPrec(200) }
	pow := func(v *big.Float, k int) *big.Float {
		out := f().SetInt64(1)
		for range k {
			out.Mul(out, v)
		}
		return out
	}
	sum := f()
	for _, v := range x {
		sum.Add(sum, pow(f().SetFloat64(math.Abs(v)), p))
	}
	root := f().SetFloat64(Norm(x, float64(p)))
	for range 4 {
		num := f().Sub(pow(root, p), sum)
		den := f().Mul(f().SetInt64(int64(p)), pow(root, p-1))
		root.Sub(root, num.Quo(num, den))
	}
	out, _ := root.Float64()
	return out
}

func TestNormAgreesWithExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(1, 12).Draw(t, "p")
		x := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 200).Draw(t, "x")
		x[0] = 1 // not all 0
		if got, want := Norm(x, float64(p)), exactNorm(x, p); !close(got, want, 1e-13) {
			t.Fatalf("‖x‖_%d = %v, exactly %v", p, got, want)
		}
	})
}

func TestDualityMapIsTheNormsGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(1.05, 20).Draw(t, "p")
		x := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 20).Draw(t, "x")
		x[0] = 1
		v := make([]float64, len(x))
		DualityMap(v, x, p)
		var inner float64
		for j := range x {
			inner += v[j] * x[j]
		}
		n := Norm(x, p)
		if !close(inner, n*n, 1e-12) || !close(Norm(v, Conjugate(p)), n, 1e-12) {
			t.Fatalf("p = %v: ⟨v, x⟩ = %v, ‖v‖_q = %v, ‖x‖ₚ = %v", p, inner, Norm(v, Conjugate(p)), n)
		}
	})
}
