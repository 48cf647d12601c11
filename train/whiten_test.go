package train

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

func airbench(t *testing.T) nets.Net {
	t.Helper()
	n, err := nets.ByName("airbench")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func valueOf(t *testing.T, x *Session, path string) []float32 {
	t.Helper()
	v, err := x.store.GetVariable(path).Value()
	if err != nil {
		t.Fatal(err)
	}
	flat, err := tensors.CopyFlatData[float32](v)
	if err != nil {
		t.Fatal(err)
	}
	return flat
}

// The outputs of the first layer, by the network's own convolution: over the images that it was computed from, the
// filters of one half have the mean square λ/(λ + floor), and no correlation. λ is above 0.01 for these pictures, so
// that all of the first is within 5 % below 1. Products of float32 and their sums leave 1e-4.
func TestTheFirstLayerWhitensTheTrainingImages(t *testing.T) {
	x := session(t, small(t, 60, 20), Settings{Net: airbench(t), Batch: 20, Precision: "float32", Augment: true})
	defer x.Close()
	if err := x.Start(Plan{P: 2, LR: 1, Seed: 1, Epochs: 1, Schedule: optim.Triangular(1, 0)}); err != nil {
		t.Fatal(err)
	}
	first := model.MustNewExec(x.engine.Backend, x.store, func(_ *model.Scope, where *Node) *Node {
		pictures := x.feed.inOrder(trainPart, where, nil, 0, 0)
		return Convolve(pictures, x.node(where.Graph(), "/model/whiten/weight")).Strides(1).NoPadding().Done()
	})
	indices := make([]int32, 60)
	for i := range indices {
		indices[i] = int32(i)
	}
	out, err := first.Call(indices)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		t.Fatal(err)
	}
	const filters, half = 8, 4
	moments := [filters][filters]float64{}
	for at := 0; at < len(flat); at += filters {
		for a := range filters {
			for b := range filters {
				moments[a][b] += float64(flat[at+a]) * float64(flat[at+b]) * filters / float64(len(flat))
			}
		}
	}
	for a := range half {
		for b := range half {
			want, tolerance := 0.0, 1e-4
			if a == b {
				want, tolerance = 1, 0.05
			}
			if math.Abs(moments[a][b]-want) > tolerance {
				t.Errorf("filters %d and %d: mean product %v, want %v", a, b, moments[a][b], want)
			}
			if math.Abs(moments[a][b]+moments[a][half+b]) > 1e-4 {
				t.Errorf("filter %d is not the negative of filter %d", half+b, b)
			}
		}
	}
}

// The whitening is of the images that a run sees, is not trained, and comes back with a checkpoint.
func TestAWhiteningIsOfTheRunsImagesAndIsNotTrained(t *testing.T) {
	const weight = "/model/whiten/weight"
	set := small(t, 120, 20)
	start := func(x *Session, seed uint64) []float32 {
		t.Helper()
		if err := x.Start(Plan{P: 3, LR: 0.1, Seed: seed, Epochs: 1, Schedule: optim.Triangular(1, 0)}); err != nil {
			t.Fatal(err)
		}
		return valueOf(t, x, weight)
	}
	same := func(a, b []float32) bool {
		for k := range a {
			if a[k] != b[k] {
				return false
			}
		}
		return true
	}
	x := session(t, set, Settings{Net: airbench(t), Batch: 20, Precision: "float32", Augment: true})
	defer x.Close()
	before := start(x, 1)
	epochs(t, x, Plan{P: 3, LR: 0.1, Seed: 1, Epochs: 1, Schedule: optim.Triangular(1, 0)}, 0, 1)
	if !same(before, valueOf(t, x, weight)) {
		t.Error("training moved the whitening")
	}
	if !same(before, start(x, 2)) {
		t.Error("with all images the whitening must not depend on the seed")
	}
	y := session(t, set, Settings{Net: airbench(t), Batch: 20, Precision: "float32", Augment: true, Validate: 60})
	defer y.Close()
	one, two := start(y, 1), start(y, 2)
	if same(one, before) || same(one, two) {
		t.Error("images that are held back have an influence")
	}
}

// By the definition: means of the answers to pictures that are moved on the host. A network of float32 gives the same
// for the same pictures up to the order of sums, which the batch may change.
func TestShiftedAnswersAreMeansOverMovedPictures(t *testing.T) {
	set := movedTests(small(t, 40, 20), 0)
	x := session(t, set, Settings{Net: cnn(), Batch: 20, Precision: "float32", Augment: true, Shifts: true})
	defer x.Close()
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 2)
	logits := func(x *Session, s sample) []float32 {
		t.Helper()
		out, err := s.exec.Call(int32(0), false)
		if err != nil {
			t.Fatal(err)
		}
		flat, err := tensors.CopyFlatData[float32](out[0])
		if err != nil {
			t.Fatal(err)
		}
		return flat
	}
	s, err := x.shiftedSample()
	if err != nil {
		t.Fatal(err)
	}
	got := logits(x, s)
	path := t.TempDir() + "/w.safetensors"
	if err := x.Save(path, true, nil); err != nil {
		t.Fatal(err)
	}
	var want [3][]float32
	for k, by := range []int{0, 1, -1} {
		y := session(t, movedTests(set, by), Settings{Net: cnn(), Batch: 20, Precision: "float32", Augment: true})
		defer y.Close()
		if _, err := y.Load(path); err != nil {
			t.Fatal(err)
		}
		want[k] = logits(y, y.testSample())
	}
	for i, v := range got {
		mean := want[0][i]/2 + (want[1][i]+want[2][i])/4
		if math.Abs(float64(v-mean)) > 1e-4 {
			t.Fatalf("answer %d: %v, want %v", i, v, mean)
		}
	}
	result, err := x.Run(t.Context(), r, nil, Silent{})
	if err != nil || result.Shifted.Loss == 0 || result.Shifted == result.Flip {
		t.Errorf("%+v, %v", result.Shifted, err)
	}
}

// movedTests moves the test images down and to the right; the border has the mean colour, which is made a byte.
func movedTests(s *images.Set, by int) *images.Set {
	c := *s
	c.Test.Images = make([]byte, len(s.Test.Images))
	for i := range s.Test.Len() {
		for y := range s.Height {
			for x := range s.Width {
				v := byte(math.Round(float64(s.Mean[0])))
				if from, left := y-by, x-by; from >= 0 && from < s.Height && left >= 0 && left < s.Width {
					v = s.Test.Images[(i*s.Height+from)*s.Width+left]
				}
				c.Test.Images[(i*s.Height+y)*s.Width+x] = v
			}
		}
	}
	c.Mean = []float32{float32(math.Round(float64(s.Mean[0])))}
	return &c
}

func TestAlternatingFlipsShowEachImageBothWaysInTwoEpochs(t *testing.T) {
	set := small(t, 100, 10)
	x := &Session{set: set, settings: Settings{Augment: true, Flips: nets.Alternating}}
	flips := func(seed uint64, epoch int) (out [100]int32) {
		plan := x.drawPlan(100, seed, epoch)
		for i := range 100 {
			out[plan[i*planWidth+planExample]] = plan[i*planWidth+planFlip]
		}
		return out
	}
	sum := int32(0)
	for i, f := range flips(1, 1) {
		if g := flips(1, 2)[i]; f+g != 1 {
			t.Fatalf("image %d: flips %d and %d", i, f, g)
		}
		sum += f
	}
	if sum < 30 || sum > 70 { // four deviations
		t.Errorf("%d of 100 are flipped in the first epoch", sum)
	}
	if flips(1, 1) != flips(1, 3) || flips(1, 1) == flips(2, 1) {
		t.Error("the first flips must depend on the seed and on nothing else")
	}
	x.settings.Flips = nets.Random
	if flips(1, 1) == flips(1, 3) {
		t.Error("random flips are the same in two epochs")
	}
}
