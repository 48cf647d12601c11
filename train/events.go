package train

import (
	"errors"
	"time"

	"github.com/bregman-ml/bregman/internal/tfevents"
	"github.com/bregman-ml/bregman/runlog"
)

// Events is an observer that writes a TensorBoard file, which the run can do without.
type Events struct {
	Silent
	run    *runlog.Run
	events *tfevents.Writer // nil: not started
	failed bool             // it cannot be written
}

// NewEvents returns the observer of a run folder. It starts the file at the first epoch.
func NewEvents(run *runlog.Run) *Events { return &Events{run: run} }

// Epoch writes a record, unless one before it could not be written.
func (b *Events) Epoch(r Record) {
	if b.failed || r.Unevaluated {
		return
	}
	var err error
	if b.events == nil {
		b.events, err = tfevents.Create(b.run.Dir, "")
	}
	if err == nil {
		err = r.toTensorBoard(b.events)
	}
	if err != nil {
		b.failed = true
		b.run.Lost("the TensorBoard file", err)
		b.Close()
	}
}

// Close ends the file.
func (b *Events) Close() {
	if b.events != nil {
		b.events.Close()
	}
	b.events = nil
}

// toTensorBoard writes the record as events.
func (r *Record) toTensorBoard(events *tfevents.Writer) error {
	step, now := int64(r.Epoch.Epoch), time.Now()
	score, on := r.Curve()
	scalars := map[string]float64{"loss/train": r.Epoch.Loss, "accuracy/train": r.Epoch.Accuracy,
		"loss/" + on: score.Loss, "accuracy/" + on: score.Accuracy, "lr": r.LR, "img_per_second": r.Rate,
		"norm/1": r.Norm1, "norm/2": r.Norm2,
		"norm/p": r.NormP, "norm/inf": r.NormInf, "margin/low": r.MarginLow, "margin/median": r.MarginMedian}
	if r.Divergence != nil {
		scalars["divergence_start"] = *r.Divergence
	}
	h := tfevents.Histogram{Max: r.NormInf, Sum: r.Norm1, SumSquares: r.Norm2 * r.Norm2,
		Limits: []float64{r.Sizes.Edge(0)},
		Counts: []float64{float64(r.Sizes.Below)}}
	for k, n := range r.Sizes.Counts {
		h.Limits, h.Counts = append(h.Limits, r.Sizes.Edge(k+1)), append(h.Counts, float64(n))
	}
	return errors.Join(events.Scalars(step, now, scalars), events.Histogram(step, now, "weights/size", h), events.Flush())
}
