package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randoms returns n normal numbers at an offset, so that alignment varies.
func randoms(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+n%7)[n%7:]
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestReductionsAgreeWithGoInEveryBit(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	r := rand.New(rand.NewPCG(1, 2))
	lengths := []int{100, 999, 4096, 4097, 12345, 100000}
	for n := range 71 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		for _, f := range []func(x []float32) float32{Sum32, MaxOf32, MinOf32} {
			x := randoms(r, n)
			for _, v := range []float32{1, minus0, inf32, nan32} {
				if n > 0 {
					x[r.IntN(n)] = v
				}
				var got []float32
				both(func() { got = append(got, f(x)) })
				if !same32(got[0], got[1]) {
					t.Fatalf("%d elements with %v: %v in Go and %v in assembly", n, v, got[0], got[1])
				}
			}
		}
	}
}

func TestSumIsAccurate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	implementations(t, func(t *testing.T) {
		for _, n := range []int{1, 10, 1000, 4096, 1 << 20} {
			x := randoms(r, n)
			sum, size := 0.0, 0.0
			for i := range x {
				x[i] += 1
				sum += float64(x[i])
				size += math.Abs(float64(x[i]))
			}
			// The bound of the comment, with a rounding for each doubling of the blocks.
			limit := 0x1p-24 * size * (float64(min(n, sumBlock))/sumLanes + 8 + math.Log2(max(1, float64(n)/sumBlock)))
			if d := math.Abs(float64(Sum32(x)) - sum); d > limit {
				t.Errorf("the sum of %d is off by %v, more than %v", n, d, limit)
			}
		}
	})
}

func TestExtremes(t *testing.T) {
	implementations(t, func(t *testing.T) {
		for n := 1; n <= 70; n++ {
			x := make([]float32, n)
			for i := range x {
				x[i] = minus0
			}
			for i := range x { // each position in turn
				for _, v := range []float32{0, 3, -3, inf32, -inf32, nan32} {
					x[i] = v
					high, low := MaxOf32(x), MinOf32(x)
					wantHigh, wantLow := max(v, minus0), min(v, minus0)
					if n == 1 {
						wantHigh, wantLow = v, v
					}
					if !same32(high, wantHigh) || !same32(low, wantLow) {
						t.Fatalf("%v at %d of %d: from %v to %v, want %v to %v", v, i, n, low, high, wantLow, wantHigh)
					}
				}
				x[i] = minus0
			}
		}
		if MaxOf32(nil) != -inf32 || MinOf32(nil) != inf32 || Sum32(nil) != 0 {
			t.Error("of nothing")
		}
	})
}

func TestAddRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, d := range []int{1, 2, 3, 5, 8, 10, 12, 16, 24, 31, 32, 33, 40, 63, 64, 65, 100, 128, 512, 513, 520} {
		for _, rows := range []int{0, 1, 2, 3, 4, 5, 7, 16, 33, 64, 129, 1500} {
			x, start := randoms(r, rows*d), randoms(r, d)
			var got []guarded[float32]
			f := func() {
				acc := newGuarded[float32](d, d%5)
				copy(acc.slice, start)
				AddRows32(acc.slice, x)
				acc.intact(t, "AddRows32")
				got = append(got, acc)
			}
			f()
			if hasAVX2 {
				both(f)
			}
			for j := range d {
				want, size := float64(start[j]), math.Abs(float64(start[j]))
				for i := range rows {
					want += float64(x[i*d+j])
					size += math.Abs(float64(x[i*d+j]))
				}
				for _, g := range got {
					// At most one rounding for each row.
					if v := g.slice[j]; math.Abs(float64(v)-want) > 0x1p-24*size*float64(rows+1) || v != got[0].slice[j] {
						t.Fatalf("%d rows of %d: column %d is %v, and %v; want %v", rows, d, j, v, got[0].slice[j], want)
					}
				}
			}
		}
	}
}

func TestAddRowsRefusesPartOfARow(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("AddRows32 does not panic")
		}
	}()
	AddRows32(make([]float32, 3), make([]float32, 4))
}
