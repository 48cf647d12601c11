package paper

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
)

func imageNetCommand() *ImageNet {
	return &ImageNet{Data: "x.pack", Models: []string{"resnet18-imagenet", "mobilenetv2-imagenet"}, P: numbers.Ps,
		Trials: 1, Epochs: 120, Batch: 1024, LR: []settings.Rate{0.5}, Seed: 1, Resolution: "160-192", TestResolution: 256,
		Precision: "auto"}
}

// The recipe is FFCV's with nothing that regularises, and decay is tried for p = 2 alone.
func TestTheImageNetRecipe(t *testing.T) {
	c := imageNetCommand()
	p, err := c.plan("test")
	if err != nil || len(p.Runs) != 12 || p.Compilations() != 2 {
		t.Fatalf("%d runs: %v", len(p.Runs), err)
	}
	s := p.Runs[0].Settings
	for key, want := range map[string]string{"lr": "0.5", "batch": "1024", "epochs": "120", "blur_pool": "true",
		"resolution": "160-192", "test_resolution": "256", "momentum": "0", "weight_decay": "0", "dual_decay": "0",
		"schedule": "triangular", "label_smoothing": "", "dropout": ""} {
		if s[key] != want {
			t.Errorf("%s = %q, want %q", key, s[key], want)
		}
	}
	for epochs, want := range map[int]float64{120: 2. / 120, 16: 0.125, 2: 0.5, 1: 0.5} {
		if got := peakShare(epochs); math.Abs(got-want) > 1e-15 {
			t.Errorf("peak of %d epochs: %v, want %v", epochs, got, want)
		}
	}
	same, err := sweep.ReadFile("imagenet.toml", Sweeps()["imagenet"], nil) // the sweep file has the same recipe
	if err != nil {
		t.Fatal(err)
	}
	c.WeightDecay = 5e-5
	with, err := c.plan("test")
	if err != nil || len(with.Runs) != 14 || with.ID == p.ID {
		t.Fatalf("%d runs with decay: %v", len(with.Runs), err)
	}
	for _, r := range with.Runs {
		if !numbers.Plain(r.Settings) && r.Settings["p"] != "2" {
			t.Errorf("decay for p = %s", r.Settings["p"])
		}
	}
	other, err := sweep.NewPlan(same, "test")
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range other.Runs[0].Settings {
		if key != "data" && key != "peak" && s[key] != v {
			t.Errorf("the sweep file has %s = %s, the command %s", key, v, s[key])
		}
	}
}

// table7 is a sweep of ResNet-18 in ImageNet's form with these accuracies, by p and seed; decayed are those of p = 2
// with decay.
func table7(t *testing.T, imageNet bool, test map[float64][]float64, decayed ...float64) *networks {
	t.Helper()
	c := imageNetCommand()
	p, err := c.plan("test")
	if err != nil {
		t.Fatal(err)
	}
	if imageNet {
		p.File.Published = published(numbers.ImageNet())
	}
	g := newGroup("resnet18-imagenet", "learning rate 0.5", map[string]string{"lr": "0.5", "weight_decay": "0"})
	add := func(g *group, p float64, all []float64) {
		for seed, a := range all {
			g.add(command.TrainResult{P: p, Seed: uint64(seed), Accuracy: 0.75, TestAccuracy: 0.5, FlipAccuracy: a / 100})
		}
	}
	for _, p := range numbers.Ps {
		g.addP(p)
		add(g, p, test[p])
	}
	r := &networks{paper: imageNetTable, plan: p, set: "/data/x.pack", groups: []*group{g}, done: 1}
	if len(decayed) > 0 {
		d := newGroup("resnet18-imagenet", "weight decay 5e-05", map[string]string{"lr": "0.5", "weight_decay": "5e-05"})
		add(d, 2, decayed)
		r.groups = append(r.groups, d)
	}
	return r
}

// claimVerdicts are the statements of a report, "claim: verdict" each.
func claimVerdicts(r *networks) string {
	var out []string
	for _, c := range r.allClaims() {
		out = append(out, c.Claim+": "+c.Verdict)
	}
	return strings.Join(out, "\n")
}

// One run is too few for a verdict on a difference, whichever way it points; three that agree are enough.
func TestTheStatementsOnImageNetCanHoldAndFail(t *testing.T) {
	paper := map[float64][]float64{}
	for p, a := range numbers.Of(numbers.ImageNet(), "resnet18-imagenet") {
		paper[p] = []float64{a.Mean}
	}
	const best, order, full, mid, base, cost = "p = 3 is the most accurate: ", "the p are in the order of its table: ",
		"training accuracy does not reach 100 %: ", "training accuracy is in the mid-70s: ",
		"p = 2 is below PyTorch's baseline: ", "without weight decay, p = 2 loses around 3 points: "
	four := map[float64][]float64{1.1: {64, 64.2, 64.1}, 2: {66, 66.1, 66.15}, 3: {67.7, 67.75, 67.9},
		10: {65, 65.05, 65}}
	for _, c := range []struct {
		name     string
		imageNet bool
		test     map[float64][]float64
		decayed  []float64
		want     []string
		not      string
	}{
		{"the paper's", true, paper, []float64{69.76}, []string{best + tooFewRuns, order + tooFewRuns, full + holds,
			mid + holds, base + tooFewRuns, cost + tooFewRuns}, fails},
		{"other pictures", false, paper, nil, []string{best + tooFewRuns, order + tooFewRuns, cost + notRun}, "mid-70s"},
		{"the reverse", true, map[float64][]float64{1.1: {70}, 1.5: {70.1}, 2: {72}, 3: {60}, 6: {61}}, []float64{71},
			[]string{best + tooFewRuns, order + tooFewRuns, base + tooFewRuns, cost + tooFewRuns}, fails},
		{"nothing yet", true, nil, nil, []string{best + notRun, order + notRun, full + notRun, mid + notRun, base + notRun,
			cost + notRun}, holds},
		{"three seeds of two p", true, map[float64][]float64{2: four[2], 3: four[3]}, nil,
			[]string{best + tooFewRuns, order + tooFewRuns}, fails},
		{"three seeds of four p", true, four, []float64{69, 69.2, 69.1},
			[]string{best + holds, order + holds, base + holds, cost + holds}, fails},
		{"three seeds the other way", true, map[float64][]float64{1.1: four[3], 2: {70, 70.05, 70.1}, 3: four[2],
			10: four[1.1]}, []float64{70.5, 70.6, 70.55}, []string{best + fails, order + fails, base + fails,
			cost + fails}, "too few"},
		{"three seeds that differ by chance", true, map[float64][]float64{2: {66, 67, 66.5}, 3: {67, 66, 66.7}}, nil,
			[]string{best + tooFewRuns, order + tooFewRuns}, fails},
	} {
		r := table7(t, c.imageNet, c.test, c.decayed...)
		got := claimVerdicts(r) + "\n"
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, got)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%s: %q is in\n%s", c.name, c.not, got)
		}
	}
}

// A part of ImageNet, and another set of its size, are not ImageNet.
func TestImageNetIsKnownByItsClassesAndCounts(t *testing.T) {
	all := make([]string, 1000)
	all[0], all[999] = "n01440764", "n15075141"
	others := make([]string, 1000)
	for _, c := range []struct {
		classes     []string
		train, test int
		want        bool
	}{
		{all, 1_281_167, 50_000, true},
		{all, 1_281_167 - 22, 50_000, true}, // the CMYK ones, say
		{all, 1_200_000, 50_000, false},
		{all, 1_281_168, 50_000, false},
		{all, 1_281_167, 5_000, false},
		{all[:999], 1_281_167, 50_000, false},
		{others, 1_281_167, 50_000, false},
		{nil, 0, 0, false},
	} {
		if got := isILSVRC2012(c.classes, c.train, c.test); got != c.want {
			t.Errorf("%d classes, %d + %d: %v", len(c.classes), c.train, c.test, got)
		}
	}
}

// A p that diverges is named, and p = 3 is not best if it does.
func TestStatementsNameThePThatDiverge(t *testing.T) {
	r := table7(t, true, map[float64][]float64{2: {66}, 3: {67}})
	r.groups[0].diverge(10)
	if c := r.allClaims()[0]; c.Verdict != tooFewRuns || *c.Value != 1 || c.Runs != "1" || c.Error != nil ||
		c.Measured != "p = 3: 67.00 %; p = 2: 66.00 %, the highest of the others; not run: p = 1.1, 1.5, 6; "+
			"diverged: p = 10" {
		t.Errorf("%+v", c)
	}
	r = table7(t, true, map[float64][]float64{2: {66}})
	for range 3 {
		r.groups[0].diverge(3)
	}
	if c := r.allClaims()[0]; c.Verdict != fails || c.Measured != "p = 3 diverged (3 runs)" {
		t.Errorf("%+v", c)
	}
}

// Beside ImageNet's pictures stand the paper's accuracies, with mirror images; beside others and beside decay none.
func TestThePapersAccuraciesStandBesideImageNetAlone(t *testing.T) {
	runs := map[float64][]float64{2: {66}, 3: {67}}
	for _, imageNet := range []bool{true, false} {
		r := table7(t, imageNet, runs, 68)
		all := fmt.Sprint(r.accuracyTable(r.groups[0]).Text(), r.orderTable(r.groups[0]).Text(), r.findings(),
			r.differencesFromPaper())
		for _, text := range []string{"67.67", "the paper, 120 epochs", "too few runs"} {
			if strings.Contains(all, text) != imageNet {
				t.Errorf("ImageNet %v: %q in\n%s", imageNet, text, all)
			}
		}
		if !strings.Contains(all, "67.00") || strings.Contains(all, "NaN") ||
			!strings.Contains(all, "none in resnet18-imagenet, 0.2 in mobilenetv2-imagenet, as in torchvision") {
			t.Error(all)
		}
		if strings.Contains(all, "The images here are x.pack, in the paper ImageNet.") == imageNet {
			t.Error(all)
		}
		if r.published(r.groups[1]) != nil {
			t.Error("the paper's accuracies beside runs with decay")
		}
	}
}
