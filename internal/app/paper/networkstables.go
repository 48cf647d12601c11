package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// over is the mean and the deviation of a number of the runs of p.
func (g *group) over(p float64, of func(command.TrainResult) float64) trials.Sample {
	var all []float64
	for _, x := range g.runs[p] {
		all = append(all, of(x))
	}
	return trials.SampleOf(all)
}

// spread writes mean ± deviation.
func spread(mean, deviation float64) render.Cell {
	c := render.Number(mean, 2)
	if !math.IsNaN(deviation) {
		c.Text += fmt.Sprintf(" ± %.2f", deviation)
	}
	return c
}

// accuracyTable is ours beside the paper's.
func (r *networks) accuracyTable(g *group) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s on %s: %s, %s, %s", g.model, r.images(), g.title, epochs(g.settings),
		render.Count(r.plan.File.Trials, "trial")),
		Note: "Accuracies in %, mean ± deviation over the trials. Training loss and accuracy are those of the last epoch, " +
			"on the images as they were trained on.",
		Header: []string{"p", "test", r.paper.column(), "test with flips", "train", "train loss", "learning rate"}}
	other := flipAccuracy
	if r.paper.packed {
		t.Header[1], t.Header[3], other = t.Header[3], "without", testAccuracy
	}
	paper := r.published(g)
	var means []float64
	published := 0
	for _, p := range g.ps {
		if len(g.runs[p]) > 0 {
			means = append(means, g.over(p, r.paper.test).Mean)
		}
		if _, ok := paper[p]; ok {
			published++
		}
	}
	best := bestOf(means)
	if !math.IsNaN(best) {
		t.Note += " The best in bold."
	}
	if published > 1 {
		t.Note += " In the paper's column, what the paper marks as best."
	}
	for _, p := range g.ps {
		cell := func(of func(command.TrainResult) float64) render.Cell {
			s := g.over(p, of)
			return spread(s.Mean, s.Deviation)
		}
		test, theirs := cell(r.paper.test), render.Text("–")
		test.Best = test.Value == best
		if n := g.failed[p]; n > 0 {
			test.Text += fmt.Sprintf(" (%d diverged)", n)
		}
		if n := g.missing[p]; n > 0 {
			test.Text += fmt.Sprintf(" (%d not done)", n)
		}
		if a, ok := paper[p]; ok {
			theirs = spread(a.Mean, a.Deviation)
			theirs.Best = a.Best && published > 1
		}
		loss := g.over(p, func(x command.TrainResult) float64 { return x.Loss })
		rate := g.over(p, func(x command.TrainResult) float64 { return x.LR })
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v", p), test, theirs,
			cell(other), cell(trainAccuracy),
			render.Short(loss.Mean, 3), render.Short(rate.Mean, 3)})
	}
	if paper == nil {
		dropColumn(&t, 2)
	}
	return t
}

// bestOf is the largest of several; NaN if there are fewer than two: a single result is not the best.
func bestOf(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	return slices.Max(values)
}

// dropColumn removes a column if it is empty.
func dropColumn(t *render.Table, j int) {
	t.Header = slices.Delete(t.Header, j, j+1)
	for i := range t.Rows {
		t.Rows[i] = slices.Delete(t.Rows[i], j, j+1)
	}
}

// compared is the order of two p in a group.
type compared struct {
	p, q        float64     // p < q
	ours        trials.Pair // accuracy of p − accuracy of q, over the seeds that both have
	theirs      float64
	known       bool    // the paper has both
	single      bool    // from one run each, which nothing can test
	paperChance float64 // the probability that the paper's is chance, corrected for the number of pairs
}

// significantHere reports whether our difference is significant.
func (c compared) significantHere() bool { return c.ours.Chance < trials.Significant }

// significantInPaper reports whether the difference in the paper is significant.
func (c compared) significantInPaper() bool { return c.paperChance < trials.Significant }

// compare returns for all pairs of p how they are ordered here and, if it has both, in the paper. Ours are paired by
// seed: Student's t. Of the paper's only means and deviations are known: Welch's t. Both are corrected by Holm's method
// over the pairs of the group.
func (r *networks) compare(g *group) []compared {
	paper := r.published(g)
	values := make([]map[uint64]float64, len(g.ps))
	for i, p := range g.ps {
		values[i] = map[uint64]float64{}
		for _, x := range g.runs[p] {
			values[i][x.Seed] = r.paper.test(x)
		}
	}
	var out []compared
	var theirs []float64
	for _, d := range trials.Pairs(values) {
		c := compared{p: g.ps[d.I], q: g.ps[d.J], ours: d}
		x, ok := paper[c.p]
		y, both := paper[c.q]
		chance := math.NaN()
		if ok && both {
			c.known, c.theirs, c.single = true, x.Mean-y.Mean, r.paper.trials == 1
			chance = trials.Welch(trials.Sample{N: r.paper.trials, Mean: x.Mean, Deviation: x.Deviation},
				trials.Sample{N: r.paper.trials, Mean: y.Mean, Deviation: y.Deviation})
		}
		out, theirs = append(out, c), append(theirs, chance)
	}
	for k, p := range trials.Holm(theirs) {
		out[k].paperChance = p
	}
	return out
}

// verdict is what a comparison says about the paper's order.
func (c compared) verdict() string {
	switch {
	case !c.known:
		return "–"
	case c.single:
		return c.agrees(c.theirs)
	case !c.significantHere() && !c.significantInPaper():
		return "open in both"
	case !c.significantInPaper():
		return "new: the paper leaves it open"
	case !c.significantHere():
		return "open here"
	case (c.ours.Mean > 0) == (c.theirs > 0):
		return "as in the paper"
	}
	return "against the paper"
}

// orderTable is the pairs of p, ours beside the paper's.
func (r *networks) orderTable(g *group) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s, %s: the order of the p", g.model, g.title),
		Note: "Differences of test accuracy in points; ours over the seeds that both have, ± standard error. In brackets " +
			"the probability that it is chance: Student's t for our pairs, Welch's for the paper's means, both corrected " +
			"by Holm's method for the pairs of this table. In bold: below 0.05. No test (–) below three seeds, nor if all " +
			"differences are equal.",
		Header: []string{"pair", "ours", "the paper", "verdict"}}
	for _, c := range r.compare(g) {
		ours, theirs := render.Number(c.ours.Mean, 2), render.Text("–")
		if se := c.ours.Error(); !math.IsNaN(se) {
			ours.Text += fmt.Sprintf(" ± %.2f (%s)", se, trials.Probability(c.ours.Chance))
		}
		ours.Best = c.significantHere()
		if c.known {
			theirs = render.Number(c.theirs, 2)
			if !c.single {
				theirs.Text += fmt.Sprintf(" (%s)", trials.Probability(c.paperChance))
				theirs.Best = c.significantInPaper()
			}
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v − %v", c.p, c.q), ours, theirs, render.Text("%s", c.verdict())})
	}
	paper := r.published(g)
	if paper == nil {
		dropColumn(&t, 3)
		dropColumn(&t, 2)
	}
	if paper == nil || r.paper.trials == 1 {
		t.Note = strings.Replace(t.Note, "Student's t for our pairs, Welch's for the paper's means, both corrected",
			"Student's t, corrected", 1)
	}
	if paper != nil && r.paper.trials == 1 {
		t.Note += " The paper has one run of each, and nothing that tells its differences from chance."
	}
	return t
}

// accuracyFigures is a panel per network.
func (r *networks) accuracyFigures() []render.Figure {
	var out []render.Figure
	var models []string
	for _, g := range r.groups {
		if !slices.Contains(models, g.model) {
			models = append(models, g.model)
		}
	}
	for _, model := range models {
		f := render.Figure{Title: model, X: "p", Y: "test accuracy, %", ByP: true}
		k := 0
		for _, g := range r.groups {
			if g.model != model {
				continue
			}
			mean := render.Series{Name: g.title, Color: pages.SeriesColor(k)}
			single := render.Series{Style: render.Crosses, Color: mean.Color}
			for _, p := range g.ps {
				if len(g.runs[p]) > 0 {
					mean.X, mean.Y = append(mean.X, p), append(mean.Y, g.over(p, r.paper.test).Mean)
				}
				if len(g.runs[p]) > 1 {
					for _, t := range g.runs[p] {
						single.X, single.Y = append(single.X, p), append(single.Y, r.paper.test(t))
					}
				}
			}
			if len(mean.X) < 2 {
				continue // one point is not a line
			}
			f.Series = append(f.Series, mean)
			if len(single.X) > 0 {
				f.Series = append(f.Series, single)
			}
			if paper := r.published(g); paper != nil && k == 0 {
				var px, py []float64
				for _, p := range g.ps {
					if a, ok := paper[p]; ok {
						px, py = append(px, p), append(py, a.Mean)
					}
				}
				f.Series = append(f.Series, render.Series{Name: r.paper.column(), X: px, Y: py, Style: render.Dashed})
			}
			k++
		}
		if k == 0 {
			continue
		}
		lo, hi, named := math.Inf(1), math.Inf(-1), 0
		for _, s := range f.Series {
			if s.Name != "" {
				named++
			}
			for _, y := range s.Y {
				lo, hi = min(lo, y), max(hi, y)
			}
		}
		span := max(hi-lo, 1)
		room := 0.05
		if len(models) == 1 { // several share a legend above them
			room = 0.1 + 0.09*float64(named)
		}
		f.Min[1], f.Max[1] = lo-room*span, hi+0.05*span
		out = append(out, f)
	}
	return out
}
