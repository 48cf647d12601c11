package train

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

func TestImagesAreHeldBackByClassAndSeed(t *testing.T) {
	sizes := []int{50, 31, 19, 7} // of the classes, one behind the other
	var labels []int
	for c, n := range sizes {
		labels = append(labels, slices.Repeat([]int{c}, n)...)
	}
	label := func(i int) int { return labels[i] }
	pick := func(n int, seed uint64) []int {
		kept, held := stratified(label, len(labels), len(sizes), n, seed)
		if len(held) != n || !slices.IsSorted(held) || !slices.IsSorted(kept) {
			t.Fatalf("%d of %d held back, %d kept", len(held), n, len(kept))
		}
		all := slices.Sorted(slices.Values(append(slices.Clone(kept), held...)))
		if len(slices.Compact(all)) != len(labels) {
			t.Fatal("an image is in both parts, or in none")
		}
		return held
	}
	for _, n := range []int{4, 10, 33, 100} {
		held := pick(n, 1)
		for c, size := range sizes {
			got, share := 0, float64(size*n)/float64(len(labels))
			for _, i := range held {
				if labels[i] == c {
					got++
				}
			}
			if float64(got) <= share-1 || float64(got) >= share+1 {
				t.Errorf("%d of class %d are held back, of all %d: its share is %.2f", got, c, n, share)
			}
		}
	}
	if !slices.Equal(pick(33, 1), pick(33, 1)) || slices.Equal(pick(33, 1), pick(33, 2)) {
		t.Error("the choice must depend on the seed and on nothing else")
	}
}

// with changes the pixels of some training images.
func with(s *images.Set, examples []int) *images.Set {
	c := *s
	c.Train.Images = slices.Clone(s.Train.Images)
	for _, i := range examples {
		for k := range sizeOf(s) {
			c.Train.Images[i*sizeOf(s)+k] ^= 0xff
		}
	}
	return &c
}

// What is held back has no influence on the weights; the score is the one that a network has on these images as test
// images.
func TestNoStepSeesWhatIsHeldBack(t *testing.T) {
	set, s := small(t, 200, 40), quick
	s.Validate = 50
	x := session(t, set, s)
	if x.PerEpoch != 7 { // 150 images, batches of 20
		t.Errorf("%d steps an epoch", x.PerEpoch)
	}
	r := quickRun(x, 3)
	run := func(x *Session) string {
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		epochs(t, x, r, 0, 2)
		return weights(t, x)
	}
	want := run(x)
	held := slices.Clone(x.held)
	score, err := x.Validate(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	y := session(t, with(set, held), s)
	if run(y) != want {
		t.Error("images that are held back change the weights")
	}
	if z := session(t, with(set, x.kept[:1]), s); run(z) == want {
		t.Error("an image that is kept changes nothing")
	}

	tested := *set
	tested.Test = images.Split{}
	for _, i := range held {
		tested.Test.Images = append(tested.Test.Images, set.Train.Images[i*sizeOf(set):(i+1)*sizeOf(set)]...)
		tested.Test.Labels = append(tested.Test.Labels, set.Train.Labels[i])
	}
	z := session(t, &tested, s)
	if run(z) != want {
		t.Error("test images change the weights")
	}
	same, err := z.Evaluate(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if Validation(same) != score {
		t.Errorf("validation %+v, as test images %+v", score, same)
	}

	// Another seed holds others back, and the plan that was drawn ahead is not used for it.
	r.Seed++
	if run(x); slices.Equal(held, x.held) {
		t.Error("another seed holds the same images back")
	}
}

// A plan may hold images back on a session that holds none back: as many steps, of fewer images.
func TestAPlanHoldsImagesBack(t *testing.T) {
	set := small(t, 200, 40)
	x := session(t, set, quick)
	r := quickRun(x, 3)
	r.HoldBack = 50
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	count := map[int32]int{}
	plan := x.drawPlan(200, r.Seed, 1)
	for i := range 200 {
		count[plan[i*planWidth+planExample]]++
	}
	for _, i := range x.held {
		if count[int32(i)] > 0 {
			t.Errorf("image %d is held back and in the plan", i)
		}
	}
	if len(count) != 150 || slices.Max(slices.Collect(maps.Values(count))) != 2 {
		t.Errorf("%d images in 200 rows", len(count))
	}
	epochs(t, x, r, 0, 1)
	if _, err := x.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	r.HoldBack = 0
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	if x.seen() != 200 {
		t.Errorf("%d images are seen", x.seen())
	}
}

func TestPackedImagesAreHeldBack(t *testing.T) {
	set := packedSet(t)
	var want Validation
	for _, stream := range []bool{false, true} {
		s := packedQuick(stream)
		s.Validate = 24
		x := session(t, set, s)
		r := quickRun(x, 3)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		epochs(t, x, r, 0, 2)
		v, err := x.Validate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stream && v != want {
			t.Errorf("streamed %+v, resident %+v", v, want)
		}
		want = v
		x.Close()
	}
}

// The curve of such a run is of the images held back, and the test images are seen in the end. A run that is stopped
// and resumed ends the same.
func TestARunWithValidationStopsAndResumes(t *testing.T) {
	set, s := small(t, 120, 40), quick
	s.Validate = 40
	x := session(t, set, s)
	plan := quickRun(x, 3)
	whole, err := x.Run(t.Context(), plan, nil, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	test, err := x.Evaluate(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Test != test || whole.Last().Score != (Score{}) {
		t.Errorf("tested %+v in the end, %+v in the last epoch", whole.Test, whole.Last().Score)
	}
	if score, on := whole.Last().Curve(); on != "validation" || score.Accuracy == 0 {
		t.Errorf("the curve is of %q: %+v", on, score)
	}
	for _, r := range whole.Records {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(line), "test_") || !strings.Contains(string(line), `"validation_accuracy"`) {
			t.Errorf("the line of an epoch is %s", line)
		}
		var back Record
		if err := json.Unmarshal(line, &back); err != nil || *back.Validation != *r.Validation {
			t.Errorf("read back: %+v, %v", back, err)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	folder, err := runlog.CreateAt(t.TempDir()+"/run", runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Run(ctx, plan, folder, stopper{epoch: 2, stop: stop})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	resumed, err := session(t, set, s).Resume(t.Context(), plan, ReadStopped(folder), Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if *resumed.Last().Validation != *whole.Last().Validation || resumed.Test != whole.Test {
		t.Errorf("resumed %+v, %+v; unbroken %+v, %+v", resumed.Last().Validation, resumed.Test, whole.Last().Validation,
			whole.Test)
	}
}

// stopper stops a run after an epoch.
type stopper struct {
	Silent
	epoch int
	stop  func()
}

func (s stopper) Epoch(r Record) {
	if r.Epoch.Epoch == s.epoch {
		s.stop()
	}
}

func TestTooManyImagesToHoldBack(t *testing.T) {
	for _, n := range []int{-1, 3, 181} {
		s := quick
		s.Validate, s.Optimizer = n, optim.Mirror()
		if _, err := New(nil, small(t, 200, 40), s); err == nil || !strings.Contains(err.Error(), "validation on") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func sizeOf(s *images.Set) int { return s.Height * s.Width * s.Channels }
