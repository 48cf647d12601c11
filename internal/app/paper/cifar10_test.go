package paper

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// results are made-up runs of ResNet-18 on CIFAR-10.
func results(trials int, test map[float64][]float64) (*networks, *group) {
	g := newGroup("resnet18", "learning rate 0.1", map[string]string{"epochs": "60"})
	for _, p := range numbers.Ps {
		for seed, a := range test[p] {
			g.add(command.TrainResult{P: p, Seed: uint64(seed), LR: 0.1, TestAccuracy: a / 100})
			g.studies[p], g.seeds[p] = append(g.studies[p], train.Study{P: p}), append(g.seeds[p], uint64(seed))
		}
	}
	plan := &sweep.Plan{File: &sweep.File{Trials: trials}}
	plan.Runs = []*sweep.Spec{{Settings: g.settings}}
	return &networks{paper: cifar10Table, plan: plan, set: "cifar10", groups: []*group{g}}, g
}

func TestMeanAndDeviationByHand(t *testing.T) {
	_, g := results(2, map[float64][]float64{2: {90, 92}})
	if a := g.over(2, testAccuracy); math.Abs(a.Mean-91) > 1e-9 || math.Abs(a.Deviation-math.Sqrt2) > 1e-9 {
		t.Errorf("%v, want 91 ± √2", a)
	}
	_, g = results(1, map[float64][]float64{2: {90}})
	if a := g.over(2, testAccuracy); !math.IsNaN(a.Deviation) || strings.Contains(spread(a.Mean, a.Deviation).Text, "±") {
		t.Errorf("one trial has no deviation: %v, %q", a, spread(a.Mean, a.Deviation).Text)
	}
}

// In the paper, p = 1.1 and 3 of ResNet-18 are 92.63 ± 0.12 and 94.01 ± 0.13: significant. p = 2 and 6, 93.90 ± 0.14
// and 93.87 ± 0.13, are not.
func TestTheOrderIsCheckedWhereATestSeparates(t *testing.T) {
	for _, c := range []struct {
		p, q float64
		a, b []float64
		want string
	}{
		{1.1, 3, []float64{88, 88.2, 88.1}, []float64{92, 92.3, 92}, "as in the paper"},
		{1.1, 3, []float64{92, 92.2, 92}, []float64{88, 88.3, 88}, "against the paper"},
		// by nearly the same in all seeds, though the seeds differ by more
		{1.1, 3, []float64{88, 92, 90}, []float64{89, 93.1, 91}, "as in the paper"},
		{1.1, 3, []float64{88, 92, 90}, []float64{89, 93, 91}, "open here"}, // by the very same: no test
		{1.1, 3, []float64{88, 88.2}, []float64{92, 92.3}, "open here"},     // two seeds
		{1.1, 3, []float64{88, 92, 90}, []float64{93, 89, 91}, "open here"},
		// 1.33 ± 0.44: with three seeds, three standard errors are a chance of 0.09
		{1.1, 3, []float64{88, 88, 88}, []float64{88.5, 90, 89.5}, "open here"},
		{2, 6, []float64{92, 92.2, 92}, []float64{88, 88.3, 88}, "new: the paper leaves it open"},
		{2, 6, []float64{88, 92, 90}, []float64{93, 89, 91}, "open in both"},
		{1.1, 3, []float64{88}, []float64{92}, "open here"}, // one trial
	} {
		r, g := results(len(c.a), map[float64][]float64{c.p: c.a, c.q: c.b})
		all := r.compare(g)
		if len(all) != 1 || all[0].verdict() != c.want {
			t.Errorf("%+v: %+v, %s", c, all, all[0].verdict())
		}
	}
	r, g := results(2, map[float64][]float64{1.1: {88, 88.2}, 3: {92, 92.2}})
	r.set = "fashion-sample"
	if v := r.compare(g)[0].verdict(); v != "–" {
		t.Errorf("on other images the paper has no say: %s", v)
	}
}

func TestFindingsSayWhatTheNumbersSay(t *testing.T) {
	r, _ := results(2, map[float64][]float64{1.1: {88, 88.2, 88.1}, 2: {91, 91.1, 91.1}, 3: {92.1, 92.2, 92}})
	f := strings.Join(r.findings(), "\n")
	for _, want := range []string{
		"p = 3 has the best mean test accuracy, 92.10 %, significantly above",
		"the paper marks p = 2, 3, 6 as best; its highest is 94.01 %",
		"2 are ordered as in the paper and 0 against it; 0 are open here",
	} {
		if !strings.Contains(f, want) {
			t.Errorf("%q is not in %q", want, f)
		}
	}
}

// What the paper marks as best is bold in its column, also if it marks several.
func TestThePapersTiesAreKept(t *testing.T) {
	r, g := results(1, map[float64][]float64{1.1: {88}, 2: {91}, 3: {92}, 6: {91.5}})
	var bold []string
	for _, row := range r.accuracyTable(g).Rows {
		if row[2].Best {
			bold = append(bold, row[0].Text)
		}
	}
	if !slices.Equal(bold, []string{"2", "3", "6"}) {
		t.Errorf("p = %v are bold in the paper's column", bold)
	}
}

// The only p that has a result is not the best of anything, nor has it the most or the smallest.
func TestOneResultIsComparedWithNothing(t *testing.T) {
	for _, waiting := range []bool{true, false} {
		r, g := results(2, map[float64][]float64{2: {90, 91}})
		if waiting {
			g.addP(3)
			g.missing[3] = 2
		}
		table := r.accuracyTable(g)
		test := table.Rows[0][1]
		if test.Text != "90.50 ± 0.50 (n = 2)" || test.Best ||
			strings.Contains(table.Note, "best") != waiting { // the paper has both
			t.Errorf("%s\n%s", table.Text(), table.Note)
		}
		if fig := r.accuracyFigures(); len(fig) != 0 {
			t.Errorf("one point is not a line: %+v", fig)
		}
		f := strings.Join(r.findings(), "\n")
		for _, word := range []string{"best", "most", "smallest"} {
			if strings.Contains(f, word) {
				t.Errorf("%q in %q", word, f)
			}
		}
		if !strings.Contains(f, "90.50 % with p = 2, the only one that has a result") {
			t.Error(f)
		}
	}
	r, g := results(2, map[float64][]float64{2: {90, 91}, 3: {92}})
	g.missing[3] = 1
	if f := r.findings(); len(f) != 1 || !strings.Contains(f[0], "p = 3 has the best mean test accuracy so far, 92.00 %") {
		t.Errorf("%q", f)
	}
}

// Colours mean p: the line of accuracies against p has none of them.
func TestAccuraciesAgainstPAreInk(t *testing.T) {
	r, _ := results(2, map[float64][]float64{2: {90, 91}, 3: {92, 93}})
	f := r.accuracyFigures()
	if len(f) != 1 || len(f[0].Series) != 3 {
		t.Fatalf("%+v", f)
	}
	for k, style := range []render.Style{render.Solid, render.Crosses, render.Dashed} { // means, trials, the paper's
		s := f[0].Series[k]
		if ink := s.Color == nil || s.Color == pages.Curve(0, 1).Color; !ink || s.Style != style {
			t.Errorf("series %d: %+v", k, s)
		}
	}
}

// A run that diverges is counted, and the rest is reported.
func TestRunsThatDivergeAreCounted(t *testing.T) {
	r, g := results(2, map[float64][]float64{2: {90, 91}, 3: {92}})
	g.diverge(3)
	g.diverge(10)
	g.diverge(10)
	text := r.accuracyTable(g).Text()
	for _, want := range []string{"90.50 ± 0.50 (n = 2)", "92.00 (one run, 1 diverged)", "– (2 diverged)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if f := r.findings(); len(f) != 1 || !strings.Contains(f[0], "p = 3 has the best") {
		t.Errorf("%q", f)
	}
	if rows := g.rows(); len(rows) != 2 {
		t.Errorf("%d rows to study", len(rows))
	}
	for _, c := range r.compare(g) {
		if c.significantHere() {
			t.Errorf("significant: %+v", c)
		}
	}
}

// Each learning rate, decay and adaptive variant is a table of its own; learning rates share a compiled step.
func TestVariantsAreTablesOfTheirOwn(t *testing.T) {
	c := Cifar10{Models: []string{"cnn", "resnet18"}, P: []float64{2, 3}, Trials: 2, Epochs: 1, Batch: 100, Seed: 5,
		Data: "fashion-sample", Precision: "auto",
		LR: []settings.Rate{0.1, settings.Auto}, Unit: "init", WeightDecay: 5e-4, Adaptive: 0.999}
	p, err := c.plan("test")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Runs) != 2*2*5*2 || p.Compilations() != 2*4 || p.Runs[0].Seed != 5 {
		t.Errorf("%d runs, %d compilations", len(p.Runs), p.Compilations())
	}
	view, err := newCifar10(sweep.Folder{Dir: t.TempDir()}, p)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range view.(*networks).groups {
		got = append(got, g.file()+": "+g.title)
		if g.missing[2] != 2 || g.missing[3] != 2 {
			t.Errorf("%s: %v runs are missing", g.file(), g.missing)
		}
	}
	want := []string{
		"cnn: learning rate 0.1",
		"cnn_lr_auto: learning rate by short runs",
		"cnn_lr_0.1_unit_init: learning rate 0.1, in units of the initial size",
		"cnn_lr_0.1_weight_decay_0.0005: learning rate 0.1, weight decay 0.0005",
		"cnn_lr_auto_adaptive_0.999: learning rate by short runs, adaptive 0.999",
	}
	if len(got) != 10 || !slices.Equal(got[:5], want) {
		t.Errorf("%q", got)
	}
	if c.LR, c.Unit, c.WeightDecay, c.Adaptive = []settings.Rate{0.1}, "", 0, 0; true {
		if p, err = c.plan("test"); err != nil || len(p.Runs) != 8 || p.Compilations() != 2 {
			t.Errorf("one rate: %v, %v", p, err)
		}
	}
}

// The paper has numbers for its own recipe, and none for the variants.
func TestVariantsHaveNoNumbersOfThePaper(t *testing.T) {
	r := &networks{paper: cifar10Table, set: "cifar10"}
	for _, c := range []struct {
		settings map[string]string
		has      bool
	}{
		{nil, true},
		{map[string]string{"weight_decay": "0", "unit": ""}, true},
		{map[string]string{"unit": "init"}, false},
		{map[string]string{"weight_decay": "0.0005"}, false},
		{map[string]string{"adaptive": "0.9"}, false},
	} {
		if got := r.published(newGroup("resnet18", "", c.settings)); (got != nil) != c.has {
			t.Errorf("%v: %v", c.settings, got)
		}
	}
}

// The options of a run that is resumed are checked like those of a new one.
func TestAReproductionThatGoesOnChecksItsOptions(t *testing.T) {
	good := sweep.Options{Jobs: 1, LostAfter: time.Minute, Connection: sweep.Connection{Replicas: 1}}
	for flag, change := range map[string]func(*sweep.Options){
		"":             func(*sweep.Options) {},
		"--lost-after": func(o *sweep.Options) { o.LostAfter = time.Millisecond },
		"--replicas":   func(o *sweep.Options) { o.Replicas = 2 },
		"--jobs":       func(o *sweep.Options) { o.Jobs = -2 },
		"engine":       func(o *sweep.Options) { o.Engine = "abacus" },
	} {
		c := Cifar10{Resume: "runs/x", Options: good}
		change(&c.Options)
		if err := c.Check(); (err == nil) != (flag == "") || err != nil && !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// The report describes the training as in the plan, and names the paper's only if that ran.
func TestTheReportSaysHowItWasTrained(t *testing.T) {
	for _, c := range []struct {
		overrides []string
		want, not string
	}{
		{nil, "400 epochs, batch 512, a triangular learning rate with its peak at 5/24 of the run, no momentum, flips, " +
			"shifts and cut-outs", "400 in the paper"},
		{nil, "The paper names no batch size: here batch 512, that of the FFCV example it starts from.", "largest weight"},
		{[]string{"batch=128"}, "The paper names no batch size: here batch 128.", "FFCV example it"},
		{[]string{"epochs=60"}, "60 epochs here, 400 in the paper.", "shows early"},
		{[]string{"schedule=cosine"},
			"its learning rate is cyclic, not its shape nor where it peaks: here a cosine learning rate.", "triangular"},
		{[]string{"schedule=cosine", "momentum=0.9", "epochs=60"},
			"60 epochs, batch 512, a cosine learning rate, momentum 0.9", "5/24"},
		{[]string{"peak=0.5", "no_augment=true"}, "its peak at 0.5 of the run, no momentum, no augmentation", "5/24"},
		{[]string{"schedule=step,constant"},
			"a learning rate that falls to a tenth after each third of the run or a constant learning rate", "5/24"},
	} {
		f, err := sweep.ReadFile("cifar10.toml", Sweeps()["cifar10"], c.overrides)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sweep.NewPlan(f, "test")
		if err != nil {
			t.Fatal(err)
		}
		p.Command = "bregman sweep cifar10 " + strings.Join(c.overrides, " ")
		view, err := newCifar10(sweep.Folder{Dir: t.TempDir()}, p)
		if err != nil {
			t.Fatal(err)
		}
		r := view.(*networks)
		text := r.recipe() + "\n" + strings.Join(r.differencesFromPaper(), "\n")
		if !strings.Contains(text, c.want) || strings.Contains(text, c.not) || r.command() != "bregman sweep cifar10" {
			t.Errorf("%s, %q: want %q and not %q in\n%s", r.command(), c.overrides, c.want, c.not, text)
		}
	}
}

// A reproduction resumes with its own settings, folder of data and images, and two processes do not share its folder.
func TestAReproductionGoesOnWithItsOwnDataAlone(t *testing.T) {
	one := Cifar10{Models: []string{"cnn"}, P: []float64{2, 3}, Trials: 1, Epochs: 1, Batch: 100, Seed: 1,
		LR: []settings.Rate{0.1}, Data: "fashion-sample", Precision: "auto"}
	plan, err := one.plan("")
	if err != nil {
		t.Fatal(err)
	}
	plan.DataDir = "/sets"
	dir := t.TempDir()
	run, err := runlog.CreateAt(filepath.Join(dir, "x"), runlog.Info{Command: "sweep"})
	if err == nil {
		err = run.WriteJSON("plan.json", plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	env := &command.Env{Observer: command.Quiet(), Engines: new(engine.Pool)}
	again := Cifar10{Resume: run.Dir, Options: sweep.Options{Place: sweep.Place{Engine: "cpu"}, Jobs: 1,
		LostAfter: time.Minute, Connection: sweep.Connection{Replicas: 1}}}
	var busy *runlog.BusyError
	if _, err := again.Do(t.Context(), env); !errors.As(err, &busy) {
		t.Errorf("a folder in use: %v", err)
	}
	if err := run.Finish(errors.New("stopped"), true); err.Error() != "stopped" {
		t.Fatal(err)
	}
	// One run is done, with other images.
	done := sweep.Folder{Dir: run.Dir}.Trial(plan.Runs[0])
	for name, text := range map[string]string{
		"run.json": `{"command": "train", "status": "done", "data": "fashion-sample", ` +
			`"data_hash": "0123456789abcdef"}`,
		"tables/result.json": `{"p": 2, "seed": 1}`,
		"tables/study.json":  "{}",
	} {
		if err := runlog.WriteFile(filepath.Join(done, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := again.Do(t.Context(), env); err == nil || !strings.Contains(err.Error(), "the data have changed") {
		t.Errorf("other data: %v", err)
	}
	bytes, err := os.ReadFile(filepath.Join(run.Dir, "plan.json"))
	text := strings.ReplaceAll(string(bytes), " ", "")
	if err != nil || !strings.Contains(text, `"data_dir":"/sets"`) {
		t.Errorf("the folder of the data is not kept: %v", err)
	}
}
