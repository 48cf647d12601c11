package exact

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// eliminate is the slow twin: Gauss's elimination in rational numbers. A nil result means a singular matrix.
func eliminate(m [][]float64, b []float64) []*big.Rat {
	k := len(m)
	a := make([][]*big.Rat, k)
	for i := range m {
		for _, v := range append(append([]float64(nil), m[i]...), b[i]) {
			a[i] = append(a[i], new(big.Rat).SetFloat64(v))
		}
	}
	for c := range k {
		pivot := c
		for pivot < k && a[pivot][c].Sign() == 0 {
			pivot++
		}
		if pivot == k {
			return nil
		}
		a[c], a[pivot] = a[pivot], a[c]
		for i := range k {
			if i == c || a[i][c].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(a[i][c], a[c][c])
			for j := c; j <= k; j++ {
				a[i][j].Sub(a[i][j], new(big.Rat).Mul(f, a[c][j]))
			}
		}
	}
	x := make([]*big.Rat, k)
	for i := range x {
		x[i] = new(big.Rat).Quo(a[i][k], a[i][i])
	}
	return x
}

func random(rng *rand.Rand, k, kind int) ([][]float64, []float64) {
	draw := func() float64 {
		switch kind {
		case 0:
			return float64(rng.IntN(7) - 3)
		case 1:
			return rng.NormFloat64()
		}
		return rng.NormFloat64() * math.Pow(10, 40*rng.Float64()-20)
	}
	m, b := make([][]float64, k), make([]float64, k)
	for i := range m {
		for range k {
			m[i] = append(m[i], draw())
		}
		b[i] = draw()
	}
	return m, b
}

func TestSolveAgreesWithRationalElimination(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	singular := 0
	for trial := range 300 {
		k := 1 + rng.IntN(9)
		m, b := random(rng, k, trial%3)
		if trial%7 == 0 && k > 1 { // the last row doubles the first
			for j, v := range m[0] {
				m[k-1][j] = 2 * v
			}
		}
		want := eliminate(m, b)
		num, den, ok := Solve(m, b)
		if ok != (want != nil) {
			t.Fatalf("trial %d, %d × %d: found %v, want %v", trial, k, k, ok, want != nil)
		}
		if !ok {
			singular++
			continue
		}
		for i, x := range want {
			if got := new(big.Rat).SetFrac(num[i], den); got.Cmp(x) != 0 {
				t.Fatalf("trial %d: unknown %d is %v, want %v", trial, i, got, x)
			}
		}
	}
	if singular < 10 {
		t.Errorf("%d singular matrices: too few to say anything", singular)
	}
}

func TestSolveRefusesWhatItCannotHold(t *testing.T) {
	for name, m := range map[string][][]float64{
		"not a number": {{math.NaN(), 1}, {1, 2}},
		"infinite":     {{1, math.Inf(-1)}, {1, 2}},
		"too far":      {{1e-100, 1e100}, {1, 2}},
		"zero":         {{0, 0}, {1, 2}},
	} {
		if _, _, ok := Solve(m, []float64{1, 1}); ok {
			t.Errorf("%s: solved", name)
		}
	}
	if num, den, ok := Solve([][]float64{{5e-324}}, []float64{1e300}); ok {
		t.Errorf("1e300/5e-324 = %v/%v", num, den)
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, k := range []int{30, 100, 200, 400} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			m, v := random(rand.New(rand.NewPCG(1, 2)), k, 1)
			for b.Loop() {
				if _, _, ok := Solve(m, v); !ok {
					b.Fatal("not solved")
				}
			}
		})
	}
}
