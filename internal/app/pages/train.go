package pages

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// trainPage writes the page of a network's run.
func trainPage(f opened, info runlog.Info, files render.Files) error {
	var t command.Train
	if err := settingsOf(info, &t); err != nil {
		return err
	}
	var r command.TrainResult
	if err := f.ReadJSON(command.ResultFile, maxJSON, &r); err != nil {
		return err
	}
	records, err := readRecords(f)
	if err != nil {
		return err
	}
	doc := NewDocument(files, named(f, fmt.Sprintf("%s on %s: p = %v", t.Model, filepath.Base(info.Data), r.P)),
		"bregman train · "+when(info))
	answers, err := readAnswers(f)
	if err != nil {
		return err
	}
	lead := trainLead(&r, records, answers, info, f.Status(info))
	lead.Put(doc)
	table := render.Table{Header: []string{"result", ""}, Measures: true}
	for _, row := range [][2]string{
		{"warning", r.Warning},
		{"test accuracy", fmt.Sprintf("%.2f %% (%.2f %% averaged with mirror images)", 100*r.TestAccuracy,
			100*r.FlipAccuracy)},
		{"validation accuracy", validation(r)},
		{"best epoch", r.BestText()},
		{"training", fmt.Sprintf("loss %.4g, accuracy %.2f %%: %s", r.Loss, 100*r.Accuracy, t.RunningMean())},
		{"speed", fmt.Sprintf("%s images a second on the %s engine, %s", render.Thousands(int(r.ImgPerSecond)),
			enginesOf(info), t.Precision)},
		{"recipe", recipe(&t, r)},
		{"parameters", parameters(f)},
		{"pruned while training", pruned(&t, r)},
	} {
		if row[1] != "" {
			table.Rows = append(table.Rows, []render.Cell{render.Text("%s", row[0]), render.Text("%s", row[1])})
		}
	}
	doc.Section("Result")
	doc.Tables(table)
	if err := addAnswers(doc, answers); err != nil {
		return err
	}
	if err := addEpochs(doc, r.P, records); err != nil {
		return err
	}
	if err := addRateSearch(doc, f); err != nil {
		return err
	}
	var study train.Study
	if f.ReadJSON(command.StudyFile, maxStudy, &study) == nil {
		if err := AddStudies(doc, "", "", "", []Studied{{Name: fmt.Sprintf("p = %v", r.P), P: r.P,
			Trials: []train.Study{study}}}); err != nil {
			return err
		}
		addLayers(doc, study)
	}
	doc.Save()
	return nil
}

// readRecords reads the metrics of a network's run.
func readRecords(f opened) (out []train.Record, err error) {
	err = runlog.ReadMetrics(f.dir, func(line json.RawMessage) error {
		var r train.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		out = append(out, r)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = errors.New("its metrics have no epoch")
	}
	return out, err
}

// parameters is the number of trainable parameters, from the names and shapes in the file of weights; "" if there is
// none.
func parameters(f opened) string {
	n, err := train.CountWeights(filepath.Join(f.dir, "weights.safetensors"))
	if err != nil {
		return ""
	}
	return render.Thousands(n)
}

// recipe describes the run, with every setting that is not at its default.
func recipe(t *command.Train, r command.TrainResult) string {
	text := fmt.Sprintf("%s, batch %d, learning rate %v, %s, seed %d", render.Count(t.Epochs, "epoch"), t.Batch, r.LR,
		t.Schedule,
		r.Seed)
	// or not part of it
	said := []string{"model", "data", "p", "epochs", "batch", "lr", "schedule", "precision", "no_study", "prune_to",
		"prune_during"}
	if t.Momentum == 0 {
		said = append(said, "momentum")
	}
	if t.LabelSmoothing == 0 {
		said = append(said, "label_smoothing")
	}
	for _, v := range settings.Changed(t) {
		switch name := strings.ReplaceAll(v.Key, "_", " "); {
		case v.Role != settings.Result || slices.Contains(said, v.Key):
		case v.Kind == settings.Switch:
			text += ", " + strings.Replace(name, "no augment", "no augmentation", 1)
		default:
			text += ", " + name + " " + v.Text
		}
	}
	return text
}

// limits says what limited the speed of epochs whose pictures came from a file.
func limits(lines []train.Record) string {
	count, waited := map[string]int{}, 0.0
	for _, l := range lines {
		if l.Limit != "" {
			count[l.Limit]++
			waited += l.Waited / float64(len(lines))
		}
	}
	if len(count) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%s in %s", name, render.Count(count[name], "epoch")))
	}
	return fmt.Sprintf("Pictures came from the file while the network trained. The speed was limited by %s; steps waited "+
		"for pictures %.0f %% of the time.", strings.Join(parts, ", "), 100*waited)
}

// pruned says how many weights pruning has set to 0; "" if the run has none.
func pruned(t *command.Train, r command.TrainResult) string {
	if t.PruneTo == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %% of the weights are 0; pruned over %s of the run", 100*r.Zeros,
		cmp.Or(t.PruneDuring, "0.1-0.75"))
}

// validation is the accuracy on training images that were held back, if any were.
func validation(r command.TrainResult) string {
	if r.ValidationAccuracy == nil {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100**r.ValidationAccuracy)
}

// addEpochs shows a run along its epochs: loss and accuracy, and the geometry of its weights.
func addEpochs(d *render.Document, p float64, lines []train.Record) error {
	_, on := lines[len(lines)-1].Curve()
	t := render.Table{Header: []string{"epoch", "loss", "accuracy", on + " loss", on + " accuracy", "lr", "img/s",
		"1-norm", "2-norm", "p-norm", "max", "divergence from start", "margin, 10 %", "margin, median"}}
	tests := map[string]string{"test": "the test images", "validation": "training images that were held back"}[on]
	tested := func(l train.Record) train.Score {
		s, _ := l.Curve()
		return s
	}
	c := render.Color(p)
	var at []float64
	column := func(style render.Style, name string, of func(train.Record) float64) render.Series {
		s := render.Series{Name: name, X: at, Color: c, Style: style}
		for _, l := range lines {
			s.Y = append(s.Y, of(l))
		}
		return s
	}
	for _, l := range lines {
		at = append(at, float64(l.Epoch.Epoch))
		row := []render.Cell{render.Text("%d", l.Epoch.Epoch), render.Short(l.Epoch.Loss, 6),
			render.Number(l.Epoch.Accuracy, 5), render.Short(tested(l).Loss, 6), render.Number(tested(l).Accuracy, 5),
			render.Short(l.LR, 6), render.Number(l.Rate, 0)}
		for _, v := range []float64{l.Norm1, l.Norm2, l.NormP, l.NormInf, divergence(l), l.MarginLow, l.MarginMedian} {
			if l.Sizes == nil { // an epoch of an older version
				v = math.NaN()
			}
			row = append(row, render.Short(v, 6))
		}
		t.Rows = append(t.Rows, row)
	}
	d.Section("Along the run")
	if text := limits(lines); text != "" {
		d.Say("%s", text)
	}
	err := d.AddFigure("epochs", "Solid: training, as the batches came; dashed: "+tests+".",
		render.Figure{Title: "Loss", X: "epoch", Y: "cross entropy", LogY: true, Series: []render.Series{
			column(render.Solid, "training", func(l train.Record) float64 { return l.Epoch.Loss }),
			column(render.Dashed, on, func(l train.Record) float64 { return tested(l).Loss })}},
		render.Figure{Title: "Accuracy", X: "epoch", Y: "%", Series: []render.Series{
			column(render.Solid, "training", func(l train.Record) float64 { return 100 * l.Epoch.Accuracy }),
			column(render.Dashed, on, func(l train.Record) float64 { return 100 * tested(l).Accuracy })}})
	if err == nil && lines[len(lines)-1].Sizes != nil {
		err = d.AddFigure("geometry", "D is the Bregman divergence of the p-th power of the p-norm. Output margins: the "+
			"right answer less the next, on "+tests+", over the p-norm of the last layer.",
			render.Figure{Title: "Divergence from start", X: "epoch", Y: "D(w, w at the start)",
				Series: []render.Series{column(render.Solid, "", divergence)}},
			render.Figure{Title: "Norm of the weights", X: "epoch", Y: "p-norm of w",
				Series: []render.Series{column(render.Solid, "", func(l train.Record) float64 { return l.NormP })}},
			render.Figure{Title: "Output margins", X: "epoch", Y: "margin / norm of last layer",
				Series: []render.Series{
					column(render.Solid, "median", func(l train.Record) float64 { return l.MarginMedian }),
					column(render.Dashed, "10 % quantile", func(l train.Record) float64 { return l.MarginLow })}})
	}
	if err == nil && lines[len(lines)-1].Zeros != nil {
		err = d.AddFigure("zeros", "The share of the weights that are 0, by pruning while the network trains.",
			render.Figure{Title: "Weights that are 0", X: "epoch", Y: "% of all", Series: []render.Series{
				column(render.Solid, "", func(l train.Record) float64 { return 100 * share(l.Zeros) })}})
	}
	d.SaveTable("epochs", t)
	return err
}

// share is NaN if it is not known.
func share(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// divergence is NaN if it is not known.
func divergence(l train.Record) float64 {
	if l.Divergence == nil {
		return math.NaN()
	}
	return *l.Divergence
}

// enginesOf names the engines that a run used.
func enginesOf(info runlog.Info) string {
	names := []string{info.Engine}
	for _, l := range info.Resumed {
		if l.Engine != names[len(names)-1] {
			names = append(names, l.Engine)
		}
	}
	return strings.Join(names, ", then ")
}

// addRateSearch shows how the learning rate was chosen, if by a search.
func addRateSearch(d *render.Document, f opened) error {
	var t train.RateSearch
	if f.ReadJSON(command.RateFile, maxJSON, &t) != nil {
		return nil // the rate was given
	}
	d.Section("The learning rate")
	value, y, best := func(r train.TriedRate) float64 { return 100 * r.Accuracy }, "accuracy, %", math.Max
	if t.Held > 0 {
		d.Say("--lr auto chose %v, by %s: the top of the parabola through the best of the longest runs and its "+
			"neighbours. Accuracies are on %s training images that were held back.", t.Rate,
			render.Count(len(t.Tried), "short run"), render.Thousands(t.Held))
	} else { // an older version
		value, y, best = func(r train.TriedRate) float64 { return r.Loss }, "loss", math.Min
		d.Say("--lr auto chose %v, by %s and their training loss.", t.Rate, render.Count(len(t.Tried), "short run"))
	}
	table := render.Table{Header: []string{"epochs", "lr", y}}
	c := render.Color(t.P)
	fig := render.Figure{Title: "Search for a learning rate", X: "learning rate", Y: y, LogX: true}
	top := math.NaN()
	for k, r := range t.Tried {
		n := cmp.Or(r.Epochs, t.Epochs)
		if k == 0 || n != cmp.Or(t.Tried[k-1].Epochs, t.Epochs) {
			line := render.Series{Name: render.Count(n, "epoch"), Color: c, Style: render.Dashed}
			if n == t.Epochs {
				line.Style = render.Solid
			}
			fig.Series = append(fig.Series, line, render.Series{Color: c, Style: render.Discs})
		}
		row := []render.Cell{render.Text("%d", n), render.Short(r.Rate, 4), render.Text("diverged")}
		if !r.Diverged {
			row[2] = render.Number(value(r), 4)
			for i := len(fig.Series) - 2; i < len(fig.Series); i++ {
				fig.Series[i].X, fig.Series[i].Y = append(fig.Series[i].X, r.Rate), append(fig.Series[i].Y, value(r))
			}
			if n == t.Epochs {
				if top = best(top, value(r)); math.IsNaN(top) { // the first
					top = value(r)
				}
			}
		}
		table.Rows = append(table.Rows, row)
	}
	d.SaveTable("lr", table)
	fig.Series = append(fig.Series, render.Series{Name: "chosen", X: []float64{t.Rate}, Y: []float64{top},
		Style: render.Crosses})
	return d.AddFigure("lr", "What short runs ended with; the cross marks the rate that was chosen.", fig)
}
