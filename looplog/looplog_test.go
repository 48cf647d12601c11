package looplog

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"

	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

// program is what a user of GoMLX has: a trainer of a small network, and data. Each step sees all of it, so that a run
// is repeated to the bit.
func program(t *testing.T, hidden int, rate float64) (*train.Trainer, train.Dataset) {
	t.Helper()
	backend, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	const n = 32
	var x, y []float32
	for k := range n {
		a := float64(k) / n
		x, y = append(x, float32(a), float32(a*a)), append(y, float32(math.Sin(6*a)))
	}
	data, err := dataset.InMemoryFromData(backend, "sine", []any{tensors.FromFlatDataAndDimensions(x, n, 2)},
		[]any{tensors.FromFlatDataAndDimensions(y, n, 1)})
	if err != nil {
		t.Fatal(err)
	}
	data.BatchSize(n, true).Infinite(true)
	network := func(scope *model.Scope, _ any, inputs []*graph.Node) []*graph.Node {
		h := activation.Relu(layers.Dense(scope.In("hidden"), inputs[0], true, hidden))
		return []*graph.Node{layers.Dense(scope.In("out"), h, true, 1)}
	}
	store := model.NewStore()
	store.SetParam("/"+model.ParamInitialSeed, int64(7))
	return train.NewTrainer(backend, store, network, loss.MeanSquaredError,
		optim.Mirror().P(3).LearningRate(rate).Momentum(0.5).Schedule(optim.Cosine(60)).Done(), nil, nil), data
}

// values are all variables of a store, by path.
func values(t *testing.T, trainer *train.Trainer) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for v := range trainer.Store().IterVariables() {
		value, err := v.Value()
		if err != nil {
			t.Fatal(err)
		}
		if err := value.ConstBytes(func(data []byte) { out[v.Path()] = slices.Clone(data) }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// read are the curves of a run folder by name, and its state.
func read(t *testing.T, dir string) (map[string]*runlog.Curve, runlog.Info) {
	t.Helper()
	f, err := runlog.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := f.Log()
	if err != nil || log.Bad > 0 {
		t.Fatalf("%v, %s", err, log.Why)
	}
	info, err := f.Info()
	if err != nil {
		t.Fatal(err)
	}
	curves := map[string]*runlog.Curve{}
	for _, c := range log.Curves {
		if curves[c.Name] != nil {
			t.Errorf("two curves are called %q", c.Name)
		}
		curves[c.Name] = c
	}
	return curves, info
}

func TestALoopFillsItsFolder(t *testing.T) {
	trainer, data := program(t, 8, 0.01)
	run, err := Start(t.Context(), trainer, Settings{Root: t.TempDir(), Name: "sine", Every: 5, Weights: 20,
		Settings: map[string]any{"p": 3, "hidden": 8}})
	if err != nil {
		t.Fatal(err)
	}
	run.Loop.OnStep("mine", 0, func(loop *train.Loop, _ []*tensors.Tensor) error {
		if loop.LoopStep == 12 {
			run.Add("test_accuracy", 0.5)
			run.Add("not_finite", math.NaN())
		}
		return nil
	})
	metrics, err := run.Loop.RunToGlobalStep(data, 60)
	if err := run.Finish(err); err != nil {
		t.Fatal(err)
	}
	curves, info := read(t, run.Dir())
	main := curves["training"]
	if main == nil || main.Rows != 13 || info.Status != runlog.Done || info.Command != "gomlx" || info.Engine == "" {
		t.Fatalf("%+v, %+v", main, info)
	}
	steps := main.Column("step")
	if !slices.Equal(steps[:4], []float64{5, 10, 13, 15}) || steps[12] != 60 {
		t.Errorf("lines at %v", steps)
	}
	if got, want := main.At("loss", 12), float64(tensors.ToScalar[float32](metrics[0])); got != want {
		t.Errorf("the last loss is %v, and the loop's is %v", got, want)
	}
	if main.At("test_accuracy", 2) != 0.5 || !math.IsNaN(main.At("test_accuracy", 3)) || main.At("lr", 3) == 0 ||
		slices.Contains(main.Names, "not_finite") || !slices.Contains(main.Names, "mean_loss") {
		t.Errorf("columns %v", main.Names)
	}
	kernel := curves["hidden/dense/weights"]
	if kernel == nil || kernel.Rows != 3 || len(kernel.Sizes) != 3 || kernel.Sizes[2].Total() != 16 ||
		curves["out/dense/weights"] == nil || len(curves) != 3 {
		t.Errorf("curves %v, %+v", curves, kernel)
	}
}

func TestAnInterruptedLoopIsResumedToTheSameBits(t *testing.T) {
	whole, all := program(t, 8, 0.01)
	if _, err := train.NewLoop(whole).RunToGlobalStep(all, 61); err != nil {
		t.Fatal(err)
	}
	want := values(t, whole)

	ctx, stop := context.WithCancel(t.Context())
	trainer, data := program(t, 8, 0.01)
	run, err := Start(ctx, trainer, Settings{Root: t.TempDir(), Name: "sine", Every: 5})
	if err != nil {
		t.Fatal(err)
	}
	run.Loop.OnStep("stop", 0, func(loop *train.Loop, _ []*tensors.Tensor) error {
		if loop.LoopStep == 32 {
			stop()
		}
		return nil
	})
	_, err = run.Loop.RunToGlobalStep(data, 60)
	if err = run.Finish(err); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	curves, info := read(t, run.Dir())
	if steps := curves["training"].Column("step"); info.Status != runlog.Interrupted || steps[6] != 33 {
		t.Errorf("%+v, steps %v", info, steps)
	}
	for range 2 { // as by another program; a finished run has nothing left to do
		trainer, data = program(t, 8, 0.01)
		again, err := Start(t.Context(), trainer, Settings{Resume: run.Dir(), Every: 5})
		if err != nil {
			t.Fatal(err)
		}
		_, err = again.Loop.RunToGlobalStep(data, 60)
		if err := again.Finish(err); err != nil {
			t.Fatal(err)
		}
		curves, info := read(t, run.Dir())
		if elapsed := curves["training"].Column("elapsed"); !slices.IsSorted(elapsed) {
			t.Errorf("seconds %v", elapsed)
		}
		if steps := curves["training"].Column("step"); info.Status != runlog.Done || !slices.IsSorted(steps) ||
			steps[len(steps)-1] != 60 || len(steps) != 13 {
			t.Errorf("%+v, steps %v", info, steps)
		}
	}
	// The last program made no step, so that it has made few of its variables. One more step makes all.
	trainer, data = program(t, 8, 0.01)
	last, err := Start(t.Context(), trainer, Settings{Resume: run.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = last.Loop.RunToGlobalStep(data, 61); err != nil {
		t.Fatal(err)
	}
	if err := last.Finish(nil); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for path, data := range values(t, trainer) {
		if strings.HasPrefix(path, "/hidden") || strings.HasPrefix(path, "/out") || strings.HasPrefix(path, "/optimizers") {
			compared++
			if !slices.Equal(data, want[path]) {
				t.Errorf("%s is %v, and %v without interruptions", path, data, want[path])
			}
		}
	}
	if compared < 10 { // weights, momentum, rate, p, schedule
		t.Errorf("%d variables were compared", compared)
	}
}

func TestAKilledLoopIsResumedFromItsCheckpoint(t *testing.T) {
	trainer, data := program(t, 8, 0.01)
	run, err := Start(t.Context(), trainer, Settings{Root: t.TempDir(), Name: "sine", Every: 5, Save: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Loop.RunToGlobalStep(data, 30); err != nil {
		t.Fatal(err)
	}
	run.s.Save = -1
	if _, err := run.Loop.RunToGlobalStep(data, 47); err != nil {
		t.Fatal(err)
	}
	if err := run.folder.Release(); err != nil { // as a killed process does
		t.Fatal(err)
	}
	trainer, data = program(t, 8, 0.01)
	again, err := Start(t.Context(), trainer, Settings{Resume: run.Dir(), Every: 5})
	if err != nil {
		t.Fatal(err)
	}
	if again.Loop.LoopStep != 30 {
		t.Errorf("the loop goes on at step %d, want 30", again.Loop.LoopStep)
	}
	_, err = again.Loop.RunToGlobalStep(data, 60)
	if err := again.Finish(err); err != nil {
		t.Fatal(err)
	}
	curves, _ := read(t, run.Dir())
	if steps := curves["training"].Column("step"); len(steps) != 12 || !slices.IsSorted(steps) {
		t.Errorf("steps %v", steps)
	}
}

func TestALoopThatDivergesSaysSo(t *testing.T) {
	trainer, data := program(t, 8, 1e30)
	run, err := Start(t.Context(), trainer, Settings{Root: t.TempDir(), Name: "sine"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Loop.RunToGlobalStep(data, 60)
	if err = run.Finish(err); err == nil {
		t.Fatal("no error")
	}
	if _, info := read(t, run.Dir()); info.Status != runlog.Failed || !info.Diverged {
		t.Errorf("%+v", info)
	}
}

func TestWhatCannotBeResumedIsSaidInOneLine(t *testing.T) {
	trainer, data := program(t, 8, 0.01)
	run, err := Start(t.Context(), trainer, Settings{Root: t.TempDir(), Name: "sine"})
	if err != nil {
		t.Fatal(err)
	}
	resumed := func(hidden int) error { // the error of a step after it, too: a shape is checked when it is needed
		trainer, data := program(t, hidden, 0.01)
		again, err := Start(t.Context(), trainer, Settings{Resume: run.Dir()})
		if err == nil {
			_, err = again.Loop.RunToGlobalStep(data, 21)
			err = again.Finish(err)
		}
		return err
	}
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	expect(resumed(8), "another process")
	_, err = run.Loop.RunToGlobalStep(data, 20)
	if err := run.Finish(err); err != nil {
		t.Fatal(err)
	}
	file := run.folder.Path(checkpointFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put := func(data []byte) {
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	expect(resumed(9), "shape")
	damaged := slices.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	put(damaged)
	expect(resumed(8), "is damaged")
	put(whole[:100])
	expect(resumed(8), checkpointFile)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	expect(resumed(8), "no checkpoint")
	put(whole)
	if err := resumed(8); err != nil {
		t.Error(err)
	}
}
