package record

import (
	"math"
	"slices"
	"strconv"
)

// Group is the rows that differ in their seed alone.
type Group struct {
	Identity Identity // of the first row
	Rows     []Row    // the first of each seed, in the order of the file
	Weights  *Weights // of the first row that has some
	Levels   []*Levels
	Again    []Row // rows of seeds that are there already: they count in no mean
}

// Groups sorts rows by everything in their identity but the seed, which the visible columns do not show all of. The
// groups come in the order of their first rows. weights are those of the rows, or nil.
func Groups(rows []Row, weights []*Weights) []*Group {
	var out []*Group
	byKey, seen := map[string]*Group{}, map[string]bool{}
	for k, r := range rows {
		key := r.Identity.Trials()
		g := byKey[key]
		if g == nil {
			g = &Group{Identity: r.Identity}
			byKey[key], out = g, append(out, g)
		}
		one := key + "\x00" + r.Identity.Settings["seed"]
		if seen[one] {
			g.Again = append(g.Again, r)
			continue
		}
		seen[one] = true
		g.Rows = append(g.Rows, r)
		if k >= len(weights) || weights[k] == nil {
			continue
		}
		if g.Weights == nil {
			g.Weights = weights[k]
		}
		if l := weights[k].Levels; l != nil {
			g.Levels = append(g.Levels, l)
		}
	}
	return out
}

// P is the p of the group, NaN if it has none.
func (g *Group) P() float64 { return parseFloat(g.Identity.Settings["p"]) }

// Values are a number of the rows that are done and have it.
func (g *Group) Values(of func(Row) float64) []float64 {
	var out []float64
	for _, r := range g.Rows {
		if v := of(r); r.Status == Done && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// Diverged counts the rows of runs that diverged.
func (g *Group) Diverged() int {
	n := 0
	for _, r := range g.Rows {
		if r.Status == Diverged {
			n++
		}
	}
	return n
}

// Distinct are the texts that the rows of the group have of something, each once.
func (g *Group) Distinct(of func(Row) string) []string {
	var out []string
	for _, r := range g.Rows {
		if t := of(r); t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// ResultsText is the version of a row's numbers as a text.
func ResultsText(r Row) string {
	if r.Results == 0 {
		return "unknown"
	}
	return strconv.Itoa(r.Results)
}
