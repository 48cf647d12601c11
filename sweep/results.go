package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/report"
	"github.com/bregman-ml/bregman/runlog"
)

// results are the numbers of a sweep, by what varies: a row per value of one key, a column per combination of the others.
type results struct {
	plan   *Plan
	rowKey string // p where it varies, else the first key that does
	rows   []string
	cols   []string
	cells  map[[2]string]*cell // by row and column
	failed map[string]failure
	done   int
	hashes map[string][]string // of each data set, by name: more than one is a mistake
}

// cell is the trials of one combination.
type cell struct {
	runs   []*Spec
	values map[uint64]float64 // by seed; a run whose metric is null is not there
	failed int
	none   int // done, without this number: data that is not separated has no margin
}

// collect reads the results in the folder.
func collect(f Folder, p *Plan) *results {
	r := &results{plan: p, cells: map[[2]string]*cell{}, failed: f.failures(p), hashes: map[string][]string{}}
	keys, values := p.varying()
	if len(keys) > 0 {
		r.rowKey = keys[0]
	}
	if slices.Contains(keys, "p") {
		r.rowKey = "p"
	}
	r.rows = values[r.rowKey]
	if len(r.rows) == 0 {
		r.rows = []string{""}
	}
	if !slices.ContainsFunc(r.rows, func(s string) bool { return math.IsNaN(float(s)) }) {
		slices.SortFunc(r.rows, func(a, b string) int { // numbers grow
			if float(a) < float(b) {
				return -1
			}
			return 1
		})
	}
	for _, s := range p.Runs {
		at := [2]string{s.get(r.rowKey), r.column(s)}
		if !slices.Contains(r.cols, at[1]) {
			r.cols = append(r.cols, at[1])
		}
		c := r.cells[at]
		if c == nil {
			c = &cell{values: map[uint64]float64{}}
			r.cells[at] = c
		}
		c.runs = append(c.runs, s)
		out, ok := f.result(s)
		if !ok {
			if _, bad := r.failed[s.ID]; bad {
				c.failed++
			}
			continue
		}
		r.done++
		if v, ok := out.number(p.File.Metric); ok {
			c.values[s.Seed] = v * r.unit()
		} else {
			c.none++
		}
		if info, err := runlog.ReadInfo(f.trial(s)); err == nil && info.DataHash != "" && !slices.Contains(r.hashes[info.Data], info.DataHash) {
			r.hashes[info.Data] = append(r.hashes[info.Data], info.DataHash)
		}
	}
	return r
}

// column names what else varies.
func (r *results) column(s *Spec) string {
	var parts []string
	for _, v := range s.Vary {
		if v.Key == r.rowKey {
			continue
		}
		if math.IsNaN(float(v.Value)) && v.Value != "true" && v.Value != "false" {
			parts = append(parts, v.Value) // resnet18
		} else {
			parts = append(parts, v.Key+" = "+v.Value)
		}
	}
	return strings.Join(parts, ", ")
}

// percent says whether the metric is a share, shown in %.
func (r *results) percent() bool { return strings.Contains(r.plan.File.Metric, "accuracy") }

func (r *results) unit() float64 {
	if r.percent() {
		return 100
	}
	return 1
}

// better says whether a is.
func (r *results) better(a, b float64) bool {
	if r.plan.File.Better == "low" {
		return a < b
	}
	return a > b
}

// stat is a mean with the deviation of a sample, NaN for one value.
type stat struct {
	n               int
	mean, deviation float64
}

func of(values []float64) stat {
	s := stat{n: len(values), mean: math.NaN(), deviation: math.NaN()}
	if s.n == 0 {
		return s
	}
	s.mean = 0
	for _, v := range values {
		s.mean += v / float64(s.n)
	}
	var sum float64
	for _, v := range values {
		sum += (v - s.mean) * (v - s.mean)
	}
	s.deviation = math.Sqrt(sum / float64(s.n-1)) // 0/0 for one
	return s
}

func (c *cell) stat() stat {
	if c == nil {
		return of(nil)
	}
	var all []float64
	for _, s := range c.runs { // in the order of the plan: sums do not depend on chance
		if v, ok := c.values[s.Seed]; ok {
			all = append(all, v)
		}
	}
	return of(all)
}

// show writes mean ± deviation.
func (r *results) show(s stat) report.Cell {
	digits := 2
	if !r.percent() { // two digits of the deviation say how many the mean has
		if !(s.deviation > 0) {
			return report.Short(s.mean, 5)
		}
		digits = 1 - int(math.Floor(math.Log10(s.deviation)))
	}
	if digits < 0 || digits > 7 {
		c := report.Short(s.mean, 5)
		c.Text += fmt.Sprintf(" ± %.2g", s.deviation)
		return c
	}
	c := report.Number(s.mean, digits)
	if !math.IsNaN(s.deviation) {
		c.Text += fmt.Sprintf(" ± %.*f", digits, s.deviation)
	}
	return c
}

func (r *results) metricName() string {
	name := strings.ReplaceAll(r.plan.File.Metric, "_", " ")
	if r.percent() {
		name += ", %"
	}
	return name
}

// wide is how many columns a table may have before each combination gets a row.
const wide = 8

// table is mean ± deviation, the best of each column in bold, with the published numbers beside.
func (r *results) table() report.Table {
	t := report.Table{Title: fmt.Sprintf("%s: %s, %d trials", r.plan.File.Name, r.metricName(), r.plan.File.Trials),
		Note: "Mean ± deviation over the trials; the best of each column in bold."}
	if len(r.cols) > wide {
		return r.long(t)
	}
	t.Header = []string{r.rowKey}
	best := map[string]float64{}
	for _, col := range r.cols {
		name := col
		if name == "" {
			name = r.metricName()
		}
		t.Header = append(t.Header, name)
		if r.hasPublished(col) {
			t.Header = append(t.Header, r.reference())
		}
		for _, row := range r.rows {
			if m := r.cells[[2]string{row, col}].stat().mean; !math.IsNaN(m) {
				if old, ok := best[col]; !ok || r.better(m, old) {
					best[col] = m
				}
			}
		}
	}
	for _, row := range r.rows {
		cells := []report.Cell{report.Text("%s", row)}
		for _, col := range r.cols {
			x := r.cells[[2]string{row, col}]
			c := r.cellOf(x)
			c.Best = !math.IsNaN(c.Value) && c.Value == best[col]
			cells = append(cells, c)
			if r.hasPublished(col) {
				theirs := report.Text("–")
				if s, ok := r.published(x); ok {
					theirs = r.show(s)
				}
				cells = append(cells, theirs)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (r *results) cellOf(x *cell) report.Cell {
	c := r.show(x.stat())
	if x != nil && x.failed > 0 {
		c.Text += fmt.Sprintf(" (%d failed)", x.failed)
	}
	if x != nil && x.none > 0 {
		c.Text += fmt.Sprintf(" (%d without)", x.none)
	}
	return c
}

// long has a row per combination, the best first.
func (r *results) long(t report.Table) report.Table {
	keys, _ := r.plan.varying()
	t.Note = "Mean ± deviation over the trials; the best first."
	t.Header = append(slices.Clone(keys), r.metricName())
	for _, col := range r.cols {
		for _, row := range r.rows {
			x := r.cells[[2]string{row, col}]
			if x == nil {
				continue
			}
			var cells []report.Cell
			for _, k := range keys {
				cells = append(cells, report.Text("%s", x.runs[0].get(k)))
			}
			t.Rows = append(t.Rows, append(cells, r.cellOf(x)))
		}
	}
	last := len(keys)
	slices.SortStableFunc(t.Rows, func(a, b []report.Cell) int {
		va, vb := a[last].Value, b[last].Value
		switch {
		case math.IsNaN(va) && math.IsNaN(vb):
			return 0
		case math.IsNaN(vb) || r.better(va, vb):
			return -1
		case math.IsNaN(va) || r.better(vb, va):
			return 1
		}
		return 0
	})
	if len(t.Rows) > 0 && !math.IsNaN(t.Rows[0][last].Value) {
		t.Rows[0][last].Best = true
	}
	return t
}

// published is the number that the file has for a cell.
func (r *results) published(x *cell) (stat, bool) {
	if x == nil {
		return stat{}, false
	}
	s := x.runs[0]
	for _, row := range r.plan.File.Published {
		same := true
		for k, v := range row {
			if k == "mean" || k == "deviation" {
				continue
			}
			text, err := r.plan.File.text("published."+k, v)
			want := s.Settings[k]
			same = same && err == nil && (text == want || float(text) == float(want))
		}
		if same {
			out := stat{mean: asFloat(row["mean"]), deviation: math.NaN()}
			if d, ok := row["deviation"]; ok {
				out.deviation = asFloat(d)
			}
			return out, true
		}
	}
	return stat{}, false
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return math.NaN()
}

func (r *results) hasPublished(col string) bool {
	return slices.ContainsFunc(r.rows, func(row string) bool { _, ok := r.published(r.cells[[2]string{row, col}]); return ok })
}

func (r *results) reference() string {
	if r.plan.File.Reference != "" {
		return r.plan.File.Reference
	}
	return "published"
}

// pairs are the differences between rows over the seeds both have: what is the same in a seed, its data or its start, cancels.
func (r *results) pairs() report.Table {
	t := report.Table{Title: fmt.Sprintf("Paired differences of %s, by %s", r.metricName(), r.rowKey),
		Note:   "Mean ± standard error of the difference over seeds that both have. In bold: more than two standard errors from 0.",
		Header: []string{"pair"}}
	if r.percent() {
		t.Note += " In points of a percent."
	}
	cols := r.cols[:min(len(r.cols), wide)]
	for _, col := range cols {
		if col == "" {
			col = r.metricName()
		}
		t.Header = append(t.Header, col)
	}
	rows := r.rows[:min(len(r.rows), 10)]
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			cells := []report.Cell{report.Text("%s − %s", a, b)}
			for _, col := range cols {
				d := r.difference(r.cells[[2]string{a, col}], r.cells[[2]string{b, col}])
				se := d.deviation / math.Sqrt(float64(d.n))
				c := report.Short(d.mean, 3)
				if !math.IsNaN(se) {
					c.Text += fmt.Sprintf(" ± %.2g", se)
				}
				c.Best = math.Abs(d.mean) > 2*se
				cells = append(cells, c)
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

func (r *results) difference(a, b *cell) stat {
	if a == nil || b == nil {
		return of(nil)
	}
	var all []float64
	for _, s := range a.runs {
		x, ok := a.values[s.Seed]
		y, both := b.values[s.Seed]
		if ok && both {
			all = append(all, x-y)
		}
	}
	return of(all)
}

// figure is the metric against what the rows are, where those are numbers.
func (r *results) figure() (report.Figure, bool) {
	f := report.Figure{Title: r.plan.File.Name, X: r.rowKey, Y: r.metricName(), LegendLow: true}
	at := func(row string) float64 { return float(row) }
	if r.rowKey == "p" {
		f.X, f.LogX = "p − 1", true
		at = func(row string) float64 { return float(row) - 1 }
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range r.rows {
		if v := at(row); !math.IsNaN(v - v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if !(lo < hi) {
		return f, false
	}
	f.LogX = f.LogX || lo > 0 && hi/lo >= 20
	for k, col := range r.cols[:min(len(r.cols), wide)] {
		color := report.Color([]float64{3, 1.1, 10, 6, 2, 1.5, 2.4, 4.5}[k%8])
		mean := report.Series{Name: col, Color: color}
		single := report.Series{Color: color, Style: report.Crosses}
		theirs := report.Series{Name: r.reference(), Color: color, Style: report.Dashed}
		for _, row := range r.rows {
			x := r.cells[[2]string{row, col}]
			s := x.stat()
			mean.X, mean.Y = append(mean.X, at(row)), append(mean.Y, s.mean)
			if s.n > 1 {
				for _, run := range x.runs {
					if v, ok := x.values[run.Seed]; ok {
						single.X, single.Y = append(single.X, at(row)), append(single.Y, v)
					}
				}
			}
			if p, ok := r.published(x); ok {
				theirs.X, theirs.Y = append(theirs.X, at(row)), append(theirs.Y, p.mean)
			}
		}
		f.Series = append(f.Series, mean, single)
		if len(theirs.X) > 0 {
			f.Series = append(f.Series, theirs)
		}
	}
	f.LogY = r.spread(f)
	return f, true
}

// spread says whether the values differ by so much that only a logarithmic axis shows them.
func (r *results) spread(f report.Figure) bool {
	lo, hi := math.Inf(1), 0.0
	for _, s := range f.Series {
		for _, y := range s.Y {
			if !math.IsNaN(y) {
				lo, hi = min(lo, y), max(hi, y)
			}
		}
	}
	return lo > 0 && hi/lo > 30
}

// runsTable lists every run.
func (r *results) runsTable(f Folder) report.Table {
	keys, _ := r.plan.varying()
	t := report.Table{Header: append(slices.Clone(keys), "seed", r.plan.File.Metric, "seconds", "folder")}
	for _, s := range r.plan.Runs {
		out, ok := f.result(s)
		if !ok {
			continue
		}
		var cells []report.Cell
		for _, k := range keys {
			cells = append(cells, report.Text("%s", s.get(k)))
		}
		num := func(key string) report.Cell {
			if v, ok := out.number(key); ok {
				return report.Short(v, 8)
			}
			return report.Text("–")
		}
		t.Rows = append(t.Rows, append(cells, report.Text("%d", s.Seed), num(r.plan.File.Metric), num("seconds"), report.Text("trials/%s", s.Folder())))
	}
	return t
}

// warnings are what a reader must know before the numbers.
func (r *results) warnings() []string {
	var out []string
	for data, hashes := range r.hashes {
		if len(hashes) > 1 {
			out = append(out, fmt.Sprintf("%s is not the same on all machines: its hash is %s. Runs on different data are compared below.", data, strings.Join(hashes, " and ")))
		}
	}
	for _, f := range r.failed {
		out = append(out, fmt.Sprintf("%s was given up after %d attempt%s: %s", f.Run, f.Attempts, plural(f.Attempts), f.Error))
	}
	slices.Sort(out)
	return out
}

// writeReport writes the tables, the figure and report.html.
func writeReport(run *runlog.Run, f Folder, p *Plan) error {
	r := collect(f, p)
	doc := job.NewDocument(run, fmt.Sprintf("Sweep %s: %s against %s", p.File.Name, strings.ReplaceAll(p.File.Metric, "_", " "), r.rowKey),
		fmt.Sprintf("bregman sweep · %s · %d of %d runs of %s", run.Info.Started.Format("2 January 2006 15:04"), r.done, len(p.Runs), p.File.Job))
	if w := r.warnings(); len(w) > 0 {
		doc.Section("Mind")
		doc.List(w...)
	}
	doc.Section("Result")
	if err := doc.AddTables(job.Named{Name: "result", Table: r.table()}); err != nil {
		return err
	}
	if fig, ok := r.figure(); ok {
		if err := doc.AddFigure("metric", "Lines: means over the trials; crosses: the trials.", fig); err != nil {
			doc.Say("There is no figure: %v.", err) // a name that the font cannot show is no reason to lose the tables
		}
	}
	if len(r.rows) > 1 {
		doc.Section("Differences")
		if err := doc.AddTables(job.Named{Name: "pairs", Table: r.pairs()}); err != nil {
			return err
		}
	}
	doc.Section("The same in every run")
	fixed := report.Table{Header: []string{"setting", ""}}
	if len(p.Runs) > 0 {
		keys, _ := p.varying()
		first := p.Runs[0].Settings
		var names []string
		for k := range first {
			if k != "seed" && !slices.Contains(keys, k) {
				names = append(names, k)
			}
		}
		slices.Sort(names)
		for _, k := range names {
			v := first[k]
			if text, ok := p.File.Settings[k].(string); ok {
				v = text // as it was written: r100:{seed}
			}
			fixed.Rows = append(fixed.Rows, []report.Cell{report.Text("%s", k), report.Text("%s", v)})
		}
	}
	doc.Tables(fixed)
	doc.Say("Every run is in trials/, listed in tables/runs.csv. bregman %s made them.", p.Version)
	if err := doc.SaveTable("runs", r.runsTable(f)); err != nil {
		return err
	}
	return doc.Save()
}

// printResults prints the tables.
func printResults(con *job.Console, f Folder, p *Plan) {
	r := collect(f, p)
	if r.done == 0 {
		return
	}
	fmt.Fprintln(con.Out, r.table().Text())
	if len(r.rows) > 1 && p.File.Trials > 1 {
		fmt.Fprintln(con.Out, r.pairs().Text())
	}
	for _, w := range r.warnings() {
		fmt.Fprintf(con.Out, "• %s\n", w)
	}
}

// summary is what --json prints.
func summary(f Folder, p *Plan, o Outcome) any {
	r := collect(f, p)
	rows := []map[string]any{}
	for _, col := range r.cols {
		for _, row := range r.rows {
			x := r.cells[[2]string{row, col}]
			if x == nil {
				continue
			}
			s := x.stat()
			vary := map[string]string{}
			for _, v := range x.runs[0].Vary {
				vary[v.Key] = v.Value
			}
			m := map[string]any{"settings": vary, "trials": s.n, "failed": x.failed, "mean": finite(s.mean), "deviation": finite(s.deviation)}
			if t, ok := r.published(x); ok {
				m["published"], m["published_deviation"] = finite(t.mean), finite(t.deviation)
			}
			rows = append(rows, m)
		}
	}
	return map[string]any{"sweep": o.Folder, "job": p.File.Job, "metric": p.File.Metric, "runs": o.Runs, "done": o.Done, "failed": o.Failed, "seconds": o.Seconds, "rows": rows}
}

// finite is nil for what JSON has no number for.
func finite(v float64) *float64 {
	if math.IsNaN(v - v) {
		return nil
	}
	return &v
}
