package sweep

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
)

// show writes mean ± deviation.
func (r *results) show(s Sample) render.Cell {
	digits := 2
	if !r.percent() { // two digits of the deviation say how many the mean has
		if !(s.Deviation > 0) {
			return render.Short(s.Mean, 5)
		}
		digits = 1 - int(math.Floor(math.Log10(s.Deviation)))
	}
	if digits < 0 || digits > 7 {
		c := render.Short(s.Mean, 5)
		c.Text += fmt.Sprintf(" ± %.2g", s.Deviation)
		return c
	}
	c := render.Number(s.Mean, digits)
	if !math.IsNaN(s.Deviation) {
		c.Text += fmt.Sprintf(" ± %.*f", digits, s.Deviation)
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
func (r *results) table() render.Table {
	t := render.Table{Title: fmt.Sprintf("%s: %s, %s", r.plan.File.Name, r.metricName(),
		render.Count(r.plan.File.Trials, "trial")), Note: "Mean ± deviation over the trials"}
	if len(r.cols) > wide || 2*len(r.cells) < len(r.rows)*len(r.cols) { // many columns, or draws, which fill few places of a grid
		return r.long(t)
	}
	switch {
	case r.hasBest():
		t.Note += "; the best of each column in bold."
	case r.comparable():
		t.Note += "."
	default:
		t.Note += fmt.Sprintf(". %s cannot be compared between different %s: no best.", capital(r.metricName()), r.rowKey)
	}
	t.Header = []string{r.rowKey}
	for _, col := range r.cols {
		name := col
		if name == "" {
			name = r.metricName()
		}
		t.Header = append(t.Header, name)
		if r.hasPublished(col) {
			t.Header = append(t.Header, r.reference())
		}
	}
	for _, row := range r.rows {
		cells := []render.Cell{render.Text("%s", row)}
		for _, col := range r.cols {
			x := r.cells[[2]string{row, col}]
			c := r.cellOf(x)
			c.Best = r.comparable() && c.Value == r.best(col)
			cells = append(cells, c)
			if r.hasPublished(col) {
				theirs := render.Text("–")
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

// best is the best mean of a column; NaN where fewer than two rows have one: the only result is not the best of anything.
func (r *results) best(col string) float64 {
	best, n := math.NaN(), 0
	for _, row := range r.rows {
		m := r.cells[[2]string{row, col}].stat().Mean
		if math.IsNaN(m) {
			continue
		}
		if n++; n == 1 || r.better(m, best) {
			best = m
		}
	}
	if n < 2 {
		return math.NaN()
	}
	return best
}

// hasBest says whether rows of some column are there to be compared.
func (r *results) hasBest() bool {
	return r.comparable() && slices.ContainsFunc(r.cols, func(col string) bool { return !math.IsNaN(r.best(col)) })
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// cellOf is the mean of the trials that have a number, and how many have none.
func (r *results) cellOf(x *cell) render.Cell {
	c := r.show(x.stat())
	if x == nil {
		return c
	}
	for _, n := range []struct {
		count int
		what  string
	}{{x.diverged, "diverged"}, {x.failed, "failed"}, {x.missing, "not done"}, {x.none, "without"}} {
		if n.count > 0 {
			c.Text += fmt.Sprintf(" (%d %s)", n.count, n.what)
		}
	}
	return c
}

// long has a row per combination, the best first where they can be compared.
func (r *results) long(t render.Table) render.Table {
	keys, _ := r.plan.varying()
	t.Header = append(slices.Clone(keys), r.metricName())
	for _, col := range r.cols {
		for _, row := range r.rows {
			x := r.cells[[2]string{row, col}]
			if x == nil {
				continue
			}
			var cells []render.Cell
			for _, k := range keys {
				cells = append(cells, render.Text("%s", x.runs[0].get(k)))
			}
			t.Rows = append(t.Rows, append(cells, r.cellOf(x)))
		}
	}
	if !r.allComparable() {
		t.Note += fmt.Sprintf(". %s is not comparable between all of these: no best.", capital(r.metricName()))
		return t
	}
	last := len(keys)
	slices.SortStableFunc(t.Rows, func(a, b []render.Cell) int {
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
	if len(t.Rows) < 2 || math.IsNaN(t.Rows[1][last].Value) { // one result is not the best of anything
		t.Note += "."
		return t
	}
	t.Note += "; the best first."
	t.Rows[0][last].Best = true
	return t
}

// published is the number that the file has for a cell.
func (r *results) published(x *cell) (Sample, bool) {
	if x == nil {
		return Sample{}, false
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
			out := Sample{Mean: asFloat(row["mean"]), Deviation: math.NaN()}
			if d, ok := row["deviation"]; ok {
				out.Deviation = asFloat(d)
			}
			return out, true
		}
	}
	return Sample{}, false
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

// maxPairs is how many rows are compared with each other.
const maxPairs = 10

// pairs are the differences between rows over the seeds both have: what is the same in a seed, its data or its start, cancels.
func (r *results) pairs() render.Table {
	t := render.Table{Title: fmt.Sprintf("Paired differences of %s, by %s", r.metricName(), r.rowKey), Header: []string{"pair"},
		Note: "Mean ± standard error of the difference over seeds that both have; in brackets its probability by chance, Student's t on both sides, corrected by Holm's " +
			"method for the pairs of its column. In bold: below 0.05. No test (–) below three seeds, nor if all differences are equal."}
	if r.percent() {
		t.Note += " In points of a percent."
	}
	rows := r.rows
	if len(rows) > maxPairs {
		rows = rows[:maxPairs]
		t.Note += fmt.Sprintf(" The first %d of %d rows.", maxPairs, len(r.rows))
	}
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s − %s", a, b)})
		}
	}
	for _, col := range r.cols[:min(len(r.cols), wide)] {
		name := col
		if name == "" {
			name = r.metricName()
		}
		t.Header = append(t.Header, name)
		for k, d := range r.differences(rows, col) {
			c := render.Short(d.Mean, 3)
			if se := d.Error(); !math.IsNaN(se) {
				c.Text += fmt.Sprintf(" ± %.2g (%s)", se, Probability(d.Chance))
			}
			c.Best = d.Chance < Sure
			t.Rows[k] = append(t.Rows[k], c)
		}
	}
	return t
}

// differences are those of all pairs of rows in a column, one family for Holm's method.
func (r *results) differences(rows []string, col string) []Pair {
	values := make([]map[uint64]float64, len(rows))
	for i, row := range rows {
		if x := r.cells[[2]string{row, col}]; x != nil {
			values[i] = x.values
		}
	}
	return Pairs(values)
}

// Probability writes one: a dash where there is no test.
func Probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.2g", p)
}

// SeriesColor is that of the k-th series of a figure whose series are not p. Colours mean p everywhere: the first, often the only one, is ink. There are
// no others that every reader tells apart, so that further series borrow those of p, and need a legend.
func SeriesColor(k int) color.Color {
	if k == 0 {
		return nil
	}
	return render.Color([]float64{3, 1.1, 10, 6, 2, 1.5, 4.5}[(k-1)%7])
}

// color is that of the k-th column: its p's, where that is what the columns are.
func (r *results) color(k int, col string) color.Color {
	if name, ok := strings.CutPrefix(col, "p = "); ok && !math.IsNaN(float(name)) {
		return render.Color(float(name))
	}
	return SeriesColor(k)
}

// any says whether a row has a number: one alone makes no line.
func (r *results) any(row string) bool {
	return slices.ContainsFunc(r.cols, func(col string) bool { return r.cells[[2]string{row, col}].stat().N > 0 })
}

// figure is the metric against what the rows are, where those are numbers.
func (r *results) figure() (render.Figure, bool) {
	f := render.Figure{Title: r.plan.File.Name, X: r.rowKey, Y: r.metricName(), LegendFree: true}
	f.ByP = r.rowKey == "p"
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range r.rows {
		if v := float(row); !math.IsNaN(v-v) && r.any(row) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if !(lo < hi) {
		return f, false
	}
	f.LogX = !f.ByP && lo > 0 && hi/lo >= 20
	for k, col := range r.cols[:min(len(r.cols), wide)] {
		color := r.color(k, col)
		mean := render.Series{Name: col, Color: color}
		single := render.Series{Color: color, Style: render.Crosses}
		theirs := render.Series{Name: r.reference(), Color: color, Style: render.Dashed}
		for _, row := range r.rows {
			x := r.cells[[2]string{row, col}]
			s := x.stat()
			mean.X, mean.Y = append(mean.X, float(row)), append(mean.Y, s.Mean)
			if s.N > 1 {
				for _, run := range x.runs {
					if v, ok := x.values[run.Seed]; ok {
						single.X, single.Y = append(single.X, float(row)), append(single.Y, v)
					}
				}
			}
			if p, ok := r.published(x); ok {
				theirs.X, theirs.Y = append(theirs.X, float(row)), append(theirs.Y, p.Mean)
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
func (r *results) spread(f render.Figure) bool {
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
