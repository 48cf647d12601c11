package pages

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// text is a lead as a reader sees it.
func (l Lead) text() string { return strings.Join(append([]string{l.Sentence}, l.Claims...), "\n") }

// leads checks what a lead says and does not say, and that it has at most three claims.
func leads(t *testing.T, l Lead, want []string, absent ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(l.text(), w) {
			t.Errorf("%q is not in\n%s", w, l.text())
		}
	}
	for _, a := range absent {
		if strings.Contains(l.text(), a) {
			t.Errorf("%q is in\n%s", a, l.text())
		}
	}
	if len(l.Claims) > mostClaims {
		t.Errorf("%d claims:\n%s", len(l.Claims), l.text())
	}
}

// fitted does a fit and reads its folder as its page does. The lead must be on the page.
func fitted(t *testing.T, values map[string]string) (s linearmodel.Fit, r linearmodel.FitResult, info runlog.Info) {
	t.Helper()
	dir := do(t, "fit", values)
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	folder, err := runlog.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if info, err = folder.Info(); err != nil {
		t.Fatal(err)
	}
	if err := settingsOf(info, &s); err != nil {
		t.Fatal(err)
	}
	if err := folder.ReadJSON(command.ResultFile, maxFit, &r); err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(holds(t, dir, `class="lead"`), "\u00a0", " ")
	if l := fitLead(&s, &r, info, info.Status); !strings.Contains(page, l.Sentence) {
		t.Errorf("the page lacks %q", l.Sentence)
	}
	return s, r, info
}

func TestAClassifiersPageBeginsWithItsAccuracy(t *testing.T) {
	s, r, info := fitted(t, map[string]string{"data": "wine", "p": "1.5,2,3"})
	lead := func() Lead { return fitLead(&s, &r, info, info.Status) }
	q := r.HeldOut.Classes
	leads(t, lead(), []string{
		fmt.Sprintf("With p = %v the model classifies %.2f %% of 178 held-out examples correctly (95 %% interval ", r.P,
			100*q.Accuracy),
		fmt.Sprintf("better than always predicting the most frequent class, which is correct for %.2f %%", 100*q.Majority),
		"p and the penalty were the best of", "on these same held-out examples"}, "converged")
	q.Accuracy = q.Majority + 0.01
	leads(t, lead(), []string{"not distinguishable from always predicting the most frequent class"}, "better than always")
	q.Accuracy = q.Majority / 3
	leads(t, lead(), []string{"worse than always predicting"})
	r.CV = nil
	leads(t, lead(), []string{"The fit has converged: its objective is proved to be within"}, "best of")
	*r.Excess = *r.Objective / 2
	leads(t, lead(), []string{"The fit has not converged: its objective may be 1e+02 % above the least possible."})
	leads(t, fitLead(&s, &r, info, runlog.Killed), []string{"The run is not done (killed)"})
}

func TestAPOfCrossValidationIsAsSureAsItsError(t *testing.T) {
	_, r, _ := fitted(t, map[string]string{"data": "wine", "p": "1.5,2,3"})
	c := choiceOf(&r)
	chosen := c.chosen()
	if text := c.sureOfP(); !strings.Contains(text, "not distinguishable from p = ") {
		t.Errorf("three p of a small data set: %s", text)
	}
	for k := range c.all {
		if c.all[k].P != chosen.P {
			worse := 50.0
			c.all[k].LogLoss = &worse
		}
	}
	if text := c.sureOfP(); !strings.Contains(text, "every other is more than one standard error worse over 5 folds") {
		t.Errorf("others that are far worse: %s", text)
	}
	c.folds = 1
	if text := c.sureOfP(); !strings.Contains(text, "is not known") {
		t.Errorf("without folds: %s", text)
	}
}

func TestATwoClassFitOnTestExamplesSaysWhatTheyWereUsedFor(t *testing.T) {
	data := examples(t, 120, 2, 0.8)
	s, r, info := fitted(t, map[string]string{"data": data, "test": examples(t, 60, 2, 0.8)})
	leads(t, fitLead(&s, &r, info, info.Status), []string{"of 60 test examples correctly",
		"The test examples were not used to choose p or the penalty."}, "held-out")
	s.Test = s.Data
	leads(t, fitLead(&s, &r, info, info.Status), []string{"The test examples are the training examples"}, "were not used")
}

func TestARegressionsPageBeginsWithItsVariance(t *testing.T) {
	s, r, info := fitted(t, map[string]string{"data": "diabetes"})
	q := r.HeldOut.Targets
	leads(t, fitLead(&s, &r, info, info.Status), []string{
		fmt.Sprintf("explains %.1f %% of the variance of “progression” in 442 held-out examples", 100*q.R2),
		fmt.Sprintf("RMSE %.4g ± ", q.RMSE), "smaller than those of always answering the mean"})
	q.R2 = -0.25
	leads(t, fitLead(&s, &r, info, info.Status), []string{"R² = -0.250",
		"no better than always answering the mean"}, "smaller")
}

func TestAMarginsPageBeginsWithItAndItsCertificate(t *testing.T) {
	s, r, info := fitted(t, map[string]string{"data": "r2", "p": "3", "objective": "margin"})
	lead := func() Lead { return fitLead(&s, &r, info, info.Status) }
	leads(t, lead(), []string{
		fmt.Sprintf("separate all 15 training examples with an ℓ₃ margin of %.6g, at most ", *r.Margin),
		fmt.Sprintf("proved to be at most %.6g", *r.Upper), "nothing is known about new ones"}, "not converged")
	*r.Gap = 0.3
	leads(t, lead(), []string{"at most 30 % below",
		"The fit has not converged: the margin may be 30 % below the largest."})
	r.Gap, r.Upper = nil, nil
	leads(t, lead(), []string{"there is no certificate"}, "proved")
	r.Margin, r.None = nil, "no weights separate the data"
	leads(t, lead(), []string{"they have no positive margin", "Why: no weights separate the data.",
		"Nothing proves that the fit has converged."})
}

func TestAPathsPageBeginsWithItsEnd(t *testing.T) {
	dir := do(t, "path", map[string]string{"data": "r2", "p": "1.5,3"})
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, `class="lead"`, "At the end of their paths the solutions have from ")
	folder, err := runlog.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	info, err := folder.Info()
	if err != nil {
		t.Fatal(err)
	}
	out, err := readPaths(opened{folder, dir}, info, "exp")
	if err != nil {
		t.Fatal(err)
	}
	leads(t, pathLead(out.Paths), []string{"The direction of p = ", "tends to that of the largest margin",
		"Every point is certified: the duality gap is at most"}, "ends before its limit")
	one := out.Paths[:1]
	leads(t, pathLead(one), []string{"With p = 1.5 and the norm bounded by"}, "solutions")
	last := &one[0].Points[len(one[0].Points)-1]
	last.Angle, last.Margin = one[0].Points[0].Angle, one[0].Margin/2
	leads(t, pathLead(one), []string{"at 50 % of the largest margin", "does not come much closer",
		"The path of p = 1.5 ends before its limit"}, "tends to that")
}

// epochs are lines of a network with these test losses.
func epochs(losses ...float64) (lines []train.Record) {
	for k, v := range losses {
		r := train.Record{Score: train.Score{Loss: v, Accuracy: 0.5}}
		r.Epoch.Epoch = k + 1
		lines = append(lines, r)
	}
	return lines
}

func TestANetworksPageBeginsWithItsAccuracy(t *testing.T) {
	r := &command.TrainResult{P: 3, TestAccuracy: 0.743, Accuracy: 0.75}
	answers := &command.TestAnswers{Images: 1100, Classes: make([]string, 10)}
	lead := func(lines []train.Record) Lead { return trainLead(r, lines, answers, runlog.Info{}, runlog.Done) }
	leads(t, lead(epochs(1, 0.8, 0.7)), []string{
		"After 3 epochs with p = 3 the network classifies 74.30 % of 1,100 test images correctly " +
			"(95 % interval 71.6 to 76.8 %).",
		"This is one seed", "training had not converged", "does not fit them more closely"}, "guessing")
	leads(t, lead(epochs(1, 0.6, 0.7)), []string{"lowest after epoch 2, 0.6, and 0.7 at the end"}, "not converged")
	leads(t, lead(epochs(1)), []string{"After 1 epoch ", "One epoch does not show"})
	r.TestAccuracy, r.Accuracy = 0.11, 0.99
	leads(t, lead(epochs(1, 0.6, 0.7)), []string{"not distinguishable from guessing one of the 10 classes"})
	r.TestAccuracy = 0.5
	leads(t, lead(epochs(1, 0.6, 0.7)), []string{"49.0 points more: it fits them more closely than new ones"})
	r.Warning = "the statistics are of another network"
	leads(t, lead(epochs(1, 0.6, 0.7)), []string{r.Warning})
	answers = nil
	leads(t, lead(epochs(1, 0.6, 0.7)), []string{"50.00 % of the test images correctly."}, "interval")
}

// trained writes the folder of a network's run with a test accuracy; NaN: it has none.
func trained(t *testing.T, p float64, seed uint64, accuracy float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fmt.Sprintf("train-p%v-s%d", p, seed))
	r, err := runlog.CreateAt(dir, runlog.Info{Command: "train", Seed: seed, Data: "pictures",
		Settings: map[string]any{"model": "cnn", "data": "pictures", "p": p, "seed": seed}})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		r.Append(map[string]any{"epoch": k + 1, "loss": 1 / float64(k+1)})
	}
	result := map[string]any{"p": p, "seed": seed}
	if !math.IsNaN(accuracy) {
		result["test_accuracy"] = accuracy
	}
	if err := r.WriteJSON(command.ResultFile, result); err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

// side is the lead of runs side by side.
func side(t *testing.T, dirs ...string) Lead {
	t.Helper()
	p, err := NewPage(nil, readAll(t, dirs...))
	if err != nil {
		t.Fatal(err)
	}
	l := p.lead()
	if page := strings.ReplaceAll(string(p.Bytes()), "\u00a0", " "); !strings.Contains(page, l.Sentence) {
		t.Errorf("the page does not begin with %q", l.Sentence)
	}
	return l
}

// two are three seeds each of p = 2 and p = 3.
func two(t *testing.T, a, b [3]float64) (dirs []string) {
	for k := range 3 {
		dirs = append(dirs, trained(t, 2, uint64(k+1), a[k]), trained(t, 3, uint64(k+1), b[k]))
	}
	return dirs
}

func TestAComparisonSaysWhichIsHigherIfATestDoes(t *testing.T) {
	low, high := [3]float64{0.730, 0.731, 0.732}, [3]float64{0.742, 0.744, 0.743}
	leads(t, side(t, two(t, low, high)...), []string{
		"Test accuracy is higher for p = 3 than for p = 2: 74.30 ± 0.06 % against 73.10 ± 0.06 %, " +
			"difference 1.20 ± 0.06 points (n = 3, p = 0.0023)."})
	leads(t, side(t, two(t, high, low)...), []string{"Test accuracy is higher for p = 2 than for p = 3: 74.30 "})
	leads(t, side(t, two(t, low, [3]float64{0.75, 0.72, 0.74})...), []string{
		"Test accuracy does not distinguish p = 3 from p = 2", "not proved to be 0"}, "higher for")
	leads(t, side(t, two(t, low, low)...), []string{
		"Test accuracy is the same for p = 2 and p = 3: 73.10 ± 0.06 % (n = 3)."},
		"higher")
}

func TestOneSeedIsNoComparison(t *testing.T) {
	dirs := []string{trained(t, 2, 1, 0.7), trained(t, 3, 1, 0.8)}
	leads(t, side(t, dirs...), []string{"Test accuracy is 80.00 % (one run) for p = 3 and 70.00 % (one run) for p = 2.",
		"Whether they differ is not known: one run each, and a test needs three."}, "higher")
	leads(t, side(t, append(dirs, trained(t, 6, 1, 0.75))...), []string{"of three settings",
		"Whether it is better than the others is not known"}, "significantly")
}

func TestASeedThatWasRunTwiceIsNotTwoTrials(t *testing.T) {
	dirs := two(t, [3]float64{0.73, 0.731, 0.732}, [3]float64{0.742, 0.744, 0.743})
	once := side(t, dirs...)
	twice := side(t, append(dirs, trained(t, 3, 1, 0.2), trained(t, 3, 1, 0.1))...)
	if once.Sentence != twice.Sentence {
		t.Errorf("a seed that was run again changed %q to %q", once.Sentence, twice.Sentence)
	}
	leads(t, twice, []string{"Of p = 3 there are 5 runs of only 3 seeds: a seed that was run twice counts once."})
	pair := side(t, trained(t, 2, 1, 0.5), trained(t, 2, 1, 0.6))
	leads(t, pair, []string{"Test accuracy of p = 2 is 50.00 % (one run); nothing is compared.",
		"2 runs of only 1 seed"}, "±")
}

// A fit of three classes has a curve for each, and one result.
func TestTheClassesOfAFitAreNotCompared(t *testing.T) {
	var dirs []string
	for _, p := range []string{"2", "3"} {
		dirs = append(dirs, do(t, "fit", map[string]string{"data": "wine", "objective": "margin", "p": p, "method": "pgd",
			"steps": "200", "multiclass": "rest"}))
	}
	runs := readAll(t, dirs...)
	if groups := trials.Groups(runs); len(groups) != 6 {
		t.Fatalf("%d groups", len(groups))
	}
	leads(t, side(t, dirs...), []string{" % (one run) for p = "}, "class", "settings")
}

func TestRunsWithoutAResultAreSaidToBe(t *testing.T) {
	dirs := two(t, [3]float64{0.73, 0.731, 0.732}, [3]float64{0.742, 0.744, 0.743})
	path := filepath.Join(dirs[5], "run.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failed := strings.Replace(string(data), `"done"`, `"failed"`, 1)
	if err := os.WriteFile(path, []byte(failed), 0o666); err != nil {
		t.Fatal(err)
	}
	leads(t, side(t, dirs...), []string{"One of 6 runs is not done (1 failed) and in no mean.",
		"74.30 ± 0.10 % (n = 2)"}, "significantly", "higher for")
	leads(t, side(t, trained(t, 2, 1, math.NaN()), trained(t, 3, 1, math.NaN())), []string{"Training loss"}, "ccuracy")
	leads(t, side(t, dirs[5]), []string{"The run is not done (failed)"})
}

// gridOf is a grid of p and lr.
func gridOf(metric string, low bool, values map[string][]float64, states ...trials.Trial) Grid {
	var all []trials.Trial
	keys := []string{"2 0.1", "2 0.2", "3 0.1", "3 0.2"}
	for _, key := range keys {
		p, lr, _ := strings.Cut(key, " ")
		for k, v := range values[key] {
			all = append(all, trials.Trial{Vary: []trials.Setting{{Key: "p", Value: p}, {Key: "lr", Value: lr}},
				Seed: uint64(k + 1), Value: v})
		}
	}
	return Grid{Grid: trials.NewGrid(append(all, states...), metric, low, []string{"p", "lr"}), Title: "t", Trials: 3}
}

func TestASweepsPageBeginsWithTheBestCell(t *testing.T) {
	values := map[string][]float64{"2 0.1": {70, 71, 72}, "2 0.2": {90, 90.1, 90.2}, "3 0.1": {90, 90.2, 90},
		"3 0.2": {50, 50.5, 50.1}}
	bad := trials.Trial{Vary: []trials.Setting{{Key: "p", Value: "3"}, {Key: "lr", Value: "0.2"}}, Seed: 4}
	failed, diverged := bad, bad
	failed.State, diverged.State = trials.Failed, trials.Diverged
	leads(t, gridOf("test_accuracy", false, values, failed, diverged, diverged).Lead(), []string{
		"Test accuracy has its highest mean for p = 2, lr = 0.2: 90.10 ± 0.06 % (n = 3), of four settings.",
		"Not distinguishable from it: p = 3, lr = 0.1 (t tests", "Significantly lower: p = 2, lr = 0.1; and p = 3, lr = 0.2",
		"3 runs are in no mean: 1 failed, 2 diverged."})
	values["3 0.1"] = []float64{99, 99.1, 99.05}
	leads(t, gridOf("test_accuracy", false, values).Lead(), []string{"highest mean for p = 3, lr = 0.1: 99.05",
		"Each of the other three is significantly lower"}, "Not distinguishable", "no mean")
	leads(t, gridOf("test_loss", true, values).Lead(), []string{
		"Test loss has its lowest mean for p = 3, lr = 0.2: 50.20"}, "%:")
	for k := range values {
		values[k] = values[k][:1]
	}
	leads(t, gridOf("test_accuracy", false, values).Lead(), []string{"Whether it is better than the others is not " +
		"known: one run each, and a test needs three."}, "ignificantly", "±")
	leads(t, gridOf("test_accuracy", false, nil, failed).Lead(), []string{
		"No run has a test accuracy.", "1 run is in no mean"})
}

// Norms of different p do not compare: each p has a best of its own.
func TestASweepOfNormsHasABestForEachP(t *testing.T) {
	values := map[string][]float64{"2 0.1": {7, 7.1, 7.2}, "2 0.2": {9, 9.2, 9.1},
		"3 0.1": {1, 1.1, 1.05}, "3 0.2": {3, 2, 4}}
	leads(t, gridOf("norm", true, values).Lead(), []string{"The lowest mean norm: lr = 0.1 for p = 2, 7.100",
		"lr = 0.1 for p = 3, 1.050", "cannot be compared between these columns",
		"significantly worse than the best for p = 2"})
	for k := range values {
		values[k] = values[k][:2]
	}
	leads(t, gridOf("norm", true, values).Lead(), []string{
		"Nothing is tested: a test needs three runs of each"}, "significantly")
}

func TestATrialThatIsThereTwiceCountsOnce(t *testing.T) {
	again := trials.Trial{Vary: []trials.Setting{{Key: "p", Value: "2"}, {Key: "lr", Value: "0.1"}}, Seed: 1, Value: 1}
	g := gridOf("test_accuracy", false, map[string][]float64{"2 0.1": {70, 72}}, again, again)
	if s := g.At("2", "lr = 0.1").Sample(); s.N != 2 || s.Mean != 71 {
		t.Errorf("%+v", s)
	}
}

// Colours mean p: a sweep's curves of learning rates are grey and differ in their dashes, those of p have p's colours.
func TestASweepsFigureKeepsColoursForP(t *testing.T) {
	values := map[string][]float64{"2 0.1": {70, 71}, "2 0.2": {90, 91}, "3 0.1": {80, 81}, "3 0.2": {50, 51}}
	fig, ok := gridOf("test_accuracy", false, values).Figure()
	if !ok || len(fig.Series) != 4 {
		t.Fatalf("%d series", len(fig.Series))
	}
	styles := map[render.Style]bool{}
	for _, s := range fig.Series {
		if r, g, b, _ := s.Color.RGBA(); r != g || g != b {
			t.Errorf("%q is drawn in %s", s.Name, render.Hex(s.Color))
		}
		if s.Name != "" {
			styles[s.Style] = true
		}
	}
	if dark, light := fig.Series[2].Color, fig.Series[0].Color; len(styles) != 2 || render.Hex(dark) >= render.Hex(light) {
		t.Errorf("lr = 0.2 is %s, lr = 0.1 is %s, in %d styles", render.Hex(dark), render.Hex(light), len(styles))
	}
	fig, ok = gridOf("norm", true, values).Figure() // its columns are p
	if !ok || fig.Series[0].Color != render.Color(2) || fig.Series[2].Color != render.Color(3) {
		t.Errorf("p = 2 is %v and p = 3 %v", fig.Series[0].Color, fig.Series[2].Color)
	}
}

func TestPagesExplainTheirMeasures(t *testing.T) {
	dir := do(t, "fit", map[string]string{"data": "wine"})
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	page := holds(t, dir, `aria-label="What is AUC?"`, `aria-label="What is Brier score?"`, `aria-label="What is recall?"`,
		`aria-label="What is norm?"`, "The probability that an example of a class scores higher")
	for _, target := range strings.Split(page, ` popovertarget="`)[1:] {
		if id, _, _ := strings.Cut(target, `"`); !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("no explanation %s", id)
		}
	}
}

// Of a result the lead follows the numbers alone: it is the same however often it is computed.
func TestALeadDoesNotDependOnChance(t *testing.T) {
	values := map[string][]float64{"2 0.1": {70.1, 71.7, 72.3}, "2 0.2": {90.9, 90.1, 90.2}, "3 0.1": {90, 90.2, 90.7}}
	var all []string
	for range 30 {
		data, err := json.Marshal(gridOf("test_accuracy", false, values).Lead())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	if len(slices.Compact(all)) != 1 {
		t.Errorf("%q", all)
	}
}
