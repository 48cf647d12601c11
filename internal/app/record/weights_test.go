package record

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/train"
)

func TestHistogramsCountByTenthsOfADecade(t *testing.T) {
	h := newHistogram([]float64{0, 1e-9, 0.0105, 0.0105, 0.0129, 0.105, 1e-9})
	want := Histogram{Count: 7, Max: 0.105, Median: 0.0105, RMS: short(math.Sqrt((2*0.0105*0.0105 + 0.0129*0.0129 +
		0.105*0.105) / 7)), Below: 3, From: -2, Counts: []int{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("%+v, want %+v", h, want)
	}
	if math.Abs(h.Edge(10)/0.1-1) > 1e-12 {
		t.Errorf("bin 10 begins at %v", h.Edge(10))
	}
	if h := newHistogram([]float64{1e30}); h.Counts[0] != 1 || h.From != 1.9 {
		t.Errorf("a weight beyond the bins: %+v", h)
	}
	if h := newHistogram(nil); h.Count != 0 || len(h.Counts) != 0 || (&Weights{Kernels: h, Scaled: h}).check() != nil {
		t.Errorf("no weights: %+v", h)
	}
}

func TestTheNthSizeIsThatOfTheSortedOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 50, 2001} {
		sizes := make([]float64, n)
		for i := range sizes {
			sizes[i] = math.Abs(rng.NormFloat64())
			if i%5 == 0 {
				sizes[i] = []float64{0, 1e-300, 1, 1e300}[rng.IntN(4)]
			}
		}
		sorted := slices.Sorted(slices.Values(sizes))
		for k := 0; k < n; k += 1 + n/40 {
			if got := nth(sizes, k); got != sorted[k] {
				t.Errorf("%d of %d: %v, want %v", k, n, got, sorted[k])
			}
		}
	}
}

// Kernels count, and neither biases nor batch norm.
func TestTheKernelsOfAFileAreMeasured(t *testing.T) {
	var b bytes.Buffer
	if err := safetensors.Encode(&b, safetensors.File{Tensors: []safetensors.Tensor{
		safetensors.FromFloat32s("conv1.weight", []int{1, 1, 1, 2}, []float32{3, -4}),
		safetensors.FromFloat32s("linear.weight", []int{2, 1}, []float32{0.5, 0.5}),
		safetensors.FromFloat32s("linear.bias", []int{2}, []float32{9, 9}),
		safetensors.FromFloat32s("bn1.weight", []int{1}, []float32{7}),
	}}); err != nil {
		t.Fatal(err)
	}
	w, err := readWeights(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || w.Kernels.Count != 4 || w.Kernels.Max != 4 || w.Kernels.Median != 1.75 {
		t.Fatalf("%+v, %v", w, err)
	}
	// over the RMS of their layers, √12.5 and 0.5
	if w.Scaled.Count != 4 || w.Scaled.Max != short(4/math.Sqrt(12.5)) || w.Scaled.RMS != 1 {
		t.Errorf("%+v", w.Scaled)
	}
	if _, err := readWeights(bytes.NewReader([]byte("torn")), 4); err == nil {
		t.Error("a torn file was read")
	}
}

// The largest there can be: every bin of both histograms with the count of a network of a billion weights, and every
// level of a study, of ten thousand test images.
func TestALineOfWeightsTakesFourKilobytes(t *testing.T) {
	h := Histogram{Count: 1 << 30, Max: 1.23456e-100, Median: 1.23456e-100, RMS: 1.23456e-100, Below: 1 << 27, From: -6}
	for range bins {
		h.Counts = append(h.Counts, 1<<26)
	}
	r := rowOf("20261115-120000-train-mobilenetv2-p1.1-s18446744073709551615")
	accuracy := 0.9876
	var pruned, rounded []train.Level
	for _, share := range append([]float64{0}, train.PruneShares...) {
		pruned = append(pruned, train.Level{At: share, Accuracy: accuracy, Recalibrated: &accuracy})
	}
	for _, bits := range train.RoundBits {
		rounded = append(rounded, train.Level{At: float64(bits), Accuracy: accuracy, Recalibrated: &accuracy})
	}
	line, err := json.Marshal(weightsLine{Run: r.Run, ID: r.Identity.ID(), Results: 1, Weights: &Weights{h, h,
		&Levels{accuracy, &accuracy, pruned, pruned, rounded, rounded}}})
	if err != nil || len(line) > 4096 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}
