package pages

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// Grid draws a grid of trials.
type Grid struct {
	*trials.Grid
	Title     string
	Trials    int                                      // of each combination
	Published func(*trials.Cell) (trials.Sample, bool) // a number to show beside a cell; nil: there are none
	Reference string                                   // where those come from
}

// show writes mean ± deviation.
func (g Grid) show(s trials.Sample) render.Cell {
	digits := 2
	if !trials.IsPercent(g.Metric) { // two digits of the deviation say how many the mean has
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

func (g Grid) metricName() string { return trials.Shown(g.Metric) }

// manyColumns is how many columns a table may have before each combination gets a row.
const manyColumns = 8

// Table is mean ± deviation, the best of each column in bold, with the published numbers beside.
func (g Grid) Table() render.Table {
	t := render.Table{Title: fmt.Sprintf("%s: %s, %s", g.Title, g.metricName(), render.Count(g.Trials, "trial")),
		Note: "Mean ± deviation over the trials"}
	if len(g.Cols) > manyColumns || g.Sparse() { // many columns, or draws, which fill few places of a grid
		return g.long(t)
	}
	switch {
	case g.HasBest():
		t.Note += "; the best of each column in bold."
	case g.Comparable():
		t.Note += "."
	default:
		t.Note += fmt.Sprintf(". %s cannot be compared between different %s: no best.", capital(g.metricName()), g.RowKey)
	}
	t.Header = []string{g.RowKey}
	for _, col := range g.Cols {
		name := col
		if name == "" {
			name = g.metricName()
		}
		t.Header = append(t.Header, name)
		if g.hasPublished(col) {
			t.Header = append(t.Header, g.Reference)
		}
	}
	for _, row := range g.Rows {
		cells := []render.Cell{render.Text("%s", row)}
		for _, col := range g.Cols {
			x := g.At(row, col)
			c := g.cell(x)
			c.Best = g.Comparable() && c.Value == g.Best(col)
			cells = append(cells, c)
			if g.hasPublished(col) {
				theirs := render.Text("–")
				if s, ok := g.published(x); ok {
					theirs = g.show(s)
				}
				cells = append(cells, theirs)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (g Grid) published(x *trials.Cell) (trials.Sample, bool) {
	if x == nil || g.Published == nil {
		return trials.Sample{}, false
	}
	return g.Published(x)
}

func (g Grid) hasPublished(col string) bool {
	return slices.ContainsFunc(g.Rows, func(row string) bool { _, ok := g.published(g.At(row, col)); return ok })
}

// cell is the mean of the trials that have a number, and how many have none.
func (g Grid) cell(x *trials.Cell) render.Cell {
	c := g.show(x.Sample())
	if x == nil {
		return c
	}
	for _, n := range []struct {
		count int
		what  string
	}{{x.Diverged, "diverged"}, {x.Failed, "failed"}, {x.Missing, "not done"}, {x.None, "without"}} {
		if n.count > 0 {
			c.Text += fmt.Sprintf(" (%d %s)", n.count, n.what)
		}
	}
	return c
}

// long has a row per combination, the best first if they can be compared.
func (g Grid) long(t render.Table) render.Table {
	t.Header = append(slices.Clone(g.Keys), g.metricName())
	for _, col := range g.Cols {
		for _, row := range g.Rows {
			x := g.At(row, col)
			if x == nil {
				continue
			}
			var cells []render.Cell
			for _, k := range g.Keys {
				cells = append(cells, render.Text("%s", x.Get(k)))
			}
			t.Rows = append(t.Rows, append(cells, g.cell(x)))
		}
	}
	if !g.AllComparable() {
		t.Note += fmt.Sprintf(". %s is not comparable between all of these: no best.", capital(g.metricName()))
		return t
	}
	last := len(g.Keys)
	slices.SortStableFunc(t.Rows, func(a, b []render.Cell) int {
		va, vb := a[last].Value, b[last].Value
		switch {
		case math.IsNaN(va) && math.IsNaN(vb):
			return 0
		case math.IsNaN(vb) || g.Better(va, vb):
			return -1
		case math.IsNaN(va) || g.Better(vb, va):
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

// MaxPairs is how many rows are compared with each other.
const MaxPairs = 10

// Paired reports whether there are differences to show.
func (g Grid) Paired() bool { return g.Trials > 1 && g.HasBest() }

// Pairs are the differences between rows over the seeds both have: what is the same in a seed, its data or its start,
// cancels.
func (g Grid) Pairs() render.Table {
	t := render.Table{Title: fmt.Sprintf("Paired differences of %s, by %s", g.metricName(), g.RowKey),
		Header: []string{"pair"},
		Note: "Mean ± standard error of the difference over seeds that both have; in brackets its probability by chance, " +
			"Student's t on both sides, corrected by Holm's method for the pairs of its column. In bold: below 0.05. No " +
			"test (–) " +
			"below three seeds, nor if all differences are equal."}
	if trials.IsPercent(g.Metric) {
		t.Note += " In points of a percent."
	}
	rows := g.Rows
	if len(rows) > MaxPairs {
		rows = rows[:MaxPairs]
		t.Note += fmt.Sprintf(" The first %d of %d rows.", MaxPairs, len(g.Rows))
	}
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s − %s", a, b)})
		}
	}
	for _, col := range g.Cols[:min(len(g.Cols), manyColumns)] {
		name := col
		if name == "" {
			name = g.metricName()
		}
		t.Header = append(t.Header, name)
		for k, d := range g.Differences(rows, col) {
			c := render.Short(d.Mean, 3)
			if se := d.Error(); !math.IsNaN(se) {
				c.Text += fmt.Sprintf(" ± %.2g (%s)", se, trials.Probability(d.Chance))
			}
			c.Best = d.Chance < trials.Significant
			t.Rows[k] = append(t.Rows[k], c)
		}
	}
	return t
}

// SeriesColor is the colour of the k-th series of a figure whose series are not p. Colours mean p everywhere: the
// first, often the only one, is ink. There are no other colours that every reader can distinguish, so that further
// series use those of p, and need a legend.
func SeriesColor(k int) color.Color {
	if k == 0 {
		return nil
	}
	return render.Color([]float64{3, 1.1, 10, 6, 2, 1.5, 4.5}[(k-1)%7])
}

// color is the colour of the k-th column: that of its p, if columns are p.
func (g Grid) color(k int, col string) color.Color {
	if name, ok := strings.CutPrefix(col, "p = "); ok && !math.IsNaN(trials.Float(name)) {
		return render.Color(trials.Float(name))
	}
	return SeriesColor(k)
}

// any reports whether a row has a number.
func (g Grid) any(row string) bool {
	return slices.ContainsFunc(g.Cols, func(col string) bool { return g.At(row, col).Sample().N > 0 })
}

// Figure shows the metric over the values of the rows, if those are numbers.
func (g Grid) Figure() (render.Figure, bool) {
	f := render.Figure{Title: g.Title, X: g.RowKey, Y: g.metricName(), ByP: g.RowKey == "p"}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range g.Rows {
		if v := trials.Float(row); !math.IsNaN(v-v) && g.any(row) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if !(lo < hi) {
		return f, false
	}
	f.LogX = !f.ByP && lo > 0 && hi/lo >= 20
	for k, col := range g.Cols[:min(len(g.Cols), manyColumns)] {
		color := g.color(k, col)
		mean := render.Series{Name: col, Color: color}
		single := render.Series{Color: color, Style: render.Crosses}
		theirs := render.Series{Name: g.Reference, Color: color, Style: render.Dashed}
		for _, row := range g.Rows {
			x, at := g.At(row, col), trials.Float(row)
			s := x.Sample()
			mean.X, mean.Y = append(mean.X, at), append(mean.Y, s.Mean)
			if s.N > 1 {
				for _, v := range x.Each() {
					single.X, single.Y = append(single.X, at), append(single.Y, v)
				}
			}
			if p, ok := g.published(x); ok {
				theirs.X, theirs.Y = append(theirs.X, at), append(theirs.Y, p.Mean)
			}
		}
		f.Series = append(f.Series, mean, single)
		if len(theirs.X) > 0 {
			f.Series = append(f.Series, theirs)
		}
	}
	f.LogY = spread(f)
	return f, true
}

// spread reports whether the values differ by so much that only a logarithmic axis shows them.
func spread(f render.Figure) bool {
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
