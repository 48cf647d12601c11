package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// noisy is a table of three features whose labels some examples contradict.
func noisy(seed uint64, n int) *dataset.Set {
	rng := rand.New(rand.NewPCG(seed, 7))
	s := &dataset.Set{Name: "noisy"}
	data := make([]float64, 0, 3*n)
	for i := range n {
		x := []float64{rng.NormFloat64(), 100 * rng.NormFloat64(), 1}
		y := 1.0
		if (x[0] < 0) != (i%7 == 0) {
			y = -1
		}
		data, s.Y = append(data, x...), append(s.Y, y)
	}
	s.X = matrix.NewDense(3, data)
	return s
}

func TestAFitLeavesTheCallersMatrixAsItWas(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		set := noisy(1, 40)
		before := matrix.Clone(set.X)
		r, err := Train(t.Context(), set, Settings{Scale: "std", Bias: true, InPlace: inPlace})
		if err != nil {
			t.Fatal(err)
		}
		same := true
		for i := range 40 {
			_, a := set.X.Row(i)
			_, b := before.Row(i)
			same = same && slices.Equal(a, b)
		}
		if same == inPlace {
			t.Errorf("in place %v: the matrix is as it was: %v", inPlace, same)
		}
		if labels, _, err := r.Model.Predict(before); err != nil || len(labels) != 40 {
			t.Errorf("the model does not take the data as it was: %v", err)
		}
	}
}

// What one p or fold needed must not show in another: the model of a choice among several is that of the chosen p
// alone.
func TestTheChosenModelIsThatOfItsPAlone(t *testing.T) {
	var said []RemarkKind
	s := Settings{P: []float64{1.5, 2, 3}, Folds: 3, Scale: "max", Bias: true, Seed: 2}
	s.Say = func(r Remark) { said = append(said, r.Kind) }
	many, err := Train(t.Context(), noisy(3, 60), s)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Train(t.Context(), noisy(3, 60), Settings{P: []float64{many.Attempt.P}, Scale: "max", Bias: true,
		Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(many.Model.Weights[0], alone.Model.Weights[0]) || many.Attempt != alone.Attempt {
		t.Errorf("%+v with %v, alone %+v with %v", many.Attempt, many.Model.Weights, alone.Attempt, alone.Model.Weights)
	}
	if many.Attempt.Soft == 0 || many.Separable == nil || *many.Separable ||
		!strings.Contains(many.None, "cancel exactly") {
		t.Errorf("labels that contradict each other: %+v, %q", many.Attempt, many.None)
	}
	if !slices.Contains(said, FoldsSoft) || !slices.Contains(said, Softened) || len(many.CV) != 3 {
		t.Errorf("said %v of %d scores", said, len(many.CV))
	}
}

func TestAStoppedFitResumesBitByBit(t *testing.T) {
	set, err := dataset.Generate("r100")
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{P: []float64{3}, Method: linear.MethodPGD, Eta: 1e-3, Steps: 20_000}
	want, err := Train(t.Context(), set, s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var saved *Checkpoint
	stopped := s
	stopped.Save = func(c Checkpoint) { saved = &c }
	stopped.Point = func(_ *float64, pt linear.Point) error {
		if pt.Step > 5000 {
			cancel()
		}
		return nil
	}
	if r, err := Train(ctx, set, stopped); !errors.Is(err, context.Canceled) || saved == nil || r == nil {
		t.Fatalf("%v, %v, %v", r, saved, err)
	}
	path := t.TempDir() + "/fit.safetensors"
	if err := writeFile(path, saved.Encode()); err != nil {
		t.Fatal(err)
	}
	if s.Resume, err = ReadCheckpoint(path); err != nil {
		t.Fatal(err)
	}
	got, err := Train(t.Context(), set, s)
	if err != nil || !slices.Equal(got.Model.Weights[0], want.Model.Weights[0]) || got.Steps != want.Steps {
		t.Errorf("%d steps to %v, want %d to %v: %v", got.Steps, got.Model.Weights, want.Steps, want.Model.Weights, err)
	}
}

// The weights of a replay at a step are those of a fit that stops there.
func TestAReplayHasTheWeightsOfFitsThatStop(t *testing.T) {
	for name, s := range map[string]Settings{
		"accelerated": {P: []float64{1.5}}, "descent": {P: []float64{3}, Method: linear.MethodPGD, Steps: 3000},
		"soft": {P: []float64{2}, Soft: 0.2}, "penalty": {P: []float64{2}, Lambda: []float64{1e-3}, Loss: linear.Logistic{}},
		"scaled": {P: []float64{2}, Scale: "max"},
	} {
		set, err := dataset.Generate("r2")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Replay(t.Context(), set, s, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tr := newTrainer(set, s)
		x, err := tr.scaled(new(Result))
		if err != nil {
			t.Fatal(err)
		}
		a := Attempt{P: s.P[0], Soft: s.Soft}
		if len(s.Lambda) > 0 {
			a.Lambda = s.Lambda[0]
		}
		prob := linear.Problem{X: x, Y: tr.targets[0]}
		last := len(r.W) - 1
		for k := 0; k < last; k += 1 + last/8 {
			one := tr.settings(prob, a)
			if one.Steps = r.Points[k].Step; one.Steps == 0 {
				continue
			}
			fit, err := linear.Fit(t.Context(), prob, one)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !slices.Equal(fit.W, r.W[k]) {
				t.Errorf("%s: step %d has %v, a fit that stops there %v", name, one.Steps, r.W[k], fit.W)
			}
		}
	}
}

func TestSettingsThatDoNotGoWithTheDataAreNamed(t *testing.T) {
	regression := &dataset.Set{Name: "r", X: matrix.NewDense(1, make([]float64, 100)), Y: make([]float64, 100)}
	huge := noisy(1, 9)
	_, row := huge.X.Row(0)
	row[0] = 1e200
	for i := range regression.Y {
		regression.Y[i] = float64(i)
	}
	for _, c := range []struct {
		set  *dataset.Set
		s    Settings
		want string
	}{
		{regression, Settings{}, "loss"}, {huge, Settings{}, "scale"}, {noisy(1, 9), Settings{Batch: 10}, "batch"},
		{noisy(1, 9), Settings{Folds: 10}, "cv"}, {noisy(1, 9), Settings{P: []float64{2, 3}}, "p"},
		{noisy(1, 9), Settings{Start: []float64{1}}, "init"},
	} {
		var wrong *SettingError
		if _, err := Train(t.Context(), c.set, c.s); !errors.As(err, &wrong) || wrong.Setting != c.want {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	if _, err := Train(t.Context(), noisy(1, 9), Settings{P: []float64{math.NaN()}}); err == nil {
		t.Error("p = NaN was taken")
	}
}
