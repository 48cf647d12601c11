package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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

// show writes a published number with its deviation.
func (g Grid) show(s trials.Sample) render.Cell {
	c := render.Short(s.Mean, 5)
	if trials.IsPercent(g.Metric) {
		c = render.Number(s.Mean, 2)
	}
	switch {
	case math.IsNaN(s.Deviation):
	case trials.IsPercent(g.Metric):
		c.Text += fmt.Sprintf(" ± %.2f", s.Deviation)
	default:
		c.Text += fmt.Sprintf(" ± %.2g", s.Deviation)
	}
	return c
}

// meanOf writes mean ± standard error and the number of runs, in percent with two decimals.
func meanOf(s trials.Sample, percent bool) render.Cell {
	digits := -1
	if percent {
		digits = 2
	}
	return render.Mean(s.Mean, s.Error(), s.N, digits)
}

func (g Grid) metricName() string { return trials.Shown(g.Metric) }

// manyColumns is how many columns a table may have before each combination gets a row.
const manyColumns = 8

// Means is what a table of means says first.
const Means = "Mean ± standard error over n runs that differ in their seed."

// Table is mean ± standard error and n, the best of each column in bold if tests say so, with the published numbers
// beside.
func (g Grid) Table() render.Table {
	t := render.Table{Title: fmt.Sprintf("%s: %s, %s", g.Title, g.metricName(), render.Count(g.Trials, "trial")),
		Note: Means}
	if len(g.Cols) > manyColumns || g.Sparse() { // many columns, or draws, which fill few places of a grid
		return g.long(t)
	}
	var bold [][]bool
	if g.Comparable() {
		columns := g.Columns(g.Rows, g.Cols)
		for _, c := range columns {
			bold = append(bold, c.Bold())
		}
		t.Note = joined(t.Note, trials.Line(columns...))
	} else {
		t.Note += fmt.Sprintf(" %s cannot be compared between different %s: no best.", capital(g.metricName()), g.RowKey)
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
			if g.publishedDeviations(col) && !strings.HasSuffix(t.Note, beside) {
				t.Note += beside
			}
		}
	}
	for i, row := range g.Rows {
		cells := []render.Cell{render.Text("%s", row)}
		for j, col := range g.Cols {
			x := g.At(row, col)
			c := g.cell(x)
			c.Best = bold != nil && bold[j][i]
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

// beside says what the published numbers have after their ±.
const beside = " Beside published numbers: their deviation."

// publishedDeviations reports whether a published number of the column has a deviation.
func (g Grid) publishedDeviations(col string) bool {
	return slices.ContainsFunc(g.Rows, func(row string) bool {
		s, ok := g.published(g.At(row, col))
		return ok && !math.IsNaN(s.Deviation)
	})
}

// joined puts sentences behind each other.
func joined(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

func capital(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

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
	c := meanOf(x.Sample(), trials.IsPercent(g.Metric))
	if x == nil {
		return c
	}
	for _, n := range []struct {
		count int
		what  string
	}{{x.Diverged, "diverged"}, {x.Failed, "failed"}, {x.Missing, "not done"}, {x.None, "without"}} {
		if n.count > 0 {
			c.Add("%d %s", n.count, n.what)
		}
	}
	return c
}

// long has a row per combination, the best first if they can be compared.
func (g Grid) long(t render.Table) render.Table {
	t.Header = append(slices.Clone(g.Keys), g.metricName())
	var all []*trials.Cell
	for _, col := range g.Cols {
		for _, row := range g.Rows {
			if x := g.At(row, col); x != nil {
				all = append(all, x)
			}
		}
	}
	compared := &trials.Column{Low: g.Low}
	if g.AllComparable() {
		slices.SortStableFunc(all, func(a, b *trials.Cell) int {
			va, vb := a.Sample().Mean, b.Sample().Mean
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
		for _, x := range all {
			compared.Values = append(compared.Values, x.Values)
		}
		trials.Compare(compared)
		if compared.Leader() >= 0 {
			t.Note += " The best mean first."
		}
		t.Note = joined(t.Note, trials.Line(compared))
	} else {
		t.Note += fmt.Sprintf(" %s is not comparable between all of these: no best.", capital(g.metricName()))
	}
	bold := compared.Bold()
	for i, x := range all {
		var cells []render.Cell
		for _, k := range g.Keys {
			cells = append(cells, render.Text("%s", x.Get(k)))
		}
		c := g.cell(x)
		c.Best = len(bold) > 0 && bold[i]
		t.Rows = append(t.Rows, append(cells, c))
	}
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
		Header: []string{"pair"}}
	if trials.IsPercent(g.Metric) {
		t.Note += " In points of a percent."
	}
	rows, columns := g.Pairing()
	if n := len(g.Rows); n > len(rows) {
		t.Note += fmt.Sprintf(" The first %d of %d rows.", len(rows), n)
	}
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s − %s", a, b)})
		}
	}
	for j, c := range columns {
		name := g.Cols[j]
		if name == "" {
			name = g.metricName()
		}
		t.Header = append(t.Header, name)
		for k, d := range c.Pairs {
			t.Rows[k] = append(t.Rows[k], ContrastCell(d, trials.IsPercent(g.Metric)))
		}
	}
	t.Note = strings.TrimSpace(Tested(trials.Tests(columns...)) + t.Note)
	return t
}

// Pairing is what Pairs compares: rows, and a column for each column.
func (g Grid) Pairing() (rows []string, columns []*trials.Column) {
	rows = g.Rows[:min(len(g.Rows), MaxPairs)]
	return rows, g.Columns(rows, g.Cols[:min(len(g.Cols), manyColumns)])
}

// Tested says how a table of differences was tested, for so many of them.
func Tested(comparisons int) string {
	return "Difference ± standard error: over the seeds that both have if there are three, else of the means. p is the " +
		"probability of chance: Student's t with n − 1 degrees of freedom for pairs, else Welch's; " +
		trials.Correction(comparisons) + ". Bold: below 0.05. Without p there is no test: fewer than three runs, or " +
		"differences that are all equal."
}

// ContrastCell is a difference with its error, the runs behind it and its chance, bold if it is significant.
func ContrastCell(d trials.Pair, percent bool) render.Cell {
	c := render.Short(d.Mean, 3)
	if percent {
		c = render.Number(d.Mean, 2)
	}
	switch se := d.Error(); {
	case math.IsNaN(d.Mean):
		return c
	case math.IsNaN(se):
	case percent:
		c.Text += fmt.Sprintf(" ± %.2f", se)
	default:
		c.Text += fmt.Sprintf(" ± %.2g", se)
	}
	c.Text += " (" + d.Runs()
	switch p := trials.Probability(d.Chance); {
	case math.IsNaN(d.Chance): // no test
	case strings.HasPrefix(p, "<"):
		c.Text += ", p " + p
	default:
		c.Text += ", p = " + p
	}
	c.Text += ")"
	c.Best = d.Chance < trials.Significant
	return c
}

// Curve is how the k-th of n curves of a figure is drawn whose curves are not p each: in a grey and with dashes of its
// own, since colours mean p everywhere.
func Curve(k, n int) render.Series {
	return render.Series{Color: render.Neutral(k, n), Style: render.LineStyle(k)}
}

// curve is how a column is drawn: in the colour of its p, if columns have one, and with dashes for what else differs;
// else in a grey. Numbers get darker as they grow, so that the order of learning rates can be seen.
func (g Grid) curve(col string, cols []string) render.Series {
	of := func(col string) (p, rest string) {
		for _, row := range g.Rows {
			if x := g.At(row, col); x != nil {
				for _, v := range x.Vary {
					switch {
					case v.Key == "p" && g.RowKey != "p":
						p = v.Value
					case v.Key != g.RowKey:
						rest += v.Key + "=" + v.Value + " "
					}
				}
				break
			}
		}
		return p, rest
	}
	p, rest := of(col)
	if !math.IsNaN(trials.Float(p)) {
		var variants []string
		for _, c := range cols {
			if _, r := of(c); !slices.Contains(variants, r) {
				variants = append(variants, r)
			}
		}
		return render.Series{Color: render.Color(trials.Float(p)), Style: render.LineStyle(slices.Index(variants, rest))}
	}
	number := func(col string) float64 {
		_, value, _ := strings.Cut(col, " = ")
		return trials.Float(value)
	}
	order := slices.Clone(cols)
	if !slices.ContainsFunc(order, func(c string) bool { return math.IsNaN(number(c)) }) {
		slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
	}
	return Curve(slices.Index(order, col), len(order))
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
	cols := g.Cols[:min(len(g.Cols), manyColumns)]
	for _, col := range cols {
		mean := g.curve(col, cols)
		mean.Name = col
		single := render.Series{Color: mean.Color, Style: render.Crosses}
		theirs := render.Series{Name: g.Reference, Color: mean.Color, Style: render.Rings}
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
