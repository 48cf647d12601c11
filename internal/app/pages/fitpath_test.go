package pages

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/mirror"
)

// examples writes a table of points around class centres, shift apart, with a column that says nothing. With no classes
// it has targets.
func examples(t *testing.T, n, classes int, shift float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(classes)))
	text := "size,weight & height,noise,kind\n"
	for i := range n {
		k := i % max(classes, 1)
		angle := 2 * math.Pi * float64(k) / float64(max(classes, 1))
		a, b := shift*math.Cos(angle)+rng.NormFloat64(), 100*(shift*math.Sin(angle)+rng.NormFloat64())
		label := fmt.Sprintf("sort%d", k)
		if classes == 0 {
			label = fmt.Sprint(3*a - b/100 + 0.5*rng.NormFloat64())
		}
		text += fmt.Sprintf("%v,%v,%v,%s\n", a, b, rng.NormFloat64(), label)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// fitOf fits on a path, writes the page, and returns it with the result and the folder.
func fitOf(t *testing.T, data string, more map[string]string) (page string, r linearmodel.FitResult, dir string) {
	t.Helper()
	values := map[string]string{"data": data, "test": data}
	for k, v := range more {
		values[k] = v
	}
	dir = do(t, "fit", values)
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "tables", "result.json"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return holds(t, dir), r, dir
}

func says(t *testing.T, page string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

func TestThePageOfAPathWithTwoClasses(t *testing.T) {
	page, r, dir := fitOf(t, examples(t, 120, 2, 0.8), map[string]string{"p": "1,2,inf"})
	says(t, page, "minimises the mean logistic loss", "Quality", ">held out<", ">test<", "balanced accuracy",
		">AUC<", ">log-loss<", ">Brier score<", ">calibration error<", "largest class",
		"(1) Accuracy on held-out examples", "(2) Log-loss on held-out examples", "penalty, from strong to weak", ">chosen<",
		"p = 1<", "p = inf<", "The best penalty of each p", "Accuracy by penalty and p",
		"Log-loss by penalty and p", "(2) Log-loss of the best penalty", "for the least log-loss", "as sort0", "as sort1",
		">F1<", "Feature effects", ">weight &amp; height<", "speaks for class sort1, to the left for class sort0",
		fmt.Sprintf("%.2f %%", 100*r.HeldOut.Classes.Accuracy), "a path from 10 to 1e-6", "stronger penalty")
	for _, absent := range []string{"steps, at most", ">start<", ">batch<", ">bias<", "Largest weights", "RMSE"} {
		if strings.Contains(page, absent) {
			t.Errorf("the page says %q, which does not apply", absent)
		}
	}
	for _, file := range []string{"tables/cv.csv", "tables/cv-penalty.csv", "tables/cv-penalty-loss.csv",
		"tables/quality.csv",
		"tables/confusion_test.csv", "tables/classes_held_out.csv", "tables/effects.csv", "tables/weights.csv",
		"figures/cv.svg",
		"figures/cv-p.png", "figures/effects.svg"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

func TestThePageOfAPathWithSeveralClasses(t *testing.T) {
	page, r, dir := fitOf(t, examples(t, 90, 3, 2), nil)
	says(t, page, "minimises the mean softmax loss", "(1) class sort0", "(3) class sort2", "as sort2", "one problem",
		"Penalties, p = 2")
	confusion, err := os.ReadFile(filepath.Join(dir, "tables", "confusion_held_out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for k, row := range r.HeldOut.Classes.Confusion {
		if want := fmt.Sprintf("sort%d,%d,%d,%d\n", k, row[0], row[1], row[2]); !strings.Contains(string(confusion), want) {
			t.Errorf("no row %q in %s", want, confusion)
		}
	}
	page, _, dir = fitOf(t, examples(t, 150, 14, 12), nil) // too many for a table and for panels
	says(t, page, "the darker a square", "raise its score", ">sort13<")
	if strings.Contains(page, "as sort3") {
		t.Error("a confusion matrix of 14 classes is a table")
	}
	if _, err := os.Stat(filepath.Join(dir, "figures", "confusion_test.svg")); err != nil {
		t.Error(err)
	}
}

func TestThePageOfARegressionOnAPath(t *testing.T) {
	page, r, _ := fitOf(t, examples(t, 90, 0, 0), map[string]string{"p": "1.5,2"})
	says(t, page, "minimises the mean square loss", ">R²<", ">RMSE<", ">MAE<", "RMSE on held-out examples",
		"RMSE by penalty and p", "change of the predicted value", fmt.Sprintf("%.5g", r.HeldOut.Targets.RMSE))
	for _, absent := range []string{"ccuracy", "log-loss", "F1", "argest margin"} {
		if strings.Contains(page, absent) {
			t.Errorf("the page of a regression says %q", absent)
		}
	}
}

func TestThePageOfTheLargestMarginHasItsCertificate(t *testing.T) {
	page, r, _ := fitOf(t, examples(t, 60, 2, 6), map[string]string{"p": "2,inf"})
	if !r.MarginEnd {
		t.Fatalf("the margin is not chosen: penalty %v", r.Penalty)
	}
	says(t, page, "the end of the path", "with a free intercept, of standardised columns", "proved by a dual solution",
		fmt.Sprintf("%.8g", *r.Lower), ">margin</text>", "The disc at the right end", "the largest margin of p = ",
		"marked =", "to which the path tends, is as accurate")
	if strings.Contains(page, "Along the run") {
		t.Error("the largest margin has no trace")
	}
}

// twoPs are candidates of two p.
func twoPs() *candidates {
	loss := func(v float64) *float64 { return &v }
	return &candidates{folds: 4, all: []fit.Score{
		{P: 1, Penalty: 10, Accuracy: 0.5, Deviation: 0.2, LogLoss: loss(0.7)},
		{P: 1, Penalty: 1, Accuracy: 0.99, Deviation: 0.1, LogLoss: loss(0.3)},
		{P: 1, End: true, Accuracy: 0.99 - 1e-15, Deviation: 0.1},
		{P: mirror.Exponent(math.Inf(1)), Penalty: 10, Accuracy: 0.98, Deviation: 0.04, LogLoss: loss(0.4)},
		{P: mirror.Exponent(math.Inf(1)), Penalty: 1, Accuracy: 0.99, Deviation: 0.1, LogLoss: loss(0.2), Chosen: true},
	}}
}

// What is as accurate as the chosen candidate is marked, whatever the rounding of its mean; nothing is without a tie.
func TestTiesAreMarked(t *testing.T) {
	c := twoPs()
	marked := func(table render.Table) (out []string) {
		for _, row := range table.Rows {
			for j, cell := range row {
				if strings.HasPrefix(cell.Text, "= ") {
					out = append(out, row[0].Text+" "+table.Header[j])
				}
			}
		}
		return out
	}
	if got := marked(c.grid("accuracy", c.cell)); !slices.Equal(got, []string{"1 p = 1", "1 p = inf", "margin p = 1"}) {
		t.Errorf("grid: %q", got)
	}
	if got := marked(c.table()); !slices.Equal(got, []string{"1 accuracy", "inf accuracy"}) {
		t.Errorf("by p: %q", got)
	}
	bold := func(table render.Table) (out []string) {
		for _, row := range table.Rows {
			for j, cell := range row {
				if cell.Best {
					out = append(out, row[0].Text+" "+table.Header[j])
				}
			}
		}
		return out
	}
	got := slices.Concat(bold(c.table()), bold(c.grid("accuracy", c.cell)), bold(c.grid("log-loss", c.loss)))
	if !slices.Equal(got, []string{"inf log-loss", "1 p = inf"}) {
		t.Errorf("bold is what decided: %q", got)
	}
	for _, want := range []string{"3 have (marked =)", "for the least log-loss: 0.2", "accuracy 99.00 %",
		"p nearest to 2", "stronger penalty", "log-loss of the largest margin is that of"} {
		if !strings.Contains(c.rule(), want) {
			t.Errorf("%q is not in %q", want, c.rule())
		}
	}
	c.all[1].Accuracy, c.all[2].Accuracy = 0.9, 0.9
	if got := marked(c.grid("accuracy", c.cell)); got != nil || strings.Contains(c.rule(), "marked") {
		t.Errorf("%q is marked without a tie: %s", got, c.rule())
	}
	c = twoPs() // without probabilities
	for k := range c.all {
		c.all[k].LogLoss = nil
	}
	if text := c.rule(); strings.Contains(text, "log-loss") || !strings.Contains(text, "before the largest margin") {
		t.Error(text)
	}
	rmse := func(v float64) *float64 { return &v }
	c = &candidates{folds: 2, regression: true, all: []fit.Score{{P: 2, Penalty: 1, RMSE: rmse(12.5), Chosen: true},
		{P: 2, Penalty: 0.1, RMSE: rmse(12.5)}, {P: 2, Penalty: 0.01, RMSE: rmse(12.6)}}}
	if got := marked(c.table()); !slices.Equal(got, []string{"1 RMSE", "0.1 RMSE"}) {
		t.Errorf("a regression: %q", got)
	}
}

// No band leaves what an accuracy or an error can be.
func TestBandsStayWithinWhatAValueCanBe(t *testing.T) {
	c := twoPs()
	for _, f := range append(c.pathFigures(), c.byPFigures()...) {
		for _, s := range f.Series {
			for _, y := range slices.Concat(s.Y, s.Low, s.High) {
				if y < 0 || y > 100 {
					t.Errorf("%s shows %v", f.Title, y)
				}
			}
		}
	}
	if low, high := c.band(c.all[1]); high != 100 || math.Abs(low-94) > 1e-9 { // 99 ± 10/√4
		t.Errorf("band from %v to %v", low, high)
	}
	if of := c.pathFigures()[0]; len(of.Series[2].Low) != 2 || len(of.Series[0].Low) != 0 {
		t.Errorf("only the chosen p has a band: %+v", of.Series)
	}
	rmse := 0.5
	c = &candidates{folds: 4, regression: true, all: []fit.Score{{P: 2, Penalty: 1, RMSE: &rmse, Deviation: 2}}}
	if low, high := c.band(c.all[0]); low != 0 || high != 1.5 {
		t.Errorf("an error's band is from %v to %v", low, high)
	}
	c.folds = 1
	if low, _ := c.band(c.all[0]); !math.IsNaN(low) {
		t.Error("one fold has a standard error")
	}
	figs := cvFigures(&linearmodel.FitResult{CV: []fit.Score{{P: 1.5, Accuracy: 0.99, Deviation: 0.1},
		{P: 2, Accuracy: 0.02, Deviation: 0.1}}})
	for _, s := range figs[0].Series {
		if slices.Max(s.Y) > 100 || slices.Min(s.Y) < 0 {
			t.Errorf("%s: %v", s.Name, s.Y)
		}
	}
}

// The chosen point, the margin's place and every curve are in the figure.
func TestTheFigureOfAPathShowsEveryCandidate(t *testing.T) {
	c := twoPs()
	figs := c.pathFigures()
	svg, err := render.SVG(figs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">margin<", ">p = 1<", ">p = inf<", ">chosen<"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q", want)
		}
	}
	ring := figs[0].Series[len(figs[0].Series)-1]
	if ring.Style != render.Rings || ring.X[0] != 1 || ring.Y[0] != 99 {
		t.Errorf("the ring is at %v, %v", ring.X, ring.Y)
	}
	if len(figs) != 2 || !slices.Equal(figs[1].Series[1].Y, []float64{0.4, 0.2}) {
		t.Errorf("the log-losses are not there: %+v", figs)
	}
	least, cut := c.cut() // 50 % to 99 %: the curves would be flat lines at the top
	if !cut || least != 84 || !regexp.MustCompile(`below 84 % are in the table`).MatchString(c.pathCaption()) {
		t.Errorf("cut %v at %v: %s", cut, least, c.pathCaption())
	}
}
