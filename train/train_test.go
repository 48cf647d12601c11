package train

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// small is the embedded sample, cut down: what trains in a moment.
func small(t *testing.T, train, test int) *images.Set {
	t.Helper()
	s, err := images.Load("fashion-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	size := s.Height * s.Width * s.Channels
	c := *s
	c.Train = images.Split{Images: s.Train.Images[:train*size], Labels: s.Train.Labels[:train]}
	c.Test = images.Split{Images: s.Test.Images[:test*size], Labels: s.Test.Labels[:test]}
	return &c
}

func session(t *testing.T, set *images.Set, s Settings) *Session {
	t.Helper()
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	if s.Optimizer == nil {
		s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 0))
	}
	x, err := New(e, set, s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func epochs(t *testing.T, x *Session, r Plan, from, to int) (last Epoch) {
	t.Helper()
	var err error
	for e := from; e < to; e++ {
		if last, err = x.Train(t.Context(), r, e, func(int) {}); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func weights(t *testing.T, x *Session) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if err := x.Save(path, true, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// cnn is the small network.
func cnn() nets.Net {
	n, err := nets.ByName("cnn")
	if err != nil {
		panic(err)
	}
	return n
}

var quick = Settings{Net: cnn(), Batch: 20, Precision: "float32", Augment: true}

func quickRun(x *Session, p float64) Plan {
	return Plan{P: p, LR: 0.5, Seed: 3, Epochs: 4, Schedule: optim.Triangular(4*x.PerEpoch, x.PerEpoch)}
}

func TestTrainingLearnsForEveryPOnOneCompiledStep(t *testing.T) {
	x := session(t, small(t, 400, 100), quick)
	for _, p := range []float64{1.5, 2, 3} {
		r := quickRun(x, p)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		first := epochs(t, x, r, 0, 1)
		last := epochs(t, x, r, 1, 4)
		score, err := x.Evaluate(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("p = %v: loss %.3f to %.3f, test accuracy %.2f", p, first.Loss, last.Loss, score.Accuracy)
		if !(last.Loss < first.Loss-0.15) || score.Accuracy < 0.2 {
			t.Errorf("p = %v: loss from %v to %v, test accuracy %v", p, first.Loss, last.Loss, score.Accuracy)
		}
	}
}

// One rate serves every p if weights are measured in their initial size: the small network learns from p = 1.1 to 10,
// from the first epoch on. Without units p = 10 overwrites its initial weights and has a loss of 3.7 there; guessing
// has 2.3.
func TestInUnitsOneRateServesEveryP(t *testing.T) {
	s := quick
	s.Optimizer = optim.Mirror().Units().Schedule(optim.Triangular(1, 0))
	x := session(t, small(t, 400, 100), s)
	for _, p := range []float64{1.1, 2, 10} {
		r := quickRun(x, p)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		first := epochs(t, x, r, 0, 1)
		last := epochs(t, x, r, 1, 4)
		t.Logf("p = %v: loss %.3f to %.3f", p, first.Loss, last.Loss)
		if !(first.Loss < 2.6 && last.Loss < first.Loss-0.15) {
			t.Errorf("p = %v: loss from %v to %v", p, first.Loss, last.Loss)
		}
	}
}

func TestASeedDecidesARun(t *testing.T) {
	x := session(t, small(t, 120, 40), quick)
	var all []string
	for _, seed := range []uint64{3, 4, 3} {
		r := quickRun(x, 3)
		r.Seed = seed
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		epochs(t, x, r, 0, 2)
		all = append(all, weights(t, x))
	}
	if all[0] != all[2] || all[0] == all[1] {
		t.Errorf("same seed, same weights: %v; other seed, other weights: %v", all[0] == all[2], all[0] != all[1])
	}
}

func TestAResumedRunIsTheUnbrokenOneBitForBit(t *testing.T) {
	set := small(t, 120, 40)
	s := quick
	s.Optimizer = optim.Mirror().Momentum(0.9).Units().Schedule(optim.Triangular(1, 0))
	x := session(t, set, s)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.safetensors")
	epochs(t, x, r, 0, 2)
	if err := x.Save(path, true, map[string]string{"epoch": "2"}); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 2, 4)
	want := weights(t, x)

	y := session(t, set, s) // another process
	meta, err := y.Load(path)
	if err != nil || meta["epoch"] != "2" {
		t.Fatalf("%v, %v", meta, err)
	}
	epochs(t, y, r, 2, 4)
	if got := weights(t, y); got != want {
		t.Error("the resumed run ended elsewhere")
	}
}

func TestCheckpointsOfOtherNetworksAreRefusedAndChangeNothing(t *testing.T) {
	set := small(t, 120, 40)
	x := session(t, set, quick)
	if err := x.Start(quickRun(x, 2)); err != nil {
		t.Fatal(err)
	}
	before := weights(t, x)
	for name, f := range map[string]safetensors.File{
		"empty": {},
		"other shape": {Tensors: []safetensors.Tensor{safetensors.FromFloat32s("model/conv1/weight", []int{1},
			[]float32{1})}},
	} {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		w, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Encode(w, f); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if _, err := x.Load(path); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if weights(t, x) != before {
		t.Error("a refused checkpoint changed the weights")
	}
}

func TestADamagedCheckpointIsRefused(t *testing.T) {
	x := session(t, small(t, 120, 40), quick)
	if err := x.Start(quickRun(x, 2)); err != nil {
		t.Fatal(err)
	}
	whole := []byte(weights(t, x))
	path := filepath.Join(t.TempDir(), "c.safetensors")
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(whole)
	if meta, checked, err := Metadata(path); err != nil || !checked {
		t.Fatalf("the whole file: %v, checked %v, %v", meta, checked, err)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	try := func(at int) {
		data := bytes.Clone(whole)
		data[at] ^= 1 << draw.IntN(8)
		write(data)
		_, _, err := Metadata(path)
		if _, load := x.Load(path); err == nil || load == nil || !strings.Contains(load.Error(), path) {
			t.Errorf("byte %d of %d: %v, %v", at, len(whole), err, load)
		}
	}
	for at := range 300 { // lengths, format and checksum
		try(at)
	}
	for range 300 {
		try(draw.IntN(len(whole)))
	}
	if got := weights(t, x); got != string(whole) {
		t.Error("a damaged checkpoint changed the weights")
	}

	f, err := safetensors.Decode(bytes.NewReader(whole), -1)
	if err != nil {
		t.Fatal(err)
	}
	f.Metadata = map[string]string{"epoch": "2"} // as older versions wrote it
	var old bytes.Buffer
	if err := safetensors.Encode(&old, f); err != nil {
		t.Fatal(err)
	}
	write(old.Bytes())
	if meta, checked, err := Metadata(path); err != nil || checked || meta["epoch"] != "2" {
		t.Errorf("no checksum: %v, checked %v, %v", meta, checked, err)
	}
	if _, err := x.Load(path); err != nil {
		t.Error(err)
	}
}

func TestThePlanIsAnOrderOfAllExamplesAndStaysInside(t *testing.T) {
	set := small(t, 100, 10)
	x := &Session{set: set, settings: Settings{Augment: true}}
	plan := x.drawPlan(100, 1, 1)
	seen := map[int32]bool{}
	moved := map[string]bool{}
	for i := range 100 {
		row := plan[i*planWidth : (i+1)*planWidth]
		seen[row[planExample]] = true
		moved[fmt.Sprint(row[planRow:])] = true
		if row[planRow] < 0 || row[planRow] > 2*shift || row[planCutRow] < 0 || int(row[planCutRow]) > set.Height-cutout ||
			row[planFlip] > 1 {
			t.Fatalf("row %v", row)
		}
	}
	if len(seen) != 100 || len(moved) < 90 {
		t.Errorf("%d examples, %d different augmentations", len(seen), len(moved))
	}
	if fmt.Sprint(plan) == fmt.Sprint(x.drawPlan(100, 1, 2)) ||
		fmt.Sprint(plan) != fmt.Sprint(x.drawPlan(100, 1, 1)) {
		t.Error("an epoch must depend on (seed, epoch) and on nothing else")
	}
}

// The reported step is the first whose loss is not finite, counted by hand: a session that stops after each step sees
// the same. The reported place is in the weights that gave that loss, and not wherever a NaN has spread to by the end
// of the epoch.
func TestALossThatOverflowsNamesStepAndParameter(t *testing.T) {
	s := quick
	s.Optimizer = optim.Mirror().Momentum(0.5).Schedule(optim.Triangular(1, 0)) // what could still move the weights
	x := session(t, small(t, 120, 40), s)
	r := quickRun(x, 1.1)
	r.LR = 1e4
	r.Schedule = optim.Triangular(1000, 0)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	if _, err := x.setPlan(r.Seed, 1); err != nil {
		t.Fatal(err)
	}
	want, weightsThen := -1, ""
	for k := range x.PerEpoch {
		before := weights(t, x)
		if _, err := x.step[0].Call(); err != nil {
			t.Fatal(err)
		}
		if loss, err := x.scalar(lossVar); err != nil || !finite(loss) {
			want, weightsThen = k, before
			break
		}
	}
	if want < 0 || want == x.PerEpoch-1 {
		t.Fatalf("overflows at step %d of %d: not what this test needs", want, x.PerEpoch)
	}
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	_, err := x.Train(t.Context(), r, 0, func(int) {})
	var d *Diverged
	if !errors.As(err, &d) || !strings.Contains(err.Error(), fmt.Sprintf("in epoch 1 at step %d of %d", want+1,
		x.PerEpoch)) {
		t.Errorf("error %v, want step %d", err, want+1)
	}
	// The step counter continued; the network did not change.
	if a, b := network(t, weightsThen), network(t, weights(t, x)); a != b {
		t.Error("the weights at the end are not those that made the loss")
	}
	if err := x.Start(quickRun(x, 2)); err != nil { // and the session serves the next run
		t.Fatal(err)
	}
	if last := epochs(t, x, quickRun(x, 2), 0, 1); !finite(last.Loss) {
		t.Errorf("loss %v after a run that overflowed", last.Loss)
	}
}

// network is the weights in a checkpoint, without batch norm's statistics.
func network(t *testing.T, checkpoint string) string {
	t.Helper()
	f, err := safetensors.Decode(strings.NewReader(checkpoint), int64(len(checkpoint)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range f.Tensors {
		if strings.HasPrefix(s.Name, modelScope+"/") && !strings.Contains(s.Name, "running") {
			b.WriteString(s.Name + string(s.Data))
		}
	}
	return b.String()
}

// An overflow that only the test images see, in the last step of an epoch, is reported in the same words.
func TestAnEvaluationThatOverflowsSaysSo(t *testing.T) {
	s := quick
	s.Batch = 120
	x := session(t, small(t, 120, 40), s)
	r := quickRun(x, 1.1)
	r.LR, r.Schedule = 1e6, optim.Triangular(1000, 0)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 1)
	_, err := x.Evaluate(t.Context(), false)
	var d *Diverged
	if !errors.As(err, &d) || !strings.Contains(err.Error(), "on the test images: parameter /model/") {
		t.Errorf("error %v", err)
	}
}

func TestPicturesTooSmallToCutAreRefusedWithWhatToDo(t *testing.T) {
	set := *small(t, 120, 40)
	set.Height, set.Width = 4, 4
	e, err := engine.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s := quick
	s.Optimizer = optim.Mirror()
	if _, err := New(e, &set, s); err == nil || !strings.Contains(err.Error(), "--no-augment") {
		t.Errorf("error %v", err)
	}
}

// The last batch of an evaluation begins earlier if the images are not a multiple of the batch: none counts twice, and
// none is skipped.
func TestEvaluationCountsEveryImageOnce(t *testing.T) {
	set := small(t, 120, 47)
	var scores []Score
	for _, b := range []int{47, 10, 46} {
		x := session(t, set, quick)
		x.test = b
		r := quickRun(x, 2)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		epochs(t, x, r, 0, 1)
		for _, flip := range []bool{false, true} {
			s, err := x.Evaluate(t.Context(), flip)
			if err != nil {
				t.Fatal(err)
			}
			scores = append(scores, s)
		}
	}
	for k := 2; k < len(scores); k++ { // sums of other lengths round the answers differently, by some 1e-7 of themselves
		if a, b := scores[k], scores[k%2]; a.Accuracy != b.Accuracy || math.Abs(a.Loss-b.Loss) > 1e-5 {
			t.Errorf("%+v in batches, %+v at once", a, b)
		}
	}
	if x := session(t, small(t, 120, 1100), quick); x.test > 200 {
		t.Errorf("an evaluation on a CPU takes %d images at a time", x.test)
	}
}

// Every tensor of a checkpoint must have the type and the shape of the session's, scalars too.
func TestCheckpointsWithOtherTypesOrShapesAreRefused(t *testing.T) {
	x := session(t, small(t, 120, 40), quick)
	if err := x.Start(quickRun(x, 2)); err != nil {
		t.Fatal(err)
	}
	saved := weights(t, x)
	for what, change := range map[string]func(*safetensors.Tensor){
		"F64 weights": func(s *safetensors.Tensor) {
			if v, err := safetensors.Float32s(*s); err == nil && s.Name == "model/conv1/weight" {
				wide := make([]float64, len(v))
				*s = safetensors.FromFloat64s(s.Name, s.Shape, wide)
			}
		},
		"scalars of another shape": func(s *safetensors.Tensor) {
			if len(s.Shape) == 0 {
				s.Shape = []int{1}
			}
		},
	} {
		f, err := safetensors.Decode(strings.NewReader(saved), int64(len(saved)))
		if err != nil {
			t.Fatal(err)
		}
		f.Metadata = nil // without a checksum, which would refuse it first
		for i := range f.Tensors {
			change(&f.Tensors[i])
		}
		var b strings.Builder
		path := filepath.Join(t.TempDir(), "c.safetensors")
		if err := errors.Join(safetensors.Encode(&b, f), os.WriteFile(path, []byte(b.String()), 0o666)); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFlipAveragingIsAnAverage(t *testing.T) {
	loss, best, probability := exampleLoss([]float32{1, 3, 2}, 1)
	if want := math.Log(math.Exp(-2) + 1 + math.Exp(-1)); best != 1 || math.Abs(loss-want) > 1e-12 ||
		math.Abs(probability-math.Exp(-want)) > 1e-12 {
		t.Errorf("loss %v, want %v, class %d of probability %v", loss, want, best, probability)
	}
}

// Change sets p and the rate alone: with a rate of next to nothing every p keeps the weights, and with another they
// move. The tolerance is that of p = 10: a weight of 0 moves to (η|g|)^(1/9), 5e-4 for a gradient of 1.
func TestChangeKeepsTheWeights(t *testing.T) {
	x := session(t, small(t, 60, 10), Settings{Net: cnn(), Batch: 20, Precision: "float32",
		Optimizer: optim.Mirror().Schedule(optim.Constant())})
	r := Plan{P: 2, LR: 1e-30, Seed: 1, Epochs: 9, Schedule: optim.Constant()}
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	moved := func() float64 {
		now, err := x.Weights()
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for i, layer := range now {
			for k, v := range layer.Values {
				most = max(most, math.Abs(float64(v-x.start[i].Values[k])))
			}
		}
		return most
	}
	for epoch, p := range []float64{2, 3, 1.1, 10} {
		if err := x.Change(p, 1e-30); err != nil {
			t.Fatal(err)
		}
		epochs(t, x, r, epoch, epoch+1)
		if got := moved(); got > 1e-3 {
			t.Errorf("p = %v: a weight moved by %v", p, got)
		}
	}
	if err := x.Change(2, 0.1); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 4, 5)
	if got := moved(); got < 2e-3 {
		t.Errorf("the weights moved by %v only", got)
	}
	if err := x.Change(1, 0.1); err == nil {
		t.Error("p = 1 was taken")
	}
}
