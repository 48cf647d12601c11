package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/safetensors"
)

func TestSpreadOfHandMadeWeights(t *testing.T) {
	s := spread(sizes([]float32{-4, 0, 0.0005, -0.005, 3}))
	// ‖w‖₁ = 7.0055, ‖w‖₂² = 25 + 2.525e-5, RMS = 2.236…
	one, two := 4+float64(float32(0.0005))+float64(float32(0.005))+3, 25+0.0005*0.0005+0.005*0.005
	if s.Count != 5 || s.Max != 4 || s.Median != float64(float32(0.005)) || math.Abs(s.RMS-math.Sqrt(two/5)) > 1e-9 {
		t.Errorf("%+v", s)
	}
	if want := [4]float64{0.4, 0.6, 0.6, 0.6}; s.Below != want {
		t.Errorf("below %v, want %v", s.Below, want)
	}
	if want := 1 - one*one/(5*two); math.Abs(s.Sparsity-want) > 1e-9 {
		t.Errorf("sparsity %v, want %v", s.Sparsity, want)
	}
	if s := spread(sizes([]float32{2, -2, 2})); math.Abs(s.Sparsity) > 1e-12 || s.MaxOverMedian() != 1 {
		t.Errorf("weights of one size: %+v", s)
	}
}

func TestHistogramCountsEveryWeightOnce(t *testing.T) {
	w := make([]float32, 1000)
	for i := range w {
		w[i] = float32(i) - 500 // sizes 0 to 500
	}
	h := histogram(sizes(w))
	sum := h.Beyond
	for _, v := range h.Share {
		sum += v
	}
	// The 995th smallest of 0, 1, 1, 2, 2, … is 497.
	if h.Limit != 497 || len(h.Share) != 100 || math.Abs(sum-1) > 1e-12 || math.Abs(h.Beyond-0.005) > 1e-12 {
		t.Errorf("limit %v, %d bins, sum %v, beyond %v", h.Limit, len(h.Share), sum, h.Beyond)
	}
	if h.Share[0] != 0.009 { // 0, ±1, ±2, ±3, ±4 below 4.97
		t.Errorf("first bin %v", h.Share[0])
	}
	if z := histogram(make([]float32, 10)); z.Share[0] != 1 || z.Beyond != 0 {
		t.Errorf("zeros: %+v", z)
	}
}

func TestPruningAndRoundingByHand(t *testing.T) {
	w := []float32{0.1, -0.5, 0.3, -0.2}
	for share, want := range map[float64][]float32{0: w, 0.5: {0, -0.5, 0.3, 0}, 0.75: {0, -0.5, 0, 0}, 1: {0, 0, 0, 0}} {
		if got := pruned(w, prunedAt(sizes(w), share)); !slices.Equal(got, want) {
			t.Errorf("pruned by %v: %v, want %v", share, got, want)
		}
	}
	// 3 bits: levels −3 … 3, steps of 0.5/3; 0.1 → 1, 0.3 → 2, −0.2 → −1.
	s := 0.5 / 3
	for i, want := range []float64{s, -0.5, 2 * s, -s} {
		if got := rounded(w, 1, 3)[i]; math.Abs(float64(got)-want) > 1e-7 {
			t.Errorf("rounded %d: %v, want %v", i, got, want)
		}
	}
	if got := rounded([]float32{0, 0}, 1, 4); got[0] != 0 || got[1] != 0 {
		t.Errorf("zeros became %v", got)
	}
	levels := map[float32]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	many := make([]float32, 10000)
	for i := range many {
		many[i] = float32(rng.NormFloat64())
	}
	for _, v := range rounded(many, 1, 4) {
		levels[v] = true
	}
	if len(levels) < 13 || len(levels) > 15 { // the outermost may be empty on one side
		t.Errorf("4 bits made %d levels, want 15", len(levels))
	}
	sorted := sizes(many)
	if !slices.IsSorted(sorted) || len(sorted) != len(many) {
		t.Error("sizes are not sorted")
	}
}

// Testing changed weights must not change the network, and pruning nothing must change nothing.
func TestAStudyPutsTheWeightsBack(t *testing.T) {
	x := session(t, small(t, 200, 60), quick)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 2)
	before := weights(t, x)
	score, err := x.Evaluate(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	var shares []float64
	s, err := x.Study(t.Context(), 3, score.Accuracy, func(share float64) { shares = append(shares, share) })
	if err != nil {
		t.Fatal(err)
	}
	if weights(t, x) != before {
		t.Error("the study changed the weights")
	}
	if s.Accuracy != score.Accuracy || s.PrunedAll[0].Accuracy != score.Accuracy || s.Evaluations != 45 ||
		len(s.Rounded) != len(RoundBits) || len(s.RoundedChannels) != len(RoundBits) {
		t.Errorf("accuracy %v against %v, %d evaluations", s.Accuracy, score.Accuracy, s.Evaluations)
	}
	if s.All.Count != 3*3*16+3*3*16*32+3*3*32*64+64*10 || len(s.Layers) != 4 || s.Layers[3].Name != "linear" ||
		math.Abs(s.Scaled.RMS-1) > 1e-4 {
		t.Errorf("%d weights in %d layers, scaled %+v", s.All.Count, len(s.Layers), s.Scaled)
	}
	if n := len(shares); n < 18 || shares[n-1] != 1 || !slices.IsSorted(shares) || shares[n-2] != pairsFrom ||
		shares[0] > 0.1 {
		t.Errorf("progress %v", shares)
	}
	m := s.Margins
	if m.Examples != 200 || !slices.IsSorted(m.Quantiles) || len(m.Pairs) != 3 || m.LastNorm <= 0 {
		t.Errorf("margins %+v", m)
	}
	for _, p := range m.Pairs {
		t.Logf("%+v", p)
		if p.Answer == separable && !(p.Network <= p.Upper*(1+1e-9) && p.Lower <= p.Upper*(1+1e-9) &&
			p.Lower > 0.999*p.Upper) || p.Answer == "" {
			t.Errorf("%+v", p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Study(ctx, 3, 0, func(float64) {}); err == nil || weights(t, x) != before {
		t.Errorf("a study that is stopped: %v, weights changed: %v", err, weights(t, x) != before)
	}
}

// Most weights are 0, and pruning changes nothing: these networks are the one whose accuracy is known.
func TestAStudyTestsEachNetworkOnce(t *testing.T) {
	x := session(t, small(t, 200, 60), quick)
	if err := x.Start(quickRun(x, 3)); err != nil {
		t.Fatal(err)
	}
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		for i := range l.Values {
			if i%100 != 0 {
				l.Values[i] = 0
			}
		}
	}
	if err := x.SetWeights(layers); err != nil {
		t.Fatal(err)
	}
	end := 0.0
	s, err := x.Study(t.Context(), 3, 0.125, func(share float64) { end = share })
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 4*len(RoundBits); s.Evaluations != want || end != 1 {
		t.Errorf("%d evaluations, want %d, of rounded weights and of other statistics; progress ends at %v", s.Evaluations,
			want, end)
	}
	for _, l := range append(s.PrunedEach, s.PrunedAll...) {
		if l.Accuracy != 0.125 {
			t.Errorf("pruned by %v: accuracy %v, want the one that is known", l.At, l.Accuracy)
		}
	}
}

// The pair solver's answer is that of the whole problem, also if it begins with a part of the examples.
func TestPairsOfTheSmallestKind(t *testing.T) {
	// One feature; class 0 at 3 and 5, class 1 at −1 and −2: the best ℓ₂ classifier on (f, 1) puts 3w + b = 1, −w + b =
	// −1: w = ½, b = −½.
	o := outputs{logits: []float32{1, 0, 2, 0, 0, 1, 0, 2}, features: []float32{3, 5, -1, -2}, n: 4, classes: 2, d: 1,
		labels: []int{0, 0, 1, 1}, ofClass: [][]int{{0, 1}, {2, 3}}}
	var p Pair
	if err := o.solve(t.Context(), 2, 0, 1, &p); err != nil {
		t.Fatal(err)
	}
	if want := 1 / math.Sqrt(0.5); p.Answer != separable || math.Abs(p.Upper/want-1) > 1e-3 ||
		math.Abs(p.Lower/want-1) > 1e-3 {
		t.Errorf("%+v, want %v", p, want)
	}
	o.features[2] = 4
	p = Pair{}
	if err := o.solve(t.Context(), 2, 0, 1, &p); err != nil || p.Answer != "not separable" || !math.IsNaN(p.Share()) {
		t.Errorf("%+v, %v", p, err)
	}
}

// The training images come in batches of a thousand; the last one overlaps the one before, and nothing is counted
// twice.
func TestOutputsAreOfEveryTrainingImageOnce(t *testing.T) {
	set := small(t, 1050, 10)
	x := session(t, set, quick)
	tail := *set
	size := set.Height * set.Width * set.Channels
	tail.Train = images.Split{Images: set.Train.Images[1000*size:], Labels: set.Train.Labels[1000:]}
	y := session(t, &tail, quick)
	var all, last outputs
	for _, s := range []struct {
		x *Session
		o *outputs
	}{{x, &all}, {y, &last}} {
		if err := s.x.Start(quickRun(s.x, 2)); err != nil {
			t.Fatal(err)
		}
		var err error
		if *s.o, err = s.x.outputs(t.Context(), func(int) {}); err != nil {
			t.Fatal(err)
		}
	}
	if len(all.logits) != 1050*10 || len(all.features) != 1050*64 || all.d != 64 {
		t.Fatalf("%d logits, %d features of %d", len(all.logits), len(all.features), all.d)
	}
	for i, v := range last.logits { // other batch sizes may sum in another order
		if got := all.logits[1000*10+i]; math.Abs(float64(got-v)) > 1e-5 {
			t.Fatalf("logit %d: %v, want %v", i, got, v)
		}
	}
}

// Weights that overflow are an error of their own kind, not a file with NaN in it.
func TestAnOverflowingNetworkHasNoStudy(t *testing.T) {
	x := session(t, small(t, 120, 40), quick)
	if err := x.Start(quickRun(x, 2)); err != nil {
		t.Fatal(err)
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
	if _, err := x.Study(t.Context(), 2, 0, func(float64) {}); !errors.As(err, &d) ||
		!strings.Contains(err.Error(), "/model/conv1/weight is not a number at place 7") {
		t.Errorf("error %v", err)
	}
}

// A file as PyTorch writes it: names with dots, kernels [out, in, height, width], linear weights [out, in], counters of
// batches.
func TestWeightsOfPyTorchAreReadInTheirLayout(t *testing.T) {
	set := small(t, 120, 40)
	x := session(t, set, quick)
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	value := func(l, o, i, y, x int) float32 {
		return float32(l) + float32(o)/16 + float32(i)/256 + float32(y)/1024 + float32(x)/4096
	}
	var f safetensors.File
	add := func(name string, shape []int, v []float32) {
		f.Tensors = append(f.Tensors, safetensors.FromFloat32s("module."+name, shape, v))
	}
	for l, d := range [][2]int{{1, 16}, {16, 32}, {32, 64}} {
		var k []float32
		for o := range d[1] {
			for i := range d[0] {
				for p := range 9 {
					k = append(k, value(l, o, i, p/3, p%3))
				}
			}
		}
		add(fmt.Sprintf("conv%d.weight", l+1), []int{d[1], d[0], 3, 3}, k)
		for _, name := range []string{"weight", "bias", "running_mean", "running_var"} {
			add(fmt.Sprintf("bn%d.%s", l+1, name), []int{d[1]}, slices.Repeat([]float32{1}, d[1]))
		}
		f.Tensors = append(f.Tensors, safetensors.FromInt64s(fmt.Sprintf("module.bn%d.num_batches_tracked", l+1), nil,
			[]int64{7}))
	}
	linear := make([]float32, 640)
	for i := range linear {
		linear[i] = float32(i)
	}
	add("linear.weight", []int{10, 64}, linear)
	add("linear.bias", []int{10}, make([]float32, 10))
	path := filepath.Join(t.TempDir(), "torch.safetensors")
	put := func(f safetensors.File) {
		var b bytes.Buffer
		if err := safetensors.Encode(&b, f); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(f)
	in, err := ReadInit(path)
	if err != nil {
		t.Fatal(err)
	}
	r.Init = in
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	// conv2, [3, 3, 16, 32]: row 2, column 1, input 5, output 11.
	if got, want := layers[1].Values[((2*3+1)*16+5)*32+11], value(1, 11, 5, 2, 1); got != want {
		t.Errorf("kernel: %v, want %v", got, want)
	}
	if got := layers[3].Values[3*10+4]; got != linear[4*64+3] {
		t.Errorf("linear: %v, want %v", got, linear[4*64+3])
	}

	// What Save writes for others is such a file, and comes back bit for bit.
	epochs(t, x, r, 0, 1)
	whole := weights(t, x)
	if err := x.Save(path, false, nil); err != nil {
		t.Fatal(err)
	}
	if r.Init, err = ReadInit(path); err != nil {
		t.Fatal(err)
	}
	want, _ := x.Weights()
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	got, _ := x.Weights()
	if fmt.Sprint(got) != fmt.Sprint(want) || whole == "" {
		t.Error("the weights did not come back")
	}

	// Of another number of classes all but the last layer is taken, which starts as it would without the file.
	other := safetensors.File{Tensors: slices.Clone(f.Tensors)}
	n := len(other.Tensors)
	other.Tensors[n-2] = safetensors.FromFloat32s("module.linear.weight", []int{7, 64}, make([]float32, 7*64))
	other.Tensors[n-1] = safetensors.FromFloat32s("module.linear.bias", []int{7}, make([]float32, 7))
	put(other)
	if r.Init, err = ReadInit(path); err != nil {
		t.Fatal(err)
	}
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	got, _ = x.Weights()
	fresh := r
	fresh.Init = nil
	if err := x.Start(fresh); err != nil {
		t.Fatal(err)
	}
	drawn, _ := x.Weights()
	if text := x.NewHead(r.Init); !strings.HasSuffix(text, " is for 7 classes, and there are 10: the last layer, linear, "+
		"starts from random weights") {
		t.Error(text)
	}
	for k := range got {
		if last := k == len(got)-1; slices.Equal(got[k].Values, drawn[k].Values) != last {
			t.Errorf("layer %s starts from the file: %v", got[k].Name, last)
		}
	}

	// What does not fit is refused in one line.
	for name, change := range map[string]func(f *safetensors.File){
		"no conv2.weight": func(f *safetensors.File) {
			f.Tensors = slices.DeleteFunc(f.Tensors, func(t safetensors.Tensor) bool { return t.Name == "module.conv2.weight" })
		},
		"has extra, which the network": func(f *safetensors.File) {
			f.Tensors = append(f.Tensors, safetensors.FromFloat32s("extra", []int{1}, []float32{1}))
		},
		"shape [10]": func(f *safetensors.File) {
			f.Tensors[len(f.Tensors)-2] = safetensors.FromFloat32s("linear.weight", []int{10}, make([]float32, 10))
		},
		"NaN": func(f *safetensors.File) {
			f.Tensors[len(f.Tensors)-1] = safetensors.FromFloat32s("linear.bias", []int{10},
				slices.Repeat([]float32{float32(math.NaN())}, 10))
		},
		"type I64": func(f *safetensors.File) {
			f.Tensors[len(f.Tensors)-1] = safetensors.FromInt64s("linear.bias", []int{10}, make([]int64, 10))
		},
	} {
		bad := safetensors.File{Tensors: slices.Clone(f.Tensors)}
		change(&bad)
		put(bad)
		in, err := ReadInit(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.CheckInit(in); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q: %v", name, err)
		}
	}
}

func TestHalfPrecisionIsWidened(t *testing.T) {
	for bits, want := range map[uint16]float32{0x3c00: 1, 0xc000: -2, 0x3555: 0.33325195, 0x0001: 5.9604645e-8,
		0x7bff: 65504, 0x8000: 0} {
		if got := half(bits); got != want {
			t.Errorf("%#x: %v, want %v", bits, got, want)
		}
	}
	got, err := widened(safetensors.Tensor{Name: "x", DType: "BF16", Shape: []int{2},
		Data: []byte{0x80, 0x3f, 0x20, 0xc0}})
	if err != nil || got[0] != 1 || got[1] != -2.5 {
		t.Errorf("%v %v", got, err)
	}
}
