package pages

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/mirror"
)

// candidates are what a fit on a path has scored on held-out examples: penalties for each p, and largest margins.
type candidates struct {
	all        []fit.Score
	folds      int
	regression bool
}

// choiceOf returns the candidates of a path; nil for another fit.
func choiceOf(r *linearmodel.FitResult) *candidates {
	if len(r.CV) == 0 || r.Penalty == 0 && !r.MarginEnd {
		return nil
	}
	return &candidates{all: r.CV, folds: r.Folds, regression: r.CV[0].RMSE != nil}
}

// value is the accuracy in %, or the error of a regression.
func (c *candidates) value(s fit.Score) float64 {
	switch {
	case c.regression && s.RMSE == nil:
		return math.NaN()
	case c.regression:
		return *s.RMSE
	}
	return 100 * s.Accuracy
}

// write writes a value.
func (c *candidates) write(v float64) string {
	if c.regression { // as many digits for all
		size := math.Floor(math.Log10(max(c.value(c.chosen()), 1e-300)))
		return strconv.FormatFloat(v, 'f', int(min(max(0, 4-size), 15)), 64)
	}
	return fmt.Sprintf("%.2f %%", v)
}

// error is the standard error of a value over the folds; NaN with one.
func (c *candidates) error(s fit.Score) float64 {
	if c.folds < 2 {
		return math.NaN()
	}
	e := s.Deviation / math.Sqrt(float64(c.folds))
	if !c.regression {
		e *= 100
	}
	return e
}

// band is a value less and plus its standard error, within what a value can be; NaN without one.
func (c *candidates) band(s fit.Score) (low, high float64) {
	v, e := c.value(s), c.error(s)
	if math.IsNaN(e) {
		return e, e
	}
	if c.regression {
		return max(0, v-e), v + e
	}
	return max(0, v-e), min(100, v+e)
}

// chosen is the candidate that was chosen.
func (c *candidates) chosen() fit.Score {
	return c.all[max(0, slices.IndexFunc(c.all, func(s fit.Score) bool { return s.Chosen }))]
}

// tied reports whether a candidate is as accurate as the chosen one, or has its error, to the digits that are shown.
func (c *candidates) tied(s fit.Score) bool {
	return c.write(c.value(s)) == c.write(c.value(c.chosen()))
}

// ties is how many candidates are as accurate as the chosen one, which counts.
func (c *candidates) ties() int {
	n := 0
	for _, s := range c.all {
		if c.tied(s) {
			n++
		}
	}
	return n
}

// ps are the exponents that were tried.
func (c *candidates) ps() []mirror.Exponent {
	var out []mirror.Exponent
	for _, s := range c.all {
		if !slices.Contains(out, s.P) {
			out = append(out, s.P)
		}
	}
	return out
}

// best is the best candidate of a p.
func (c *candidates) best(p mirror.Exponent) fit.Score {
	if s := c.chosen(); s.P == p {
		return s
	}
	var out fit.Score
	found := false
	for _, s := range c.all {
		if s.P == p && (!found || s.Better(out)) {
			out, found = s, true
		}
	}
	return out
}

// penalties are those that were tried, from strong to weak.
func (c *candidates) penalties() []float64 {
	var out []float64
	for _, s := range c.all {
		if !s.End && !slices.Contains(out, s.Penalty) {
			out = append(out, s.Penalty)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// penaltyName is a point of the path.
func penaltyName(s fit.Score) string {
	if s.End {
		return "margin"
	}
	return fmt.Sprintf("%.3g", s.Penalty)
}

// cell is the value of a candidate, marked with = if several are as accurate as the chosen one.
func (c *candidates) cell(s fit.Score) render.Cell {
	text := c.write(c.value(s))
	if c.tied(s) && c.ties() > 1 {
		text = "= " + text
	}
	return render.Cell{Text: text, Value: c.value(s), Best: s.Chosen && (!c.byLoss() || s.LogLoss == nil)}
}

// loss is the log-loss of a candidate, which decides between those that have one.
func (c *candidates) loss(s fit.Score) render.Cell {
	if s.LogLoss == nil {
		return render.Text("–")
	}
	cell := render.Number(*s.LogLoss, 4)
	cell.Best = s.Chosen
	return cell
}

// measure names the value.
func (c *candidates) measure() string {
	if c.regression {
		return "RMSE"
	}
	return "accuracy"
}

// rest are the other cells of a candidate in a table.
func (c *candidates) rest(s fit.Score) []render.Cell {
	e := render.Number(c.error(s), 2)
	if c.regression {
		e = render.Short(c.error(s), 3)
	}
	row := []render.Cell{e}
	if !c.regression {
		row = append(row, c.loss(s))
	}
	sparsity, steps := render.Text("%.1f %%", 100*s.Sparsity), render.Number(s.Steps, 0)
	if s.End { // its solver is another one
		sparsity, steps = render.Text("–"), render.Text("–")
	}
	return append(row, sparsity, steps)
}

func (c *candidates) header(first ...string) []string {
	out := append(first, c.measure(), "± standard error")
	if !c.regression {
		out = append(out, "log-loss")
	}
	return append(out, "weights near 0", "steps")
}

// table has a row for each p with its best penalty, or for each penalty if there is one p.
func (c *candidates) table() render.Table {
	t := render.Table{Note: "Means over folds. Near 0: below a thousandth of the largest weight."}
	if c.folds == 1 {
		t.Note = "On the fifth that was held out. A weight is near 0 below a thousandth of the largest."
	}
	if ps := c.ps(); len(ps) > 1 {
		t.Title, t.Header = "The best penalty of each p", c.header("p", "penalty")
		for _, p := range ps {
			s := c.best(p)
			row := []render.Cell{render.Text("%v", p), render.Text("%s", penaltyName(s)), c.cell(s)}
			t.Rows = append(t.Rows, append(row, c.rest(s)...))
		}
		return t
	}
	t.Title, t.Header = fmt.Sprintf("Penalties, p = %v", c.all[0].P), c.header("penalty")
	for _, s := range c.all {
		t.Rows = append(t.Rows, append([]render.Cell{render.Text("%s", penaltyName(s)), c.cell(s)}, c.rest(s)...))
	}
	return t
}

// grid has a row for each penalty and a column for each p.
func (c *candidates) grid(measure string, cell func(fit.Score) render.Cell) render.Table {
	t := render.Table{Title: fmt.Sprintf("%s by penalty and p", strings.ToUpper(measure[:1])+measure[1:]),
		Header: []string{"penalty"}}
	ps := c.ps()
	for _, p := range ps {
		t.Header = append(t.Header, fmt.Sprintf("p = %v", p))
	}
	missing := false
	row := func(name string, of func(fit.Score) bool) {
		cells := []render.Cell{render.Text("%s", name)}
		for _, p := range ps {
			k := slices.IndexFunc(c.all, func(s fit.Score) bool { return s.P == p && of(s) })
			if k < 0 {
				missing = true
				cells = append(cells, render.Text("–"))
				continue
			}
			cells = append(cells, cell(c.all[k]))
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, v := range c.penalties() {
		row(fmt.Sprintf("%.3g", v), func(s fit.Score) bool { return !s.End && s.Penalty == v })
	}
	if slices.ContainsFunc(c.all, func(s fit.Score) bool { return s.End }) {
		row("margin", func(s fit.Score) bool { return s.End })
	}
	if missing {
		t.Note = "–: not tried. A path ends after three penalties in a row that are no better."
		if !c.byLoss() && !c.regression {
			t.Note = "–: not tried. A path ends after five penalties in a row that are no better."
		}
	}
	return t
}

// byLoss reports whether the log-loss decides: with a loss that has probabilities.
func (c *candidates) byLoss() bool {
	return slices.ContainsFunc(c.all, func(s fit.Score) bool { return s.LogLoss != nil })
}

// rule says how the candidate was chosen, and how ties are broken.
func (c *candidates) rule() string {
	chosen := c.chosen()
	what := fmt.Sprintf("p = %v with penalty %s", chosen.P, penaltyName(chosen))
	if chosen.End {
		what = fmt.Sprintf("the largest margin of p = %v", chosen.P)
	}
	how := fmt.Sprintf("by %d-fold cross-validation", c.folds)
	if c.folds == 1 {
		how = "on a fifth of the examples, which was held out"
	}
	text := fmt.Sprintf("Of %s, %s was chosen %s", render.Count(len(c.all), "candidate"), what, how)
	value := fmt.Sprintf("%s %s", c.measure(), c.write(c.value(chosen)))
	if n := c.ties(); n > 1 {
		value += fmt.Sprintf(", which %d have (marked =)", n)
	}
	const last = "the p nearest to 2, then the stronger penalty"
	switch {
	case c.regression:
		return text + fmt.Sprintf(", for the least RMSE: %s. Of equal ones %s is chosen.", value, last)
	case !c.byLoss():
		text += fmt.Sprintf(", for its %s. Of equal ones a penalty is chosen before the largest margin, then %s.", value,
			last)
	case chosen.End && c.limit():
		return text + fmt.Sprintf(": the weakest penalty of the path has the least log-loss, and the largest margin, to "+
			"which the path tends, is as accurate: %s.", value)
	case chosen.LogLoss != nil:
		text += fmt.Sprintf(", for the least log-loss: %.4g. It has %s. Of equal log-loss %s is chosen.", *chosen.LogLoss,
			value, last)
	default:
		text += fmt.Sprintf(". It has %s. The least log-loss decides between penalties; of equal ones %s is chosen.", value,
			last)
	}
	if slices.ContainsFunc(c.all, func(s fit.Score) bool { return s.End }) && c.byLoss() {
		text += " The log-loss of the largest margin is that of probabilities fitted to its held-out scores, and 2/n for " +
			"the two numbers fitted. It is also chosen if the weakest penalty of the path is the best and it is as accurate."
	}
	return text
}

// limit reports whether a penalty has a smaller log-loss than the largest margin, which was chosen.
func (c *candidates) limit() bool {
	loss := c.chosen().LogLoss
	less := func(s fit.Score) bool { return s.LogLoss != nil && *s.LogLoss < *loss }
	return loss != nil && slices.ContainsFunc(c.all, less)
}

// onPath are the candidates with penalties of a p, from strong to weak.
func (c *candidates) onPath(p mirror.Exponent) []fit.Score {
	var out []fit.Score
	for _, s := range c.all {
		if s.P == p && !s.End {
			out = append(out, s)
		}
	}
	return out
}

// pathFigures draw accuracy and log-loss, or the error, over the penalty: a curve for each p.
func (c *candidates) pathFigures() []render.Figure {
	title := "Accuracy on held-out examples"
	if c.regression {
		title = "RMSE on held-out examples"
	}
	const axis = "penalty, from strong to weak"
	of := render.Figure{Title: title, X: axis, Y: "%", LogX: true, Falling: true, Zero: "margin"}
	loss := render.Figure{Title: "Log-loss on held-out examples", X: axis, Y: "mean −log P(true class)", LogX: true,
		Falling: true, Zero: "margin"}
	if c.regression {
		of.Y = "RMSE"
	}
	least, cut := c.cut()
	if cut || !c.regression && c.flat() {
		of.Min[1], of.Max[1] = least, 100
	}
	chosen := c.chosen()
	for _, p := range c.ps() {
		name, col := fmt.Sprintf("p = %v", p), render.Color(float64(p))
		curve, losses := render.Series{Name: name, Color: col}, render.Series{Name: name, Color: col}
		for _, s := range c.onPath(p) {
			curve.X, curve.Y = append(curve.X, s.Penalty), append(curve.Y, c.value(s))
			if low, high := c.band(s); p == chosen.P && !math.IsNaN(low) {
				if cut {
					low = max(low, least)
				}
				if cut && c.value(s) < least {
					low, high = math.NaN(), math.NaN()
				}
				curve.Low, curve.High = append(curve.Low, low), append(curve.High, high)
			}
			if s.LogLoss != nil {
				losses.X, losses.Y = append(losses.X, s.Penalty), append(losses.Y, *s.LogLoss)
			}
		}
		of.Series, loss.Series = append(of.Series, curve), append(loss.Series, losses)
		for _, s := range c.all {
			if s.P != p || !s.End {
				continue
			}
			of.Series = append(of.Series, render.Series{X: []float64{0}, Y: []float64{c.value(s)}, Color: col,
				Style: render.Discs})
			if s.LogLoss != nil {
				loss.Series = append(loss.Series, render.Series{X: []float64{0}, Y: []float64{*s.LogLoss}, Color: col,
					Style: render.Discs})
			}
			if low, high := c.band(s); p == chosen.P && low < high {
				of.Series = append(of.Series, render.Series{X: []float64{0, 0}, Y: []float64{low, high}, Color: col})
			}
		}
	}
	ring := render.Series{Name: "chosen", X: []float64{chosen.Penalty}, Y: []float64{c.value(chosen)},
		Style: render.Rings}
	of.Series = append(of.Series, ring)
	if slices.ContainsFunc(loss.Series, func(s render.Series) bool { return len(s.X) > 0 }) {
		if chosen.LogLoss != nil {
			ring.Y = []float64{*chosen.LogLoss}
			loss.Series = append(loss.Series, ring)
		}
		return []render.Figure{of, loss}
	}
	return []render.Figure{of}
}

// shownPoints is how many points below the best accuracy a figure shows.
const shownPoints = 15

// cut reports whether a figure would show mostly accuracies of penalties that are too strong, and the least that it
// shows.
func (c *candidates) cut() (least float64, cut bool) {
	if c.regression {
		return 0, false
	}
	var most float64
	least = 100
	for _, s := range c.all {
		least, most = min(least, c.value(s)), max(most, c.value(s))
	}
	if most-least <= 1.2*shownPoints {
		return least - 1, false
	}
	return most - shownPoints, true
}

// flat reports whether all candidates are nearly as accurate.
func (c *candidates) flat() bool {
	least, _ := c.cut()
	return least > 100-3
}

// pathCaption explains the figures of a path.
func (c *candidates) pathCaption() string {
	text := "A curve for each p. The penalty falls from left to right: weights do next to nothing at 10."
	if least, cut := c.cut(); cut {
		text += fmt.Sprintf(" Accuracies below %.0f %% are in the table only.", least)
	}
	if slices.ContainsFunc(c.all, func(s fit.Score) bool { return s.End }) {
		text += " The disc at the right end is the largest margin, which the path tends to: its log-loss is that of " +
			"calibrated probabilities."
	}
	if c.folds > 1 {
		text += fmt.Sprintf(" Band: ± one standard error over folds, for p = %v.", c.chosen().P)
	}
	return text
}

// byPFigures draw the best candidate of each p.
func (c *candidates) byPFigures() []render.Figure {
	var p, value, sparse, at []float64
	best := render.Figure{Title: "The best of each p", X: "p", Y: c.measure(), ByP: true}
	if !c.regression {
		best.Y += ", %"
	}
	for _, e := range c.ps() {
		s := c.best(e)
		p, value = append(p, float64(e)), append(value, c.value(s))
		if !s.End {
			at, sparse = append(at, float64(e)), append(sparse, 100*s.Sparsity)
		}
		if low, high := c.band(s); low < high {
			best.Series = append(best.Series, render.Series{X: []float64{float64(e), float64(e)}, Y: []float64{low, high},
				Color: render.Color(float64(e))})
		}
		best.Series = append(best.Series, render.Series{X: []float64{float64(e)}, Y: []float64{c.value(s)},
			Color: render.Color(float64(e)), Style: render.Discs})
	}
	if low, high := slices.Min(value), slices.Max(value); low == high && !c.regression { // else around 100 %
		best.Min[1], best.Max[1] = max(0, low-1), min(100, high+1)
	}
	chosen := c.chosen()
	best.Series = append(best.Series, render.Series{Name: "chosen", X: []float64{float64(chosen.P)},
		Y: []float64{c.value(chosen)}, Style: render.Rings})
	near := render.Figure{Title: "Weights near 0", X: "p", Y: "% of the weights", ByP: true}
	near.Max[1] = max(1, slices.Max(append(sparse, 0)))
	grey := render.Fade(render.Color(math.NaN()), 0.4)
	best.Series = slices.Insert(best.Series, 0, render.Series{X: p, Y: value, Color: grey, Style: render.Dotted})
	near.Series = []render.Series{{X: at, Y: sparse, Color: grey, Style: render.Dotted},
		{X: at, Y: sparse, Color: render.Color(math.NaN()), Style: render.Discs}}
	if !c.byLoss() {
		return []render.Figure{best, near}
	}
	loss := render.Figure{Title: "Log-loss of the best penalty", X: "p", Y: "mean −log P(true class)", ByP: true}
	var line render.Series
	for _, e := range c.ps() {
		if s := c.best(e); s.LogLoss != nil {
			x, y := []float64{float64(e)}, []float64{*s.LogLoss}
			line.X, line.Y = append(line.X, x...), append(line.Y, y...)
			loss.Series = append(loss.Series, render.Series{X: x, Y: y, Color: render.Color(float64(e)), Style: render.Discs})
		}
	}
	line.Color, line.Style = grey, render.Dotted
	loss.Series = slices.Insert(loss.Series, 0, line)
	if chosen.LogLoss != nil {
		loss.Series = append(loss.Series, render.Series{Name: "chosen", X: []float64{float64(chosen.P)},
			Y: []float64{*chosen.LogLoss}, Style: render.Rings})
	}
	return []render.Figure{best, loss, near}
}

// addChoice shows how p and the penalty were chosen.
func (c *candidates) addChoice(doc *render.Document) error {
	doc.Section("How p and the penalty were chosen")
	doc.Say("%s", c.rule())
	if err := doc.AddFigure("cv", c.pathCaption(), c.pathFigures()...); err != nil {
		return err
	}
	doc.AddTables(render.Named{Name: "cv", Table: c.table()})
	if len(c.ps()) < 2 {
		return nil
	}
	caption := "(1) With one standard error over the folds to both sides. (2) The weights below a thousandth of the " +
		"largest."
	if c.byLoss() {
		caption = "(1) With one standard error over the folds to both sides. (2) The log-loss decides. (3) The weights " +
			"below a thousandth of the largest."
	}
	err := doc.AddFigure("cv-p", caption, c.byPFigures()...)
	doc.AddTables(render.Named{Name: "cv-penalty", Table: c.grid(c.measure(), c.cell)})
	if c.byLoss() {
		doc.AddTables(render.Named{Name: "cv-penalty-loss", Table: c.grid("log-loss", c.loss)})
	}
	return err
}
