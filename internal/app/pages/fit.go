package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// fitPage writes the page of a fit.
func fitPage(f opened, info runlog.Info, files render.Files) error {
	var s linearmodel.Fit
	if err := settingsOf(info, &s); err != nil {
		return err
	}
	var r linearmodel.FitResult
	if err := f.ReadJSON(command.ResultFile, maxFit, &r); err != nil {
		return err
	}
	doc := NewDocument(files, named(f, fitTitle(&r, info)), "bregman fit · "+when(info))
	lead := fitLead(&s, &r, info, f.Status(info))
	lead.Put(doc)
	t := render.Table{Header: []string{"result", ""}, Measures: true}
	for _, row := range r.Rows() {
		if row[0] == "report" { // this page
			continue
		}
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", row[0]), render.Text("%s", row[1])})
	}
	doc.Section("Result")
	choice := choiceOf(&r)
	if onPath(&r) {
		doc.Say("%s", found(&r))
	}
	doc.Tables(t, fitSettings(&s, &r, info))
	if len(r.Notes) > 0 {
		doc.Say("What was done with the columns of the table:")
		doc.List(r.Notes...)
	}
	if err := addQuality(doc, &r); err != nil {
		return err
	}
	if choice != nil {
		if err := choice.addChoice(doc); err != nil {
			return err
		}
	} else if r.CV != nil && r.CV[0].Penalty == 0 { // of a margin
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
	if err := addEffects(doc, &r); err != nil {
		return err
	}
	addWeights(doc, f, &r)
	if err := addTrace(doc, f, &s, &r); err != nil {
		return err
	}
	doc.Save()
	return nil
}

// maxFit is the size of the largest result: it has a confusion matrix.
const maxFit = 64 << 20

// onPath reports whether the model was looked for on a path of penalties.
func onPath(r *linearmodel.FitResult) bool { return r.Penalty > 0 || r.MarginEnd }

// addWeights writes the largest weights, and shows them if the effects of the features are not known.
func addWeights(doc *render.Document, f opened, r *linearmodel.FitResult) {
	data, err := f.ReadFile("model.json", maxModel)
	if err != nil {
		return // a fit that was stopped has none
	}
	m, err := fit.DecodeModel(data)
	if err != nil {
		return
	}
	t := linearmodel.LargestWeights(m, 50)
	title := t.Title
	t.Title = ""
	switch {
	case len(t.Rows) == 0:
	case len(r.Effects) > 0:
		doc.SaveTable("weights", t)
	default:
		doc.Section(title)
		doc.AddTables(render.Named{Name: "weights", Table: t})
	}
}

// found says what a fit on a path has minimised, or which margin it has.
func found(r *linearmodel.FitResult) string {
	columns := "of the columns as they are in the data"
	switch r.Scale {
	case "std":
		columns = "of standardised columns"
	case "max":
		columns = "of columns scaled to magnitude 1"
	}
	if r.MarginEnd {
		text := "The model is the end of the path, where the penalty tends to 0: the classifier of largest margin "
		if r.Intercept {
			text += "with a free intercept, "
		}
		text += columns
		if r.Lower != nil && r.Upper != nil && r.Gap != nil {
			of := "min y(⟨x, w⟩ + b) for ‖w‖ₚ = 1"
			if r.Joint {
				of = "min ⟨w_y − w_k, x⟩ + b_y − b_k over the classes k other than y, for ‖W‖ₚ = 1"
			}
			text += fmt.Sprintf(". Certificate: its margin, %s, is %.8g, and no w and b have "+
				"more than %.8g: a relative gap of %.2g, proved by a dual solution. It holds for this margin only, with its "+
				"intercept and columns", of, *r.Lower, *r.Upper, *r.Gap)
		}
		return text + "."
	}
	text := fmt.Sprintf("The model minimises the mean %s loss + (λ/2) ‖w‖ₚ² %s with λ = %.4g", r.LossName, columns, r.LP)
	if r.Intercept {
		text += ", and a free intercept"
	}
	text += fmt.Sprintf(". This is penalty %.3g, on a scale that means the same for every p and data set: at 10 weights "+
		"do next to nothing, at 1e-6 the penalty does", r.Penalty)
	if r.Excess != nil {
		text += fmt.Sprintf(". The objective is proved to be at most %.2g above the least possible", *r.Excess)
	}
	return text + "."
}

// fitSettings lists what the fit was asked for, as far as it applies.
func fitSettings(s *linearmodel.Fit, r *linearmodel.FitResult, info runlog.Info) render.Table {
	t := render.Table{Header: []string{"setting", ""}}
	add := func(name, format string, args ...any) {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", name), render.Text(format, args...)})
	}
	add("data", "%s", info.Data)
	add("hash", "%.24s…", info.DataHash)
	if s.Test != "" {
		add("test data", "%s", s.Test)
	}
	for _, o := range fit.Objectives {
		if o.Name != fit.Objective(s.Objective) {
			continue
		}
		if onPath(r) && len(r.Classes) == 0 { // a regression has no margin
			add("objective", "%s: penalty chosen by cross-validation", o.Name)
		} else {
			add("objective", "%s: %s", o.Name, o.About)
		}
	}
	add("p", "%s", list(s.P))
	if onPath(r) {
		pathSettings(add, s, r)
	} else {
		marginSettings(add, s)
		if r.Joint {
			add("several classes", "one problem: the right class over every other")
		}
	}
	add("scale", "%s", cmp.Or(s.Scale, "none"))
	add("seed", "%d", s.Seed)
	add("version", "%s", info.Version)
	return t
}

// pathSettings are those of a fit on a path.
func pathSettings(add func(name, format string, args ...any), s *linearmodel.Fit, r *linearmodel.FitResult) {
	if len(s.Penalty) > 0 {
		add("penalty", "%s", list(s.Penalty))
	} else {
		add("penalty", "a path from 10 to 1e-6")
	}
	switch {
	case r.Folds == 1:
		add("folds", "a fifth of the examples held out once")
	case r.Folds > 1:
		add("folds", "%d", r.Folds)
	}
	add("loss", "%s", r.LossName)
	if len(r.Classes) > 2 {
		how := "each against the rest"
		if r.LossName == "softmax" {
			how = "one problem"
		}
		add("several classes", "%s", how)
	}
	if s.ClassWeight == "balanced" {
		add("class weights", "balanced")
	}
	if s.NoIntercept {
		add("intercept", "none")
	} else {
		add("intercept", "free")
	}
}

// marginSettings are those of a margin, or of a given penalty.
func marginSettings(add func(name, format string, args ...any), s *linearmodel.Fit) {
	if len(s.LP) > 0 {
		add("lambda", "%s", list(s.LP))
	}
	if s.L2 > 0 {
		add("l2", "%v", s.L2)
	}
	if s.CV > 0 {
		add("folds", "%d", s.CV)
	}
	if s.Soft > 0 {
		add("soft", "%v", s.Soft)
	}
	add("steps, at most", "%d", s.Steps)
	if s.Init != "zero" && s.Init != "" {
		add("start", "%s", s.Init)
	}
	if s.Batch > 0 {
		add("batch", "%d", s.Batch)
	}
	if s.Bias {
		add("constant feature", "yes, its weight counts in the norm")
	}
}

// list writes numbers.
func list(values []float64) string {
	var out []string
	for _, v := range values {
		out = append(out, mirror.Exponent(v).String())
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
	if len(all) == 0 && onPath(r) { // the largest margin has no trace
		return nil
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
			c = render.Neutral(k, len(all)) // colours are those of p
			if name = fmt.Sprintf("class %v", *t.Class); len(all) > mostInTable && k > 0 && k < len(all)-1 {
				name = "" // between the greys of the first and the last
			}
		}
		style := render.Solid
		if t.Class != nil && len(all) <= mostInTable {
			style = render.LineStyle(k)
		}
		loss.Series = append(loss.Series, render.Series{Name: name, X: at, Y: l, Color: c, Style: style})
		norm.Series = append(norm.Series, render.Series{Name: name, X: at, Y: no, Color: c, Style: style})
		margin.Series = append(margin.Series, render.Series{Name: name, X: at, Y: m, Color: c, Style: style})
	}
	figs, caption := []render.Figure{loss, norm}, "Measured at logarithmically spaced steps."
	switch {
	case onPath(r):
		caption = "A point for each penalty, from strong to the one that was chosen; each fit starts from the one before."
	case s.Loss != "square":
		figs = append(figs, margin)
	}
	if err := doc.AddFigure("trace", caption, figs...); err != nil {
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
		lo = append(lo, 100*max(0, s.Accuracy-s.Deviation))
		hi = append(hi, 100*min(1, s.Accuracy+s.Deviation))
	}
	c := render.Color(math.NaN()) // ink: these curves are not of one p
	figs := []render.Figure{
		{Title: "Accuracy on held-out data", X: "p", Y: "%", ByP: true, Series: []render.Series{
			{Name: "mean over folds", X: p, Y: acc, Color: c}, {X: p, Y: acc, Color: c, Style: render.Discs},
			{Name: "one deviation between folds", X: p, Y: lo, Color: c, Style: render.Dashed},
			{X: p, Y: hi, Color: c, Style: render.Dashed}}},
		{Title: "Weights near 0", X: "p", Y: "% of the features", ByP: true,
			Max: [2]float64{0, max(1, slices.Max(sparse))}, Series: []render.Series{
				{X: p, Y: sparse}, {X: p, Y: sparse, Style: render.Discs}}},
	}
	lambdas := r.Lambdas()
	if len(lambdas) < 2 {
		return figs
	}
	grid := render.Figure{Title: "Accuracy by lambda", X: "lambda", Y: "%", LogX: true}
	order := slices.Clone(lambdas)
	slices.Sort(order)
	for k := 0; k < len(r.CV); k += len(lambdas) {
		var y []float64
		for _, v := range order {
			y = append(y, 100*r.CV[k+slices.Index(lambdas, v)].Accuracy)
		}
		col := render.Color(float64(r.CV[k].P))
		grid.Series = append(grid.Series, render.Series{Name: fmt.Sprintf("p = %v", r.CV[k].P), X: order, Y: y, Color: col},
			render.Series{X: order, Y: y, Color: col, Style: render.Discs})
	}
	return slices.Insert(figs, 1, grid)
}
