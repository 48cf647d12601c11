package runlog

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// full is a file that takes nothing, as on a full disk: a pipe without a reader.
func full(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// heard is a run whose warnings are recorded.
func heard(t *testing.T) (*Run, *[]string) {
	t.Helper()
	r, said := create(t), new([]string)
	r.Say = func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }
	return r, said
}

func TestMetricsThatADiskDoesNotTakeAreWrittenLater(t *testing.T) {
	r, said := heard(t)
	disk := r.metrics
	for step := range 5 {
		switch step {
		case 1:
			r.metrics = full(t)
		case 4:
			r.metrics = disk
		}
		if err := r.Append(map[string]int{"step": step}); err != nil {
			t.Fatal(err)
		}
		if err := r.Sync(); (err != nil) != (step >= 1 && step < 4) { // a checkpoint must not depend on missing metrics
			t.Errorf("step %d: %v", step, err)
		}
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	var lines []string
	err := ReadMetrics(r.Dir, func(l json.RawMessage) error { lines = append(lines, string(l)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`{"step":0}`, `{"step":1}`, `{"step":2}`, `{"step":3}`, `{"step":4}`}; !slices.Equal(lines, want) {
		t.Errorf("%v", lines)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "metrics.jsonl could not be written") {
		t.Errorf("said %q", *said)
	}
	if info, err := ReadInfo(r.Dir); err != nil || info.Status != Done || len(info.Warnings) != 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestFilesThatCannotBeWrittenCostTheFilesNotTheRun(t *testing.T) {
	r, said := heard(t)
	if err := os.WriteFile(r.Path("figures"), nil, 0o666); err != nil { // in the place of the folder
		t.Fatal(err)
	}
	r.metrics.Close()
	r.metrics = full(t)
	if err := r.Append(1); err != nil {
		t.Fatal(err)
	}
	r.Save("figures/a.svg", nil)
	r.Save("figures/a.png", nil)
	r.Save("report.html", []byte("page"))
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	info, err := ReadInfo(r.Dir)
	if err != nil || info.Status != Done || info.Error != "" || len(info.Warnings) != 2 || len(*said) != 2 ||
		!strings.HasPrefix(info.Warnings[0], "metrics.jsonl could not be written: ") ||
		!strings.HasPrefix(info.Warnings[1], "figures/a.svg could not be written: ") ||
		!strings.HasSuffix(info.Warnings[1], ", and 1 more in figures") {
		t.Errorf("%+v, %v; said %q", info, err, *said)
	}
	if data, err := os.ReadFile(r.Path("report.html")); err != nil || string(data) != "page" {
		t.Errorf("%q, %v", data, err)
	}

	again, err := Resume(r.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if info, err := ReadInfo(r.Dir); err != nil || len(info.Warnings) != 0 {
		t.Errorf("after it was resumed: %+v, %v", info, err)
	}
}

func TestTheEndIsRecordedInAFolderThatTakesNoFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	r, _ := heard(t)
	if err := os.Chmod(r.Dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(r.Dir, 0o777)
	r.Save("report.html", nil)
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if info, err := ReadInfo(r.Dir); err != nil || info.Status != Done || len(info.Warnings) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestAFileIsOverwrittenWhole(t *testing.T) {
	path := t.TempDir() + "/f"
	for _, text := range []string{"a long text", "short", "longer than the one before"} {
		if err := os.WriteFile(path, []byte("some text"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := overwrite(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("%q, %v", data, err)
		}
	}
}
