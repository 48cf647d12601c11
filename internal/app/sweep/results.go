package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// results are the numbers of a sweep, by what varies: a row per value of one key, a column per combination of the others.
type results struct {
	folder  Folder
	plan    *Plan
	rowKey  string // p where it varies and the metric can be compared between p, else the first key that can
	rows    []string
	cols    []string
	cells   map[[2]string]*cell // by row and column
	failed  map[string]failure
	diverge []string // the runs whose loss was no longer a number, and what they say
	odd     []string // the runs that warn of themselves
	missing []*Spec  // neither done nor given up
	done    int
	hashes  map[string][]string // of each data set, by name: more than one is a mistake
}

// cell is the trials of one combination. Only those with a number are in its mean.
type cell struct {
	runs     []*Spec
	values   map[uint64]float64 // by seed
	failed   int
	diverged int
	missing  int // not done yet
	none     int // done, without this number: data that is not separated has no margin
}

// collect reads the results in the folder.
func collect(f Folder, p *Plan) *results {
	r := &results{folder: f, plan: p, cells: map[[2]string]*cell{}, failed: f.failures(p), hashes: map[string][]string{}}
	keys, values := p.varying()
	r.rowKey = rowKey(p.File.Metric, keys)
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
	known := map[string]bool{}
	for _, s := range p.Runs {
		at := [2]string{s.get(r.rowKey), r.column(s)}
		if !known[at[1]] {
			known[at[1]] = true
			r.cols = append(r.cols, at[1])
		}
		c := r.cells[at]
		if c == nil {
			c = &cell{values: map[uint64]float64{}}
			r.cells[at] = c
		}
		c.runs = append(c.runs, s)
		r.add(c, s)
	}
	return r
}

// add counts a run in its cell.
func (r *results) add(c *cell, s *Spec) {
	out, ok := r.folder.Result(s)
	if !ok {
		if _, bad := r.failed[s.ID]; bad {
			c.failed++
		} else {
			c.missing++
			r.missing = append(r.missing, s)
		}
		return
	}
	r.done++
	delete(r.failed, s.ID) // it was tried again
	if why, bad := out.Diverged(); bad {
		c.diverged++
		r.diverge = append(r.diverge, fmt.Sprintf("%v diverged: %s", s, why))
	} else if v, ok := out.number(r.plan.File.Metric); ok {
		c.values[s.Seed] = v * r.unit()
	} else {
		c.none++
	}
	if text, _ := out["warning"].(string); text != "" {
		r.odd = append(r.odd, fmt.Sprintf("%v: %s", s, text))
	}
	if info, err := runlog.ReadInfo(r.folder.Trial(s)); err == nil && info.DataHash != "" && !slices.Contains(r.hashes[info.Data], info.DataHash) {
		r.hashes[info.Data] = append(r.hashes[info.Data], info.DataHash)
	}
}

// rowKey chooses what the rows are: p, unless the metric cannot be compared between p and can be between values of another key.
func rowKey(metric string, keys []string) string {
	order := slices.Clone(keys)
	slices.SortStableFunc(order, func(a, b string) int {
		rank := func(k string) int {
			switch {
			case !compares(metric, k) && k != "p":
				return 3
			case !compares(metric, k):
				return 2
			case k != "p":
				return 1
			}
			return 0
		}
		return rank(a) - rank(b)
	})
	if len(order) == 0 {
		return ""
	}
	return order[0]
}

// compares says whether a metric means the same for every value of a setting, so that one can be the best. The ℓₚ norm and margin of one p say nothing
// beside those of another; nor do objectives with different penalties or losses, nor numbers of different data.
func compares(metric, key string) bool {
	switch key {
	case "p":
		return !slices.Contains([]string{"norm", "margin", "max_margin", "lower", "upper", "gap", "b", "divergence", "objective", "excess"}, metric)
	case "l2", "lp", "soft":
		return !slices.Contains([]string{"norm", "margin", "lower", "upper", "gap", "objective", "excess"}, metric)
	case "loss":
		return !slices.Contains([]string{"loss", "objective", "excess", "gap", "test_loss"}, metric)
	case "data", "test", "label":
		return false
	}
	return true
}

// comparable says whether the rows of a column can be compared, and allComparable whether all cells can.
func (r *results) comparable() bool { return compares(r.plan.File.Metric, r.rowKey) }

func (r *results) allComparable() bool {
	keys, _ := r.plan.varying()
	return !slices.ContainsFunc(keys, func(k string) bool { return !compares(r.plan.File.Metric, k) })
}

// column names what else varies.
func (r *results) column(s *Spec) string {
	var parts []string
	for _, v := range s.Vary {
		if v.Key == r.rowKey {
			continue
		}
		if v.Key == "model" || v.Key == "data" {
			parts = append(parts, v.Value) // says itself what it is
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

func (c *cell) stat() Sample {
	if c == nil {
		return SampleOf(nil)
	}
	var all []float64
	for _, s := range c.runs { // in the order of the plan: sums do not depend on chance
		if v, ok := c.values[s.Seed]; ok {
			all = append(all, v)
		}
	}
	return SampleOf(all)
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
		out = append(out, fmt.Sprintf("%s failed after %s: %s", f.Run, render.Count(f.Attempts, "attempt"), f.Error))
	}
	out = append(append(out, r.diverge...), r.odd...)
	slices.Sort(out)
	if n := len(r.missing); n > 0 {
		var names []string
		for _, s := range r.missing[:min(n, 8)] {
			names = append(names, "“"+s.String()+"”")
		}
		more := ""
		if n > 8 {
			more = fmt.Sprintf(" and %d more", n-8)
		}
		is := "are"
		if n == 1 {
			is = "is"
		}
		out = append(out, fmt.Sprintf("%d of %s %s not done and not in the means: %s%s.", n,
			render.Count(len(r.plan.Runs), "run"), is, strings.Join(names, ", "), more))
	}
	return out
}
