package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/measure"
)

// mostInTable is up to how many classes a confusion matrix is a table. That of more is a figure.
const mostInTable = 12

// judged is a quality and the examples that it is of.
type judged struct {
	name string
	*fit.Quality
}

// judgements are those of a result.
func judgements(r *linearmodel.FitResult) []judged {
	var out []judged
	for _, q := range []judged{{"held out", r.HeldOut}, {"test", r.Test}} {
		if q.Quality != nil && (q.Classes != nil || q.Targets != nil) {
			out = append(out, q)
		}
	}
	return out
}

// addQuality shows how good the predictions are.
func addQuality(doc *render.Document, r *linearmodel.FitResult) error {
	all := judgements(r)
	if len(all) == 0 {
		return nil
	}
	doc.Section("Quality")
	doc.AddTables(render.Named{Name: "quality", Table: qualityTable(r, all)})
	for _, q := range all {
		if q.Classes == nil {
			continue
		}
		names := classNames(r, len(q.Classes.Confusion))
		file := map[string]string{"held out": "held_out", "test": "test"}[q.name]
		each := render.Named{Name: "classes_" + file, Table: classTable(q, names)}
		title := "Predictions, " + q.name
		confusion := render.Named{Name: "confusion_" + file, Table: confusionTable(title, q.Classes.Confusion, names)}
		if len(names) <= mostInTable {
			doc.AddTables(confusion, each)
			continue
		}
		doc.SaveTable(confusion.Name, confusion.Table)
		caption := fmt.Sprintf("Predictions, %s: the darker a square, the larger its share of the examples of its true "+
			"class.", q.name)
		if err := doc.AddFigure("confusion_"+file, caption, confusionFigure(title, q.Classes.Confusion, names)); err != nil {
			return err
		}
		doc.AddTables(each)
	}
	return nil
}

// classNames are the names of the classes, in the order of the model's.
func classNames(r *linearmodel.FitResult, n int) []string {
	if len(r.Classes) == n {
		return r.Classes
	}
	out := make([]string, n)
	for k := range out {
		out[k] = fmt.Sprintf("class %d", k+1)
	}
	return out
}

// qualityTable has the measures side by side.
func qualityTable(r *linearmodel.FitResult, all []judged) render.Table {
	t := render.Table{Header: []string{""}, Measures: true}
	add := func(name string, of func(judged) render.Cell) {
		row := []render.Cell{render.Text("%s", name)}
		known := false
		for _, q := range all {
			c := of(q)
			known = known || !math.IsNaN(c.Value)
			row = append(row, c)
		}
		if known {
			t.Rows = append(t.Rows, row)
		}
	}
	for _, q := range all {
		t.Header = append(t.Header, q.name)
	}
	percent := func(of func(*measure.Classification) float64) func(judged) render.Cell {
		return func(q judged) render.Cell {
			v := 100 * of(q.Classes)
			return render.Cell{Text: fmt.Sprintf("%.2f %%", v), Value: v}
		}
	}
	number := func(of func(*measure.Classification) *float64) func(judged) render.Cell {
		return func(q judged) render.Cell {
			if v := of(q.Classes); v != nil {
				return render.Number(*v, 4)
			}
			return render.Text("–")
		}
	}
	target := func(of func(*measure.Regression) float64) func(judged) render.Cell {
		return func(q judged) render.Cell { return render.Short(of(q.Targets), 5) }
	}
	if all[0].Targets != nil {
		add("examples", func(q judged) render.Cell { return render.Number(float64(q.Targets.N), 0) })
		add("R²", target(func(m *measure.Regression) float64 { return m.R2 }))
		add("RMSE", target(func(m *measure.Regression) float64 { return m.RMSE }))
		add("MAE", target(func(m *measure.Regression) float64 { return m.MAE }))
		t.Note = "R² is 1 at best, and 0 of always answering the mean. RMSE and MAE are in the unit of the target. "
	} else {
		add("examples", func(q judged) render.Cell { return render.Number(float64(q.Classes.N), 0) })
		add("accuracy", percent(func(c *measure.Classification) float64 { return c.Accuracy }))
		add("largest class", percent(func(c *measure.Classification) float64 { return c.Majority }))
		add("balanced accuracy", percent(func(c *measure.Classification) float64 { return c.Balanced }))
		add("AUC", number(func(c *measure.Classification) *float64 { return c.AUC }))
		add("log-loss", number(func(c *measure.Classification) *float64 { return c.LogLoss }))
		add("Brier score", number(func(c *measure.Classification) *float64 { return c.Brier }))
		add("calibration error", number(func(c *measure.Classification) *float64 { return c.Calibration }))
		t.Note = "Largest class: accuracy of always predicting it. Balanced accuracy: mean recall over classes. Lower " +
			"is better for log-loss, Brier score and calibration error. "
	}
	if r.HeldOut != nil {
		t.Note += "Held out: each example is predicted by a model that did not train on it. p and penalty were chosen on " +
			"these examples: new ones may do slightly worse."
	}
	return t
}

// confusionTable counts predictions; the shade is the share of the true class.
func confusionTable(title string, counts [][]int, names []string) render.Table {
	t := render.Table{Title: title, Header: []string{"true class"},
		Note: "Rows: true class. Columns: prediction."}
	for _, n := range names {
		t.Header = append(t.Header, "as "+n)
	}
	for i, row := range counts {
		cells := []render.Cell{render.Text("%s", names[i])}
		for j, share := range shares(row) {
			cells = append(cells, render.Cell{Text: fmt.Sprint(row[j]), Value: float64(row[j]), Shade: math.Sqrt(share)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// shares are counts over their sum.
func shares(row []int) []float64 {
	out := make([]float64, len(row))
	total := 0
	for _, n := range row {
		total += n
	}
	for j, n := range row {
		out[j] = float64(n) / float64(max(total, 1))
	}
	return out
}

// confusionFigure is the confusion matrix of many classes.
func confusionFigure(title string, counts [][]int, names []string) render.Figure {
	h := &render.Heat{Rows: names, Columns: names}
	for _, row := range counts {
		h.Values = append(h.Values, shares(row))
		for j, share := range h.Values[len(h.Values)-1] {
			h.Values[len(h.Values)-1][j] = math.Sqrt(share)
		}
	}
	return render.Figure{Title: title, X: "answer", Y: "true class", Heat: h}
}

// mostClasses is how many classes have a row of their own.
const mostClasses = 30

// classTable has precision, recall and F1 of each class; of many the worst.
func classTable(q judged, names []string) render.Table {
	c := q.Classes
	t := render.Table{Title: "Each class, " + q.name, Header: []string{"class", "examples", "precision", "recall", "F1"}}
	order := make([]int, len(names))
	for k := range order {
		order[k] = k
	}
	if len(order) > mostClasses {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.F1[a], c.F1[b]) })
		order = order[:mostClasses]
		t.Note = fmt.Sprintf("The %d of %d classes with the least F1.", mostClasses, len(names))
	}
	for _, k := range order {
		n := 0
		for _, v := range c.Confusion[k] {
			n += v
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", names[k]), render.Number(float64(n), 0),
			render.Number(c.Precision[k], 3), render.Number(c.Recall[k], 3), render.Number(c.F1[k], 3)})
	}
	return t
}
