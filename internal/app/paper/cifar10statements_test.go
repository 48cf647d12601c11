package paper

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/sweep"
)

// around are accuracies of five seeds around a mean, with a deviation that p decides: differences are not equal.
func around(mean, p float64) []float64 {
	var out []float64
	for k := range 5 {
		out = append(out, mean+0.02*math.Sin(float64(k)*(1+p))+0.1*float64(k%3))
	}
	return out
}

func verdictOf(t *testing.T, r *networks, claim string) *paperClaim {
	t.Helper()
	for _, c := range r.allClaims() {
		if strings.HasPrefix(c.Claim, claim) {
			return c
		}
	}
	t.Fatalf("no statement %q", claim)
	return nil
}

func TestTheStatementsOnCifar10CanHoldAndFail(t *testing.T) {
	means := func(a ...float64) map[float64][]float64 {
		out := map[float64][]float64{}
		for k, m := range a {
			if m > 0 {
				out[numbers.Ps[k]] = around(m, numbers.Ps[k])
			}
		}
		return out
	}
	for _, c := range []struct {
		name, model, claim string
		test               map[float64][]float64
		want               string
	}{
		{"three is ahead", "resnet18", "p = 3 is the most accurate", means(88, 90, 91, 93, 92, 91.5), holds},
		{"of two p alone", "resnet18", "p = 3 is the most accurate", means(0, 0, 91, 93), tooFewRuns},
		{"two is ahead", "resnet18", "p = 3 is the most accurate", means(88, 90, 94, 93, 92, 91.5), fails},
		{"without three", "resnet18", "p = 3 is the most accurate", means(88, 90, 94), notRun},
		{"one seed", "resnet18", "p = 3 is the most accurate", map[float64][]float64{1.1: {80}, 2: {90}, 3: {93}, 10: {91}},
			tooFewRuns},
		{"two points", "mobilenetv2", "p = 3 is ahead", means(88, 90, 91, 94, 92, 91.5), holds},
		{"half a point", "mobilenetv2", "p = 3 is ahead", means(88, 90, 91, 92.5, 92, 91.5), fails},
		{"the least", "resnet18", "p = 1.1 generalises worst", means(88, 90, 91, 93, 92, 91.5), holds},
		{"as in its table of MobileNet-v2", "mobilenetv2", "p = 1.1 generalises worst",
			means(91.16, 90.81, 91.97, 93.23, 92.84, 92.6), fails},
		{"a tie of three", "resnet18", "p = 2, 3, 6 share", means(88, 90, 93, 93.01, 92.99, 91.5), holds},
		{"no tie", "resnet18", "p = 2, 3, 6 share", means(88, 90, 92, 93, 93.01, 91.5), fails},
		{"a tie of four", "resnet18", "p = 2, 3, 6 share", means(88, 90, 93, 93.01, 92.99, 93), tooFewRuns},
		{"another is best", "resnet18", "p = 2, 3, 6 share", means(88, 90, 93, 93.01, 92.99, 95), fails},
		{"a tie of which one is not run", "resnet18", "p = 2, 3, 6 share", means(88, 90, 93, 93.01, 0, 91.5), tooFewRuns},
	} {
		r, g := results(5, c.test)
		g.model = c.model
		if x := verdictOf(t, r, c.claim); x.Verdict != c.want {
			t.Errorf("%s: %+v", c.name, x)
		}
	}
}

// Value, error and n are those of the paired difference: 1, 1.2, 1.4 are 1.2 ± 0.2/√3.
func TestAStatementHasItsNumbers(t *testing.T) {
	r, g := results(3, map[float64][]float64{1.1: {80, 81, 79}, 2: {90, 91, 92}, 3: {91, 92.2, 93.4}, 10: {85, 84, 86.5}})
	x := verdictOf(t, r, "p = 3 is the most accurate")
	if math.Abs(*x.Value-1.2) > 1e-9 || math.Abs(*x.Error-0.2/math.Sqrt(3)) > 1e-9 || x.Runs != "3" ||
		x.Printed != "94.01; p = 2: 93.90" || !strings.HasPrefix(x.Measured, "p = 3: 92.20 %; p = 2: 91.00 %") {
		t.Errorf("%+v, %v ± %v", x, *x.Value, *x.Error)
	}
	for _, p := range []float64{1.1, 2, 3, 10} {
		for k := range g.runs[p] {
			g.runs[p][k].Accuracy = 0.9996
		}
	}
	if x := verdictOf(t, r, "training accuracy reaches"); x.Verdict != holds || x.Runs != "12" {
		t.Errorf("%+v", x)
	}
	g.runs[2][1].Accuracy = 0.998
	if x := verdictOf(t, r, "training accuracy reaches"); x.Verdict != fails || *x.Value != 99.8 {
		t.Errorf("%+v", x)
	}
	// Bold and the line below follow the same rule.
	table := r.accuracyTable(g)
	if !strings.Contains(table.Note, "Holm's correction for 6 comparisons") {
		t.Error(table.Note)
	}
	if x := verdictOf(t, r, "p-GD is about 10 %"); x.Verdict != notRun || !strings.Contains(x.Measured, "bench train") {
		t.Errorf("%+v", x)
	}
}

func TestTheStatementsOnWeightsCanHoldAndFail(t *testing.T) {
	test := map[float64][]float64{}
	for _, p := range []float64{1.1, 2, 3, 10} {
		test[p] = around(90, p)
	}
	fill := func(near, largest map[float64]float64) *networks {
		r, g := results(5, test)
		for p, all := range g.studies {
			for k := range all {
				wobble := 1 + 0.001*math.Sin(float64(k)*(2+p))
				all[k].All.Below[0], all[k].Scaled.Below[3] = near[p]*wobble, near[p]*wobble
				all[k].All.Max, all[k].Scaled.Max = largest[p]*wobble, largest[p]*wobble
			}
		}
		return r
	}
	paper := fill(map[float64]float64{1.1: 0.5, 2: 0.3, 3: 0.2, 10: 0.05}, map[float64]float64{1.1: 4, 2: 3, 3: 2, 10: 1})
	ours := fill(map[float64]float64{1.1: 0.05, 2: 0.06, 3: 0.02, 10: 0.03}, map[float64]float64{1.1: 1, 2: 0.3, 3: 0.4,
		10: 0.7})
	for _, claim := range []string{"p = 1.1 has the most weights around zero", "the same over the RMS of the layer: below",
		"the network becomes denser", "p = 10 has the smallest largest weight", "larger p have a smaller largest weight"} {
		for want, r := range map[string]*networks{holds: paper, fails: ours} {
			if x := verdictOf(t, r, claim); x.Verdict != want {
				t.Errorf("%s: want %s: %+v", claim, want, x)
			}
		}
	}
	none, g := results(5, test)
	clear(g.studies)
	if x := verdictOf(t, none, "of the weights"); x.Verdict != notRun {
		t.Errorf("%+v", x)
	}
}

// A row of a results file counts as a run: its accuracies, without weights.
func TestRowsOfAResultsFileCount(t *testing.T) {
	g := newGroup("resnet18", "learning rate 0.1", map[string]string{"lr": "0.1", "batch": "512", "epochs": "60"})
	r := &networks{paper: cifar10Table, groups: []*group{g}, set: "cifar10",
		plan: &sweep.Plan{File: &sweep.File{Trials: 1}, Runs: []*sweep.Spec{{Settings: g.settings}}}}
	for seed, row := range []sweep.Result{{"test_accuracy": 0.91, "train_accuracy": 0.99, "lr": 0.1, "p": 2.},
		{"test_accuracy": 0.92}, {"diverged": "step 7"}} {
		if err := r.addRow(g, 2, uint64(seed), row); err != nil {
			t.Fatal(err)
		}
	}
	if a := g.over(2, testAccuracy); a.N != 2 || math.Abs(a.Mean-91.5) > 1e-9 || g.failed[2] != 1 || r.rows != 3 {
		t.Errorf("%+v", a)
	}
	if title := r.accuracyTable(g).Title; !strings.Contains(title, "60 epochs, learning rate 0.1 (reading: printed)") {
		t.Error(title)
	}
}
