package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// extending are the settings of --init RUN and of what else was said, by key.
func extending(t *testing.T, run string, said []string, change func(*Train)) (*Train, error) {
	t.Helper()
	s := Train{Model: "cnn", P: []float64{2, 3}, LR: -2, Trials: 1, Seed: 1, Precision: "auto", Peak: 0.2083333,
		Engine: "cpu", Init: run, Runs: filepath.Join(t.TempDir(), "runs"), Printed: Printed{JSON: true}}
	change(&s)
	c, err := Follow(&s, said)
	if err != nil {
		return nil, err
	}
	return c.(*Train), nil
}

// --init RUN is a new run from a finished one's weights: its settings are those of that run, but for what is said, and
// its first epoch is better than the first of that run.
func TestAFinishedRunIsExtendedByANewOne(t *testing.T) {
	first := tiny(t)
	first.Unit, first.Seed, first.NoAugment, first.PruneTo = "init", 5, true, 0.5
	s, err := do(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	run := s.answer(t).Runs[0].Run
	more, err := extending(t, run, []string{"epochs"}, func(s *Train) { s.Epochs = 2 })
	if err != nil {
		t.Fatal(err)
	}
	if more.Epochs != 2 || more.Seed != 5 || more.Unit != "init" || more.Batch != 12 || !more.NoAugment ||
		more.PruneTo != 0.5 || more.LR != 0.2 || !slices.Equal(more.P, []float64{2}) || more.Precision != "auto" ||
		more.Data != first.Data || more.Init != filepath.Join(run, WeightsFile) {
		t.Fatalf("%+v", more)
	}
	s, err = do(t.Context(), *more)
	if err != nil {
		t.Fatal(err)
	}
	next := s.answer(t).Runs[0].Run
	info, err := runlog.ReadInfo(next)
	if err != nil || info.From != filepath.Base(run) {
		t.Errorf("from %q, %v", info.From, err)
	}
	if a, b := firstLoss(t, run), firstLoss(t, next); !(b < a) {
		t.Errorf("the first epoch has the loss %v, that of the run before %v", b, a)
	}

	other, err := extending(t, run, []string{"p", "lr"}, func(s *Train) { s.P, s.LR = []float64{3}, 0.01 })
	if err != nil || other.P[0] != 3 || other.LR != 0.01 {
		t.Errorf("%+v, %v", other, err)
	}
	other, err = extending(t, run, []string{"p"}, func(s *Train) { s.P = []float64{3} })
	if err != nil || other.LR != -2 { // the rate of p = 2 is not that of p = 3
		t.Errorf("%+v, %v", other, err)
	}
	edit(t, run, func(info map[string]any) { // it was trained on a folder of many sizes
		info["settings"].(map[string]any)["size"], info["settings"].(map[string]any)["resolution"] = 24, "64"
	})
	for data, size := range map[string]int{"fashion-sample": 0, t.TempDir(): 24} {
		other, err = extending(t, run, []string{"data"}, func(s *Train) { s.Data = data })
		if err != nil || other.Size != size || other.Resolution != "" {
			t.Errorf("%s: %+v, %v", data, other, err)
		}
	}
	if _, err = extending(t, run, []string{"model"}, func(s *Train) { s.Model = "vgg11" }); err == nil ||
		!strings.Contains(err.Error(), "--model vgg11") || !strings.Contains(err.Error(), "weights of cnn") {
		t.Error(err)
	}
}

func firstLoss(t *testing.T, run string) float64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, "metrics.jsonl"))
	line, _, _ := strings.Cut(string(data), "\n")
	var r struct{ Loss float64 }
	if err == nil {
		err = json.Unmarshal([]byte(line), &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.Loss
}

// A run that is not done, or that is not a network's, is not extended, and the error says what to do.
func TestOnlyFinishedNetworksAreExtended(t *testing.T) {
	for name, c := range map[string]struct {
		info runlog.Info
		want string
	}{
		"stopped":  {runlog.Info{Command: "train", Status: runlog.Interrupted}, "bregman train --resume "},
		"diverged": {runlog.Info{Command: "train", Status: runlog.Failed, Diverged: true}, "diverged"},
		"fit":      {runlog.Info{Command: "fit", Status: runlog.Done}, "not of train"},
		"gone":     {runlog.Info{Command: "train", Status: runlog.Done}, "has no weights.safetensors"},
	} {
		dir := t.TempDir()
		data, err := json.Marshal(c.info)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "run.json"), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := extending(t, dir, nil, func(*Train) {}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := extending(t, t.TempDir(), nil, func(*Train) {}); err == nil || !strings.Contains(err.Error(),
		"not a run folder") {
		t.Error(err)
	}
}

// A run whose images held back were trained on by the run it starts from says so with its result.
func TestImagesHeldBackThatWereTrainedOnAreSaid(t *testing.T) {
	first := tiny(t)
	first.Validate, first.Seed = 12, 5
	s, err := do(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	run := s.answer(t).Runs[0].Run
	for seed, warned := range map[uint64]bool{5: false, 6: true} {
		more, err := extending(t, run, []string{"epochs", "seed"}, func(s *Train) { s.Epochs, s.Seed = 1, seed })
		if err != nil {
			t.Fatal(err)
		}
		s, err := do(t.Context(), *more)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := ReadResult(s.answer(t).Runs[0].Run)
		if err != nil || strings.Contains(r.Warning, "validation accuracy is too high") != warned {
			t.Errorf("seed %d: %q, %v", seed, r.Warning, err)
		}
	}
}
