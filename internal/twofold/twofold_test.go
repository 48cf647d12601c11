package twofold

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact sums in 4000 bits, which hold every product of two numbers between 1e-300 and 1e300.
func exact(a, b []float64) (sum, terms float64) {
	s := new(big.Float).SetPrec(4000)
	for i := range a {
		x := new(big.Float).SetPrec(4000).SetFloat64(a[i])
		s.Add(s, x.Mul(x, new(big.Float).SetFloat64(b[i])))
		terms += math.Abs(a[i] * b[i])
	}
	sum, _ = s.Float64()
	return sum, terms
}

func TestSumsAreWithinTheirError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	small := 0
	for range 2000 {
		n := 2 + 2*rng.IntN(50)
		a, b := make([]float64, n), make([]float64, n)
		for i := 0; i < n; i += 2 { // pairs that cancel to the last digits
			scale := math.Pow(10, 20*rng.Float64()-10)
			a[i], b[i] = scale*rng.NormFloat64(), rng.NormFloat64()
			a[i+1], b[i+1] = -a[i]*(1+1e-14*rng.Float64()), b[i]
		}
		var s Sum
		for i := range a {
			s.AddProduct(a[i], b[i])
		}
		want, terms := exact(a, b)
		if off := math.Abs(s.Value() - want); off > s.Error() {
			t.Fatalf("%v, exactly %v: off by %v, not %v", s.Value(), want, off, s.Error())
		}
		if s.Error() < 1e-25*terms {
			small++
		}
		if hi, lo := s.Split(); hi != s.Value() || hi+lo != hi {
			t.Fatalf("%v splits into %v and %v", s, hi, lo)
		}
	}
	if small < 1900 {
		t.Errorf("only %d of 2000 errors are below 1e-25 of the terms: twice the precision is not used", small)
	}
}

func TestSplitHoldsMoreThanOneNumber(t *testing.T) {
	var s Sum
	s.Add(1)
	s.Add(0x1p-80)
	if hi, lo := s.Split(); hi != 1 || lo != 0x1p-80 {
		t.Errorf("%v and %v", hi, lo)
	}
}
