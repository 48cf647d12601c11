package linearmodel

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// Fitted is the result of a fit.
type Fitted struct {
	FitResult
	command.File
	weights render.Table // the largest
}

var _ command.Result = (*Fitted)(nil)

// JSON is the result.
func (f *Fitted) JSON() any { return &f.FitResult }

// Print shows the result, the scores of cross-validation and the largest weights.
func (f *Fitted) Print(w io.Writer) {
	switch {
	case f.onPath() && f.severalP():
		fmt.Fprintln(w, f.byPTable().Text())
	case f.CV != nil && !f.onPath():
		fmt.Fprintln(w, f.CVTable().Text())
	}
	fmt.Fprint(w, f.text())
	if c := f.Confusion(); c != nil && f.onPath() && len(f.Classes) <= confusionMost {
		fmt.Fprintf(w, "\n%s", c.Text())
	}
	if len(f.weights.Rows) > 0 {
		fmt.Fprintf(w, "\n%s", f.weights.Text())
	}
}

// finish writes the model, measures accuracies and writes the report. What may fail comes last.
func (w *fitting) finish(begin time.Time) (*Fitted, error) {
	w.sum = w.summary()
	var failed error
	if w.result.Whole() {
		w.sum.Nonzero, w.sum.Effects = w.result.Model.Nonzero(), w.effects()
		failed = w.writeModel()
		if err := w.accuracies(); err != nil {
			return nil, err
		}
	}
	w.sum.TotalSeconds = time.Since(begin).Seconds()
	if w.run != nil {
		w.sum.Run = w.run.Dir
	}
	if w.run != nil {
		if err := w.run.WriteJSON(command.ResultFile, w.sum); err != nil {
			w.run.Lost(command.ResultFile, err)
		}
	}
	out := &Fitted{FitResult: w.sum, File: w.out}
	if w.result.Whole() {
		out.weights = LargestWeights(w.result.Model, w.Top)
	}
	return out, failed
}

// summary is the result as it is printed and stored, without the accuracies.
func (w *fitting) summary() FitResult {
	n, d := w.set.X.Dims()
	f := w.result
	r := FitResult{P: f.Model.P, Method: f.Model.Method, LossName: f.Model.Loss, L2: w.L2, Soft: f.Attempt.Soft, N: n,
		D: d, Seconds: f.Seconds, CV: f.CV, None: f.None, Separable: f.Separable, Label: w.set.Label, Steps: f.Steps,
		LR: f.Eta, Joint: f.Joint, Penalty: f.Penalty, MarginEnd: f.End, Folds: f.Folds, HeldOut: f.HeldOut}
	if len(w.LP) > 0 || f.Penalty > 0 {
		r.LP = f.Attempt.Lambda
	}
	r.Notes = w.set.Notes
	if q := f.HeldOut; q != nil && q.Targets != nil {
		r.HeldR2 = &q.Targets.R2
	} else if q != nil {
		r.HeldAccuracy = &q.Classes.Accuracy
	}
	r.Intercept = f.Model.Intercept
	if f.Model.Scale != nil {
		r.Scale = w.Scale
	}
	r.Classes = f.Model.ClassNames()
	if w.L2 > 0 { // which is not one of several
		for k := range r.CV {
			r.CV[k].Lambda = 0
		}
	}
	if f.Exact != "" {
		r.Method += ", then " + f.Exact
	}
	r.Loss = finiteOrNil(f.Loss)
	if w.penalised() || f.Penalty > 0 {
		r.Objective, r.Excess = finiteOrNil(f.Objective), finiteOrNil(f.Excess)
	}
	if f.Separated {
		c, norm, gap := f.Certificate, 1/f.Certificate.Lower, f.Gap
		r.Margin, r.Norm, r.Lower = &c.Lower, &norm, &c.Lower
		if !math.IsInf(gap, 1) {
			r.Upper, r.Gap = &c.Upper, &gap
		}
	}
	return r
}

// finiteOrNil is nil if JSON has no number for the value.
func finiteOrNil(v float64) *float64 {
	if v-v != 0 {
		return nil
	}
	return &v
}

// LargestWeights lists them, with the names of their features or their numbers, counted as in the file.
func LargestWeights(m fit.Model, most int) render.Table {
	t := render.Table{Title: "Largest weights", Header: []string{"feature", "weight"}}
	if len(m.Weights) > 1 {
		t.Header = []string{"feature", "class", "weight"}
	}
	if m.Scale != nil && m.Scale.Kind == "std" {
		t.Title += ", standardised columns"
	}
	if len(m.Classes) == 2 {
		t.Title += ", positive for " + m.ClassName(m.Classes[1])
	}
	type place struct{ k, j int }
	var at []place
	for k, v := range m.Weights {
		if m.Intercept {
			v = v[:len(v)-1]
		}
		for j := range v {
			if v[j] != 0 {
				at = append(at, place{k, j})
			}
		}
	}
	weight := func(p place) float64 { return m.Weights[p.k][p.j] }
	slices.SortStableFunc(at, func(a, b place) int { return cmp.Compare(math.Abs(weight(b)), math.Abs(weight(a))) })
	for _, p := range at[:min(most, len(at))] {
		row := []render.Cell{render.Text("%s", featureName(m, p.j))}
		if len(m.Weights) > 1 {
			row = append(row, render.Text("%s", m.ClassName(m.Classes[p.k])))
		}
		t.Rows = append(t.Rows, append(row, render.Short(weight(p), 5)))
	}
	return t
}

func (w *fitting) accuracies() error {
	r, model := &w.sum, w.result.Model
	seen := model
	if w.lib.InPlace {
		seen.Scale = nil // the training data went through it already
	}
	labels, _, err := seen.Predict(w.set.X)
	if err != nil {
		return err
	}
	regression := len(model.Classes) == 0
	if regression {
		q, err := model.QualityOf([][]float64{labels}, w.set.Y)
		if err != nil {
			return err
		}
		r.TrainR2 = &q.Targets.R2
	} else {
		r.TrainAccuracy, _ = accuracy(model, labels, w.set)
	}
	if w.test == nil {
		return nil
	}
	labels, scores, err := model.Predict(w.test.X)
	if err != nil {
		return err
	}
	if r.TestAccuracy, err = accuracy(model, labels, w.test); err != nil {
		w.env.Say("no test accuracy: %v", err)
		return nil
	}
	if len(model.Classes) == 1 {
		return nil
	}
	if r.Test, err = model.QualityOf(scores, w.test.Y); err != nil {
		return err
	}
	if q := r.Test.Targets; q != nil {
		half := q.RMSE * q.RMSE / 2
		r.TestLoss, r.TestR2, r.TestRMSE = &half, &q.R2, &q.RMSE
	} else {
		r.TestLogLoss, r.TestAUC = r.Test.Classes.LogLoss, r.Test.Classes.AUC
	}
	return nil
}

// accuracy is the share of right labels. A model of absorbed labels is right if the score is positive. Labels that the
// model does not know, and a single label if it knows two, are an error.
func accuracy(m fit.Model, labels []float64, set *dataset.Set) (*float64, error) {
	classes := set.Classes()
	if len(m.Classes) == 0 { // a regression
		return nil, nil
	}
	if len(m.Classes) > 1 {
		if len(classes) == 1 && m.Encoding == nil { // some number in place of labels
			return nil, fmt.Errorf("%s: every label is %s, and an accuracy needs two classes: say --unlabeled if there "+
				"are none", set.Name, set.ClassName(set.Y[0]))
		}
		for _, c := range classes {
			if !slices.Contains(m.Classes, c) {
				return nil, fmt.Errorf("%s: the label %s is not one of the model's classes %v", set.Name, set.ClassName(c),
					m.ClassNames())
			}
		}
	}
	right := 0
	for i, v := range labels {
		if v == set.Y[i] || len(m.Classes) == 1 && v > 0 {
			right++
		}
	}
	a := float64(right) / float64(len(labels))
	return &a, nil
}

func (w *fitting) writeModel() error {
	data, err := w.result.Model.Encode()
	if err != nil {
		return err
	}
	if w.run != nil {
		err := w.run.WriteFile("model.json", data)
		switch {
		case err == nil:
			w.sum.Model = w.run.Path("model.json")
		case w.Out == "":
			return err
		default: // the file may be on another disk
			w.run.Lost("model.json", err)
		}
	}
	if w.Out == "" {
		return nil
	}
	if strings.EqualFold(filepath.Ext(w.Out), ".npy") {
		data = dataset.EncodeWeights(w.result.Model.Weights)
	}
	w.out = command.NewFile(w.Out, data)
	if err := w.out.Save(); err != nil {
		return err
	}
	w.sum.Model = w.Out
	return nil
}

// Rows are the result as lines of text: a name and its value.
func (r *FitResult) Rows() [][2]string {
	opt := func(v *float64, format string) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf(format, *v)
	}
	if r.onPath() {
		return r.pathRows()
	}
	rows := [][2]string{
		{"data", r.data()},
		{"method", r.method()},
		{"steps", fmt.Sprintf("%d in %.3g s (%.3g s in all)", r.Steps, r.Seconds, r.TotalSeconds)},
	}
	// a soft margin allows large errors of some examples, and exp lets them dominate the loss
	if r.Soft == 0 {
		rows = append(rows, [2]string{"loss", opt(r.Loss, "%.6g")})
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
	if r.Objective != nil {
		rows = append(rows, [2]string{"objective", opt(r.Objective, "%.6g") + "   the loss and the penalty"})
	}
	if r.Excess != nil {
		rows = append(rows, [2]string{"excess", opt(r.Excess, "%.3g") + "   at most so far above the least possible"})
	}
	if r.Margin != nil {
		of, w := "y⟨x,w⟩", "‖w‖ₚ"
		if r.Joint {
			of, w = "⟨w_y−w_k,x⟩ over classes k other than y", "‖W‖ₚ"
		}
		what := fmt.Sprintf("min %s for %s = 1", of, w)
		if r.Soft > 0 {
			what = fmt.Sprintf("mean of the worst %.3g %% of %s for %s = 1", 100*r.Soft, of, w)
		}
		switch {
		case r.Joint && r.Gap != nil:
			what += fmt.Sprintf("; certified within %.3g %% of the best", 100**r.Gap)
		case r.Gap != nil && len(r.Classes) > 2:
			what += fmt.Sprintf(", the smallest of %d classes against the rest; each certified within %.3g %% of its best",
				len(r.Classes), 100**r.Gap)
		case r.Gap != nil:
			what += fmt.Sprintf("; certified within %.3g %% of the best", 100**r.Gap)
		}
		rows = append(rows, [2]string{"margin", opt(r.Margin, "%.8g") + "   " + what}, [2]string{"norm", opt(r.Norm, "%.8g") +
			"   " + w + " at margin 1"})
	} else if r.TrainAccuracy != nil {
		what := "no positive margin was found"
		if r.Soft > 0 {
			what = fmt.Sprintf("the mean of the worst %.3g %% of y⟨x,w⟩ is not positive", 100*r.Soft)
		}
		rows = append(rows, [2]string{"margin", "–   " + what})
	}
	if r.None != "" {
		why, _, _ := strings.Cut(r.None, "; ") // the line of the margin says the rest
		rows = append(rows, [2]string{"why", why})
	}
	if r.Model != "" {
		rows = append(rows, [2]string{"model", r.Model})
	}
	if r.Run != "" {
		rows = append(rows, [2]string{"run", r.Run})
	}
	return rows
}

// data describes the training data.
func (r *FitResult) data() string {
	s := render.Count(r.N, "example") + " × " + render.Count(r.D, "feature")
	if r.Label != "" {
		s += fmt.Sprintf(", labels in column %q", r.Label)
	}
	return s
}

func (r *FitResult) method() string {
	s := fmt.Sprintf("%s, p = %v", r.Method, r.P)
	if r.LossName != "exp" || r.LR > 0 || r.Objective != nil {
		s += fmt.Sprintf(", %s loss", r.LossName)
	}
	if r.L2 > 0 || r.LP > 0 {
		s += fmt.Sprintf(" + %v/2 ‖w‖ₚ²", max(r.L2, r.LP))
	}
	if r.LR > 0 {
		s += fmt.Sprintf(", step %.4g", r.LR)
	}
	return s
}

func (r *FitResult) text() string {
	var b strings.Builder
	for _, row := range r.Rows() {
		fmt.Fprintf(&b, "%-15s %s\n", row[0], row[1])
	}
	return b.String()
}
