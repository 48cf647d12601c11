package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// stepPs have a kernel of their own each, or go through blocks.
var stepPs = []float64{1.05, 1 + 1.0/14, 1 + 1.0/12, 1 + 1.0/11, 1.1, 1 + 1.0/9, 1.125, 1 + 1.0/7, 1.2, 1.25, 4.0 / 3,
	1.5, 5.0 / 3, 1.7, 2, 2.5, 3, 3.3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 21}

func powersOf(p float64) (a, b Power32) { return PowerOf32(p - 1), PowerOf32(1 / (p - 1)) }

// drawStep returns a weight and a gradient: as in training, or anything.
func drawStep(r *rand.Rand) (w, g float32) {
	switch r.IntN(6) {
	case 0:
		return draw(r, false), draw(r, false)
	case 1:
		return float32(r.NormFloat64() * 0.05), []float32{0, minus0, 1e-45, -1e-45}[r.IntN(4)]
	case 2:
		return []float32{0, minus0, 1e-45, -1e-40}[r.IntN(4)], float32(r.NormFloat64() * 0.01)
	}
	return float32(r.NormFloat64() * 0.05), float32(r.NormFloat64() * 0.01)
}

// In one pass or in four, on every short length, apart and in place.
func TestMirrorStepHasTheBitsOfItsParts(t *testing.T) {
	implementations(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, p := range stepPs {
			a, b := powersOf(p)
			for n := range 1100 {
				if n > 70 && n%211 != 0 {
					continue
				}
				what := fmt.Sprintf("p = %v, %d elements", p, n)
				w, g, out := newGuarded[float32](n, n%5), newGuarded[float32](n, (n+2)%5), newGuarded[float32](n, (n+3)%7)
				for i := range n {
					w.slice[i], g.slice[i] = drawStep(r)
				}
				rate := []float32{1e-3, -0.1, 0.7, 0, 1e-30}[n%5]
				change, want := make([]float32, n), make([]float32, n)
				Scale32(change, rate, g.slice)
				a.Signed(want, w.slice)
				Sub32(want, want, change)
				b.Signed(want, want)
				for i, c := range change {
					if c == 0 {
						want[i] = w.slice[i]
					}
				}
				check := func(where string, got guarded[float32]) {
					got.intact(t, what)
					for i, v := range got.slice {
						if !same32(v, want[i]) {
							t.Fatalf("%s, %s: element %d is %v, want %v", what, where, i, v, want[i])
						}
					}
				}
				MirrorStep32(out.slice, w.slice, g.slice, rate, a, b)
				w.intact(t, what)
				g.intact(t, what)
				check("apart", out)
				place := newGuarded[float32](n, n%5)
				copy(place.slice, w.slice)
				MirrorStep32(place.slice, place.slice, g.slice, rate, a, b)
				check("in place", place)
				MirrorStep32(g.slice, w.slice, g.slice, rate, a, b)
				check("in place of g", g)
			}
		}
	})
}

// What the step is, with the errors of its parts: that of the first power and the roundings of the product and the
// difference are 4e-7 + 2⁻²³ of |w|^a + |change|, which is as much more of z as its terms cancel; the second power
// makes b times that of it, and adds 4e-7. Below the normal numbers, both powers are right to a unit 2⁻¹⁴⁹ or so.
func TestMirrorStepIsTheFormula(t *testing.T) {
	implementations(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, p := range stepPs {
			a, b := powersOf(p)
			const n = 20000
			w, g, got := make([]float32, n), make([]float32, n), make([]float32, n)
			for _, rate := range []float32{1e-4, 0.01, 1} {
				for i := range w {
					w[i] = float32(r.NormFloat64() * math.Exp(-8*r.Float64()))
					g[i] = float32(r.NormFloat64() * math.Exp(-12*r.Float64()))
				}
				MirrorStep32(got, w, g, rate, a, b)
				for i := range w {
					first := math.Copysign(pow(math.Abs(float64(w[i])), a.Exponent()), float64(w[i]))
					change := float64(rate) * float64(g[i])
					z := first - change
					off := (4e-7+0x1p-23)*(math.Abs(first)+math.Abs(change)) + 0x1p-148
					second := func(z float64) float64 { return math.Copysign(pow(math.Abs(z), b.Exponent()), z) }
					low, high := second(z-off), second(z+off)
					margin := 4e-7*math.Max(math.Abs(low), math.Abs(high)) + 0x1p-148
					if v := float64(got[i]); !(low-margin <= v && v <= high+margin) {
						t.Fatalf("p = %v: step of %v by %v·%v is %v, want %v", p, w[i], rate, g[i], v, second(z))
					}
				}
			}
		}
	})
}

// A step that changes nothing is the identity, where the powers alone would lose the smallest weights.
func TestMirrorStepKeepsWhatNothingMoves(t *testing.T) {
	implementations(t, func(t *testing.T) {
		for _, p := range stepPs {
			a, b := powersOf(p)
			got, none := make([]float32, len(special)), make([]float32, len(special))
			for i := range none {
				none[i] = []float32{0, minus0, 1e-45}[i%3]
			}
			MirrorStep32(got, special, none, 0.25, a, b)
			for i, v := range special {
				if math.Float32bits(got[i]) != math.Float32bits(v) {
					t.Errorf("p = %v: %v became %v", p, v, got[i])
				}
			}
		}
	})
}

func TestMirrorStepPanicsForShortSlices(t *testing.T) {
	x, short := make([]float32, 5), make([]float32, 4)
	a, b := powersOf(3)
	for name, f := range map[string]func(){
		"dst": func() { MirrorStep32(short, x, x, 1, a, b) },
		"g":   func() { MirrorStep32(x, x, short, 1, a, b) },
	} {
		implementations(t, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("does not panic for a short %s", name)
				}
			}()
			f()
		})
	}
}

func TestMirrorStepDoesNotAllocate(t *testing.T) {
	implementations(t, func(t *testing.T) {
		for _, p := range stepPs {
			if n := testing.AllocsPerRun(3, func() {
				var w, g [600]float32
				for i := range w {
					w[i], g[i] = float32(i), 1
				}
				a, b := powersOf(p)
				MirrorStep32(w[:], w[:], g[:], 0.1, a, b)
			}); n != 0 {
				t.Errorf("p = %v: %v allocations", p, n)
			}
		}
	})
}

// The update of as many weights as ResNet-18 has, beside w −= rate·g: the ratio is that of the quickest of each, taken
// in turns.
func BenchmarkMirrorStep11M(b *testing.B) {
	const n, rate = 11_173_962, 1e-3
	r := rand.New(rand.NewPCG(3, 4))
	start, w, g := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range w {
		start[i], g[i] = float32(r.NormFloat64()*0.05), float32(r.NormFloat64()*0.01)
	}
	for _, p := range []float64{1.1, 1.5, 2, 3, 6, 10} {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			first, second := powersOf(p)
			copy(w, start)
			quickest := func(best *time.Duration, f func()) {
				from := time.Now()
				f()
				*best = min(*best, time.Since(from))
			}
			step, bare := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for b.Loop() {
				quickest(&step, func() { MirrorStep32(w, w, g, rate, first, second) })
				b.StopTimer()
				quickest(&bare, func() { Axpy32(-rate, g, w) })
				b.StartTimer()
			}
			b.ReportMetric(float64(step.Nanoseconds())/n, "ns/element")
			b.ReportMetric(float64(bare.Nanoseconds())/n, "bare-ns/element")
			b.ReportMetric(float64(step)/float64(bare), "ratio")
		})
	}
}
