package fit

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
)

// A fit that was killed before its first checkpoint starts again: its points are not there twice, its scores are.
func TestWithoutACheckpointOnlyScoresAreReadBack(t *testing.T) {
	run, err := runlog.Create(t.TempDir(), "fit", runlog.Info{Command: "fit"})
	if err != nil {
		t.Fatal(err)
	}
	h := InFolder(run)
	if err := h.Score(CellScore{Cell: Cell{P: 2, Fold: 1}, Accuracy: 0.5}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{0, 1, 2, 0, 1} { // the second attempt replaces the first
		if err := h.Point(nil, linear.Point{Step: step, Loss: 1, Margin: math.Inf(-1), Gap: math.Inf(1)}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := ReadStopped(run.Dir)
	if err != nil || s.Checkpoint != nil || len(s.Lines) != 1 || len(s.Scored) != 1 || s.Scored[0].Accuracy != 0.5 {
		t.Errorf("%+v, %v", s, err)
	}
	traces, err := ReadTraces(run.Dir)
	if err != nil || len(traces) != 1 || len(traces[0].Points) != 2 || !math.IsNaN(traces[0].Points[0].Gap) {
		t.Errorf("%+v, %v", traces, err)
	}
}

func TestACheckpointOfOtherDataOrPIsRefused(t *testing.T) {
	set := noisy(1, 40)
	set.Hash = "sha256:a"
	state := &linear.Checkpoint{Method: "pgd"}
	for want, c := range map[string]*Checkpoint{
		"other data": {Data: "sha256:b", Attempt: Attempt{P: 2}, State: state},
		"is of p":    {Data: "sha256:a", Attempt: Attempt{P: 3}, State: state},
		"no state":   {Data: "sha256:a", Attempt: Attempt{P: 2}},
	} {
		s := Settings{Method: linear.MethodPGD, Resume: c}
		if _, err := Train(t.Context(), set, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
