package runlog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func create(t *testing.T) *Run {
	t.Helper()
	r, err := Create(t.TempDir(), "fit/p=3 ../x", Info{Command: "fit", Settings: map[string]any{"p": 3}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunCanBeReadBackWhileItRunsAndAfter(t *testing.T) {
	r := create(t)
	if info, err := ReadInfo(r.Dir); err != nil || info.Status != Running || info.Seed != 7 || info.Machine.CPUs == 0 {
		t.Errorf("running: %+v, %v", info, err)
	}
	for k := range 3 {
		if err := r.Append(map[string]int{"step": k}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	info, err := ReadInfo(r.Dir)
	if err != nil || info.Status != Done || info.Finished.Before(info.Started) {
		t.Errorf("done: %+v, %v", info, err)
	}
	var steps []int
	if err := ReadMetrics(r.Dir, func(line json.RawMessage) error {
		var m struct{ Step int }
		steps = append(steps, 0)
		err := json.Unmarshal(line, &m)
		steps[len(steps)-1] = m.Step
		return err
	}); err != nil || len(steps) != 3 || steps[2] != 2 {
		t.Errorf("steps %v, %v", steps, err)
	}
}

func TestFinishRecordsHowARunEnded(t *testing.T) {
	broken := errors.New("overflow")
	for _, c := range []struct {
		err         error
		interrupted bool
		want        string
	}{{nil, false, Done}, {broken, false, Failed}, {broken, true, Interrupted}} {
		r := create(t)
		if err := r.Finish(c.err, c.interrupted); !errors.Is(err, c.err) {
			t.Errorf("Finish returned %v", err)
		}
		if info, _ := ReadInfo(r.Dir); info.Status != c.want {
			t.Errorf("status %q, want %q", info.Status, c.want)
		}
	}
}

func TestALineCutShortIsPassedOver(t *testing.T) {
	r := create(t)
	if err := r.Append(1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.metrics.WriteString(`{"step": 2`); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := ReadMetrics(r.Dir, func(json.RawMessage) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestACorruptLineIsNamed(t *testing.T) {
	r := create(t)
	if _, err := r.metrics.WriteString("{\"a\":1}\nrubbish\n"); err != nil {
		t.Fatal(err)
	}
	if err := ReadMetrics(r.Dir, func(json.RawMessage) error { return nil }); err == nil || !strings.Contains(err.Error(), "metrics.jsonl:2") {
		t.Errorf("error %v", err)
	}
}

func TestTwoRunsOfOneSecondGetFoldersOfTheirOwn(t *testing.T) {
	root := t.TempDir()
	seen := map[string]bool{}
	for range 5 {
		r, err := Create(root, "same", Info{})
		if err != nil || seen[r.Dir] {
			t.Fatalf("%v, %v", r, err)
		}
		seen[r.Dir] = true
	}
}

func TestNamesStayInsideTheRoot(t *testing.T) {
	r := create(t)
	if strings.ContainsAny(filepath.Base(r.Dir), "/ =") || strings.Contains(filepath.Base(r.Dir), "/") {
		t.Errorf("folder %q", r.Dir)
	}
}

func TestWriteFileReplacesWholeAndLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b.txt")
	for _, text := range []string{"first", "second"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "a")); len(entries) != 1 {
		t.Errorf("left beside it: %v", entries)
	}
	if err := WriteFile(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestAFolderInsideAnotherRunIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trials", "resnet18", "p3-s1")
	r, err := CreateAt(dir, Info{Command: "train"})
	if err != nil || r.Dir != dir {
		t.Fatalf("%v, %v", r, err)
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if info, err := ReadInfo(dir); err != nil || info.Status != Done {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := CreateAt(dir, Info{}); err == nil {
		t.Error("a folder that is there was taken")
	}
}
