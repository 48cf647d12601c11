package sweep

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// Library is what can be named: sweep files that ship with the program, by their names, and reports, by the name that
// report = "…" gives in a sweep file.
type Library struct {
	Files   map[string][]byte
	Reports map[string]Report
}

// Report reads what is done in a sweep's folder.
type Report func(f Folder, p *Plan) (View, error)

// View shows the results of a sweep. Results may arrive while it is written: it shows those that are there, and names
// the missing ones.
type View interface {
	Write(run *runlog.Run) error // tables/, figures/ and report.html
	Print(w io.Writer)
	JSON(o Outcome) any
}

// view reads the results as the sweep file wants them shown.
func (l Library) view(f Folder, p *Plan) (View, error) {
	if p.File.Report == "" {
		return collect(f, p), nil
	}
	return l.Reports[p.File.Report](f, p)
}

// check returns an error if the file names a report that does not exist.
func (l Library) check(f *File) error {
	if f.Report == "" || l.Reports[f.Report] != nil {
		return nil
	}
	var names []string
	for name := range l.Reports {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("%s = %q: there are %s", f.at("report"), f.Report, strings.Join(names, ", "))
}

// Warnings are what a reader must know before the numbers: runs that failed, diverged or are not done, by name, and
// data that differ between machines.
func Warnings(f Folder, p *Plan) []string { return collect(f, p).warnings() }

var _ View = (*results)(nil)

// runsTable lists every run.
func (r *results) runsTable() render.Table {
	keys, _ := r.plan.varying()
	t := render.Table{Header: append(slices.Clone(keys), "seed", "status", r.plan.File.Metric, "seconds", "folder")}
	for _, s := range r.plan.Runs {
		out, ok := r.folder.Result(s)
		status, folder := "done", "trials/"+filepath.Base(r.folder.Trial(s))
		if _, bad := out.Diverged(); bad {
			status = "diverged"
		}
		if !ok {
			status, folder = "not done", "–"
			if _, bad := r.failed[s.ID]; bad {
				status = "failed"
			}
		} else if !r.folder.HasFolder(s) {
			folder = "–" // a results file has it
		}
		var cells []render.Cell
		for _, k := range keys {
			cells = append(cells, render.Text("%s", s.get(k)))
		}
		num := func(key string, digits int) render.Cell {
			if v, ok := r.folder.number(s, out, key); ok {
				return render.Short(v, digits)
			}
			return render.Text("–")
		}
		metric := func() render.Cell {
			c := num(r.plan.File.Metric, 8)
			if trials.IsPercent(r.plan.File.Metric) && !math.IsNaN(c.Value) {
				c.Text = fmt.Sprintf("%.2f %%", 100*c.Value) // tables/runs.csv has the value
			}
			return c
		}
		t.Rows = append(t.Rows, append(cells, render.Text("%d", s.Seed), render.Text("%s", status), metric(),
			num("seconds", 3), render.Text("%s", folder)))
	}
	return t
}

// mostRuns is how many runs the page lists.
const mostRuns = 200

// showRuns lists the runs, those without a result first: a reader looks for them.
func (r *results) showRuns(doc *render.Document) {
	t := r.runsTable()
	doc.SaveTable("runs", t)
	status := slices.Index(t.Header, "status")
	shown := t
	shown.Rows = slices.Clone(t.Rows)
	slices.SortStableFunc(shown.Rows, func(a, b []render.Cell) int {
		rank := func(row []render.Cell) int {
			return slices.Index([]string{"failed", "diverged", "not done", "done"}, row[status].Text)
		}
		return rank(a) - rank(b)
	})
	if n := len(t.Rows); n > mostRuns {
		shown.Rows = shown.Rows[:mostRuns]
		shown.Note = fmt.Sprintf("%d of %d; all are in tables/runs.csv.", mostRuns, n)
	}
	doc.Tables(shown)
}

// Write writes the tables, the figure and report.html.
func (r *results) Write(run *runlog.Run) error {
	p := r.plan
	doc := pages.NewDocument(run, fmt.Sprintf("Sweep %s: %s against %s", p.File.Name,
		strings.TrimSuffix(trials.Shown(p.File.Metric), ", %"), r.grid.RowKey),
		fmt.Sprintf("bregman sweep · %s · %d of %s of %s", run.Info.Started.Format("2 January 2006 15:04"), r.done,
			render.Count(len(p.Runs), "run"), p.File.Job))
	lead := r.grid.Lead()
	lead.Put(doc)
	doc.Section("Result")
	doc.AddTables(render.Named{Name: "result", Table: r.grid.Table()})
	if fig, ok := r.grid.Figure(); ok {
		caption := "Lines: means over the trials; crosses: the trials."
		if slices.ContainsFunc(fig.Series, func(s render.Series) bool { return s.Style == render.Rings }) {
			caption += " Rings: " + r.grid.Reference + "."
		}
		if err := doc.AddFigure("metric", caption, fig); err != nil {
			doc.Say("There is no figure: %v.", err) // a name that the font cannot show must not cost the tables
		}
	}
	if r.grid.Paired() {
		doc.Section("Differences")
		doc.AddTables(render.Named{Name: "pairs", Table: r.grid.Pairs()})
	}
	if w := r.warnings(); len(w) > 0 {
		doc.Section("Before you compare")
		doc.List(w...)
	}
	doc.Section("The same in every run")
	doc.Tables(r.fixed())
	doc.Section("Every run")
	doc.Say("Every run is in trials/. bregman %s made them.", p.Version)
	r.showRuns(doc)
	doc.Save()
	return nil
}

// fixed is what does not vary.
func (r *results) fixed() render.Table {
	t := render.Table{Header: []string{"setting", ""}}
	keys, _ := r.plan.varying()
	first := r.plan.Runs[0].Settings
	var names []string
	for k := range first {
		if k != "seed" && !slices.Contains(keys, k) {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names {
		v := first[k]
		if text, ok := r.plan.File.Settings[k].(string); ok {
			v = text // as it was written: r100:{seed}
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", k), render.Text("%s", v)})
	}
	return t
}

// Print prints the tables.
func (r *results) Print(w io.Writer) {
	if r.done == 0 {
		return
	}
	fmt.Fprintln(w, r.grid.Table().Text())
	if r.grid.Paired() {
		fmt.Fprintln(w, r.grid.Pairs().Text())
	}
	for _, text := range r.warnings() {
		fmt.Fprintf(w, "• %s\n", text)
	}
}

// JSON is what --json prints.
func (r *results) JSON(o Outcome) any {
	p := r.plan
	rows, pairs := []map[string]any{}, []map[string]any{}
	g := r.grid
	columns := g.Columns(g.Rows, g.Cols)
	for j, col := range g.Cols {
		best, bold := columns[j].Leader(), columns[j].Bold()
		for i, row := range g.Rows {
			x := g.At(row, col)
			if x == nil {
				continue
			}
			s := x.Sample()
			vary := map[string]string{}
			for _, v := range x.Vary {
				vary[v.Key] = v.Value
			}
			m := map[string]any{"settings": vary, "trials": s.N, "failed": x.Failed, "diverged": x.Diverged,
				"not_done": x.Missing}
			for _, stat := range trials.Statistics {
				m[stat.Key] = finite(stat.Of(x.Each()))
			}
			if g.Comparable() {
				m["best"] = best >= 0 && s.Mean == g.At(g.Rows[best], col).Sample().Mean // the best mean
				m["bold"] = bold[i]                                                      // it, and what is not significantly worse
			}
			if t, ok := g.Published(x); ok {
				m["published"], m["published_deviation"] = finite(t.Mean), finite(t.Deviation)
			}
			rows = append(rows, m)
		}
	}
	if g.Paired() {
		names, columns := g.Pairing()
		for j, c := range columns {
			for _, d := range c.Pairs {
				pairs = append(pairs, map[string]any{"column": g.Cols[j], g.RowKey: []string{names[d.I], names[d.J]},
					"difference": finite(d.Mean), "error": finite(d.Error()), "chance": finite(d.Chance), "trials": d.N,
					"paired": d.Paired})
			}
		}
	}
	return map[string]any{"sweep": o.Folder, "job": p.File.Job, "metric": p.File.Metric, "runs": o.Runs, "done": o.Done,
		"failed": o.Failed, "seconds": o.Seconds, "rows": rows, "pairs": pairs,
		"warnings": append([]string{}, r.warnings()...)}
}

// finite is nil if JSON has no number for the value.
func finite(v float64) *float64 {
	if math.IsNaN(v - v) {
		return nil
	}
	return &v
}
