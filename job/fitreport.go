package job

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/report"
	"github.com/bregman-ml/bregman/runlog"
)

// finish measures accuracies, writes the model and the report, and prints the result.
func (w *fitting) finish(opt dataset.Options, begin time.Time) error {
	n, d := w.set.X.Dims()
	r := &w.result
	r.P, r.Method, r.LossName, r.LR, r.N, r.D, r.Seconds = w.P, w.Method, w.Loss, w.eta, n, d, w.seconds
	w.margins()
	if len(w.model.Weights) == len(w.targets) {
		if err := w.accuracies(opt); err != nil {
			return err
		}
		if err := w.writeModel(); err != nil {
			return err
		}
	}
	r.TotalSeconds = time.Since(begin).Seconds()
	if w.run != nil {
		r.Run = w.run.Dir
		if err := w.writeReport(); err != nil {
			return err
		}
	}
	if w.JSON {
		return w.con.PrintJSON(r)
	}
	fmt.Fprint(w.con.Out, r.text())
	return nil
}

// margins keeps the worst margin and gap, where every weight vector separates its classes.
func (w *fitting) margins() {
	if len(w.certified) < len(w.targets) || w.loss.Residual() {
		return
	}
	margin, gap := math.Inf(1), 0.0
	for _, c := range w.certified {
		margin, gap = min(margin, c.Lower), max(gap, c.Gap())
	}
	if margin > 0 {
		norm := 1 / margin
		w.result.Margin, w.result.Norm, w.result.Gap = &margin, &norm, &gap
	}
}

func (w *fitting) accuracies(opt dataset.Options) error {
	r := &w.result
	labels, _, err := w.model.Predict(w.set.X)
	if err != nil {
		return err
	}
	if !w.loss.Residual() {
		r.TrainAccuracy = accuracy(w.model, labels, w.set.Y)
	}
	if w.Test == "" {
		return nil
	}
	opt.Cols = w.model.Dim()
	test, err := Load(w.Test, opt)
	if err != nil {
		return err
	}
	labels, _, err = w.model.Predict(test.X)
	if err != nil {
		return fmt.Errorf("%s: %w", test.Name, err)
	}
	if w.loss.Residual() {
		var sum float64
		for i, v := range labels {
			sum += (v - test.Y[i]) * (v - test.Y[i]) / 2
		}
		sum /= float64(len(labels))
		r.TestLoss = &sum
		return nil
	}
	r.TestAccuracy = accuracy(w.model, labels, test.Y)
	return nil
}

// accuracy is the share of right labels. A model of absorbed labels is right where the score is positive.
func accuracy(m linear.Model, labels, want []float64) *float64 {
	right := 0
	for i, v := range labels {
		if v == want[i] || len(m.Classes) == 1 && v > 0 {
			right++
		}
	}
	a := float64(right) / float64(len(labels))
	return &a
}

func (w *fitting) writeModel() error {
	data, err := w.model.Encode()
	if err != nil {
		return err
	}
	if w.run != nil {
		if err := w.run.WriteFile("model.json", data); err != nil {
			return err
		}
		w.result.Model = w.run.Path("model.json")
	}
	if w.Out == "" {
		return nil
	}
	if strings.EqualFold(filepath.Ext(w.Out), ".npy") {
		data = dataset.EncodeWeights(w.model.Weights)
	}
	w.result.Model = w.Out
	return runlog.WriteFile(w.Out, data)
}

func (r *FitResult) rows() [][2]string {
	opt := func(v *float64, format string) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf(format, *v)
	}
	rows := [][2]string{
		{"data", fmt.Sprintf("%d examples × %d features", r.N, r.D)},
		{"method", fmt.Sprintf("%s, p = %v, %s loss, step %.4g", r.Method, r.P, r.LossName, r.LR)},
		{"steps", fmt.Sprintf("%d in %.3g s (%.3g s in all)", r.Steps, r.Seconds, r.TotalSeconds)},
		{"loss", fmt.Sprintf("%.6g", r.Loss)},
	}
	if r.TrainAccuracy != nil {
		rows = append(rows, [2]string{"train accuracy", opt(r.TrainAccuracy, "%.4f")})
	}
	if r.TestAccuracy != nil {
		rows = append(rows, [2]string{"test accuracy", opt(r.TestAccuracy, "%.4f")})
	}
	if r.TestLoss != nil {
		rows = append(rows, [2]string{"test loss", opt(r.TestLoss, "%.6g")})
	}
	if r.Margin != nil {
		rows = append(rows,
			[2]string{"margin", opt(r.Margin, "%.8g") + fmt.Sprintf("   min y⟨x,w⟩ for ‖w‖ₚ = 1; certified within %.3g %% of the best", 100**r.Gap)},
			[2]string{"norm", opt(r.Norm, "%.8g") + "   ‖w‖ₚ at margin 1"})
	} else if r.TrainAccuracy != nil {
		rows = append(rows, [2]string{"margin", "–   the classes are not separated"})
	}
	if r.Model != "" {
		rows = append(rows, [2]string{"model", r.Model})
	}
	if r.Run != "" {
		rows = append(rows, [2]string{"run", r.Run})
	}
	return rows
}

func (r *FitResult) text() string {
	var b strings.Builder
	for _, row := range r.rows() {
		fmt.Fprintf(&b, "%-15s %s\n", row[0], row[1])
	}
	return b.String()
}

// writeReport writes tables, figures and report.html into the run folder.
func (w *fitting) writeReport() error {
	doc := NewDocument(w.run, fmt.Sprintf("%s: p = %v", filepath.Base(w.set.Name), w.P), "bregman fit · "+w.run.Info.Started.Format("2 January 2006 15:04"))
	t := report.Table{Header: []string{"", "result"}}
	for _, row := range w.result.rows() {
		t.Rows = append(t.Rows, []report.Cell{report.Text("%s", row[0]), report.Text("%s", row[1])})
	}
	doc.Section("Result")
	if err := doc.AddTables(Named{"result", t}); err != nil {
		return err
	}
	doc.Section("Along the run")
	trace := report.Table{Header: []string{"vector", "step", "loss", "margin", "norm", "gap"}}
	loss := report.Figure{Title: "Loss", X: "step", Y: "mean loss", LogX: true, LogY: true}
	norm := report.Figure{Title: "Norm of the weights", X: "step", Y: "p-norm of w", LogX: true}
	margin := report.Figure{Title: "Margin of the direction", X: "step", Y: "margin of w over its p-norm", LogX: true}
	for k, tr := range w.traces {
		var at, l, m, no []float64
		for _, pt := range tr.Points {
			at, l, m, no = append(at, float64(pt.Step)), append(l, pt.Loss), append(m, pt.Margin), append(no, pt.Norm)
			trace.Rows = append(trace.Rows, []report.Cell{report.Text("%d", k), report.Text("%d", pt.Step), report.Short(pt.Loss, 8),
				report.Short(pt.Margin, 8), report.Short(pt.Norm, 8), report.Short(pt.Gap, 4)})
		}
		c := report.Color(w.P)
		loss.Series = append(loss.Series, report.Series{X: at, Y: l, Color: c})
		norm.Series = append(norm.Series, report.Series{X: at, Y: no, Color: c})
		margin.Series = append(margin.Series, report.Series{X: at, Y: m, Color: c})
	}
	figs := []report.Figure{loss, norm}
	if !w.loss.Residual() {
		figs = append(figs, margin)
	}
	if err := doc.AddFigure("trace", "Measured at logarithmically spaced steps.", figs...); err != nil {
		return err
	}
	if err := doc.SaveTable("trace", trace); err != nil {
		return err
	}
	return doc.Save()
}
