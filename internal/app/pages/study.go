package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/train"
)

// Studied are the trials of one row of a comparison.
type Studied struct {
	Name   string
	P      float64
	Style  render.Style // of its curves, if several rows have one p
	Trials []train.Study
}

// Mean is that of a number over the trials.
func (s Studied) Mean(of func(train.Study) float64) float64 {
	var values []float64
	for _, t := range s.Trials {
		values = append(values, of(t))
	}
	return trials.SampleOf(values).Mean
}

// cell is the mean of a number over the trials ± its standard error. The table says how many there are.
func (s Studied) cell(digits int, of func(train.Study) float64) render.Cell {
	var values []float64
	for _, t := range s.Trials {
		values = append(values, of(t))
	}
	a := trials.SampleOf(values)
	if a.N < 2 {
		return render.Short(a.Mean, digits)
	}
	c := render.Mean(a.Mean, a.Error(), a.N, -1)
	c.Text = strings.TrimSuffix(c.Text, fmt.Sprintf(" (n = %d)", a.N))
	return c
}

// percent is the same of a share, in percent.
func (s Studied) percent(of func(train.Study) float64) render.Cell {
	var values []float64
	for _, t := range s.Trials {
		values = append(values, 100*of(t))
	}
	a := trials.SampleOf(values)
	c := render.Number(a.Mean, 2)
	if a.N > 1 {
		c = render.Mean(a.Mean, a.Error(), a.N, 2)
		c.Text = strings.TrimSuffix(c.Text, fmt.Sprintf(" (n = %d)", a.N))
	}
	return c
}

// overTrials says how many trials the means of a table are over.
func overTrials(rows []Studied) string {
	same, most := true, 0
	var each []string
	for _, r := range rows {
		same, most = same && len(r.Trials) == len(rows[0].Trials), max(most, len(r.Trials))
		each = append(each, fmt.Sprintf("%d of %s", len(r.Trials), r.Name))
	}
	switch {
	case most < 2:
		return "One run each."
	case same:
		return fmt.Sprintf("Mean ± standard error, n = %d in every cell.", most)
	}
	return "Mean ± standard error over n trials: " + strings.Join(each, ", ") + "."
}

// panels is how many histograms a figure has: the six p of the paper.
const panels = 6

// AddStudies adds what p does to weights to a page and its folder: histograms, spreads, pruning, rounding, margins. The
// names of files begin with prefix, the sections with of, and the captions of the histograms with runs, which says what
// was trained.
func AddStudies(d *render.Document, prefix, of, runs string, rows []Studied) error {
	if prefix != "" {
		prefix += "_"
	}
	if of != "" {
		of += ": "
	}
	d.Section(of + "The weights")
	d.Say("|w| of the kernels of convolutions and the weights of the last layer; biases and batch-norm parameters are " +
		"not among them. Behind batch norm the scale of a " +
		"layer means nothing, so the sizes are also shown over the root mean square (RMS) of their layer.")
	figs := histograms(rows)
	for k := 0; k < len(figs); k += panels {
		name := prefix + "weights"
		if k > 0 {
			name = fmt.Sprintf("%s_%d", name, k/panels+1)
		}
		caption := runs + "Histograms of |w|: 100 bins up to the size that 99.5 % of the weights do not exceed, the tail " +
			"cropped, as in the paper. Each has its own axes."
		if runs == "" && len(rows[0].Trials) > 1 {
			caption += " The first trial of each."
		}
		if err := d.AddFigure(name, caption, figs[k:min(k+panels, len(figs))]...); err != nil {
			return err
		}
	}
	if err := d.AddFigure(prefix+"weights_scaled",
		runs+"The sizes over the RMS of their layer: the density, on a linear and on a logarithmic axis.",
		scaledHistograms(rows)...); err != nil {
		return err
	}
	d.AddTables(render.Named{Name: prefix + "weights", Table: SpreadTable(rows)})
	d.SaveCSV(prefix+"histograms", histogramTable(rows))

	d.Section(of + "Pruning and rounding")
	d.Say("Test accuracy with the smallest weights set to 0, the same share of each layer or of all layers together, " +
		"and with all weights rounded: symmetric, s·round(w/s) with s = max|w|/(2^(bits−1) − 1), one scale s per tensor or " +
		"one per output channel of each tensor. Nothing is trained after the change.")
	levels, tables := Levels(rows)
	for _, f := range levels {
		if err := d.AddFigure(prefix+f.Name, f.Caption, f.Panels...); err != nil {
			return err
		}
	}
	for k := range tables {
		tables[k].Name = prefix + tables[k].Name
	}
	d.AddTables(tables...)

	d.Section(of + "Margins")
	d.Say("The output margin of a training image, taken as it is, is logit_y − the largest other logit. It grows with " +
		"the weights, so it is divided by the norm of the last " +
		"layer's weights, and by the product of the norms of all layers, though batch norm makes the size of all layers " +
		"but the last one arbitrary.")
	d.AddTables(render.Named{Name: prefix + "margins", Table: marginTable(rows, false)},
		render.Named{Name: prefix + "margins_product", Table: marginTable(rows, true)})
	d.Say("The last layer is a linear classifier of its features, and two classes are a problem that is solved " +
		"exactly: the largest ℓₚ margin of the features of two classes, with a " +
		"constant feature for the bias, against that of the network's own w_a − w_b. Pairs rather than one class against " +
		"the rest, because a pair is what the last layer decides by " +
		"comparing two logits. The three pairs with the smallest margin of the network, all their training images. " +
		"Features that no w separates are an answer, too.")
	d.AddTables(render.Named{Name: prefix + "pairs", Table: pairTable(rows)})
	return nil
}

// steps are the outline of a histogram: x and y, two points a bin.
func steps(h train.Histogram, y func(share float64) float64) (xs, ys []float64) {
	width := h.Limit / float64(len(h.Share))
	for k, s := range h.Share {
		xs = append(xs, float64(k)*width, float64(k+1)*width)
		ys = append(ys, y(s), y(s))
	}
	return xs, ys
}

func histograms(rows []Studied) []render.Figure {
	var out []render.Figure
	for _, r := range rows {
		x, y := steps(r.Trials[0].Histogram, func(s float64) float64 { return 100 * s })
		out = append(out, render.Figure{Title: r.Name, X: "|w|", Y: "% of the weights",
			Max:    [2]float64{r.Trials[0].Histogram.Limit, 1.05 * slices.Max(append(y, 0.01))},
			Series: []render.Series{{X: x, Y: y, Color: render.Color(r.P)}}})
	}
	return out
}

func scaledHistograms(rows []Studied) []render.Figure {
	linear := render.Figure{Title: "|w| over the RMS of its layer", X: "|w| / RMS", Y: "density"}
	for _, r := range rows {
		h := r.Trials[0].ScaledHistogram
		x, y := steps(h, func(s float64) float64 { return s * float64(len(h.Share)) / h.Limit })
		linear.Series = append(linear.Series, render.Series{Name: r.Name, X: x, Y: y, Color: render.Color(r.P)})
	}
	var right, top float64
	for _, s := range linear.Series {
		right, top = max(right, slices.Max(s.X)), max(top, slices.Max(s.Y))
	}
	log := linear
	log.Title, log.LogY = "The same, logarithmic", true
	linear.Max = [2]float64{right, 1.3 * top} // room for the legend
	log.Min, log.Max = [2]float64{0, 1e-3}, [2]float64{right, 10 * top}
	return []render.Figure{linear, log}
}

// SpreadTable has a row for each.
func SpreadTable(rows []Studied) render.Table {
	t := render.Table{Title: "Sizes of the weights",
		Note: "Effective sparsity is 1 − ‖w‖₁²/(n‖w‖₂²), of the sizes over their layer's RMS: 0 if all have one size, " +
			"0.36 for a normal distribution. " + overTrials(rows),
		Header: []string{"", "max", "median", "max/median", "below 0.001, %", "below 0.01, %", "max/median over RMS",
			"below RMS/100, %", "below RMS/10, %", "effective sparsity"}}
	for _, r := range rows {
		num, share := r.cell, r.percent
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", r.Name),
			num(4, func(s train.Study) float64 { return s.All.Max }),
			num(4, func(s train.Study) float64 { return s.All.Median }),
			num(4, func(s train.Study) float64 { return maxOverMedian(s.All) }),
			share(func(s train.Study) float64 { return s.All.Below[0] }),
			share(func(s train.Study) float64 { return s.All.Below[1] }),
			num(4, func(s train.Study) float64 { return maxOverMedian(s.Scaled) }),
			share(func(s train.Study) float64 { return s.Scaled.Below[2] }),
			share(func(s train.Study) float64 { return s.Scaled.Below[3] }),
			num(3, func(s train.Study) float64 { return s.Scaled.Sparsity })})
	}
	return t
}

// maxOverMedian is NaN if half the weights are 0.
func maxOverMedian(s train.Spread) float64 {
	if s.Median == 0 {
		return math.NaN()
	}
	return s.MaxOverMedian()
}

// histogramTable has the bins of all rows.
func histogramTable(rows []Studied) render.Table {
	t := render.Table{Header: []string{"", "of", "from", "to", "share"}}
	for _, r := range rows {
		for k, h := range []train.Histogram{r.Trials[0].Histogram, r.Trials[0].ScaledHistogram} {
			of := []string{"|w|", "|w|/RMS"}[k]
			for b, s := range h.Share {
				width := h.Limit / float64(len(h.Share))
				t.Rows = append(t.Rows, []render.Cell{render.Text("%s", r.Name), render.Text("%s", of),
					render.Short(float64(b)*width, 6), render.Short(float64(b+1)*width, 6), render.Short(s, 6)})
			}
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s", r.Name), render.Text("%s", of), render.Short(h.Limit, 6),
				render.Text("–"), render.Short(h.Beyond, 6)})
		}
	}
	return t
}

// levelSeries is a way to change the weights, by levels.
type levelSeries struct {
	name, title string // of its table, and of its panel
	of          func(train.Study) []train.Level
	bits        bool // levels are bits, not shares
}

var levelSeriesAll = []levelSeries{
	{"pruning", "Pruned: the same share of each layer", func(s train.Study) []train.Level { return s.PrunedEach }, false},
	{"pruning_all", "Pruned: of all layers together", func(s train.Study) []train.Level { return s.PrunedAll }, false},
	{"rounding", "Rounded: a scale per tensor", func(s train.Study) []train.Level { return s.Rounded }, true},
	{"rounding_channels", "Rounded: a scale per channel", func(s train.Study) []train.Level { return s.RoundedChannels },
		true},
}

// known is an accuracy with the batch-norm statistics from before the change, and recalibrated one with those of the
// changed network.
func known(l train.Level) *float64        { return &l.Accuracy }
func recalibrated(l train.Level) *float64 { return l.Recalibrated }

// recomputed follows the name of a row or curve.
const recomputed = ", statistics recomputed"

// levels are the mean accuracies, in percent, and their standard errors; none if a trial lacks one.
func (s Studied) levels(of func(train.Study) []train.Level, value func(train.Level) *float64) (at, accuracy,
	errors []float64) {
	for k, l := range of(s.Trials[0]) {
		var values []float64
		for _, t := range s.Trials {
			if levels := of(t); len(levels) != len(of(s.Trials[0])) || levels[k].At != l.At || value(levels[k]) == nil {
				return nil, nil, nil
			}
			values = append(values, 100**value(of(t)[k]))
		}
		a := trials.SampleOf(values)
		at, accuracy, errors = append(at, l.At), append(accuracy, a.Mean), append(errors, a.Error())
	}
	return at, accuracy, errors
}

// LevelFigure is panels side by side.
type LevelFigure struct {
	Name, Caption string
	Panels        []render.Figure
}

// Levels are the figures and tables of pruning and rounding. One network is drawn with both statistics of batch norm;
// several have figures of their own for the recomputed ones.
func Levels(rows []Studied) (figs []LevelFigure, tables []render.Named) {
	const again = " with the batch-norm statistics recomputed after the change, from %s training images."
	images := render.Thousands(train.CalibrationImages)
	for _, f := range []LevelFigure{
		{"pruning", "Test accuracy after magnitude pruning.", levelPanels(rows, false, known)},
		{"rounding", "Test accuracy after rounding.", levelPanels(rows, true, known)},
	} {
		second := levelPanels(rows, f.Name == "rounding", recalibrated)
		if len(rows) == 1 && len(second) == len(f.Panels) {
			f.Caption += fmt.Sprintf(" Dashed:"+again, images)
			for k := range second {
				second[k].Series[0].Style = render.Dashed
				second[k].Series[0].Name += recomputed
				f.Panels[k].Series = append(f.Panels[k].Series, second[k].Series...)
			}
			second = nil
		}
		figs = append(figs, f)
		if len(second) > 0 {
			figs = append(figs, LevelFigure{f.Name + "_recomputed", "The same" + fmt.Sprintf(again, images), second})
		}
	}
	for _, s := range levelSeriesAll {
		if t := s.table(rows, known); len(t.Rows) > 0 {
			tables = append(tables, render.Named{Name: s.name, Table: t})
		}
		if t := s.table(rows, recalibrated); len(t.Rows) > 0 {
			t.Title += recomputed
			tables = append(tables, render.Named{Name: s.name + "_recomputed", Table: t})
		}
	}
	return figs, tables
}

// levelPanels are the panels of pruning or of rounding that have a curve.
func levelPanels(rows []Studied, bits bool, value func(train.Level) *float64) (out []render.Figure) {
	for _, s := range levelSeriesAll {
		if s.bits != bits {
			continue
		}
		f := render.Figure{Title: s.title, X: "bits", Y: "test accuracy, %"}
		f.Min[1], f.Max[1] = 0, 100
		if !s.bits {
			f.X = "% of the weights set to 0"
		}
		for _, r := range rows {
			at, acc, errors := r.levels(s.of, value)
			if len(at) == 0 {
				continue
			}
			one := render.Series{Name: r.Name, X: at, Y: acc, Color: render.Color(r.P), Style: r.Style}
			for i := range at {
				if !s.bits {
					at[i] *= 100
				}
				if len(r.Trials) > 1 {
					one.Low, one.High = append(one.Low, acc[i]-errors[i]), append(one.High, acc[i]+errors[i])
				}
			}
			f.Series = append(f.Series, one)
		}
		if len(f.Series) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// table has a row for each that has the accuracies.
func (s levelSeries) table(rows []Studied, value func(train.Level) *float64) render.Table {
	t := render.Table{Title: s.title, Left: 1, Header: []string{""}}
	var with []Studied
	for _, r := range rows {
		if at, _, _ := r.levels(s.of, value); len(at) > 0 {
			with = append(with, r)
		}
	}
	t.Note = "Test accuracy in %. " + overTrials(with)
	different := slices.ContainsFunc(with, func(r Studied) bool { return len(r.Trials) != len(with[0].Trials) })
	if different {
		t.Header = append(t.Header, "n")
		t.Note = "Test accuracy in %: mean ± standard error over n trials."
	}
	for _, r := range with {
		at, _, _ := r.levels(s.of, value)
		row := []render.Cell{render.Text("%s", r.Name)}
		if different {
			row = append(row, render.Text("%d", len(r.Trials)))
		}
		add := func(at float64, of func(train.Study) float64) {
			if len(t.Header) <= len(row) {
				t.Header = append(t.Header, s.header(at))
			}
			row = append(row, r.percent(of))
		}
		if s.bits { // the levels lack the network as it is
			add(0, func(t train.Study) float64 {
				return share(value(train.Level{Accuracy: t.Accuracy, Recalibrated: t.Recalibrated}))
			})
		}
		for k := range at {
			add(at[k], func(t train.Study) float64 { return *value(s.of(t)[k]) })
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// header is that of the column of a level.
func (s levelSeries) header(at float64) string {
	switch {
	case s.bits && at == 0:
		return "float32"
	case s.bits:
		return fmt.Sprintf("%v bits", at)
	}
	return fmt.Sprintf("%v %%", math.Round(1000*at)/10)
}

// marginTable has the quantiles of the output margins over ‖W‖ of the last layer, or over the product of all layers'
// norms.
func marginTable(rows []Studied, product bool) render.Table {
	t := render.Table{Title: "Output margins on the training images, over the norm of the last layer",
		Note:   "Quantiles of the margin over ‖W‖ₚ, p that of the row; in brackets over ‖W‖₂. Means over the trials.",
		Header: []string{"", "smallest"}}
	for _, q := range train.MarginShares[1:] {
		t.Header = append(t.Header, fmt.Sprintf("%v %%", 100*q))
	}
	format, digits := "%.3g (%.3g)", 3
	norms := func(m train.Margins) (p, two float64) { return m.LastNorm, m.LastNorm2 }
	if product {
		t.Title = "Output margins on the training images, over the product of the norms of all layers"
		t.Note = "The same quantiles over ∏‖Wₗ‖ₚ; in brackets over ∏‖Wₗ‖₂."
		format, digits = "%.2e (%.2e)", 2
		norms = func(m train.Margins) (p, two float64) {
			return math.Pow(10, m.LogProductOfNorm), math.Pow(10, m.LogProductOfNorm2)
		}
	} else {
		t.Header = append(t.Header, "positive, %", "‖W‖ₚ", "‖W‖₂")
	}
	for _, r := range rows {
		row := []render.Cell{render.Text("%s", r.Name)}
		for k := range train.MarginShares {
			over := r.Mean(func(s train.Study) float64 { n, _ := norms(s.Margins); return s.Margins.Quantiles[k] / n })
			over2 := r.Mean(func(s train.Study) float64 { _, n := norms(s.Margins); return s.Margins.Quantiles[k] / n })
			c := render.Short(over, digits)
			c.Text = fmt.Sprintf(format, over, over2)
			row = append(row, c)
		}
		if !product {
			row = append(row, render.Number(100*r.Mean(func(s train.Study) float64 { return s.Margins.Positive }), 3),
				render.Short(r.Mean(func(s train.Study) float64 { return s.Margins.LastNorm }), 4),
				render.Short(r.Mean(func(s train.Study) float64 { return s.Margins.LastNorm2 }), 4))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// pairTable shows the hardest pairs of the first trial.
func pairTable(rows []Studied) render.Table {
	t := render.Table{Title: "The last layer against the exact ℓₚ max margin of its features",
		Note:   "The first trial of each. Both margins for ‖w‖ₚ = 1; the best one is within 0.1 % unless a range is shown.",
		Header: []string{"", "classes", "images", "the network's", "the best", "share, %", ""}}
	for _, r := range rows {
		for _, p := range r.Trials[0].Margins.Pairs {
			best, answer := render.Short(p.Upper, 4), p.Answer
			switch {
			case p.Answer == "separable" && p.Network <= 0:
				answer = "separable, but not by the network"
			case p.Answer == "not separable" || p.Upper == 0:
				best = render.Text("–")
			case p.Lower < 0.999*p.Upper:
				best.Text = fmt.Sprintf("%.4g to %.4g", p.Lower, p.Upper)
			}
			t.Rows = append(t.Rows, []render.Cell{render.Text("%s", r.Name), render.Text("%s, %s", p.A, p.B),
				render.Text("%d", p.Examples), render.Short(p.Network, 4), best,
				render.Number(100*p.Share(), 1), render.Text("%s", answer)})
		}
	}
	return t
}

// addLayers puts the layers of one network on the page.
func addLayers(d *render.Document, s train.Study) {
	d.Section("The layers")
	t := render.Table{Header: []string{"layer", "weights", "max", "median", "max/median", "RMS", "below RMS/100, %",
		"below RMS/10, %", "effective sparsity"}}
	for _, l := range s.Layers {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", l.Name), render.Text("%d", l.Count), render.Short(l.Max, 4),
			render.Short(l.Median, 4), render.Short(maxOverMedian(l.Spread), 4), render.Short(l.RMS, 4),
			render.Number(100*l.Below[2], 2), render.Number(100*l.Below[3], 2), render.Number(l.Sparsity, 3)})
	}
	d.AddTables(render.Named{Name: "layers", Table: t})
}
