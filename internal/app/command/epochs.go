package command

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/tfevents"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// epochLine is a line of metrics.jsonl.
type epochLine struct {
	train.Epoch
	train.Score
	train.Geometry
	Elapsed float64 `json:"elapsed"`               // seconds of the run so far, with evaluation and over all its legs
	Untold  bool    `json:"unevaluated,omitempty"` // interrupted before the test images were seen: they are when the run goes on
}

// record is the line as it is written: what was not evaluated is not there.
func (l epochLine) record() any {
	if !l.Untold {
		return l
	}
	return struct {
		train.Epoch
		Elapsed float64 `json:"elapsed"`
		Untold  bool    `json:"unevaluated"`
	}{l.Epoch, l.Elapsed, true}
}

// How much larger the largest weight may become in the first epoch, in which p = 10 overwrites the initial weights, and in one after it. Of 188 runs that
// learned, a third of them on a GPU, none passed 6 and 3.1.
const (
	firstGrowth = 30
	laterGrowth = 10
)

// jump tells of the first epoch in which the largest weight grew out of all proportion, as after a step with a broken gradient; before is the largest ahead of these
// lines, 0 where it is not known. Batch norm makes up for the size of a layer, so that loss and accuracy need not show it.
func jump(before float64, lines []epochLine) string {
	for _, l := range lines {
		most := before * laterGrowth
		if l.Epoch.Epoch == 1 {
			most = before * firstGrowth
		}
		if before > 0 && l.NormInf > most {
			return fmt.Sprintf("in epoch %d the largest weight went from %.3g to %.3g: a step had a huge gradient. Batch norm may hide that from the accuracy, but these weights say nothing about p: "+
				"run again with a smaller learning rate or another seed", l.Epoch.Epoch, before, l.NormInf)
		}
		if l.NormInf > 0 { // else it was not measured
			before = l.NormInf
		}
	}
	return ""
}

// board is the TensorBoard file of a run, which the run can do without.
type board struct {
	run    *runlog.Run
	events *tfevents.Writer // nil: it cannot be written
}

func newBoard(run *runlog.Run) *board {
	events, err := tfevents.Create(run.Dir, "")
	if err != nil {
		run.Lost("the TensorBoard file", err)
		return &board{run, nil}
	}
	return &board{run, events}
}

// add writes a line, unless one before it could not be written.
func (b *board) add(l epochLine) {
	if b.events == nil {
		return
	}
	if err := l.toTensorBoard(b.events); err != nil {
		b.run.Lost("the TensorBoard file", err)
		b.close()
	}
}

func (b *board) close() {
	if b.events != nil {
		b.events.Close()
	}
	b.events = nil
}

// toTensorBoard writes the line as events.
func (l *epochLine) toTensorBoard(events *tfevents.Writer) error {
	step, now := int64(l.Epoch.Epoch), time.Now()
	scalars := map[string]float64{"loss/train": l.Epoch.Loss, "accuracy/train": l.Epoch.Accuracy, "loss/test": l.Score.Loss, "accuracy/test": l.Score.Accuracy, "lr": l.LR, "img_per_second": l.Rate,
		"norm/1": l.Norm1, "norm/2": l.Norm2, "norm/p": l.NormP, "norm/inf": l.NormInf, "margin/low": l.MarginLow, "margin/median": l.MarginMedian}
	if l.Divergence != nil {
		scalars["divergence_start"] = *l.Divergence
	}
	h := tfevents.Histogram{Max: l.NormInf, Sum: l.Norm1, SumSquares: l.Norm2 * l.Norm2, Limits: []float64{l.Sizes.Edge(0)}, Counts: []float64{float64(l.Sizes.Below)}}
	for k, n := range l.Sizes.Counts {
		h.Limits, h.Counts = append(h.Limits, l.Sizes.Edge(k+1)), append(h.Counts, float64(n))
	}
	return errors.Join(events.Scalars(step, now, scalars), events.Histogram(step, now, "weights/size", h), events.Flush())
}

// addEpochs shows a run along its epochs: loss and accuracy, and where its weights went.
func addEpochs(d *render.Document, p float64, lines []epochLine) error {
	t := render.Table{Header: []string{"epoch", "loss", "accuracy", "test loss", "test accuracy", "lr", "img/s", "1-norm", "2-norm", "p-norm", "max", "divergence from start", "margin, 10 %", "margin, median"}}
	c := render.Color(p)
	var at []float64
	column := func(style render.Style, name string, of func(epochLine) float64) render.Series {
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
		for _, v := range []float64{l.Norm1, l.Norm2, l.NormP, l.NormInf, l.divergence(), l.MarginLow, l.MarginMedian} {
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
			column(render.Solid, "training", func(l epochLine) float64 { return l.Epoch.Loss }), column(render.Dashed, "test", func(l epochLine) float64 { return l.Score.Loss })}},
		render.Figure{Title: "Accuracy", X: "epoch", Y: "%", LegendLow: true, Series: []render.Series{
			column(render.Solid, "training", func(l epochLine) float64 { return 100 * l.Epoch.Accuracy }), column(render.Dashed, "test", func(l epochLine) float64 { return 100 * l.Score.Accuracy })}})
	if err == nil && lines[len(lines)-1].Sizes != nil {
		err = d.AddFigure("geometry", "D is the Bregman divergence of the p-th power of the p-norm. Output margins: the right answer less the next, on the test images, over the p-norm of the last layer.",
			render.Figure{Title: "Divergence from start", X: "epoch", Y: "D(w, w at the start)", Series: []render.Series{column(render.Solid, "", epochLine.divergence)}},
			render.Figure{Title: "Norm of the weights", X: "epoch", Y: "p-norm of w", Series: []render.Series{column(render.Solid, "", func(l epochLine) float64 { return l.NormP })}},
			render.Figure{Title: "Output margins", X: "epoch", Y: "margin / norm of last layer", LegendFree: true, Series: []render.Series{
				column(render.Solid, "median", func(l epochLine) float64 { return l.MarginMedian }), column(render.Dashed, "10 % quantile", func(l epochLine) float64 { return l.MarginLow })}})
	}
	d.SaveTable("epochs", t)
	return err
}

// divergence is NaN where it is not known.
func (l epochLine) divergence() float64 {
	if l.Divergence == nil {
		return math.NaN()
	}
	return *l.Divergence
}
