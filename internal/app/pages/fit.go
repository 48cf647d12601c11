package pages

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/runlog"
)

// fitPage writes the page of a fit.
func fitPage(f opened, info runlog.Info, files render.Files) error {
	var s linearmodel.Fit
	if err := settingsOf(info, &s); err != nil {
		return err
	}
	var r linearmodel.FitResult
	if err := f.ReadJSON(command.ResultFile, maxJSON, &r); err != nil {
		return err
	}
	doc := render.NewDocument(files, fmt.Sprintf("%s: p = %v", filepath.Base(info.Data), r.P), "bregman fit · "+when(info))
	t := render.Table{Header: []string{"result", ""}}
	for _, row := range r.Rows() {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", row[0]), render.Text("%s", row[1])})
	}
	doc.Section("Result")
	doc.Tables(t, fitSettings(&s, info))
	if r.CV != nil {
		doc.Section("Cross-validation")
		tables := []render.Named{{Name: "cv", Table: r.CVTable()}}
		if len(r.Lambdas()) > 1 {
			tables = append(tables, render.Named{Name: "cv-lambda", Table: cvGrid(&r)})
		}
		doc.AddTables(tables...)
		if err := doc.AddFigure("cv", fmt.Sprintf("%d folds.", s.CV), cvFigures(&r)...); err != nil {
			return err
		}
	}
	if data, err := f.ReadFile("model.json", maxModel); err == nil {
		if m, err := fit.DecodeModel(data); err == nil {
			if t := linearmodel.LargestWeights(m, 50); len(t.Rows) > 0 {
				doc.Section(t.Title)
				t.Title = ""
				doc.AddTables(render.Named{Name: "weights", Table: t})
			}
		}
	}
	if err := addTrace(doc, f, &s, &r); err != nil {
		return err
	}
	doc.Save()
	return nil
}

// fitSettings lists what the fit was asked for.
func fitSettings(s *linearmodel.Fit, info runlog.Info) render.Table {
	t := render.Table{Header: []string{"setting", ""}}
	add := func(name, format string, args ...any) {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", name), render.Text(format, args...)})
	}
	add("data", "%s", info.Data)
	add("hash", "%.24s…", info.DataHash)
	if s.Test != "" {
		add("test data", "%s", s.Test)
	}
	add("p", "%s", list(s.P))
	if len(s.LP) > 0 {
		add("lambda", "%s", list(s.LP))
	}
	if s.CV > 0 {
		add("folds", "%d", s.CV)
	}
	add("scale", "%s", cmp.Or(s.Scale, "none"))
	if s.Soft > 0 {
		add("soft", "%v", s.Soft)
	}
	add("steps, at most", "%d", s.Steps)
	add("start", "%s", s.Init)
	add("seed", "%d", s.Seed)
	add("batch", "%d", s.Batch)
	add("bias", "%v", s.Bias)
	add("version", "%s", info.Version)
	return t
}

// list writes numbers.
func list(values []float64) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ", ")
}

// orInf is infinity for NaN.
func orInf(v float64, sign int) float64 {
	if math.IsNaN(v) {
		return math.Inf(sign)
	}
	return v
}

// addTrace shows loss, norm and margin along the run.
func addTrace(doc *render.Document, f opened, s *linearmodel.Fit, r *linearmodel.FitResult) error {
	all, err := fit.ReadTraces(f.dir)
	if err != nil {
		return err
	}
	accelerated := strings.HasPrefix(r.Method, string(linear.MethodAccelerated))
	doc.Section("Along the run")
	trace := render.Table{Header: []string{"vector", "step", "loss", "margin", "norm", "gap"}}
	loss := render.Figure{Title: "Loss", X: "step", Y: "mean loss", LogX: true, LogY: true}
	norm := render.Figure{Title: "Norm of the weights", X: "step", Y: "p-norm of w", LogX: true}
	margin := render.Figure{Title: "Margin of the direction", X: "step", Y: "margin of w over its p-norm", LogX: true}
	for k, t := range all {
		var at, l, m, no []float64
		for _, pt := range t.Points {
			if accelerated { // to which w = 0 has a margin of −∞, and a w without a positive one a gap of ∞: JSON has neither
				pt.Margin, pt.Gap = orInf(pt.Margin, -1), orInf(pt.Gap, 1)
			}
			at, l, m, no = append(at, float64(pt.Step)), append(l, pt.Loss), append(m, pt.Margin), append(no, pt.Norm)
			trace.Rows = append(trace.Rows, []render.Cell{render.Text("%d", k), render.Text("%d", pt.Step),
				render.Short(pt.Loss, 8),
				render.Short(pt.Margin, 8), render.Short(pt.Norm, 8), render.Short(pt.Gap, 4)})
		}
		c, name := render.Color(float64(r.P)), ""
		if t.Class != nil { // one curve a class
			c = render.Color(1.1 + 8.9*math.Pow(float64(k)/float64(max(1, len(all)-1)), 2))
			name = fmt.Sprintf("class %v", *t.Class)
		}
		loss.Series = append(loss.Series, render.Series{Name: name, X: at, Y: l, Color: c})
		norm.Series = append(norm.Series, render.Series{X: at, Y: no, Color: c})
		margin.Series = append(margin.Series, render.Series{X: at, Y: m, Color: c})
	}
	figs := []render.Figure{loss, norm}
	if s.Loss != "square" {
		figs = append(figs, margin)
	}
	if err := doc.AddFigure("trace", "Measured at logarithmically spaced steps.", figs...); err != nil {
		return err
	}
	doc.SaveTable("trace", trace)
	return nil
}

// cvGrid shows the accuracy of every p with every lambda.
func cvGrid(r *linearmodel.FitResult) render.Table {
	lambdas := r.Lambdas()
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
func cvFigures(r *linearmodel.FitResult) []render.Figure {
	var p, acc, lo, hi, sparse []float64
	for _, s := range r.ByP() {
		p, acc, sparse = append(p, float64(s.P)), append(acc, 100*s.Accuracy), append(sparse, 100*s.Sparsity)
		lo, hi = append(lo, 100*(s.Accuracy-s.Deviation)), append(hi, 100*(s.Accuracy+s.Deviation))
	}
	c := render.Color(2)
	least, most := slices.Min(lo), slices.Max(hi)
	room := 0.3*(most-least) + 0.1 // for the legend
	figs := []render.Figure{
		{Title: "Accuracy on held-out data", X: "p", Y: "%", ByP: true, Min: [2]float64{0, least - room},
			Max: [2]float64{0, most}, Series: []render.Series{
				{Name: "mean over folds", X: p, Y: acc, Color: c}, {X: p, Y: acc, Color: c, Style: render.Discs},
				{Name: "one deviation between folds", X: p, Y: lo, Color: c, Style: render.Dashed},
				{X: p, Y: hi, Color: c, Style: render.Dashed}}},
		{Title: "Weights near 0", X: "p", Y: "% of the features", ByP: true, Series: []render.Series{
			{X: p, Y: sparse, Color: render.Color(1.1)}, {X: p, Y: sparse, Color: render.Color(1.1), Style: render.Discs}}},
	}
	lambdas := r.Lambdas()
	if len(lambdas) < 2 {
		return figs
	}
	grid := render.Figure{Title: "Accuracy by lambda", X: "lambda", Y: "%", LogX: true}
	order := slices.Clone(lambdas)
	slices.Sort(order)
	least, most = 100, 0
	for k := 0; k < len(r.CV); k += len(lambdas) {
		var y []float64
		for _, v := range order {
			y = append(y, 100*r.CV[k+slices.Index(lambdas, v)].Accuracy)
		}
		least, most = min(least, slices.Min(y)), max(most, slices.Max(y))
		col := render.Color(float64(r.CV[k].P))
		grid.Series = append(grid.Series, render.Series{Name: fmt.Sprintf("p = %v", r.CV[k].P), X: order, Y: y, Color: col},
			render.Series{X: order, Y: y, Color: col, Style: render.Discs})
	}
	room = 0.1*float64(len(p))*(most-least) + 0.1
	grid.Min, grid.Max = [2]float64{0, least - room}, [2]float64{0, most}
	return slices.Insert(figs, 1, grid)
}
