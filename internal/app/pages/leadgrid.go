package pages

import (
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// cellName is what varies in a cell: p = 2, lr = 0.8.
func cellName(c *trials.Cell) string {
	var parts []string
	for _, v := range c.Vary {
		parts = append(parts, v.Key+" = "+v.Value)
	}
	if len(parts) == 0 {
		return "the run"
	}
	return strings.Join(parts, ", ")
}

// contest compares cells. Their pairs are not compared yet.
func (g Grid) contest(cells []*trials.Cell, name func(*trials.Cell) string) *contest {
	c := &contest{metric: strings.ReplaceAll(g.Metric, "_", " "), Column: &trials.Column{Low: g.Low}}
	if trials.IsPercent(g.Metric) {
		c.unit = " %"
	}
	for _, x := range cells {
		c.names, c.Values = append(c.names, name(x)), append(c.Values, x.Values)
	}
	return c
}

// cells are those of columns, in their order.
func (g Grid) cells(cols ...string) (out []*trials.Cell) {
	for _, col := range cols {
		for _, row := range g.Rows {
			if x := g.At(row, col); x != nil {
				out = append(out, x)
			}
		}
	}
	return out
}

// Lead states which combination has the best mean, what is not distinguishable from it, and what is in no mean.
func (g Grid) Lead() (l Lead) {
	all := g.cells(g.Cols...)
	switch {
	case g.AllComparable():
		c := g.contest(all, cellName)
		trials.Compare(c.Column)
		l.contest(c)
	case g.Comparable():
		l.columns(g)
	default:
		l.apart(g, all)
	}
	left := map[string]int{}
	for _, x := range all {
		left["failed"] += x.Failed
		left["diverged"] += x.Diverged
		left["not done"] += x.Missing
		left["without a "+strings.ReplaceAll(g.Metric, "_", " ")] += x.None
	}
	if n := sum(left); n > 0 {
		l.Last("%s %s in no mean: %s.", capital(render.Count(n, "run")), isOrAre(n), counts(left))
	}
	return l
}

// columns compares rows within each column, where columns cannot be compared with each other.
func (l *Lead) columns(g Grid) {
	var contests []*contest
	var compared []*trials.Column
	for _, col := range g.Cols {
		c := g.contest(g.cells(col), func(x *trials.Cell) string { return g.RowKey + " = " + x.Get(g.RowKey) })
		contests, compared = append(contests, c), append(compared, c.Column)
	}
	trials.Compare(compared...)
	var parts, sure []string
	tested := 0
	for k, c := range contests {
		best := c.Leader()
		if best < 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s for %s, %s", c.names[best], g.Cols[k], c.mean(best, true)))
		if trials.Tests(c.Column) > 0 {
			tested++
		}
		if hasTrue(c.Bold()) {
			sure = append(sure, g.Cols[k])
		}
	}
	name := strings.ReplaceAll(g.Metric, "_", " ")
	if len(parts) == 0 {
		l.Say("There is no %s to compare: %s.", name, "no column has two results")
		return
	}
	word := "highest"
	if g.Low {
		word = "lowest"
	}
	l.Say("The %s mean %s: %s.", word, name, listedBy("; ", parts))
	l.Claim("%s cannot be compared between these columns: each has a best of its own.", capital(name))
	switch {
	case tested == 0:
		l.Claim("Nothing is tested: a test needs three runs of each, and chance alone may explain the order.")
	case len(sure) == 0:
		l.Claim("In no column is any %s significantly worse than the best (t tests at 5 %%, %s).", g.RowKey,
			trials.Correction(trials.Tests(compared...)))
	default:
		l.Claim("Some %s is significantly worse than the best for %s (t tests at 5 %%, %s).", g.RowKey, Listed(sure),
			trials.Correction(trials.Tests(compared...)))
	}
}

// apart lists means that cannot be compared.
func (l *Lead) apart(g Grid, all []*trials.Cell) {
	c := g.contest(all, cellName)
	var parts []string
	for _, k := range c.have() {
		parts = append(parts, fmt.Sprintf("%s for %s", c.mean(k, true), c.names[k]))
	}
	if len(parts) == 0 {
		l.Say("No run has a %s.", c.metric)
		return
	}
	l.Say("%s is %s.", capital(c.metric), listedBy("; ", parts))
	if len(parts) > 1 {
		l.Claim("There is no best: %s cannot be compared between different %s.", c.metric, strings.Join(g.Keys, " and "))
	}
}

// listedBy joins the first of many texts.
func listedBy(mark string, texts []string) string {
	const most = 6
	if n := len(texts); n > most {
		return strings.Join(texts[:most-1], mark) + fmt.Sprintf("%sand %d more", mark, n-most+1)
	}
	return strings.Join(texts, mark)
}

func hasTrue(all []bool) bool {
	for _, v := range all {
		if v {
			return true
		}
	}
	return false
}
