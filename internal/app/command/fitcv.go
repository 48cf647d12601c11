package command

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// byP returns the best lambda of each p, in the order of the p.
func (r *FitResult) byP() []fit.Score {
	var out []fit.Score
	for _, s := range r.CV {
		if k := len(out) - 1; k < 0 || out[k].P != s.P {
			out = append(out, s)
		} else if s.Better(out[k]) {
			out[k] = s
		}
	}
	return out
}

// lambdas are those cross-validation has tried, none without --lp.
func (r *FitResult) lambdas() []float64 {
	var out []float64
	for _, s := range r.CV {
		if s.Lambda > 0 && !slices.Contains(out, s.Lambda) {
			out = append(out, s.Lambda)
		}
	}
	return out
}

// cvTable shows every p, with its best lambda.
func (r *FitResult) cvTable() render.Table {
	t := render.Table{Title: fmt.Sprintf("Cross-validation: p = %v is chosen", r.P), Header: []string{"p", "accuracy", "± between folds", "weights near 0", "margin", "steps"},
		Note: "Accuracy on what was held out, mean over the folds. A weight is near 0 below a thousandth of the largest."}
	several := len(r.lambdas()) > 0
	if several {
		t.Title += fmt.Sprintf(" with lambda = %v", r.LP)
		t.Header = slices.Insert(t.Header, 1, "best lambda")
	}
	for _, s := range r.byP() {
		margin := math.NaN()
		if s.Margin != nil {
			margin = *s.Margin
		}
		acc := render.Cell{Text: fmt.Sprintf("%.2f %%", 100*s.Accuracy), Value: s.Accuracy, Best: s.Chosen}
		row := []render.Cell{render.Text("%v", s.P), acc, render.Text("%.2f", 100*s.Deviation), render.Text("%.1f %%", 100*s.Sparsity), render.Short(margin, 4), render.Number(s.Steps, 0)}
		if several {
			row = slices.Insert(row, 1, render.Text("%v", s.Lambda))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cvGrid shows the accuracy of every p with every lambda.
func (r *FitResult) cvGrid() render.Table {
	lambdas := r.lambdas()
	t := render.Table{Title: "Accuracy by p and lambda", Header: []string{"p"}}
	for _, v := range lambdas {
		t.Header = append(t.Header, fmt.Sprint(v))
	}
	for k, s := range r.CV {
		if k%len(lambdas) == 0 {
			t.Rows = append(t.Rows, []render.Cell{render.Text("%v", s.P)})
		}
		row := &t.Rows[len(t.Rows)-1]
		*row = append(*row, render.Cell{Text: fmt.Sprintf("%.2f %%", 100*s.Accuracy), Value: s.Accuracy, Best: s.Chosen})
	}
	return t
}

// cvFigures draw accuracy and sparsity over p, and where there are several lambda the accuracy over them.
func (r *FitResult) cvFigures() []render.Figure {
	var p, acc, lo, hi, sparse []float64
	for _, s := range r.byP() {
		p, acc, sparse = append(p, s.P), append(acc, 100*s.Accuracy), append(sparse, 100*s.Sparsity)
		lo, hi = append(lo, 100*(s.Accuracy-s.Deviation)), append(hi, 100*(s.Accuracy+s.Deviation))
	}
	c := render.Color(2)
	least, most := slices.Min(lo), slices.Max(hi)
	room := 0.3*(most-least) + 0.1 // for the legend
	figs := []render.Figure{
		{Title: "Accuracy on held-out data", X: "p", Y: "%", ByP: true, LegendLow: true, Min: [2]float64{0, least - room}, Max: [2]float64{0, most}, Series: []render.Series{
			{Name: "mean over folds", X: p, Y: acc, Color: c}, {X: p, Y: acc, Color: c, Style: render.Discs},
			{Name: "one deviation between folds", X: p, Y: lo, Color: c, Style: render.Dashed}, {X: p, Y: hi, Color: c, Style: render.Dashed}}},
		{Title: "Weights near 0", X: "p", Y: "% of the features", ByP: true, Series: []render.Series{
			{X: p, Y: sparse, Color: render.Color(1.1)}, {X: p, Y: sparse, Color: render.Color(1.1), Style: render.Discs}}},
	}
	lambdas := r.lambdas()
	if len(lambdas) < 2 {
		return figs
	}
	grid := render.Figure{Title: "Accuracy by lambda", X: "lambda", Y: "%", LogX: true, LegendLow: true}
	order := slices.Clone(lambdas)
	slices.Sort(order)
	least, most = 100, 0
	for k := 0; k < len(r.CV); k += len(lambdas) {
		var y []float64
		for _, v := range order {
			y = append(y, 100*r.CV[k+slices.Index(lambdas, v)].Accuracy)
		}
		least, most = min(least, slices.Min(y)), max(most, slices.Max(y))
		col := render.Color(r.CV[k].P)
		grid.Series = append(grid.Series, render.Series{Name: fmt.Sprintf("p = %v", r.CV[k].P), X: order, Y: y, Color: col}, render.Series{X: order, Y: y, Color: col, Style: render.Discs})
	}
	room = 0.1*float64(len(p))*(most-least) + 0.1
	grid.Min, grid.Max = [2]float64{0, least - room}, [2]float64{0, most}
	return slices.Insert(figs, 1, grid)
}
