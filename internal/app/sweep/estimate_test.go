package sweep

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// The time of a sweep of networks goes by the speed of an earlier run, and counts the searches for learning rates, one
// for all seeds of a p.
func TestTheEstimateCountsSearches(t *testing.T) {
	runs := t.TempDir()
	dir := filepath.Join(runs, "earlier")
	r, err := runlog.CreateAt(dir, runlog.Info{Command: "train", Settings: map[string]any{"model": "cnn"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile("tables/result.json", []byte(`{"img_per_second": 3800}`)); err != nil { // an epoch a second
		t.Fatal(err)
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"job = \"train\"\n[settings]\nepochs = 60\np = 2": "about 1m0s and 1 compilation, 1 " +
			"at a time, by the speed of " + dir,
		// 60 epochs twice and 4·(2 + 7 + 30)
		"job = \"train\"\ntrials = 2\n[settings]\nepochs = 60\nlr = \"auto\"\np = 2": "about 4m36s and 1 compilation, 1 " +
			"at a time, with 1 search for a learning rate, by",
		// 15 + 4·(2 + 7) epochs each
		"job = \"train\"\n[settings]\nlr = \"auto\"\n[grid]\np = [2, 3]": "about 1m42s and 1 compilation, 1 at " +
			"a time, with 2 searches",
	} {
		if text, _ := estimateTraining(planOf(t, file).Runs, Options{}, runs, 1); !strings.Contains(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// A limit of steps selects the objective margin, for which p = 1 is an error.
func TestTheTimeOfAPathOfPenaltiesIsEstimated(t *testing.T) {
	p := planOf(t, "job = \"fit\"\n[settings]\ndata = \"iris\"\nobjective = \"auto\"\n[grid]\np = [1, 2]")
	text, _ := estimate(t.Context(), quiet(), p, p.Runs, Options{Jobs: 1}, t.TempDir())
	if strings.Contains(text, "fails") {
		t.Error(text)
	}
}
