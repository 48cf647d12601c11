package sweep

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// filled is a sweep's folder with made-up results.
func filled(t *testing.T, p *Plan, value func(*Spec) string) Folder {
	t.Helper()
	f := Folder{filepath.Join(t.TempDir(), "s")}
	for _, s := range p.Runs {
		v := value(s)
		if v == "" {
			continue
		}
		if err := runlog.WriteFile(filepath.Join(f.Trial(s), "tables", "result.json"),
			fmt.Appendf(nil, `{"norm": %s, "nonzero": %s, "test_accuracy": %s}`, v, v, v)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestTablesShowMeansDeviationsTheBestAndWhatWasPublished(t *testing.T) {
	p := planOf(t, `job = "train"
trials = 3
published_title = "the paper"
[grid]
model = ["cnn", "resnet18"]
p = [3, 2]
[[published]]
model = "cnn"
p = 2
mean = 93.9
deviation = 0.14
`)
	f := filled(t, p, func(s *Spec) string {
		base := map[string]float64{"2": 0.80, "3": 0.83}[s.Settings["p"]]
		if s.Settings["model"] == "resnet18" {
			base = 1.7 - base // the other way round
			if s.Settings["p"] == "3" && s.Seed == 2 {
				return "" // not there
			}
		}
		if s.Settings["model"] == "cnn" && s.Settings["p"] == "3" {
			base += []float64{0.001, -0.001, 0}[s.Seed-1]
		}
		return number(base + 0.02*float64(s.Seed)) // the seeds differ by more than the p
	})
	r := collect(f, p)
	md := string(r.grid.Table().Markdown())
	for _, want := range []string{
		"| p | cnn | the paper | resnet18 |",
		"| 2 | 84.00 ± 1.15 (n = 3) | 93.90 ± 0.14 | 94.00 ± 1.15 (n = 3) |",
		"| 3 | **87.00 ± 1.13 (n = 3)** | – | 91.00 ± 2.00 (n = 2, 1 not done) |", // two runs: nothing is bold there
		"one comparison, nothing to correct for", "Nothing is bold in a column with fewer than three runs of a setting",
		"Beside published numbers: their deviation."} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	// Paired by seed the difference is significant, though the deviations overlap. Two seeds with equal differences are
	// not a test.
	pairs := r.grid.Pairs()
	if row := pairs.Rows[0]; row[0].Text != "2 − 3" || math.Abs(row[1].Value+3) > 1e-9 || !row[1].Best ||
		row[2].Text != "3.00 ± 0.00 (n = 2)" || row[2].Best {
		t.Errorf("%+v", pairs.Rows)
	}
	if w := r.warnings(); len(w) != 1 || w[0] != "1 of 12 runs is not done and not in the means: “model = resnet18, p "+
		"= 3, seed 2”." {
		t.Errorf("%q", w)
	}
	if tex := string(r.grid.Table().LaTeX()); !strings.Contains(tex, `\textbf{87.00 $\pm$ 1.13 (n = 3)}`) ||
		!strings.Contains(r.grid.Table().Text(), "87.00 ± 1.13 (n = 3)*") {
		t.Errorf("the best is not marked in %s", tex)
	}
	if fig, ok := r.grid.Figure(); !ok || !fig.ByP || len(fig.Series) != 5 || fig.Series[0].Y[0] >= fig.Series[0].Y[1] {
		t.Errorf("figure %+v", fig)
	}
}

// Colours mean p: lines that are something else are grey, and lines that are p have their own.
func TestTheColoursOfFiguresMeanP(t *testing.T) {
	const fit = "job = \"fit\"\ntrials = 2\n[settings]\ndata = \"r100:{seed}\"\n[grid]\np = [2, 3]\n"
	for text, want := range map[string][]color.Color{
		"metric = \"nonzero\"\n" + fit: {pages.Curve(0, 1).Color},
		"metric = \"nonzero\"\n" + fit + "init = [\"zero\", \"normal:0.1\"]": {pages.Curve(0, 2).Color,
			pages.Curve(1, 2).Color},
		"metric = \"norm\"\n" + fit + "lr = [0.1, 0.2]": {render.Color(2), render.Color(3)},
	} {
		p := planOf(t, text)
		fig, ok := collect(filled(t, p, func(s *Spec) string { return fmt.Sprint(s.Seed) }), p).grid.Figure()
		if !ok || len(fig.Series) != 2*len(want) { // the means and the trials
			t.Fatalf("%s: %+v", text, fig)
		}
		for k, s := range fig.Series {
			if s.Color != want[k/2] {
				t.Errorf("%s: series %d, %q, is %v, want %v", text, k, s.Name, s.Color, want[k/2])
			}
			ofP := s.Color == render.Color(2) || s.Color == render.Color(3)
			if ofP != strings.Contains(text, "norm\"\n"+fit) {
				t.Errorf("%s: series %d, %q, has a colour of p: %v", text, k, s.Name, ofP)
			}
		}
	}
}

func TestManyCombinationsAreListedBestFirst(t *testing.T) {
	p := planOf(t, "job = \"fit\"\ndraws = 20\n[settings]\ndata = \"r100\"\n[random]\nlr = { from = 0.1, to = 1 "+
		"}\nsteps = [20, 30, 40]")
	f := filled(t, p, func(s *Spec) string {
		if s.Settings["lr"] == p.Runs[0].Settings["lr"] {
			return "null" // not separated
		}
		return s.Settings["lr"]
	})
	rows := collect(f, p).grid.Table().Rows
	last := len(rows[0]) - 1
	if len(rows) != 20 || rows[0][last].Best || // one run each
		!strings.Contains(rows[19][last].Text, "(1 without)") {
		t.Errorf("%+v", rows)
	}
	for i := 1; i < 19; i++ {
		if rows[i][last].Value < rows[i-1][last].Value {
			t.Errorf("row %d is better than the one before", i)
		}
	}
}

// The l3 norm of one classifier says nothing beside the l2 norm of another. A column of one p does.
func TestWhatCannotBeComparedHasNoBest(t *testing.T) {
	fit := "job = \"fit\"\ntrials = 3\n[settings]\ndata = \"r100:{seed}\"\n[grid]\np = [2, 3]\n"
	for _, c := range []struct {
		text, rows string
		best       bool
	}{
		{"metric = \"norm\"\n" + fit, "p", false},
		{"metric = \"gap\"\n" + fit, "p", false},
		{"metric = \"nonzero\"\n" + fit, "p", true},
		{"metric = \"norm\"\n" + fit + "lr = [0.1, 0.2]", "lr", true},
		{"metric = \"nonzero\"\n" + fit + "lr = [0.1, 0.2]", "p", true},
		{"metric = \"excess\"\n" + strings.Replace(fit, "p = [2, 3]", "l2 = [1e-3, 1e-4]", 1), "l2", false},
		{"metric = \"objective\"\n" + strings.Replace(fit, "p = [2, 3]", "lp = [1e-3, 1e-4]", 1), "lp", false},
		{"metric = \"nonzero\"\n" + strings.Replace(fit, "p = [2, 3]", "init = [\"zero\", \"normal:0.1\"]", 1), "init", true},
	} {
		p := planOf(t, c.text)
		f := Folder{filepath.Join(t.TempDir(), "s")}
		for i, s := range p.Runs {
			if err := runlog.WriteFile(filepath.Join(f.Trial(s), "tables", "result.json"),
				fmt.Appendf(nil, `{%q: %d}`, p.File.Metric, 1000*(i%(len(p.Runs)/3))+7*i%5)); err != nil {
				t.Fatal(err)
			}
		}
		r := collect(f, p)
		if bold := strings.Contains(string(r.grid.Table().Markdown()), "**\n| ") ||
			strings.Contains(string(r.grid.Table().Markdown()), "| **"); r.grid.RowKey != c.rows || bold != c.best ||
			r.grid.Paired() != c.best {
			t.Errorf("%q: rows are %s, paired %v:\n%s", c.text, r.grid.RowKey, r.grid.Paired(), r.grid.Table().Markdown())
		}
	}
}

// One result is not the best of anything: neither of a sweep with one row, nor of one that was stopped after its first.
func TestTheOnlyResultIsNotTheBest(t *testing.T) {
	const fit = "job = \"fit\"\nmetric = \"nonzero\"\ntrials = 2\n[settings]\ndata = \"r100:{seed}\"\n"
	for _, text := range []string{fit + "[grid]\np = [2, 3]\n", fit + "[grid]\np = [2]\n", fit,
		strings.Replace(fit, "[settings]", "draws = 20\n[settings]", 1) +
			"[random]\nlr = { from = 0.1, to = 1 }\nsteps = [20, 30, 40]\n"} {
		p := planOf(t, text)
		f := Folder{filepath.Join(t.TempDir(), "s")}
		if err := runlog.WriteFile(filepath.Join(f.Trial(p.Runs[0]), "tables", "result.json"),
			[]byte(`{"nonzero": 7}`)); err != nil {
			t.Fatal(err)
		}
		r := collect(f, p)
		if fig, ok := r.grid.Figure(); ok {
			t.Errorf("one point is not a line: %+v", fig.Series)
		}
		md := string(r.grid.Table().Markdown())
		if rows := r.JSON(Outcome{}).(map[string]any)["rows"].([]map[string]any); strings.Contains(md, "| **") ||
			strings.Contains(md, "the best") || r.grid.Paired() || !strings.Contains(md, "7") || rows[0]["best"] == true {
			t.Errorf("%s\npaired %v, %v\n%s", text, r.grid.Paired(), rows, md)
		}
	}
}

// Every metric of fit is here: whether less of it is better, and over which of p, penalties and losses it can be
// compared. A new metric must be added here.
func TestEveryMetricOfFitIsKnown(t *testing.T) {
	type known struct{ low, p, penalty, loss bool }
	want := map[string]known{
		// settings
		"lr": {false, true, true, true}, "l2": {false, true, true, true}, "lp": {false, true, true, true},
		"soft":    {false, true, true, true},
		"penalty": {false, true, true, true}, "folds": {false, true, true, true},
		"steps": {true, true, true, true}, "seconds": {true, true, true, true}, "total_seconds": {true, true, true, true},
		"nonzero":        {true, true, true, true},
		"train_accuracy": {false, true, true, true}, "test_accuracy": {false, true, true, true},
		"test_log_loss": {true, true, true, true}, "test_auc": {false, true, true, true},
		"held_out_accuracy": {false, true, true, true}, "held_out_r2": {false, true, true, true},
		"train_r2": {false, true, true, true}, "test_r2": {false, true, true, true}, "test_rmse": {true, true, true, true},
		"test_loss": {true, true, true, false}, "loss": {true, true, true, false},
		"objective": {true, false, false, false}, "excess": {true, false, false, false}, "gap": {true, false, false, false},
		"margin": {false, false, false, true}, "norm": {true, false, false, true}, "lower": {false, false, false, true},
		"upper": {true, false, false, true},
	}
	fit, err := kinds.ByName("fit")
	if err != nil {
		t.Fatal(err)
	}
	metrics := fit.Metrics()
	for _, m := range metrics {
		w, ok := want[m]
		got := known{trials.LowIsBetter(m), trials.Compares(m, "p"), trials.Compares(m, "l2"), trials.Compares(m, "loss")}
		if !ok || got != w || trials.Compares(m, "lp") != got.penalty || trials.Compares(m, "soft") != got.penalty ||
			trials.Compares(m, "data") {
			t.Errorf("%s: %+v, want %+v (known: %v)", m, got, w, ok)
		}
	}
	if len(metrics) != len(want) {
		t.Errorf("%d metrics, want %d: %q", len(metrics), len(want), metrics)
	}
}

// A diverged run is a result: counted and named, in no mean, and not a failure.
func TestRunsThatDivergeAreCountedAndNamed(t *testing.T) {
	p := planOf(t, "job = \"train\"\ntrials = 2\n[grid]\np = [2, 3]")
	f := filled(t, p, func(s *Spec) string { return "0.5" })
	if err := diverged(p.Runs[1], f.Trial(p.Runs[1]), errors.New("step 7: the loss is NaN")); err != nil {
		t.Fatal(err)
	}
	r := collect(f, p)
	if text := r.grid.Table().Text(); !strings.Contains(text, "50.00 (one run, 1 diverged)") || r.done != 4 {
		t.Errorf("%s", text)
	}
	if w := r.warnings(); len(w) != 1 || w[0] != "p = 3, seed 1 diverged: step 7: the loss is NaN" {
		t.Errorf("%q", w)
	}
	if csv := string(r.runsTable().CSV()); !strings.Contains(csv, "3,1,diverged,,,trials/") {
		t.Error(csv)
	}
}

// A run that warns of itself is in the mean, and named.
func TestWarningsOfRunsAreShown(t *testing.T) {
	p := planOf(t, "job = \"train\"\n[grid]\np = [2, 3]")
	f := filled(t, p, func(s *Spec) string { return "0.5" })
	dir := f.Trial(p.Runs[1])
	if err := os.WriteFile(filepath.Join(dir, "tables", "result.json"),
		[]byte(`{"test_accuracy": 0.5, "warning": "in epoch 6 …"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	r := collect(f, p)
	if w := r.warnings(); len(w) != 1 || w[0] != "p = 3, seed 1: in epoch 6 …" || strings.Contains(r.grid.Table().Text(),
		"diverged") {
		t.Errorf("%q\n%s", w, r.grid.Table().Text())
	}
}

// Reading changes nothing: another process may be running in the folder, or its disk may fail for a moment.
func TestOnlyWhoHoldsTheFolderRemovesATornResult(t *testing.T) {
	p := planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = [2, 3, 4, 5]")
	// whole, torn, absent
	f := filled(t, p, func(s *Spec) string { return map[string]string{"2": "1", "3": "{"}[s.Settings["p"]] })
	empty, unreadable := p.Runs[2], p.Runs[3]
	for _, dir := range []string{f.Trial(empty), filepath.Join(f.Trial(unreadable), "tables", "result.json")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if r := collect(f, p); r.done != 1 || len(r.missing) != 3 || len(f.names("trials")) != 4 {
		t.Errorf("a view: %d done, %d missing, folders %q", r.done, len(r.missing), f.names("trials"))
	}
	for i, s := range p.Runs {
		if err := f.removeTorn(s); (err != nil) != (s == unreadable) {
			t.Errorf("%v: %v", s, err)
		}
		if _, err := os.Stat(f.Trial(s)); (err == nil) != (i == 0 || s == unreadable) {
			t.Errorf("%v: %v", s, err)
		}
	}
}

func TestDifferentDataUnderOneNameIsSaid(t *testing.T) {
	p := planOf(t, "job = \"fit\"\n[settings]\ndata = \"a.svm\"\n[grid]\np = [2, 3]")
	f := filled(t, p, func(*Spec) string { return "1" })
	for i, s := range p.Runs {
		if err := writeJSON(filepath.Join(f.Trial(s), "run.json"),
			runlog.Info{Data: "a.svm", DataHash: fmt.Sprint("hash", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if w := collect(f, p).warnings(); len(w) != 1 || !strings.Contains(w[0], "a.svm is not the same on all machines") {
		t.Errorf("%q", w)
	}
}

func TestAnArchiveStaysInItsFolder(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := runlog.WriteFile(filepath.Join(from, "tables", "a.txt"), []byte("text")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pack(&b, from); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&b, filepath.Join(to, "in")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "in", "tables", "a.txt")); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	for _, h := range []*tar.Header{{Name: "../out", Typeflag: tar.TypeReg}, {Name: "/tmp/out", Typeflag: tar.TypeReg},
		{Name: "l", Linkname: "/etc", Typeflag: tar.TypeSymlink}} {
		b.Reset()
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := unpack(&b, filepath.Join(to, "evil")); err == nil {
			t.Errorf("%s was unpacked", h.Name)
		}
	}
}

// running.json is written now and then: a run that has ended since is not also running, nor is one of another plan.
func TestStatusCountsEachRunOnce(t *testing.T) {
	p := planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = [1.5, 2, 3, 6]")
	f := Folder{filepath.Join(t.TempDir(), "s")}
	run, err := runlog.CreateAt(f.Dir, runlog.Info{Command: "sweep"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Finish(nil, false)
	stale := []active{{ID: "another"}}
	for _, s := range p.Runs[:3] {
		stale = append(stale, active{ID: s.ID, Run: s.String()})
	}
	if err := errors.Join(f.writePlan(p), writeJSON(f.path("running.json"), stale),
		f.writeFailure(failure{ID: p.Runs[1].ID}),
		runlog.WriteFile(filepath.Join(f.Trial(p.Runs[0]), "tables", "result.json"), []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	st, err := f.Status()
	if err != nil || st.State != "running" || st.Done != 1 || len(st.Failed) != 1 || len(st.Running) != 1 ||
		st.Running[0].ID != p.Runs[2].ID || st.Queued != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}
