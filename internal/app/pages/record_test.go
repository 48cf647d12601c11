package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/train"
)

// recordedRow is a row of a run with this p, seed and test accuracy; more settings come in pairs.
func recordedRow(run, p, seed string, test float64, pairs ...string) record.Row {
	s := map[string]string{"model": "cnn", "data": "fashion-sample", "p": p, "seed": seed, "lr": "0.1", "epochs": "15"}
	for k := 0; k < len(pairs); k += 2 {
		s[pairs[k]] = pairs[k+1]
	}
	r := record.Row{Identity: record.Identity{Job: "train", Settings: s}, Rate: 0.1, Validation: math.NaN(), Test: test,
		Flips: test, Loss: 0.25, Train: 0.9, Status: record.Done, Engine: "cpu", Precision: "float32", Version: "test",
		Results: 1, Date: time.Date(2026, 11, 16, 15, 54, 23, 0, time.UTC), Run: run}
	if math.IsNaN(test) {
		r.Status = record.Diverged
	}
	return r
}

// resultsFile writes rows, the first with a histogram.
func resultsFile(t *testing.T, rows ...record.Row) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.csv")
	var runs []record.Run
	for k, r := range rows {
		runs = append(runs, record.Run{Row: r})
		if k == 0 {
			h := record.Histogram{Count: 6, Max: 1, Median: 0.1, RMS: 0.2, From: -1, Counts: []int{3, 2, 1}}
			runs[0].Weights = &record.Weights{Kernels: h, Scaled: h}
		}
	}
	return appended(t, path, runs...)
}

// appended is the file with these runs.
func appended(t *testing.T, path string, runs ...record.Run) string {
	t.Helper()
	if _, err := record.Append(path, runs...); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestResultsAreMeansOfWhatDiffersInTheSeedAlone(t *testing.T) {
	path := resultsFile(t, recordedRow("a", "3", "1", 0.90), recordedRow("b", "3", "2", 0.92),
		recordedRow("c", "3", "3", 0.97), recordedRow("d", "3", "4", math.NaN()),
		recordedRow("e", "10", "1", 0.5), recordedRow("f", "3", "1", 0.8, "momentum", "0.9"),
		recordedRow("again", "3", "1", 0.1))
	dir := t.TempDir()
	r := &Report{Runs: []string{path}, Results: true, Out: filepath.Join(dir, "r.html"), Tables: filepath.Join(dir, "t")}
	var out bytes.Buffer
	if err := perform(t, r, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	// mean of 90, 92, 97 is 93; s² = (9 + 1 + 16)/2, and the error √(13/3) = 2.08. The visible columns of the run with
	// momentum are those of the others.
	for _, want := range []string{"p    momentum ", "diverged", "3    –          93.00 ± 2.08 (n = 3) ",
		"10   –               50.00 (one run)", "3    0.9             80.00 (one run)", "-10.00 (one run each)", "-40.00 ",
		"Nothing is bold: a test needs three runs of each.",
		"p 3: 1 row of seeds that are there already", "7 runs in "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	page, err := os.ReadFile(r.Out)
	if err != nil || !bytes.Contains(page, []byte("93.00 ± 2.08")) || !bytes.Contains(page, []byte("<svg")) ||
		!bytes.Contains(page, []byte("The same in every run")) {
		t.Errorf("the page: %v", err)
	}
	for _, name := range []string{"results.csv", "results.md", "weights_1.svg"} {
		if st, err := os.Stat(filepath.Join(dir, "t", name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	out.Reset()
	r.JSON = true
	if err := perform(t, r, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Runs   int
		Groups []struct {
			Identity record.Identity
			Diverged int
			Numbers  map[string]struct{ N, Mean, Error float64 }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Runs != 7 || len(got.Groups) != 3 {
		t.Fatalf("%s, %v", out.String(), err)
	}
	for _, g := range got.Groups {
		if s := g.Identity.Settings; s["p"] != "3" || s["momentum"] != "" {
			continue
		}
		if n := g.Numbers["test"]; g.Diverged != 1 || n.N != 3 || math.Abs(n.Mean-0.93) > 1e-12 ||
			math.Abs(n.Error-math.Sqrt(0.0013/3)) > 1e-12 {
			t.Errorf("%+v", g)
		}
	}
}

func TestVersionsAndPrecisionsInOneMeanAreSaid(t *testing.T) {
	later := recordedRow("b", "3", "2", 0.92)
	later.Results, later.Precision = 2, "bf16"
	path := resultsFile(t, recordedRow("a", "3", "1", 0.90), later)
	r := &Report{Runs: []string{path}, Results: true, Out: filepath.Join(t.TempDir(), "r.html")}
	var out bytes.Buffer
	if err := perform(t, r, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"numbers of the versions 1 and 2 are in one mean",
		"runs in bf16 and float32 are in one mean", "91.00 ± 1.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestReportsOfResultsRefuseWhatIsNone(t *testing.T) {
	path := resultsFile(t, recordedRow("a", "3", "1", 0.90))
	empty := filepath.Join(t.TempDir(), "e.csv")
	if err := os.WriteFile(empty, []byte(strings.Join(record.Columns, ",")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, out, want string }{{path, path, "would replace the input results"},
		{path, record.WeightsPath(path), "would replace the input weights"}, {"nowhere.csv", "r.html", "no such file"},
		{empty, filepath.Join(t.TempDir(), "r.html"), "no rows yet"}} {
		r := &Report{Runs: []string{c.file}, Results: true, Out: c.out}
		if err := perform(t, r, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Conditions choose rows; what a row lacks has the value from before there was a choice.
func TestConditionsChooseRows(t *testing.T) {
	path := resultsFile(t, recordedRow("a", "3", "1", 0.90), recordedRow("b", "2", "1", 0.80),
		recordedRow("c", "2", "1", 0.70, "unit", "init", "validate", "5000"))
	for _, c := range []struct {
		conditions string
		runs       int
		want       string // of the error
	}{
		{"p=2", 2, ""}, {"p<3 unit=one", 1, ""}, {"validate=0", 2, ""}, {"validate>0 unit=init", 1, ""}, {"p=2 p=3", 0,
			"none of the 3 rows"}, {"wd=0", 0, "no row has \"wd\": there are"}, {"p<few", 0, "compares numbers"},
	} {
		r := &Report{Runs: append(strings.Fields(c.conditions), path), Results: true,
			Out: filepath.Join(t.TempDir(), "r.html")}
		var out bytes.Buffer
		err := perform(t, r, &out, io.Discard)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.conditions, err, c.want)
			}
		} else if err != nil || !strings.Contains(out.String(), fmt.Sprintf("\n%d run", c.runs)) {
			t.Errorf("%s: want %d runs: %v\n%s", c.conditions, c.runs, err, out.String())
		}
	}
	r := &Report{Runs: []string{"p=2"}, Results: true, Out: filepath.Join(t.TempDir(), "r.html")}
	if err := perform(t, r, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "name a results file") {
		t.Errorf("conditions alone: %v", err)
	}
}

// Levels are means over the seeds that have them: of a row from before them there is nothing, and of a network without
// batch norm no recomputed statistics.
func TestLevelsOfResultsAreMeansOverTheSeeds(t *testing.T) {
	h := record.Histogram{Count: 6, Max: 1, Median: 0.1, RMS: 0.2, From: -1, Counts: []int{3, 2, 1}}
	run := func(name, p, seed string, levels *record.Levels) record.Run {
		return record.Run{Row: recordedRow(name, p, seed, 0.9),
			Weights: &record.Weights{Kernels: h, Scaled: h, Levels: levels}}
	}
	studied := func(accuracy, again float64) *record.Levels {
		of := []train.Level{{At: 8, Accuracy: 0.9}, {At: 4, Accuracy: accuracy}}
		if again > 0 {
			of[0].Recalibrated, of[1].Recalibrated = &of[0].Accuracy, &again
		}
		return &record.Levels{Accuracy: 0.9, Rounded: of}
	}
	dir := t.TempDir()
	path := appended(t, filepath.Join(dir, "r.csv"), run("a", "3", "1", studied(0.60, 0.80)),
		run("b", "3", "2", studied(0.62, 0.84)), run("c", "3", "3", studied(0.67, 0.85)), run("d", "3", "4", nil),
		run("e", "2", "1", studied(0.5, 0)))
	r := &Report{Runs: []string{path}, Results: true, Out: filepath.Join(dir, "r.html"), Tables: filepath.Join(dir, "t")}
	if err := perform(t, r, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	// The mean of 60, 62, 67 is 63 with the error √(13/3) = 2.08, that of 80, 84, 85 is 83 with √(7/3) = 1.53.
	for file, want := range map[string]string{"rounding.md": "| p 3 | 3 | 90.00 ± 0.00 | 90.00 ± 0.00 | 63.00 ± 2.08 |",
		"rounding.csv": "p 2,1,90,90,50", "rounding_recomputed.tex": "83.00 $\\pm$ 1.53",
		"rounding_recomputed.csv": "p 3,,90,83"} {
		data, err := os.ReadFile(filepath.Join(dir, "t", file))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %q: %s, %v", file, want, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "t", "pruning.csv")); err == nil {
		t.Error("a table of levels that no run has")
	}
}

// If every run diverged, the table says so.
func TestRunsThatAllDivergedAreCounted(t *testing.T) {
	path := resultsFile(t, recordedRow("a", "3", "1", math.NaN()), recordedRow("b", "3", "2", math.NaN()))
	r := &Report{Runs: []string{path}, Results: true, Out: filepath.Join(t.TempDir(), "r.html")}
	var out bytes.Buffer
	if err := perform(t, r, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "diverged") || !strings.Contains(out.String(), "  2 ") {
		t.Error(out.String())
	}
}

// Rows of CIFAR-10 have the paper's accuracies beside them, of the same network and p, and the rate says its reading.
func TestThePapersAccuraciesStandBesideRowsThatItHas(t *testing.T) {
	row := func(run, p string, pairs ...string) record.Row {
		return recordedRow(run, p, "1", 0.9, append([]string{"model", "resnet18", "data", "cifar10", "lr", "0.4", "batch",
			"512"}, pairs...)...)
	}
	path := resultsFile(t, row("a", "3"), row("b", "4"), row("c", "2", "weight_decay", "0.0005"),
		row("d", "2", "lr", "0.1"))
	r := &Report{Runs: []string{path}, Results: true, Out: filepath.Join(t.TempDir(), "r.html")}
	var out bytes.Buffer
	if err := perform(t, r, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for want, n := range map[string]int{"94.01 ± 0.13": 1, "93.90 ± 0.14": 1, "0.4 (scaled)": 1, "0.1 (printed)": 1,
		"The paper: 400 epochs, mean ± deviation of 5 trials.": 1} {
		if strings.Count(text, want) != n {
			t.Errorf("%q is there %d times, want %d:\n%s", want, strings.Count(text, want), n, text)
		}
	}
}
