package paper

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// norms is a sweep of linear classifiers as the paper's tables show them: each at margin 1, in eight norms, the mean
// over the trials.
type norms struct {
	folder sweep.Folder
	plan   *sweep.Plan
	groups []*normGroup
	done   int
}

var _ sweep.View = (*norms)(nil)

// normGroup is a table: the classifiers of all p with the same other settings.
type normGroup struct {
	title string
	rows  []*normRow
}

// normRow is the trials of one p.
type normRow struct {
	p       float64
	seeds   []uint64
	norms   [][]float64 // by trial
	without int         // trials that do not separate the data
	missing int         // trials that are not done, or failed
}

// newNorms reads what is done.
func newNorms(f sweep.Folder, plan *sweep.Plan) (sweep.View, error) {
	if job := plan.File.Job; job != "fit" && job != "margin" {
		return nil, fmt.Errorf("report = %q: it is about linear classifiers, job = \"fit\" or \"margin\"", normsReport)
	}
	r := &norms{folder: f, plan: plan}
	for _, s := range plan.Runs {
		p, err := strconv.ParseFloat(s.Settings["p"], 64)
		if err != nil {
			return nil, err
		}
		row := r.row(s, p)
		result, ok := f.Result(s)
		if !ok {
			row.missing++
			continue
		}
		r.done++
		norm, separates := result["norm"].(float64)
		if !separates {
			row.without++
			continue
		}
		w, err := weights(f.Trial(s))
		if err != nil {
			return nil, fmt.Errorf("report = %q: %v: %w", normsReport, s, err)
		}
		var all []float64
		for _, q := range numbers.Norms {
			all = append(all, mirror.Norm(w, q)*norm/mirror.Norm(w, p)) // the result has ‖w‖ₚ at margin 1
		}
		row.seeds, row.norms = append(row.seeds, s.Seed), append(row.norms, all)
	}
	return r, nil
}

// weights reads the classifier of a run of fit or margin.
func weights(dir string) ([]float64, error) {
	if w, err := dataset.ReadWeights(filepath.Join(dir, "w.npy")); err == nil {
		return w[0], nil
	}
	data, err := os.ReadFile(filepath.Join(dir, "model.json"))
	if err != nil {
		return nil, err
	}
	m, err := fit.DecodeModel(data)
	if err == nil && len(m.Weights) != 1 {
		err = fmt.Errorf("%d weight vectors: a margin is between two classes", len(m.Weights))
	}
	if err != nil {
		return nil, err
	}
	return m.Weights[0], nil
}

// row finds or adds the row of a run.
func (r *norms) row(s *sweep.Spec, p float64) *normRow {
	var parts []string
	for _, v := range s.Vary {
		if v.Key != "p" {
			parts = append(parts, v.Key+" = "+v.Value)
		}
	}
	title := strings.Join(parts, ", ")
	k := slices.IndexFunc(r.groups, func(g *normGroup) bool { return g.title == title })
	if k < 0 {
		k = len(r.groups)
		r.groups = append(r.groups, &normGroup{title: title})
	}
	g := r.groups[k]
	i := slices.IndexFunc(g.rows, func(x *normRow) bool { return x.p >= p })
	if i < 0 {
		i = len(g.rows)
	}
	if i == len(g.rows) || g.rows[i].p != p {
		g.rows = slices.Insert(g.rows, i, &normRow{p: p})
	}
	return g.rows[i]
}

// mean is over the trials that separate the data.
func (x *normRow) mean() []float64 {
	out := make([]float64, len(numbers.Norms))
	for j := range out {
		var all []float64
		for _, t := range x.norms {
			all = append(all, t[j])
		}
		out[j] = trials.SampleOf(all).Mean
	}
	return out
}

// several reports whether at least two rows have results: a single one cannot be the least.
func (g *normGroup) several() bool {
	n := 0
	for _, x := range g.rows {
		n += min(1, len(x.norms))
	}
	return n > 1
}

// least counts the data sets in which the classifier of p has the least ℓₚ norm of all rows, of those that all rows
// have.
func (g *normGroup) least(x *normRow) (n, of int) {
	j := slices.Index(numbers.Norms, x.p)
	if j < 0 || !g.several() {
		return 0, 0
	}
	for k, seed := range x.seeds {
		best, all := true, true
		for _, y := range g.rows {
			at := slices.Index(y.seeds, seed)
			if all = all && at >= 0; all && y.norms[at][j] < x.norms[k][j]*(1-1e-9) { // exact solutions may tie
				best = false
			}
		}
		if all {
			of++
			if best {
				n++
			}
		}
	}
	return n, of
}

// table is like the paper's: a row per p, a column per norm, the least of each column bold and the diagonal marked.
func (r *norms) table(g *normGroup) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s: norms at margin 1, mean over %s", r.plan.File.Name,
		render.Count(r.plan.File.Trials, "trial")), Header: []string{""},
		Note: "Shaded: the norm of the row's own p."}
	if g.title != "" {
		t.Title += ", " + g.title
	}
	for _, p := range numbers.Norms {
		t.Header = append(t.Header, numbers.NormName(p))
	}
	for _, x := range g.rows {
		name := fmt.Sprintf("p = %v", x.p)
		if x.missing > 0 {
			name += fmt.Sprintf(" (%d not done)", x.missing)
		}
		if x.without > 0 {
			name += fmt.Sprintf(" (%d not separated)", x.without)
		}
		row := []render.Cell{render.Text("%s", name)}
		for j, v := range x.mean() {
			c := render.Number(v, 3)
			c.Mark = numbers.Norms[j] == x.p
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	if !g.several() {
		return t
	}
	t.MarkLeast()
	t.Note = "The least of each column in bold; shaded, the norm of the row's own p. The last column: in how many " +
		"trials that is the least of all rows."
	t.Header = append(t.Header, "own norm least")
	for i, x := range g.rows {
		cell := render.Text("–")
		if n, of := g.least(x); of > 0 {
			cell = render.Text("%d of %d", n, of)
		}
		t.Rows[i] = append(t.Rows[i], cell)
	}
	return t
}

// all is every number, for CSV.
func (r *norms) all() render.Table {
	t := render.Table{Header: []string{"settings", "p", "seed"}}
	for _, p := range numbers.Norms {
		t.Header = append(t.Header, numbers.NormName(p))
	}
	for _, g := range r.groups {
		for _, x := range g.rows {
			for k, seed := range x.seeds {
				row := []render.Cell{render.Text("%s", g.title), render.Text("%v", x.p), render.Text("%d", seed)}
				for _, v := range x.norms[k] {
					row = append(row, render.Short(v, 8))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// lead states how often the classifier of p has the least ℓₚ norm.
func (r *norms) lead() (l pages.Lead) {
	least, of, without := 0, 0, 0
	for _, g := range r.groups {
		for _, x := range g.rows {
			n, all := g.least(x)
			least, of, without = least+n, of+all, without+x.without
		}
	}
	switch {
	case r.done == 0:
		l.Say("No run has a result yet.")
	case of == 0:
		l.Say("%s of classifiers at margin 1; no data set has the classifiers of several p to compare.",
			render.Count(r.done, "run"))
	default:
		l.Say("In %d of %d comparisons the classifier of p has the least ℓₚ norm, as the theorem says of the limit.",
			least, of)
	}
	if of > 0 && least < of {
		l.Claim("In the other %d a classifier of another p has less: these descents have not reached their limit.", of-least)
	}
	if without > 0 {
		l.Claim("%s did not separate the data and are in no mean.", render.Count(without, "run"))
	}
	if missing := len(r.plan.Runs) - r.done; missing > 0 {
		l.Claim("%d of %s are not done.", missing, render.Count(len(r.plan.Runs), "run"))
	}
	return l
}

// Write writes the report, with the paper's table if the data are the paper's.
func (r *norms) Write(run *runlog.Run) error {
	doc := pages.NewDocument(run, fmt.Sprintf("Sweep %s: norms at margin 1", r.plan.File.Name),
		fmt.Sprintf("bregman sweep · %s · %d of %s of %s", run.Info.Started.Format("2 January 2006 15:04"), r.done,
			render.Count(len(r.plan.Runs), "run"), r.plan.File.Job))
	lead := r.lead()
	lead.Put(doc)
	if w := sweep.Warnings(r.folder, r.plan); len(w) > 0 {
		doc.Section("Warnings")
		doc.List(w...)
	}
	doc.Say("Each classifier is rescaled to margin 1 and measured in eight norms, as in the paper's tables. The theorem " +
		"says that in the limit p-GD has the least ℓₚ norm: the shaded cell should be the least of its column.")
	if r.plan.File.Job == "margin" {
		doc.Say("These are exact solutions, the limits of p-GD. The paper has no table of them: its tables show p-GD.")
	}
	doc.Section("Result")
	for k, g := range r.groups {
		name := "norms"
		if k > 0 {
			name = fmt.Sprintf("norms_%d", k+1)
		}
		doc.AddTables(render.Named{Name: name, Table: r.table(g)})
	}
	if strings.HasPrefix(r.plan.Runs[0].Settings["data"], "r100") {
		doc.Section("The paper")
		published := numbers.R100()
		first := normsTable("The paper, trial 1", "One data set, p-GD.", published[0], 3)
		doc.AddTables(render.Named{Name: "paper_trial1", Table: first},
			render.Named{Name: "paper_trial2", Table: normsTable("The paper, trial 2", "", published[1], 3)})
	}
	doc.SaveTable("norms_all", r.all())
	doc.Say("Every number is in tables/norms_all.csv, every run in trials/. Run “%s”.", r.plan.Command)
	doc.Save()
	return nil
}

// Print prints the tables.
func (r *norms) Print(w io.Writer) {
	if r.done == 0 {
		return
	}
	for _, g := range r.groups {
		fmt.Fprintln(w, r.table(g).Text())
	}
	for _, text := range sweep.Warnings(r.folder, r.plan) {
		fmt.Fprintf(w, "• %s\n", text)
	}
}

// JSON is what --json prints.
func (r *norms) JSON(o sweep.Outcome) any {
	rows := []map[string]any{}
	for _, g := range r.groups {
		for _, x := range g.rows {
			means := map[string]*float64{}
			for j, v := range finite(x.mean()) {
				means[strings.ToLower(strings.Replace(fmt.Sprint("l", numbers.Norms[j]), "+", "", 1))] = v
			}
			n, of := g.least(x)
			rows = append(rows, map[string]any{"settings": g.title, "p": mirror.Exponent(x.p), "trials": len(x.norms),
				"not_done": x.missing, "not_separated": x.without, "norms": means, "own_least": n, "own_least_of": of})
		}
	}
	return map[string]any{"sweep": o.Folder, "job": r.plan.File.Job, "runs": o.Runs, "done": o.Done, "failed": o.Failed,
		"seconds": o.Seconds, "rows": rows, "warnings": append([]string{}, sweep.Warnings(r.folder, r.plan)...)}
}
