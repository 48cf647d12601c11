package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const studied = "job = \"train\"\nmetric = \"pruned_all_70\"\n[settings]\nepochs = 1\n[grid]\np = [2, 3]\n"

// A sweep compares its runs by what the study of their weights measured, in percent.
func TestASweepIsComparedByItsStudies(t *testing.T) {
	p, f := planOf(t, studied), Folder{t.TempDir()}
	for k, s := range p.Runs {
		for name, text := range map[string]string{"result.json": `{"test_accuracy": 0.9}`, "study.json": fmt.Sprintf(
			`{"pruned_all": [{"at": 0, "accuracy": 0.9}, {"at": 0.7, "accuracy": 0.%d}]}`, 5+k)} {
			path := filepath.Join(f.Trial(s), "tables", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := collect(f, p)
	for row, want := range map[string]float64{"2": 50, "3": 60} {
		if got := r.grid.At(row, "").Sample(); got.N != 1 || got.Mean != want {
			t.Errorf("p = %s: %+v, want %v", row, got, want)
		}
	}
	if text := r.grid.Table().Text(); !strings.Contains(text, "accuracy at 70 % pruned, all layers together, %") {
		t.Error(text)
	}
	if csv := string(r.runsTable().CSV()); !strings.Contains(csv, "3,1,done,0.6,") {
		t.Error(csv)
	}
	if p.File.Better != "high" {
		t.Error(p.File.Better)
	}
	// one that a study of an older version lacks has no number
	p = planOf(t, strings.Replace(studied, "pruned_all_70", "rounded_channels_3", 1))
	if c := collect(f, p).grid.At("2", ""); c.None != 1 {
		t.Errorf("%+v", c)
	}
}

// A name that is wrong is answered with all that there are; a run without a study has none.
func TestMetricsOfStudiesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(studied, "pruned_all_70", "pruned_all_75", 1): "there is none (did you mean pruned_all_70?)",
		strings.Replace(studied, "pruned_all_70", "x", 1): "its study has pruned_each_N and pruned_all_N (N = 50, 70, 80, " +
			"90, 95, 98 % of the weights), rounded_N and rounded_channels_N (N = 8, 6, 5, 4, 3 bits), each also with " +
			"_recalibrated behind it",
		strings.Replace(studied, "epochs", "no_study = true\nepochs", 1):                      "leaves the study out",
		"job = \"fit\"\nmetric = \"rounded_3\"\n[settings]\ndata = \"r100\"\n[grid]\np = [2]": "the result of fit has",
	} {
		if _, err := tryPlan(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
