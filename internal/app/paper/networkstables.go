package paper

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
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

// meanCell writes mean ± standard error and the number of runs.
func meanCell(s trials.Sample, digits int) render.Cell {
	return render.Mean(s.Mean, s.Error(), s.N, digits)
}

// spread writes a mean of the paper ± its deviation.
func spread(mean, deviation float64) render.Cell {
	c := render.Number(mean, 2)
	if !math.IsNaN(deviation) {
		c.Text += fmt.Sprintf(" ± %.2f", deviation)
	}
	return c
}

// label says how the runs of a group were trained, besides the network: epochs, peak rate and reading.
func (r *networks) label(g *group) string {
	return epochs(g.settings) + ", " + g.title + r.reading(g)
}

// reading says which reading of the paper's rate the runs of a group have, after a comma; empty if neither.
func (r *networks) reading(g *group) string {
	rate, err := strconv.ParseFloat(g.settings["lr"], 64)
	size, bad := strconv.Atoi(g.settings["batch"])
	if r.paper != cifar10Table || err != nil || bad != nil {
		return ""
	}
	switch numbers.ReadingOf(rate, size) {
	case numbers.Scaled:
		return " (reading: scaled, 0.1 for each 128 images)"
	case numbers.Printed:
		return " (reading: printed)"
	}
	return ""
}

// accuracyTable is ours beside the paper's.
func (r *networks) accuracyTable(g *group) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s on %s: %s, %s", g.model, r.images(), r.label(g),
		render.Count(r.plan.File.Trials, "trial")),
		Note: "Accuracies in %. " + pages.Means + " Training loss and accuracy are those of the last epoch, " +
			"on the images as they were trained on.",
		Header: []string{"p", "test", r.paper.column(), "test with flips", "train", "train loss", "learning rate"}}
	other := flipAccuracy
	if r.paper.packed {
		t.Header[1], t.Header[3], other = t.Header[3], "without", testAccuracy
	}
	paper := r.published(g)
	column := &trials.Column{}
	q := g.accuracies(r.paper.test)
	published := 0
	for _, p := range g.ps {
		column.Values = append(column.Values, q.of(p))
		if _, ok := paper[p]; ok {
			published++
		}
	}
	trials.Compare(column)
	if line := trials.Line(column); line != "" {
		t.Note += " " + line
	}
	if paper != nil {
		t.Note += fmt.Sprintf(" The paper: after %d epochs", r.paper.epochs)
		if r.paper.trials > 1 {
			t.Note += fmt.Sprintf(", mean ± deviation of %d trials", r.paper.trials)
		} else {
			t.Note += ", one run"
		}
		t.Note += "."
		if !r.asPaper() {
			t.Note += " Ours have " + epochs(g.settings) + "."
		}
	}
	if published > 1 {
		t.Note += " In the paper's column, what the paper marks as best."
	}
	bold := column.Bold()
	for k, p := range g.ps {
		cell := func(of func(command.TrainResult) float64) render.Cell { return meanCell(g.over(p, of), 2) }
		test, theirs := cell(r.paper.test), render.Text("–")
		test.Best = bold[k]
		if n := g.failed[p]; n > 0 {
			test.Add("%d diverged", n)
		}
		if n := g.missing[p]; n > 0 {
			test.Add("%d not done", n)
		}
		if a, ok := paper[p]; ok {
			theirs = spread(a.Mean, a.Deviation)
			theirs.Best = a.Best && published > 1
		}
		rate := g.over(p, func(x command.TrainResult) float64 { return x.LR })
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v", p), test, theirs, cell(other), cell(trainAccuracy),
			meanCell(g.over(p, func(x command.TrainResult) float64 { return x.Loss }), -1), render.Short(rate.Mean, 3)})
	}
	if paper == nil {
		dropColumn(&t, 2)
	}
	return t
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
		return openHere
	case (c.ours.Mean > 0) == (c.theirs > 0):
		return asInPaper
	}
	return against
}

// agrees is the verdict on a pair that the paper orders as the sign says.
func (c compared) agrees(sign float64) string {
	switch {
	case c.ours.N == 0 || math.IsNaN(c.ours.Mean):
		return notRun
	case math.IsNaN(c.ours.Chance):
		return tooFewRuns
	case !c.significantHere():
		return openHere
	case (c.ours.Mean > 0) == (sign > 0):
		return asInPaper
	}
	return against
}

// The verdicts on a pair of p.
const (
	asInPaper = "as in the paper"
	against   = "against the paper"
	openHere  = "open here"
)

// orderTable is the pairs of p, ours beside the paper's.
func (r *networks) orderTable(g *group) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s, %s: the order of the p", g.model, r.label(g)),
		Header: []string{"pair", "ours", "the paper", "verdict"}}
	tests := 0
	for _, c := range r.compare(g) {
		ours, theirs := pages.ContrastCell(c.ours, true), render.Text("–")
		if !math.IsNaN(c.ours.Chance) {
			tests++
		}
		if c.known {
			theirs = render.Number(c.theirs, 2)
			if !c.single {
				theirs.Text += fmt.Sprintf(" (%s)", trials.Probability(c.paperChance))
				theirs.Best = c.significantInPaper()
			}
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%v − %v", c.p, c.q), ours, theirs, render.Text("%s", c.verdict())})
	}
	t.Note = "Test accuracy in points. " + pages.Tested(tests)
	switch paper := r.published(g); {
	case paper == nil:
		dropColumn(&t, 3)
		dropColumn(&t, 2)
	case r.paper.trials == 1:
		t.Note += " The paper has one run of each, and nothing that tells its differences from chance."
	default:
		t.Note += " The paper's, in brackets the probability of chance: Welch's t from its means and deviations, Holm's " +
			"correction for its pairs."
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
		k, n := 0, 0
		for _, g := range r.groups {
			if g.model == model {
				n++
			}
		}
		for _, g := range r.groups {
			if g.model != model {
				continue
			}
			mean := pages.Curve(k, n)
			if mean.Name = g.title; k > 0 {
				mean.Style = render.LineStyle(k + 1) // dashes are the paper's
			}
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
