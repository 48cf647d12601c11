package linearmodel

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// onPath reports whether the model was looked for on a path of penalties.
func (r *FitResult) onPath() bool { return r.found() || len(r.CV) > 0 && r.CV[0].Penalty > 0 }

// found reports whether a point of the path was chosen and fitted.
func (r *FitResult) found() bool { return r.Penalty > 0 || r.MarginEnd }

// pathRows are the result of a fit on a path of penalties as lines of text.
func (r *FitResult) pathRows() [][2]string {
	rows := [][2]string{{"data", r.data()}}
	if len(r.Classes) > 0 {
		rows = append(rows, [2]string{"classes", r.classes()})
	}
	if !r.found() {
		rows = append(rows, [2]string{"interrupted", fmt.Sprintf("after %s; nothing is chosen yet",
			plural(len(r.CV), "penalty", "penalties"))})
		return append(rows, r.written()...)
	}
	rows = append(rows, [2]string{"model", r.model()}, [2]string{"penalty", r.penalty()},
		[2]string{"steps", fmt.Sprintf("%d in %.3g s (%.3g s in all)", r.Steps, r.Seconds, r.TotalSeconds)})
	if r.HeldOut != nil {
		rows = append(rows, [2]string{"held out", qualityLine(r.HeldOut)})
	}
	switch {
	case r.TrainAccuracy != nil:
		rows = append(rows, [2]string{"training", fmt.Sprintf("accuracy %.2f %%, loss %.4g", 100**r.TrainAccuracy, *r.Loss)})
	case r.TrainR2 != nil:
		rows = append(rows, [2]string{"training", fmt.Sprintf("R² %.4f", *r.TrainR2)})
	}
	if r.Test != nil {
		rows = append(rows, [2]string{"test", qualityLine(r.Test)})
	}
	if r.Objective != nil && r.Excess != nil {
		rows = append(rows, [2]string{"objective", fmt.Sprintf("%.6g, proved to be within %.2g %% of the minimum",
			*r.Objective, 100**r.Excess/math.Max(*r.Objective-*r.Excess, math.SmallestNonzeroFloat64))})
	}
	if r.Margin != nil && r.Gap != nil {
		columns := map[string]string{"std": "standardised columns, ", "max": "scaled columns, "}[r.Scale]
		intercept := map[bool]string{true: "free intercept, "}[r.Intercept]
		norm := "‖w‖ₚ = 1"
		if r.Joint {
			norm = "the right class over every other, ‖W‖ₚ = 1"
		}
		rows = append(rows, [2]string{"margin", fmt.Sprintf("%.8g (%s%s%s), certified within %.3g %% of the best",
			*r.Margin, columns, intercept, norm, 100**r.Gap)})
	}
	return append(rows, r.written()...)
}

// written says where the model and the run are.
func (r *FitResult) written() (rows [][2]string) {
	if r.Model != "" {
		rows = append(rows, [2]string{"model file", r.Model})
	}
	if r.Run != "" {
		rows = append(rows, [2]string{"run", r.Run})
		if r.onPath() {
			rows = append(rows, [2]string{"report", filepath.Join(r.Run, "report.html")})
		}
	}
	return rows
}

// classes lists the first of them.
func (r *FitResult) classes() string {
	const few = 10
	text := fmt.Sprintf("%d: %s", len(r.Classes), strings.Join(r.Classes[:min(few, len(r.Classes))], ", "))
	if len(r.Classes) > few {
		text += ", …"
	}
	return text
}

// model describes the model in a line.
func (r *FitResult) model() string {
	s := fmt.Sprintf("p = %v, %s loss", r.P, r.LossName)
	if r.MarginEnd {
		s = fmt.Sprintf("p = %v, largest margin", r.P)
	}
	if r.Intercept {
		s += ", intercept"
	}
	switch r.Scale {
	case "std":
		s += ", columns standardised"
	case "max":
		s += ", columns scaled to 1"
	}
	return s
}

// penalty says how strong it is, and why.
func (r *FitResult) penalty() string {
	s := fmt.Sprintf("%.2g", r.Penalty)
	if r.MarginEnd {
		s = "none: the largest margin"
	}
	if len(r.CV) < 2 {
		return s
	}
	s += fmt.Sprintf(", best of %d", len(r.CV))
	if of := len(r.ByP()); of > 1 {
		s += fmt.Sprintf(" combinations (%d values of p)", of)
	}
	if r.Folds == 1 {
		return s + ", one fifth held out"
	}
	return s + fmt.Sprintf(", %d-fold cross-validation", r.Folds)
}

// quality is how good predictions are, in a line.
func qualityLine(q *fit.Quality) string {
	if t := q.Targets; t != nil {
		return fmt.Sprintf("R² %.4f, RMSE %.4g, MAE %.4g", t.R2, t.RMSE, t.MAE)
	}
	c := q.Classes
	s := fmt.Sprintf("accuracy %.2f %% (largest class alone: %.2f %%)", 100*c.Accuracy, 100*c.Majority)
	if c.AUC != nil {
		s += fmt.Sprintf(", AUC %.4f", *c.AUC)
	}
	if c.LogLoss != nil {
		s += fmt.Sprintf(", log-loss %.4f", *c.LogLoss)
	}
	return s
}

// confusionMost is up to how many classes the confusion matrix is printed.
const confusionMost = 12

// Confusion counts the predictions of each class, with precision and recall; nil without classes.
func (r *FitResult) Confusion() *render.Table {
	q, of := r.Test, "test data"
	if q == nil {
		q, of = r.HeldOut, "held-out examples"
	}
	if q == nil || q.Classes == nil || len(r.Classes) != len(q.Classes.Confusion) {
		return nil
	}
	c := q.Classes
	t := render.Table{Title: "Predictions on " + of, Header: []string{"class"}}
	for _, name := range r.Classes {
		t.Header = append(t.Header, "as "+name)
	}
	t.Header = append(t.Header, "recall", "precision")
	for k, row := range c.Confusion {
		cells := []render.Cell{render.Text("%s", r.Classes[k])}
		for j, n := range row {
			cells = append(cells, render.Cell{Text: fmt.Sprint(n), Value: float64(n), Mark: j == k})
		}
		precision := percent(c.Precision[k])
		if predicted(c.Confusion, k) == 0 {
			precision = render.Text("–")
		}
		t.Rows = append(t.Rows, append(cells, percent(c.Recall[k]), precision))
	}
	return &t
}

// predicted is how many examples were given the k-th class.
func predicted(confusion [][]int, k int) (n int) {
	for _, row := range confusion {
		n += row[k]
	}
	return n
}

func percent(share float64) render.Cell {
	return render.Cell{Text: fmt.Sprintf("%.1f %%", 100*share), Value: share}
}

// byPTable shows the best penalty of each p.
func (r *FitResult) byPTable() render.Table {
	t := render.Table{Title: "The best penalty of each p so far",
		Header: []string{"p", "penalty", "accuracy", "log-loss", "weights near 0"}}
	if r.found() {
		t.Title = fmt.Sprintf("The best penalty of each p: p = %v is chosen", r.P)
	}
	if r.CV[0].RMSE != nil {
		t.Header = []string{"p", "penalty", "RMSE", "weights near 0"}
	}
	for _, s := range r.ByP() {
		penalty := render.Short(s.Penalty, 2)
		if s.End {
			penalty = render.Text("none")
		}
		row := []render.Cell{render.Text("%v", s.P), penalty}
		if s.RMSE != nil {
			rmse := render.Short(*s.RMSE, 4)
			rmse.Best = s.Chosen
			row = append(row, rmse)
		} else {
			loss := render.Cell{Text: "–", Value: math.NaN()}
			if s.LogLoss != nil {
				loss = render.Number(*s.LogLoss, 4)
			}
			loss.Best = s.Chosen
			row = append(row, render.Text("%.2f %%", 100*s.Accuracy), loss)
		}
		t.Rows = append(t.Rows, append(row, render.Text("%.1f %%", 100*s.Sparsity)))
	}
	return t
}

// severalP reports whether cross-validation has compared several p.
func (r *FitResult) severalP() bool {
	return slices.ContainsFunc(r.CV, func(s fit.Score) bool { return s.P != r.CV[0].P })
}

// plural counts something whose plural is another word.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
