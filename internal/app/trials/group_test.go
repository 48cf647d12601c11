package trials

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// runOf is a run of train with a log of its own.
func runOf(t *testing.T, id string, seed uint64, set map[string]any, lines ...string) *Run {
	t.Helper()
	log := &runlog.Log{}
	var data bytes.Buffer
	for _, l := range lines {
		fmt.Fprintln(&data, l)
	}
	if err := log.Read(bytes.NewReader(data.Bytes()), int64(data.Len())); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"model": "cnn", "p": 2.0, "lr": 0.1, "schedule": "cosine"}
	for k, v := range set {
		all[k] = v
	}
	return &Run{ID: id, Status: runlog.Done, Log: log, Settings: all,
		Info: runlog.Info{Command: "train", Data: "cifar10", Seed: seed, Settings: all}}
}

func epochsOf(loss float64) []string {
	return []string{fmt.Sprintf(`{"epoch":1,"loss":%g,"elapsed":2}`, 2*loss), fmt.Sprintf(`{"epoch":2,"loss":%g,"elapsed":5}`,
		loss)}
}

// A run of two seeds has the curve of the second, and a run of that seed alone has it too.
func TestASeedOfARunOfSeveralAndThatSeedAloneAreOneTrial(t *testing.T) {
	both := runOf(t, "both", 1, nil, `{"p":2,"seed":1,"epoch":1,"loss":1}`, `{"p":2,"seed":1,"epoch":2,"loss":0.5}`,
		`{"p":2,"seed":2,"epoch":1,"loss":3}`, `{"p":2,"seed":2,"epoch":2,"loss":1.5}`)
	alone := runOf(t, "alone", 2, nil, epochsOf(1.5)...)
	third := runOf(t, "third", 3, nil, epochsOf(1)...)
	g := Groups([]*Run{both, alone, third})
	if len(g) != 1 || len(g[0].Curves) != 4 || len(g[0].Trials()) != 3 {
		t.Fatalf("%d groups, %d curves, %d trials", len(g), len(g[0].Curves), len(g[0].Trials()))
	}
	if b := g[0].Band("loss"); b.Mean[1] != 1 || b.N[1] != 3 {
		t.Errorf("%+v", b)
	}
}

func TestRunsAreGroupedByTheSettingThatIsAskedFor(t *testing.T) {
	var runs []*Run
	for k, lr := range []float64{0.1, 0.2, 0.1, 0.2, 0.1} {
		schedule, seed := []string{"cosine", "triangle"}[k/2%2], uint64(1)
		if k == 4 {
			schedule, seed = "cosine", 2
		}
		runs = append(runs, runOf(t, fmt.Sprint(k), seed, map[string]any{"lr": lr, "schedule": schedule},
			epochsOf(float64(k+1))...))
	}
	if got := fmt.Sprint(Distinguishing(runs)); got != "[lr schedule]" {
		t.Errorf("they differ in %s", got)
	}
	for by, want := range map[string]string{
		AllSettings: "p = 2, lr 0.1, schedule cosine: 2; p = 2, lr 0.1, schedule triangle: 1; " +
			"p = 2, lr 0.2, schedule cosine: 1; p = 2, lr 0.2, schedule triangle: 1; ",
		"lr":         "p = 2, lr 0.1: 3; p = 2, lr 0.2: 2; ",
		"schedule":   "p = 2, schedule cosine: 3; p = 2, schedule triangle: 2; ",
		OnlyP:        "p = 2: 5; ",
		"no setting": "p = 2: 5; ",
	} {
		got := ""
		for _, g := range GroupsBy(runs, by) {
			got += fmt.Sprintf("%s: %d; ", g.Name, len(g.Trials()))
			if g.Merged() != (by != AllSettings) {
				t.Errorf("by %s: merged is %v", by, g.Merged())
			}
		}
		if got != want {
			t.Errorf("by %s: %s\nwant %s", by, got, want)
		}
	}
	if g := GroupsBy(runs, SingleRuns); len(g) != 5 || len(g[0].Curves) != 1 {
		t.Errorf("%d single runs", len(g))
	}
	// the same seed and settings again are no new trial, however runs are grouped
	twice := append(runs, runOf(t, "again", 1, map[string]any{"lr": 0.1}, epochsOf(9)...))
	if n := len(GroupsBy(twice, OnlyP)[0].Trials()); n != 5 {
		t.Errorf("%d trials", n)
	}
	if m := GroupsBy(runs, OnlyP)[0].Band("loss").Mean[1]; m != 3 { // of 1 to 5
		t.Errorf("the mean is %v", m)
	}
}

func TestCurvesAreDrawnOverTheTimeOfTheRun(t *testing.T) {
	r := runOf(t, "a", 1, nil, `{"epoch":1,"loss":1,"elapsed":2,"seconds":1.5}`, `{"epoch":2,"loss":1,"elapsed":5,"seconds":1.5}`,
		`{"epoch":3,"loss":1}`, `{"epoch":4,"loss":1,"elapsed":1,"seconds":1.5}`, `{"epoch":5,"loss":1,"elapsed":3}`)
	c := r.Log.Curves[0]
	if got := fmt.Sprint(Axes(c)); got != "[epoch time]" {
		t.Errorf("axes %s", got)
	}
	if got := fmt.Sprint(AxisOf(c, Time)); got != "[2 5 NaN 6 8]" { // the clock began again
		t.Errorf("times %s", got)
	}
	if AxisOf(c, "step") != nil {
		t.Error("it has steps")
	}
	if v := TimeAt(c, 1); v != 5 {
		t.Errorf("at line 2: %v", v)
	}
	steps := runOf(t, "b", 1, nil, `{"step":10,"epoch":0.5,"loss":1,"seconds":4}`, `{"step":20,"epoch":1,"loss":1,"seconds":9}`)
	c = steps.Log.Curves[0]
	if got := fmt.Sprint(Axes(c), AxisOf(c, "epoch"), AxisOf(c, Time)); got != "[step epoch time] [0.5 1] [4 9]" {
		t.Error(got)
	}
	bare := runOf(t, "c", 1, nil, `{"step":10,"loss":1}`).Log.Curves[0]
	if got := fmt.Sprint(Axes(bare)); got != "[step]" || AxisOf(bare, Time) != nil || !math.IsNaN(TimeAt(bare, 0)) {
		t.Errorf("axes %s", got)
	}
	g := GroupsBy([]*Run{r}, AllSettings)[0]
	if b := g.BandOver("loss", Time); len(b.X) != 4 || b.X[3] != 8 {
		t.Errorf("%+v", b)
	}
}
