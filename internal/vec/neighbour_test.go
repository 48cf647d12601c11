package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A lane outside the domain of a kernel makes it stop; the other lanes of the group must not notice.
func TestResultsDoNotDependOnNeighbours(t *testing.T) {
	check := func(t *testing.T, name string, f func(dst, x []float64)) {
		t.Helper()
		r := rand.New(rand.NewPCG(1, 2))
		x := make([]float64, 4000)
		for i := range x {
			x[i] = math.Exp(r.NormFloat64() * 5)
		}
		want, got := make([]float64, len(x)), make([]float64, len(x))
		f(want, x)
		for i := 0; i < len(x); i += 5 {
			x[i] = math.Inf(1)
		}
		f(got, x)
		for i := range x {
			if i%5 != 0 && got[i] != want[i] {
				t.Fatalf("%s of %v is %v, and %v beside an infinity", name, x[i], want[i], got[i])
			}
		}
	}
	implementations(t, func(t *testing.T) {
		check(t, "Log", Log)
		check(t, "Pow", func(dst, x []float64) { Pow(dst, x, 2.7) })
		check(t, "Root", PowerOf(0.2).Signed)
		check(t, "Log32", in32(Log32))
		check(t, "Log1p32", in32(Log1p32))
		check(t, "Root32", in32(PowerOf32(0.2).Signed))
		check(t, "Pow32", in32(func(dst, x []float32) { Pow32(dst, x, 2.7) }))
	})
}

// Powers and roots in float32 take another way where one of several lanes is zero, denormal or not finite.
func TestPowersIn32BitsDoNotDependOnNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	implementations(t, func(t *testing.T) {
		for k := 3; k <= maxRoot; k++ {
			for _, y := range []float64{float64(k), 1 / float64(k)} {
				p := PowerOf32(y)
				x, got := make([]float32, 2000), make([]float32, 2000)
				for i := range x {
					x[i] = float32(math.Exp2((r.Float64()*300 - 160) / max(y, 1)))
					if r.IntN(20) == 0 {
						x[i] = special[r.IntN(len(special))]
					}
				}
				p.Signed(got, x)
				for i := range x {
					alone := []float32{x[i]}
					p.Signed(alone, alone)
					if !same32(alone[0], got[i]) {
						t.Fatalf("%v to the power %v is %v among others and %v alone", x[i], y, got[i], alone[0])
					}
				}
			}
		}
	})
}
