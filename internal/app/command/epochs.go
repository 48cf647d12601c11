package command

import (
	"math"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/train"
)

// addEpochs shows a run along its epochs: loss and accuracy, and where its weights went.
func addEpochs(d *render.Document, p float64, lines []train.Record) error {
	t := render.Table{Header: []string{"epoch", "loss", "accuracy", "test loss", "test accuracy", "lr", "img/s", "1-norm", "2-norm", "p-norm", "max", "divergence from start", "margin, 10 %", "margin, median"}}
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
		row := []render.Cell{render.Text("%d", l.Epoch.Epoch), render.Short(l.Epoch.Loss, 6), render.Number(l.Epoch.Accuracy, 5), render.Short(l.Score.Loss, 6), render.Number(l.Score.Accuracy, 5),
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
	err := d.AddFigure("epochs", "Solid: training, as the batches came; dashed: the test images.",
		render.Figure{Title: "Loss", X: "epoch", Y: "cross entropy", LogY: true, Series: []render.Series{
			column(render.Solid, "training", func(l train.Record) float64 { return l.Epoch.Loss }), column(render.Dashed, "test", func(l train.Record) float64 { return l.Score.Loss })}},
		render.Figure{Title: "Accuracy", X: "epoch", Y: "%", LegendLow: true, Series: []render.Series{
			column(render.Solid, "training", func(l train.Record) float64 { return 100 * l.Epoch.Accuracy }), column(render.Dashed, "test", func(l train.Record) float64 { return 100 * l.Score.Accuracy })}})
	if err == nil && lines[len(lines)-1].Sizes != nil {
		err = d.AddFigure("geometry", "D is the Bregman divergence of the p-th power of the p-norm. Output margins: the right answer less the next, on the test images, over the p-norm of the last layer.",
			render.Figure{Title: "Divergence from start", X: "epoch", Y: "D(w, w at the start)", Series: []render.Series{column(render.Solid, "", divergence)}},
			render.Figure{Title: "Norm of the weights", X: "epoch", Y: "p-norm of w", Series: []render.Series{column(render.Solid, "", func(l train.Record) float64 { return l.NormP })}},
			render.Figure{Title: "Output margins", X: "epoch", Y: "margin / norm of last layer", LegendFree: true, Series: []render.Series{
				column(render.Solid, "median", func(l train.Record) float64 { return l.MarginMedian }), column(render.Dashed, "10 % quantile", func(l train.Record) float64 { return l.MarginLow })}})
	}
	d.SaveTable("epochs", t)
	return err
}

// divergence is NaN where it is not known.
func divergence(l train.Record) float64 {
	if l.Divergence == nil {
		return math.NaN()
	}
	return *l.Divergence
}
