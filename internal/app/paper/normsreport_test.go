package paper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/margin"
)

// swept runs one of the paper's sweep files and returns its folder, its plan, and what it prints.
func swept(t *testing.T, name string, asJSON bool, overrides ...string) (sweep.Folder, *sweep.Plan, string) {
	t.Helper()
	f, err := sweep.ReadFile(name+".toml", Sweeps()[name], overrides)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sweep.NewPlan(f, "test")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	dir := filepath.Join(t.TempDir(), "s")
	o := sweep.Options{Place: sweep.Place{Engine: "auto"}, Connection: sweep.Connection{Replicas: 1}, Jobs: 2,
		LostAfter: 30 * time.Second}
	env := &command.Env{Observer: command.Quiet(), Version: "test", Engines: new(engine.Pool)}
	r, err := sweep.RunPlan(t.Context(), env, p, dir, o, Library())
	if err != nil {
		t.Fatal(err)
	}
	if r.Print(&out); asJSON {
		data, err := json.Marshal(r.JSON())
		if err != nil {
			t.Fatal(err)
		}
		return sweep.Folder{Dir: dir}, p, string(data)
	}
	return sweep.Folder{Dir: dir}, p, out.String()
}

// The mean over two data sets of the exact classifiers in eight norms: what margin.Solve says, to the 1e-6 that weights
// within a certified 1e-8 of the least norm allow (a gap of δ lets w move by √δ at most, and far less where the optimum
// is sharp).
func TestTheMarginsSweepPrintsTheEightNorms(t *testing.T) {
	f, p, out := swept(t, "margins", false, "trials=2", "p=1.5,2,6")
	view, err := newNorms(f, p)
	if err != nil {
		t.Fatal(err)
	}
	rows := view.(*norms).groups[0].rows
	for k, q := range []float64{1.5, 2, 6} {
		want := make([]float64, len(numbers.Norms))
		for seed := uint64(1); seed <= 2; seed++ {
			prob := problemR100(seed)
			s, err := margin.Solve(t.Context(), prob, q, margin.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range atMarginOne(prob, s.W) {
				want[j] += v / 2
			}
		}
		for j, got := range rows[k].mean() {
			if rows[k].p != q || math.Abs(got-want[j]) > 1e-6*want[j] {
				t.Errorf("p = %v, norm %v: %v, want %v", rows[k].p, numbers.Norms[j], got, want[j])
			}
		}
		if n, of := view.(*norms).groups[0].least(rows[k]); n != 2 || of != 2 {
			t.Errorf("p = %v has the least of its own norm in %d of %d", q, n, of)
		}
	}
	head := strings.Fields(strings.Split(out, "\n")[1])
	if !slices.Equal(head[:8], []string{"ℓ₁", "ℓ₁.₁", "ℓ₁.₅", "ℓ₂", "ℓ₃", "ℓ₆", "ℓ₁₀", "ℓ∞"}) {
		t.Errorf("%q in\n%s", head, out)
	}
	if n := strings.Count(out, "*"); n != len(numbers.Norms) { // one best a column
		t.Errorf("%d stars in\n%s", n, out)
	}
	md := string(view.(*norms).table(view.(*norms).groups[0]).Markdown())
	if strings.Count(md, "**") != 2+2*len(numbers.Norms) {
		t.Error(md)
	}
	html, err := os.ReadFile(filepath.Join(f.Dir, "report.html"))
	if err != nil || !strings.Contains(string(html), "The paper has no table of them") {
		t.Errorf("the report does not say that the paper has no such table: %v", err)
	}
	r := view.(*norms)
	all := len(r.groups[0].rows) * 2
	if l := r.lead(); !strings.HasPrefix(l.Sentence, fmt.Sprintf("In %d of %d comparisons the classifier", all, all)) ||
		!strings.Contains(string(html), l.Sentence) {
		t.Errorf("the report begins with %+v", l)
	}
	for j := range numbers.Norms { // another classifier has less in all norms
		r.groups[0].rows[0].norms[0][j] *= 0.1
	}
	if l := r.lead(); strings.HasPrefix(l.Sentence, fmt.Sprintf("In %d of", all)) || len(l.Claims) != 1 {
		t.Errorf("with a smaller norm it begins with %+v", l)
	}
}

// The descents of the paper, shortened: a row per p; a missing trial is reported and in no mean.
func TestTheBiasSweepPrintsTheEightNorms(t *testing.T) {
	f, p, out := swept(t, "bias", true, "trials=2", "p=2,3", "steps=200_000")
	var r struct {
		Rows []struct {
			P      float64
			Trials int
			Norms  map[string]float64
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Rows) != 2 {
		t.Fatalf("%v in %s", err, out)
	}
	for _, row := range r.Rows {
		n := row.Norms
		if row.Trials != 2 || !(n["l1"] > n["l2"] && n["l2"] > n["linf"] && n["linf"] > 0) || len(n) != 8 {
			t.Errorf("%+v", row)
		}
	}
	// So early the start still counts for more than the rest.
	if r.Rows[0].Norms["l1"] >= r.Rows[1].Norms["l1"] || r.Rows[0].Norms["linf"] <= r.Rows[1].Norms["linf"] {
		t.Errorf("p = 2 has not the smaller sum, or p = 3 not the smaller largest weight: %+v", r.Rows)
	}
	missing := &sweep.Spec{Job: "fit", Settings: map[string]string{"p": "3"}, Seed: 9}
	gone := sweep.Plan{File: p.File, Version: p.Version, Runs: append(slices.Clone(p.Runs), missing)}
	view, err := newNorms(f, &gone)
	if err != nil || !strings.Contains(view.(*norms).table(view.(*norms).groups[0]).Text(), "p = 3 (1 not done)") {
		t.Errorf("%v", err)
	}
}

// The norms of a single p are not the least, also while the other p have no result.
func TestTheOnlyRowOfNormsHasNoLeast(t *testing.T) {
	f, p, _ := swept(t, "margins", false, "trials=1", "p=2")
	missing := &sweep.Spec{Job: "margin", Settings: map[string]string{"p": "3"}, Seed: 1}
	waiting := &sweep.Plan{File: p.File, Version: p.Version, Runs: append(slices.Clone(p.Runs), missing)}
	for _, p := range []*sweep.Plan{p, waiting} {
		view, err := newNorms(f, p)
		if err != nil {
			t.Fatal(err)
		}
		g := view.(*norms).groups[0]
		table := view.(*norms).table(g)
		n, of := g.least(g.rows[0])
		marked := strings.Contains(table.Text(), "*") || strings.Contains(table.Note, "least")
		if n != 0 || of != 0 || marked || len(table.Header) != 1+len(numbers.Norms) {
			t.Errorf("%d of %d\n%s\n%s", n, of, table.Text(), table.Note)
		}
	}
}

func TestReportsAreForTheirJobs(t *testing.T) {
	for report, text := range map[string]string{
		"networks": "job = \"fit\"\n[settings]\ndata = \"r100\"",
		"norms":    "job = \"train\"\n[settings]\np = 2",
	} {
		f, err := sweep.ReadFile("x.toml", []byte("report = \""+report+"\"\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sweep.NewPlan(f, "test")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Library().Reports[report](sweep.Folder{Dir: t.TempDir()}, p)
		if err == nil || !strings.Contains(err.Error(), "it is about") {
			t.Errorf("%s: %v", report, err)
		}
	}
}
