package paper

import (
	"fmt"
	"maps"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/sweep"
)

func TestTheSweepFilesAreThePapersTables(t *testing.T) {
	runs := map[string]int{"cifar10": 120, "imagenet": 12, "bias": 60, "margins": 60}
	for name, text := range Sweeps() {
		f, err := sweep.ReadFile(name+".toml", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sweep.NewPlan(f, "test")
		if err != nil || len(p.Runs) != runs[name] {
			t.Errorf("%s: %d runs, want %d: %v", name, len(p.Runs), runs[name], err)
		}
		delete(runs, name)
		if name != "cifar10" {
			continue
		}
		if len(f.Published) != 24 {
			t.Errorf("%d published numbers", len(f.Published))
		}
		// whole p are whole numbers: plan.json writes them as they stand
		for k, want := range map[int]map[string]any{
			0:  {"model": "vgg11", "p": 1.1, "mean": 88.19, "deviation": 0.17},
			9:  {"model": "resnet18", "p": int64(3), "mean": 94.01, "deviation": 0.13},
			14: {"model": "mobilenetv2", "p": int64(2), "mean": 91.97, "deviation": 0.1},
			23: {"model": "regnetx200", "p": int64(10), "mean": 92.97, "deviation": 0.16},
		} {
			if got := f.Published[k]; !maps.Equal(got, want) {
				t.Errorf("row %d is %v, want %v", k+1, got, want)
			}
		}
		for k, r := range numbers.CIFAR10() {
			row := f.Published[k]
			if row["model"] != r.Model || fmt.Sprint(row["p"]) != fmt.Sprint(r.P) ||
				row["mean"] != r.Mean || row["deviation"] != r.Deviation {
				t.Errorf("%v, the table has %v", row, r)
			}
		}
	}
	if len(runs) != 0 {
		t.Errorf("missing: %v", runs)
	}
}
