package linearmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// ByP returns the best lambda of each p, in the order of the p.
func (r *FitResult) ByP() []fit.Score {
	var out []fit.Score
	for _, s := range r.CV {
		if k := len(out) - 1; k < 0 || out[k].P != s.P {
			out = append(out, s)
		} else if s.Chosen || !out[k].Chosen && s.Better(out[k]) {
			out[k] = s
		}
	}
	return out
}

// Lambdas are those cross-validation has tried, none without --lp.
func (r *FitResult) Lambdas() []float64 {
	var out []float64
	for _, s := range r.CV {
		if s.Lambda > 0 && !slices.Contains(out, s.Lambda) {
			out = append(out, s.Lambda)
		}
	}
	return out
}

// CVTable shows every p, with its best lambda.
func (r *FitResult) CVTable() render.Table {
	t := render.Table{Title: fmt.Sprintf("Cross-validation: p = %v is chosen", r.P),
		Header: []string{"p", "accuracy", "± between folds", "weights near 0", "margin", "steps"},
		Note:   "Accuracy on what was held out, mean over the folds. A weight is near 0 below a thousandth of the largest."}
	several := len(r.Lambdas()) > 0
	if several {
		t.Title += fmt.Sprintf(" with lambda = %v", r.LP)
		t.Header = slices.Insert(t.Header, 1, "best lambda")
	}
	for _, s := range r.ByP() {
		margin := math.NaN()
		if s.Margin != nil {
			margin = *s.Margin
		}
		acc := render.Cell{Text: fmt.Sprintf("%.2f %%", 100*s.Accuracy), Value: s.Accuracy, Best: s.Chosen}
		row := []render.Cell{render.Text("%v", s.P), acc, render.Text("%.2f", 100*s.Deviation),
			render.Text("%.1f %%", 100*s.Sparsity), render.Short(margin, 4), render.Number(s.Steps, 0)}
		if several {
			row = slices.Insert(row, 1, render.Text("%v", s.Lambda))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
