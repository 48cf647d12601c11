package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// someLayers are weights of two layers, one of them longer than a block, and the weights they came from.
func someLayers(scale float64) (now, start []Layer, w, from []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{block + 77, 300} {
		a, b := make([]float32, n), make([]float32, n)
		for i := range a {
			b[i] = float32(scale * r.NormFloat64())
			a[i] = b[i] + float32(0.3*scale*r.NormFloat64())
			if i%50 == 0 { // did not move
				a[i] = b[i]
			}
			if i%70 == 0 { // began at 0
				b[i] = 0
			}
			w, from = append(w, float64(a[i])), append(from, float64(b[i]))
		}
		now, start = append(now, Layer{Values: a}), append(start, Layer{Values: b})
	}
	return now, start, w, from
}

func TestTheGeometryOfWeightsIsThatOfMirror(t *testing.T) {
	for _, scale := range []float64{1e-3, 1, 1e4} {
		now, start, w, from := someLayers(scale)
		for _, p := range []float64{1.05, 1.5, 2, 3, 10, 60} {
			g := measure(now, start, p)
			// Sums of 2e4 terms of one sign, each right to 1e-14.
			for name, pair := range map[string][2]float64{"ℓ₁": {g.Norm1, mirror.Norm(w, 1)}, "ℓ₂": {g.Norm2, mirror.Norm(w, 2)},
				"ℓₚ": {g.NormP, mirror.Norm(w, p)}, "ℓ∞": {g.NormInf, mirror.Norm(w, math.Inf(1))}} {
				if !(math.Abs(pair[0]-pair[1]) <= 1e-12*pair[1]) {
					t.Errorf("p = %v, scale %v: %s is %v, want %v", p, scale, name, pair[0], pair[1])
				}
			}
			// A term loses 1e-14·|w|ᵖ, and D is a good part of Σ|w|ᵖ(p−1) here, the weights having moved by a third.
			if want := mirror.Divergence(mirror.Power(p), w, from); g.Divergence == nil ||
				!(math.Abs(*g.Divergence-want) <= 1e-11*want) {
				t.Errorf("p = %v, scale %v: divergence %v, want %v", p, scale, g.Divergence, want)
			}
		}
	}
}

func TestTheGeometryOfExtremeWeights(t *testing.T) {
	now, start, w, _ := someLayers(1e4)
	if g := measure(now, start, 100); g.Divergence != nil || !(math.Abs(g.NormP/mirror.Norm(w, 100)-1) < 1e-12) {
		t.Errorf("p = 100 of 1e4: divergence %v, norm %v, want none and %v", g.Divergence, g.NormP, mirror.Norm(w, 100))
	}
	now, start, w, _ = someLayers(1e-6)
	if g := measure(now, start, 100); !(math.Abs(g.NormP/mirror.Norm(w, 100)-1) < 1e-12) {
		t.Errorf("p = 100 of 1e-6: norm %v, want %v", g.NormP, mirror.Norm(w, 100))
	}
	zero := []Layer{{Values: make([]float32, 5)}}
	if g := measure(zero, zero, 3); g.NormP != 0 || g.Divergence == nil || *g.Divergence != 0 || g.Sizes.Below != 5 ||
		len(g.Sizes.Counts) != 0 {
		t.Errorf("zeros: %+v", g)
	}
	if g := measure(zero, nil, 3); g.Divergence != nil {
		t.Error("a divergence from nowhere")
	}
}

func TestSizesAreCountedInHalfOctaves(t *testing.T) {
	w := []float32{0, float32(math.Copysign(0, -1)), 1e-40, math.Nextafter32(1.0/(1<<18), 0), 1.0 / (1 << 18), -0.5,
		math.Float32frombits(0x3f3504f3), math.Float32frombits(0x3f3504f4), -0.9999999, 1, math.MaxFloat32}
	var c runlog.SizeCounter
	c.Add(w)
	by := c.Sizes()
	if by.Below != 4 || by.From != runlog.SmallestOctave || by.Counts[0] != 1 {
		t.Errorf("%d below 2^%v and %d in the first bin, want 4 and 1", by.Below, by.From, by.Counts[0])
	}
	// half octaves from 1: √½ lies between the two float32 named by their bits
	for k, want := range map[int]int{-2: 2, -1: 2, 0: 1, 255: 1} {
		if got := by.Counts[-2*runlog.SmallestOctave+k]; got != want {
			t.Errorf("%d from 2^%v on, want %d", got, float64(k)/2, want)
		}
	}
	now, _, all, _ := someLayers(1)
	s := measure(now, nil, 2).Sizes
	if s.Total() != len(all) || s.Counts[0] == 0 || s.Counts[len(s.Counts)-1] == 0 {
		t.Errorf("%d weights in %v, want %d", s.Total(), s, len(all))
	}
	for k := range s.Counts {
		n := 0
		for _, v := range all {
			if v = math.Abs(v); s.Edge(k) <= v && v < s.Edge(k+1) {
				n++
			}
		}
		if n != s.Counts[k] {
			t.Errorf("%d weights from %v to %v, counted %d", n, s.Edge(k), s.Edge(k+1), s.Counts[k])
		}
	}
}

func TestTheGeometryDoesNotDependOnTheNumberOfCores(t *testing.T) {
	now, start, _, _ := someLayers(0.1)
	want := measure(now, start, 1.1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got := measure(now, start, 1.1)
	if got.Norm1 != want.Norm1 || got.NormP != want.NormP || *got.Divergence != *want.Divergence ||
		!slices.Equal(got.Sizes.Counts, want.Sizes.Counts) {
		t.Errorf("%+v on one core, %+v on several", got, want)
	}
}

func TestMeasuringAnEpoch(t *testing.T) {
	x := session(t, small(t, 120, 40), quick)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	score, g, err := x.Measure(t.Context(), 3)
	if err != nil || *g.Divergence != 0 {
		t.Fatalf("at the start: %+v, %v", g, err)
	}
	if plain, err := x.Evaluate(t.Context(), false); err != nil || plain != score {
		t.Errorf("%+v, want %+v, %v", score, plain, err)
	}
	epochs(t, x, r, 0, 4)
	if score, g, err = x.Measure(t.Context(), 3); err != nil || !(*g.Divergence > 0) {
		t.Fatalf("%+v, %v", g, err)
	}
	// The margin is positive where an image is answered right, whatever it is divided by.
	if (g.MarginLow > 0) != (score.Accuracy > 1-LowMargin) || (g.MarginMedian > 0) != (score.Accuracy > 0.5) ||
		g.MarginLow > g.MarginMedian {
		t.Errorf("margins %v and %v at the accuracy %v", g.MarginLow, g.MarginMedian, score.Accuracy)
	}
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	layers[0].Values[7] = float32(math.NaN()) // which ReLU hides from the answers
	if err := x.SetWeights(layers); err != nil {
		t.Fatal(err)
	}
	var d *Diverged
	if _, _, err := x.Measure(t.Context(), 3); !errors.As(err, &d) ||
		!strings.Contains(err.Error(), "/model/conv1/weight is not a number at place 7") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkMeasure(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	layer := func() []Layer {
		w := make([]float32, 11_000_000)
		for i := range w {
			w[i] = float32(0.02 * r.NormFloat64())
		}
		return []Layer{{Values: w}}
	}
	now, start := layer(), layer()
	for _, p := range []struct {
		name string
		p    float64
	}{{"p=1.1", 1.1}, {"p=2", 2}, {"p=3", 3}, {"p=10", 10}} {
		b.Run(p.name, func(b *testing.B) {
			b.SetBytes(4 * 11_000_000)
			for b.Loop() {
				measure(now, start, p.p)
			}
		})
	}
}
