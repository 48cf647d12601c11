package paper

import (
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/sweep"
)

func TestTheSweepFilesAreThePapersTables(t *testing.T) {
	runs := map[string]int{"cifar10": 120, "bias": 60, "margins": 60}
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
		table := publishedAccuracy()
		n := 0
		for _, row := range f.Published {
			model, _ := row["model"].(string)
			p, ok := row["p"].(float64)
			if !ok {
				whole, _ := row["p"].(int64)
				p = float64(whole)
			}
			if a := table[model][p]; a.mean != row["mean"] || a.deviation != row["deviation"] || !slices.Contains(Ps, p) {
				t.Errorf("%v, the table has %v", row, a)
			}
			n++
		}
		if n != 24 {
			t.Errorf("%d published numbers", n)
		}
	}
	if len(runs) != 0 {
		t.Errorf("missing: %v", runs)
	}
}
