package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/runlog"
)

// runOf runs the first run of a sweep and returns its run.json, read and as text.
func runOf(t *testing.T, text string) (runlog.Info, string) {
	t.Helper()
	dir, err := newRunner(Place{Engine: "cpu"}, quiet()).run(t.Context(), planOf(t, text).Runs[0], t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, err := runlog.ReadInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	return info, string(data)
}

func TestALinearRunOfASweepNamesItsDataAsFitDoes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zero.svm")
	if err := os.WriteFile(file, []byte("1 0:1\n-1 0:-1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		data string
		zero bool
	}{{"r2", false}, {"r100:7", false}, {file, true}} {
		runs := t.TempDir()
		f := &linearmodel.Fit{Data: c.data, P: []float64{2}, Loss: "exp", Method: "auto", Init: "zero", Steps: 1000,
			Runs:      runs,
			ZeroBased: c.zero}
		if _, err := f.Do(t.Context(), quiet()); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(runs, "*"))
		want, err := runlog.ReadInfo(found[0])
		if err != nil || !strings.HasPrefix(want.DataHash, "sha256:") {
			t.Fatalf("%s: hash %q, %v", c.data, want.DataHash, err)
		}
		for _, j := range []string{"fit", "margin"} {
			text := "job = \"" + j + "\"\n[settings]\np = 2\ndata = \"" + c.data + "\""
			if c.zero {
				text += "\nzero_based = true"
			}
			if info, _ := runOf(t, text); info.Data != want.Data || info.DataHash != want.DataHash {
				t.Errorf("%s of %s: data %q with hash %q; fit has %q with %q",
					j, c.data, info.Data, info.DataHash, want.Data, want.DataHash)
			}
		}
	}
}

func TestALinearRunOfASweepNamesNoScratchFolder(t *testing.T) {
	for _, j := range []string{"fit", "margin", "path"} {
		_, text := runOf(t, "job = \""+j+"\"\n[settings]\ndata = \"r2\"\np = 2")
		if strings.Contains(text, os.TempDir()) || strings.Contains(text, `"out"`) {
			t.Errorf("%s: run.json names a path: %s", j, text)
		}
	}
}
