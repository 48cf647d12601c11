package command

import (
	"fmt"
	"io"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// TrainResult is one finished run.
type TrainResult struct {
	P    float64 `json:"p"`
	Seed uint64  `json:"seed"`
	LR   float64 `json:"lr"`
	// this and the next: means over the last epoch's batches, augmented, as the weights changed
	Loss         float64 `json:"train_loss"`
	Accuracy     float64 `json:"train_accuracy"`
	TestLoss     float64 `json:"test_loss"`
	TestAccuracy float64 `json:"test_accuracy"`
	FlipAccuracy float64 `json:"test_accuracy_flip"` // answers averaged with those to the mirror image
	// averaged over shifted images and their mirror images; 0: the network's recipe does not have it
	ShiftAccuracy float64 `json:"test_accuracy_shift,omitempty"`
	Top5          float64 `json:"test_top5,omitempty"`

	ValidationLoss     *float64 `json:"validation_loss,omitempty"` // of training images that were held back
	ValidationAccuracy *float64 `json:"validation_accuracy,omitempty"`

	// the epoch with the best validation accuracy, and the accuracies of its weights; those of the last epoch are above
	BestEpoch              int      `json:"best_epoch,omitempty"`
	BestValidationAccuracy *float64 `json:"best_validation_accuracy,omitempty"`
	BestTestAccuracy       *float64 `json:"best_test_accuracy,omitempty"` // nil: its weights are gone
	StoppedAfter           int      `json:"stopped_after,omitempty"`      // epochs, of a run that --patience ended early

	FlipTop5     float64 `json:"test_top5_flip,omitempty"`
	Zeros        float64 `json:"zeros,omitempty"`   // share of the weights that are 0, of a run with --prune-to
	ImgPerSecond float64 `json:"img_per_second"`    // training alone, median over epochs
	Seconds      float64 `json:"seconds"`           // over all legs of a resumed run
	Run          string  `json:"run,omitempty"`     // not in the file: the folder may be moved
	Warning      string  `json:"warning,omitempty"` // what a reader must know before the numbers
	Checked      int     `json:"checked,omitempty"` // epochs that were trained twice
	Differ       int     `json:"differ,omitempty"`  // those whose weights were not the same bits
	Error        string  `json:"error,omitempty"`   // of a run that failed: the other numbers are meaningless
}

// Trained is the result of train: the runs that ended, also if not all did.
type Trained struct {
	Model, Data, Engine, Precision string
	Parameters, Epochs             int
	Runs                           []TrainResult
	Left                           []string // commands for what an interrupt or a full disk prevented
	means                          string   // what the accuracy and loss of training are
}

var _ Result = (*Trained)(nil)

func (w *Trainer) trained() *Trained {
	return &Trained{Model: w.Model, Data: w.set.Name, Engine: w.engine.Name, Precision: w.Precision,
		Parameters: w.session.Params, Epochs: w.Epochs, Runs: w.results, Left: w.remaining, means: w.RunningMean()}
}

// JSON has every run.
func (t *Trained) JSON() any {
	runs := []any{}
	for _, r := range t.Runs {
		if r.Error != "" {
			runs = append(runs, map[string]any{"p": r.P, "seed": r.Seed, "lr": settings.Rate(r.LR), "run": r.Run,
				"error": r.Error})
		} else {
			runs = append(runs, r)
		}
	}
	out := map[string]any{"model": t.Model, "data": t.Data, "engine": t.Engine, "precision": t.Precision,
		"parameters": t.Parameters, "epochs": t.Epochs, "runs": runs, "train_loss_and_accuracy": t.means}
	if len(t.Left) > 0 {
		out["left"] = t.Left
	}
	return out
}

// Print shows a table of the runs and where they are.
func (t *Trained) Print(w io.Writer) {
	if len(t.Runs) == 0 {
		return
	}
	table := render.Table{Title: fmt.Sprintf("%s on %s, %s", t.Model, t.Data, render.Count(t.Epochs, "epoch")),
		Header: []string{"p", "seed", "lr", "train loss", "train %", "test %", "test % with flips", "img/s", "seconds"}}
	validated := slices.ContainsFunc(t.Runs, func(r TrainResult) bool { return r.ValidationAccuracy != nil })
	if validated {
		table.Header = slices.Insert(table.Header, 5, "validation %")
	}
	for _, r := range t.Runs {
		row := []render.Cell{render.Text("%v", r.P), render.Text("%d", r.Seed), render.Text("%v", settings.Rate(r.LR))}
		if r.Error != "" {
			row = append(row, render.Text("failed"))
			for len(row) < len(table.Header) {
				row = append(row, render.Text("–"))
			}
		} else {
			row = append(row, render.Short(r.Loss, 3), render.Number(100*r.Accuracy, 2))
			if r.ValidationAccuracy != nil {
				row = append(row, render.Number(100**r.ValidationAccuracy, 2))
			}
			row = append(row, render.Number(100*r.TestAccuracy, 2), render.Number(100*r.FlipAccuracy, 2),
				render.Number(r.ImgPerSecond, 0), render.Number(r.Seconds, 1))
		}
		table.Rows = append(table.Rows, row)
	}
	fmt.Fprint(w, table.Text())
	fmt.Fprintf(w, "train loss and train %%: %s\n", t.means)
	for _, r := range t.Runs {
		if r.Top5 > 0 {
			fmt.Fprintf(w, "p = %v, seed %d: the right class is among the first five in %.2f %% of the test images, with "+
				"flips %.2f %%\n", r.P, r.Seed, 100*r.Top5, 100*r.FlipTop5)
		}
	}
	for _, r := range t.Runs {
		if r.Run != "" {
			fmt.Fprintf(w, "run  %s\n", r.Run)
		}
		if text := r.BestText(); text != "" {
			fmt.Fprintf(w, "     %s\n", text)
		}
		if r.Zeros > 0 {
			fmt.Fprintf(w, "     %.2f %% of the weights are 0\n", 100*r.Zeros)
		}
		if r.Warning != "" {
			fmt.Fprintf(w, "     %s\n", r.Warning)
		}
		if r.Checked > 0 {
			fmt.Fprintf(w, "     %s trained twice: %s\n", render.Count(r.Checked, "epoch"),
				map[bool]string{true: "the same weights, bit for bit", false: fmt.Sprintf("%d not with the same weights",
					r.Differ)}[r.Differ == 0])
		}
	}
	if slices.ContainsFunc(t.Runs, func(r TrainResult) bool { return r.Error == "" }) {
		fmt.Fprintln(w, "The figures are in the report.html of each run. \"bregman report RUN…\" compares several; "+
			"\"bregman predict --run RUN\" predicts pictures.")
	}
}
