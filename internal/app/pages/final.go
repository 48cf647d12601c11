package pages

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
)

// models are the numbers of a fit's result, by the names that their metrics have. The norm is that at margin 1.
var models = []struct{ metric, result string }{
	{"loss", "loss"}, {"test_loss", "test_loss"}, {"objective", "objective"}, {"excess", "excess"},
	{"accuracy", "train_accuracy"}, {"test_accuracy", "test_accuracy"},
	{"margin", "margin"}, {"gap", "gap"}, {"norm", "norm"},
}

// ofModel is a number of the model that the curve's fit wrote.
func ofModel(c trials.Curve, metric string) float64 {
	for _, m := range models {
		if m.metric == metric {
			return c.Run.Number(m.result)
		}
	}
	return math.NaN()
}

// endOfCurve is the last number of a curve.
func endOfCurve(c trials.Curve, metric string) float64 {
	for _, v := range slices.Backward(c.Column(metric)) {
		if v-v == 0 {
			return v
		}
	}
	return math.NaN()
}

// haveModels reports whether every curve is the only one of a fit with a result. Its model, which may be scaled to
// margin 1, has another loss and norm than the end of the curve: a table has the numbers of either the model or the
// curve. A result of several classes is not that of one curve.
func haveModels(groups []*trials.Group) bool {
	curves := map[*trials.Run]int{}
	for _, g := range groups {
		for _, c := range g.Curves {
			if curves[c.Run]++; curves[c.Run] > 1 || c.Run.Info.Command != "fit" || c.Run.Result == nil {
				return false
			}
		}
	}
	return len(curves) > 0
}

// modelNames are the metrics of which any model has a number.
func modelNames(groups []*trials.Group) (out []string) {
	for _, m := range models {
		if slices.ContainsFunc(groups, func(g *trials.Group) bool {
			return slices.ContainsFunc(g.Curves, func(c trials.Curve) bool { return !math.IsNaN(ofModel(c, m.metric)) })
		}) {
			out = append(out, m.metric)
		}
	}
	return out
}

// FinalTables have a row per group and a column per metric, a table for each part if there are many: the numbers of the
// models, or else the end of each curve; mean ± standard error over trials and their
// number, the best in bold if tests say so.
func FinalTables(groups []*trials.Group) []render.Table {
	of, all, note := endOfCurve, trials.MetricNames(groups), "The end of each curve"
	ofModels := haveModels(groups)
	if ofModels {
		of, all, note = ofModel, modelNames(groups), "Of the models; the p-norm is that of w scaled to margin 1"
	}
	// a rate and a speed are not results
	all = slices.DeleteFunc(all, func(n string) bool { return trials.MetricOf(n).Part == trials.Speed })
	var out []render.Table
	for _, part := range trials.Parts[:2] {
		t := render.Table{Title: groups[0].Kind, Header: []string{""}}
		names := all
		if len(all) > 7 {
			names = slices.DeleteFunc(slices.Clone(all), func(n string) bool { return trials.MetricOf(n).Part != part })
			t.Title += ": " + strings.ToLower(string(part))
		} else if part != trials.Learning { // few have one table
			break
		}
		names = names[:min(len(names), 9)]
		if len(names) == 0 {
			continue
		}
		for _, n := range names {
			t.Header = append(t.Header, trials.MetricOf(n).Column)
		}
		for _, g := range groups {
			row := []render.Cell{render.Text("%s", g.Name)}
			for _, n := range names {
				row = append(row, final(g, n, of))
			}
			t.Rows = append(t.Rows, row)
		}
		var tested []*trials.Column
		var places []int
		for j, n := range names {
			switch n {
			case "accuracy", "test_accuracy": // margins in different norms do not compare
			case "loss", "test_loss", "gap", "divergence", "angle":
				if n == "loss" && ofModels { // the loss of a model depends on its scale
					continue
				}
			default:
				continue
			}
			c := &trials.Column{Low: trials.LowIsBetter(n)}
			for _, g := range groups {
				c.Values = append(c.Values, finals(g, n, of))
			}
			tested, places = append(tested, c), append(places, j+1)
		}
		if slices.ContainsFunc(groups, (*trials.Group).Merged) { // runs of other settings are not trials of one: no test
			tested = nil
		}
		trials.Compare(tested...)
		for k, c := range tested {
			for i, bold := range c.Bold() {
				t.Rows[i][places[k]].Best = bold
			}
		}
		t.Note = joined(note+". "+Means, trials.Line(tested...))
		out = append(out, t)
	}
	return out
}

// finals are a metric of a group by seed, read from each curve by of.
func finals(g *trials.Group, metric string, of func(trials.Curve, string) float64) map[uint64]float64 {
	scale := trials.MetricOf(metric).Scale
	out := map[uint64]float64{}
	for k, c := range g.Trials() {
		seed := c.Seed()
		if g.Merged() { // runs of one seed and several settings
			seed = uint64(k)
		}
		if v := of(c, metric); v-v == 0 {
			out[seed] = scale * v
		}
	}
	return out
}

// final is a metric of a group, read from each curve by of.
func final(g *trials.Group, metric string, of func(trials.Curve, string) float64) render.Cell {
	var last []float64
	values := finals(g, metric, of)
	for _, seed := range slices.Sorted(maps.Keys(values)) {
		last = append(last, values[seed])
	}
	return meanOf(trials.SampleOf(last), trials.MetricOf(metric).Scale == 100)
}
