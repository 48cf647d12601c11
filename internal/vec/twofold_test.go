package vec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Sums that cancel to 1e-12 of their terms are right to the last digits, in assembly and in Go, for every length.
func TestSumsInTwiceThePrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 40 {
		x, y := newGuarded[float64](n, n%5), newGuarded[float64](n, (n+3)%7)
		for i := range n {
			x.slice[i] = rng.NormFloat64() * math.Ldexp(1, rng.IntN(30))
			y.slice[i] = rng.NormFloat64()
			if i%2 == 1 {
				x.slice[i], y.slice[i] = -x.slice[i-1]*(1+1e-12), y.slice[i-1]
			}
		}
		exact, size := new(big.Float).SetPrec(3000), 0.0
		for i, v := range x.slice {
			exact.Add(exact, new(big.Float).SetPrec(3000).Mul(big.NewFloat(v), big.NewFloat(y.slice[i])))
			size += math.Abs(v * y.slice[i])
		}
		off := func(hi, lo float64) float64 {
			d := new(big.Float).SetPrec(3000).Add(big.NewFloat(hi), big.NewFloat(lo))
			f, _ := d.Sub(d, exact).Float64()
			return math.Abs(f)
		}
		both(func() {
			hi, lo, s := Dot2(x.slice, y.slice)
			if off(hi, lo) > float64(n*n)*0x1p-104*size || math.Abs(s-size) > 1e-14*size {
				t.Fatalf("accelerated %v, length %d: off by %v, size %v, want %v", accelerated, n, off(hi, lo), s, size)
			}
			h, l, z := newGuarded[float64](n, 1), newGuarded[float64](n, 2), newGuarded[float64](n, 3)
			for _, v := range []guarded[float64]{h, l, z} {
				clear(v.slice)
			}
			Axpy2(h.slice, l.slice, z.slice, 3, x.slice)
			Axpy2(h.slice, l.slice, z.slice, -3*(1-1e-13), x.slice)
			for i, v := range x.slice {
				want := new(big.Float).SetPrec(3000).Add(big.NewFloat(3), big.NewFloat(-3*(1-1e-13)))
				want.Mul(want, big.NewFloat(v))
				got := new(big.Float).SetPrec(3000).Add(big.NewFloat(h.slice[i]), big.NewFloat(l.slice[i]))
				d, _ := got.Sub(got, want).Float64()
				if math.Abs(d) > 4*0x1p-104*z.slice[i] || math.Abs(z.slice[i]-6*math.Abs(v)) > 1e-12*math.Abs(v) {
					t.Fatalf("accelerated %v, element %d of %d: off by %v, size %v of %v", accelerated, i, n, d, z.slice[i], v)
				}
			}
			for _, v := range []guarded[float64]{h, l, z, x, y} {
				v.intact(t, "a sum in twice the precision")
			}
		})
	}
}

// Whole numbers: the sums are exact in any order.
func TestGramOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for columns := 0; columns <= 32; columns += 8 {
		const stride = 37
		a, b := make([]float64, 2*stride+columns), make([]float64, 3*stride+columns)
		for _, v := range [][]float64{a, b} {
			for i := range v {
				v[i] = float64(rng.IntN(9) - 4)
			}
		}
		var want, got [GramRows * GramColumns]float64
		gramGo(&want, a, b, stride, columns)
		both(func() {
			for _, wide := range []bool{false, true} {
				if Gram(&got, a, b, stride, columns, wide); got != want {
					t.Errorf("%d columns, wide %v: %v, want %v", columns, wide, got, want)
				}
			}
		})
	}
}

func TestMul(t *testing.T) {
	for n := range 40 {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(i)+0.5, 3-float64(i)
		}
		both(func() {
			got := newGuarded[float64](n, n%5)
			Mul(got.slice, x, y)
			for i, v := range got.slice {
				if v != x[i]*y[i] {
					t.Fatalf("accelerated %v: element %d of %d is %v", accelerated, i, n, v)
				}
			}
			got.intact(t, "a product")
		})
	}
}

func TestRaise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for n := range 40 {
		x, want := make([]float64, n), make([]float64, n)
		start := make([]float64, n)
		for i := range x {
			x[i], start[i] = rng.NormFloat64(), math.Abs(rng.NormFloat64())
			want[i] = max(start[i], math.Abs(-0.5*x[i]))
		}
		both(func() {
			got := newGuarded[float64](n, n%5)
			copy(got.slice, start)
			Raise(got.slice, -0.5, x)
			for i, v := range got.slice {
				if v != want[i] {
					t.Fatalf("accelerated %v: element %d of %d is %v, want %v", accelerated, i, n, v, want[i])
				}
			}
			got.intact(t, "raise")
		})
	}
}
