package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/train"
)

// rowOf is a row of a run with these settings, which come in pairs.
func rowOf(run string, pairs ...string) Row {
	s := map[string]string{"model": "cnn", "data": "fashion-sample", "p": "3", "epochs": "15", "batch": "50", "lr": "0.1",
		"weight_decay": "0", "dual_decay": "0", "seed": "1"}
	for k := 0; k < len(pairs); k += 2 {
		s[pairs[k]] = pairs[k+1]
	}
	return Row{Identity: Identity{Job: job, Settings: s}, Rate: 0.1, Validation: math.NaN(), Test: 0.875, Flips: 0.88,
		Shifts: 0.885, Loss: 0.25, Train: 0.9, Status: Done, Engine: "cpu", Precision: "float32", Version: "test", Results: 1,
		Date: time.Date(2026, 11, 16, 15, 54, 23, 0, time.UTC), Run: run}
}

func weightsOf(n int) *Weights {
	sizes := make([]float64, n)
	for i := range sizes {
		sizes[i] = float64(i+1) / float64(n)
	}
	return &Weights{Kernels: newHistogram(sizes), Scaled: newHistogram(sizes), Levels: someLevels()}
}

// someLevels are those of a study, some of them recalibrated.
func someLevels() *Levels {
	again := 0.7
	return &Levels{Accuracy: 0.8, Recalibrated: &again, PrunedEach: []train.Level{{At: 0, Accuracy: 0.8},
		{At: 0.5, Accuracy: 0.25, Recalibrated: &again}}, PrunedAll: []train.Level{{At: 0.98, Accuracy: 0.1}},
		Rounded: []train.Level{{At: 3, Accuracy: 0.5}}, RoundedChannels: []train.Level{{At: 3, Accuracy: 0.6,
			Recalibrated: &again}}}
}

// text is a file of rows.
func text(rows ...Row) string { return string(encode(rows, true)) }

// equal compares rows, of which NaN is a number like any other.
func equal(a, b []Row) bool { return bytes.Equal(encode(a, true), encode(b, true)) && len(a) == len(b) }

func TestRowsComeBackAsTheyWentIn(t *testing.T) {
	diverged := rowOf("b", "unit", "init", "dual_decay", "0.001", "weight_decay", "0.0005", "p", "1.1")
	diverged.Status, diverged.Results = Diverged, 0
	for _, v := range []*float64{&diverged.Rate, &diverged.Test, &diverged.Flips, &diverged.Shifts, &diverged.Loss,
		&diverged.Train} {
		*v = math.NaN()
	}
	odd := rowOf(`a "quoted", name`, "data", "two\nlines, and a comma", "seed", "18446744073709551615")
	odd.Validation, odd.Test = 1.0/3, 5e-324
	rows := []Row{rowOf("a"), diverged, odd}
	path := filepath.Join(t.TempDir(), "r.csv")
	if err := os.WriteFile(path, []byte(text(rows...)), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || !equal(got, rows) || !reflect.DeepEqual(got[2], odd) || got[1].Results != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if line := strings.Split(text(diverged), "\n")[1]; !strings.HasPrefix(line,
		"cnn,fashion-sample,1.1,,init,0.0005 dual 0.001,15,50,1,,,,,,,diverged,cpu,float32,test,,2026-11-16T15:54:23Z,b,") {
		t.Error(line)
	}
	if rows, err := Read(filepath.Join(t.TempDir(), "none.csv")); err != nil || rows != nil {
		t.Errorf("a file that does not exist: %v, %v", rows, err)
	}
}

// What an older version wrote is read, with NaN in the columns that it lacks, and gets them when a row is added.
func TestFilesOfOlderVersionsAreReadAndAddedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	before := rowOf("a")
	before.Shifts = math.NaN()
	old := strings.Replace(strings.Replace(text(before), "test_shifts,", "", 1), "0.88,,", "0.88,", 1)
	if err := os.WriteFile(path, []byte(old), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || !equal(got, []Row{before}) || !math.IsNaN(got[0].Shifts) {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := Append(path, Run{Row: rowOf("b")}); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != text(before, rowOf("b")) {
		t.Errorf("%s, %v", after, err)
	}
}

func TestAMalformedFileIsNamedWithItsLine(t *testing.T) {
	good := text(rowOf("a"), rowOf("b"))
	for _, c := range []struct{ text, want string }{
		{"p,test\n3,0.9\n", "r.csv:1: not a results file of this version: its first line should be network,data,p,"},
		{strings.Replace(good, "0.875", "high", 1), `r.csv:2: test is "high", not a number`},
		{strings.Replace(good, "0.875", "NaN", 1), `r.csv:2: test is "NaN", not a number`},
		{strings.Replace(good, "0.875", "", 1), "r.csv:2: test is empty"},
		{strings.Replace(good, "fashion-sample,3", "fashion-sample,2", 1),
			`r.csv:2: p is "2", and the identity of the run has "3"`},
		{strings.Replace(good, "done", "failed", 1), `r.csv:2: status is "failed": want done or diverged`},
		{good + "cnn,fashion-sample\n", "r.csv:4: 2 fields, want 23"},
		{good + "cnn,\"fashion", "r.csv:4: extraneous or missing \" in quoted-field"},
		{strings.Replace(good, ",b,", ",a,", 1), `r.csv:3: the run "a" is in line 2 already`},
		{strings.Replace(good, "2026-11-16T", "16 November", 1), "r.csv:2: date is"},
		{strings.Replace(good, `""job"":""train""`, `""job"":""fit""`, 1), `r.csv:2: the identity is that of a run of "fit"`},
		{strings.Replace(good, `{""first""`, `{""last""`, 1), "r.csv:2: the identity is not what this program writes"},
		{strings.Replace(good, ",1,2026", ",0,2026", 1), `r.csv:2: results is "0"`},
	} {
		path := filepath.Join(t.TempDir(), "r.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
		if _, err := Append(path, Run{Row: rowOf("c"), Weights: weightsOf(9)}); err == nil {
			t.Error("a row was added")
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != c.text {
			t.Errorf("the file was changed: %q, %v", after, err)
		}
		if _, err := os.Stat(WeightsPath(path)); err == nil {
			t.Error("histograms were written")
		}
	}
}

func TestARunIsAddedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "r.csv")
	add := func(want int, rows ...Row) {
		t.Helper()
		var runs []Run
		for _, r := range rows {
			runs = append(runs, Run{Row: r, Weights: weightsOf(100)})
		}
		added, err := Append(path, runs...)
		if err != nil || len(added) != want {
			t.Errorf("%d rows added, want %d: %v", len(added), want, err)
		}
	}
	add(2, rowOf("a"), rowOf("b"), rowOf("a"))
	before, _ := os.ReadFile(path)
	add(0, rowOf("b"))
	later := rowOf("b")
	later.Results = 2
	add(1, later)
	add(1, rowOf("b", "lr", "0.4")) // of another machine, in the same second
	after, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(after, before) {
		t.Errorf("what was there has changed: %s", after)
	}
	rows, err := Read(path)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	weights, err := ReadWeights(path, append(rows, rowOf("none")))
	if err != nil || weights[0] == nil || weights[3] == nil || weights[4] != nil ||
		!reflect.DeepEqual(weights[0], weightsOf(100)) {
		t.Errorf("%v, %v", weights, err)
	}
	if _, err := Append(path, Run{Row: rowOf("f", "data", "a\r\nb")}); err == nil ||
		!strings.Contains(err.Error(), "could not be read back") {
		t.Errorf("a row that CSV cannot hold: %v", err)
	}
	// A last line without its end, after an edit by hand, stays a line of its own.
	if err := os.WriteFile(path, bytes.TrimSuffix(after, []byte("\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	add(1, rowOf("e"))
	if rows, err := Read(path); err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestProgramsThatAppendAtOnceLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	const programs, each = 8, 6
	var wg sync.WaitGroup
	for n := range programs {
		wg.Go(func() {
			for k := range each {
				run := Run{Row: rowOf(fmt.Sprintf("run-%d-%d", n, k)), Weights: weightsOf(50)}
				if added, err := Append(path, run); err != nil || len(added) != 1 {
					t.Errorf("%d added, %v", len(added), err)
				}
			}
		})
	}
	wg.Wait()
	rows, err := Read(path)
	if err != nil || len(rows) != programs*each {
		t.Fatalf("%d rows of %d, %v", len(rows), programs*each, err)
	}
	weights, err := ReadWeights(path, rows)
	if err != nil {
		t.Fatal(err)
	}
	for k, w := range weights {
		if w == nil {
			t.Errorf("%s has no histogram", rows[k].Run)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheIdentityIsThatOfEverythingButTheSeedInAGroup(t *testing.T) {
	again := rowOf("again")
	bad := rowOf("d", "seed", "3")
	bad.Status = Diverged
	groups := Groups([]Row{rowOf("a"), rowOf("b", "seed", "2"), rowOf("c", "momentum", "0.9"), again, bad},
		[]*Weights{nil, weightsOf(5), nil, nil, nil})
	if len(groups) != 2 || len(groups[0].Rows) != 3 || len(groups[0].Again) != 1 || groups[0].Diverged() != 1 ||
		len(groups[0].Values(func(r Row) float64 { return r.Test })) != 2 || groups[0].Weights == nil {
		t.Fatalf("%+v", groups)
	}
	// The visible columns of the two groups are the same.
	a, c := groups[0].Rows[0].record(), groups[1].Rows[0].record()
	if !reflect.DeepEqual(a[:settled], c[:settled]) {
		t.Errorf("%q and %q", a[:settled], c[:settled])
	}
	if keys := Differing([]Identity{groups[0].Identity, groups[1].Identity}); !reflect.DeepEqual(keys,
		[]string{"momentum"}) {
		t.Errorf("%q differ", keys)
	}
}

// Lines from before the levels have none, and are valid; levels that no study has are refused with their line.
func TestLevelsOfAWeightsFileAreChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	row := rowOf("a")
	if _, err := Append(path, Run{Row: row, Weights: weightsOf(9)}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(WeightsPath(path))
	if err != nil {
		t.Fatal(err)
	}
	levels := string(data[bytes.Index(data, []byte(`,"levels"`)):])
	for _, c := range []struct {
		line, want string
		levels     *Levels
	}{
		{string(data), "", someLevels()},
		{strings.Replace(string(data), levels, "}\n", 1), "", nil},
		{strings.Replace(string(data), `"accuracy":0.25`, `"accuracy":1.25`, 1), "r-weights.jsonl:1: ", nil},
		{strings.Replace(string(data), `"recalibrated":0.7`, `"recalibrated":-1`, 1), "r-weights.jsonl:1: ", nil},
		{strings.Replace(string(data), `"at":0.98`, `"at":98`, 1), "98 is neither a share", nil},
		{strings.Replace(string(data), `"at":3`, `"at":0.3`, 1), "0.3 is neither a share", nil},
	} {
		if err := os.WriteFile(WeightsPath(path), []byte(c.line), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ReadWeights(path, []Row{row})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got[0].Levels, c.levels) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// FuzzRead: what is read can be written and read back, and what cannot is refused in one line that names the file.
func FuzzRead(f *testing.F) {
	bad := rowOf("b", "p", "1.1", "unit", "init")
	bad.Status = Diverged
	f.Add([]byte(text(rowOf("a"), bad)))
	f.Add([]byte(text()))
	f.Add([]byte(text(rowOf("a")) + "cnn,\"x"))
	f.Add([]byte(strings.ReplaceAll(text(rowOf("a")), "\n", "\r\n")))
	f.Add([]byte(strings.Replace(text(rowOf("a")), "15:54:23Z", "15:54:23.5+01:30", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parse("r.csv", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "r.csv") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		again, err := parse("r.csv", encode(rows, true))
		if err != nil || !equal(again, rows) {
			t.Errorf("%+v comes back as %+v, %v", rows, again, err)
		}
		Groups(rows, nil)
	})
}

// FuzzWeights: a file of histograms is read, or refused with its line.
func FuzzWeights(f *testing.F) {
	dir := f.TempDir()
	if _, err := Append(filepath.Join(dir, "r.csv"), Run{Row: rowOf("a"), Weights: weightsOf(1000)}); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "r-weights.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"run":"a","kernels":{"count":1,"counts":[-1,2]},"scaled":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseWeights("w.jsonl", data)
		if err != nil && !strings.HasPrefix(err.Error(), "w.jsonl:") {
			t.Errorf("%q", err)
		}
		for _, w := range all {
			if w.Kernels.Below < 0 || len(w.Scaled.Counts) > bins || math.IsInf(w.Kernels.Edge(bins), 0) {
				t.Errorf("%+v", w)
			}
			if l := w.Levels; l != nil && (!(l.Accuracy >= 0 && l.Accuracy <= 1) || len(l.Rounded) > mostLevels) {
				t.Errorf("%+v", l)
			}
			line, err := json.Marshal(w)
			again := new(Weights)
			if err != nil || json.Unmarshal(line, again) != nil || again.check() != nil {
				t.Errorf("%s, %v", line, err)
			}
		}
	})
}
