package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// Fit is `bregman fit`: train a linear model by p-GD.
type Fit struct {
	Data   string  `kong:"required,placeholder='FILE',help='Training data: svmlight, CSV, npy or npz (also gzipped), or a built-in set such as r100:7.'" toml:"data" json:"data"`
	P      float64 `kong:"default='2',help='Geometry: the exponent p > 1. Near 1: sparse weights; 2: gradient descent; large: small bounded weights.'" toml:"p" json:"p"`
	Loss   string  `kong:"default='exp',enum='exp,logistic,poly,square',help='Loss: exp, logistic, poly (polynomial tail) or square (regression).'" toml:"loss" json:"loss"`
	Method string  `kong:"default='pgd',enum='pgd,normalized,steepest',help='pgd: constant step; normalized: step divided by the loss; steepest: steepest descent in the lp norm.'" toml:"method" json:"method"`
	Steps  Count   `kong:"default='100000',help='Most steps to make.'" toml:"steps" json:"steps"`
	Gap    float64 `kong:"default='0',help='Stop once the margin is certified to be within this relative distance of the best possible, e.g. 1e-2.'" toml:"gap" json:"gap"`
	LR     float64 `kong:"name='lr',default='0',help='Step size; 0 finds one that suits the data. The paper uses 1e-4.'" toml:"lr" json:"lr"`
	Batch  int     `kong:"default='0',help='Examples per step, 0 for all of them.'" toml:"batch" json:"batch"`
	Init   string  `kong:"default='zero',help='Start: zero, normal:DEVIATION, or an npy file.'" toml:"init" json:"init"`
	Seed   uint64  `kong:"default='1',help='Decides random starts and mini-batches.'" toml:"seed" json:"seed"`
	Bias   bool    `kong:"help='Add a constant feature, whose weight counts in the norm.'" toml:"bias" json:"bias"`
	Label  string  `kong:"placeholder='NAME',help='CSV column with the labels; default the one called label, else the last.'" toml:"label" json:"label,omitempty"`
	Test   string  `kong:"placeholder='FILE',help='Test data, for the test accuracy.'" toml:"test" json:"test,omitempty"`
	Out    string  `kong:"placeholder='FILE',help='Also write the model here: .json, or .npy for the weights alone.'" toml:"out" json:"out,omitempty"`
	Runs   string  `kong:"default='runs',placeholder='DIR',help='Where run folders go; empty for none.'" toml:"runs" json:"runs"`
	JSON   bool    `kong:"name='json',help='Print one JSON object.'" toml:"-" json:"-"`
}

// Help is shown by --help.
func (*Fit) Help() string {
	return `Examples:
  bregman fit --data r100 --p 1.5 --method normalized --gap 1e-2
  bregman fit --data train.csv --test test.csv --p 3 --loss logistic --bias --out model.json

On separable data the direction of p-GD tends to the classifier of largest lp margin; "gap" says how far it can
still be from it, proved by a dual bound. More than two labels are fitted one against the rest.`
}

// FitResult is what `bregman fit --json` prints. Margin, Norm and Gap are null where the data is not separated.
type FitResult struct {
	P             float64  `json:"p"`
	Method        string   `json:"method"`
	LossName      string   `json:"loss_name"`
	LR            float64  `json:"lr"`
	N             int      `json:"n"`
	D             int      `json:"d"`
	Steps         int      `json:"steps"`
	Loss          *float64 `json:"loss"`   // null where it overflows
	Margin        *float64 `json:"margin"` // γ(w)/‖w‖ₚ
	Norm          *float64 `json:"norm"`   // ‖w‖ₚ after rescaling to margin 1
	Gap           *float64 `json:"gap"`
	TrainAccuracy *float64 `json:"train_accuracy"`
	TestAccuracy  *float64 `json:"test_accuracy,omitempty"`
	TestLoss      *float64 `json:"test_loss,omitempty"` // of a regression
	Seconds       float64  `json:"seconds"`
	TotalSeconds  float64  `json:"total_seconds"`
	Run           string   `json:"run,omitempty"`
	Model         string   `json:"model,omitempty"`
}

// Check returns the first thing wrong with the settings.
func (f *Fit) Check() error {
	if err := mirror.CheckP(f.P); err != nil {
		return err
	}
	if _, err := linear.LossByName(f.Loss); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"pgd", "normalized", "steepest"}, f.Method):
		return fmt.Errorf("method %q: choose pgd, normalized or steepest", f.Method)
	case f.Steps < 1:
		return fmt.Errorf("--steps %d: want at least 1", f.Steps)
	case !(f.Gap >= 0) || math.IsInf(f.Gap, 1):
		return fmt.Errorf("--gap %v: want a positive number such as 1e-2, or 0 for none", f.Gap)
	case !(f.LR >= 0) || math.IsInf(f.LR, 1):
		return fmt.Errorf("--lr %v: want a positive number, or 0 to have one found", f.LR)
	case f.Batch < 0:
		return fmt.Errorf("--batch %d: want a positive number, or 0 for all examples", f.Batch)
	case f.Gap > 0 && f.Loss == "square":
		return errors.New("--gap is about margins: it does not go with --loss square")
	case f.Method == "normalized" && f.Loss == "square":
		return errors.New("--method normalized divides by the loss, which tends to 0 in a regression: use pgd")
	}
	return nil
}

// Run fits the model.
func (f *Fit) Run(ctx context.Context, con *Console) error {
	begin := time.Now()
	if err := f.Check(); err != nil {
		return err
	}
	set, err := loadToLearn(ctx, f.Data, dataset.Options{Label: f.Label, Bias: f.Bias})
	if err != nil {
		return err
	}
	w := &fitting{Fit: f, con: con, set: set, loss: must(linear.LossByName(f.Loss))}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	if f.Runs != "" {
		name := fmt.Sprintf("fit-p%v-%s", f.P, strings.TrimSuffix(filepath.Base(set.Name), filepath.Ext(set.Name)))
		w.run, err = runlog.Create(f.Runs, name, runlog.Info{Command: "fit", Settings: f, Seed: f.Seed,
			Data: set.Name, DataHash: set.Hash, Engine: "go", Version: con.Version})
		if err != nil {
			return err
		}
	}
	err = w.fit(ctx)
	if err == nil || ctx.Err() != nil {
		if late := w.finish(begin); err == nil {
			err = late
		}
	}
	if w.run != nil {
		err = w.run.Finish(err, ctx.Err() != nil)
	}
	return err
}

// fitting is a fit under way.
type fitting struct {
	*Fit
	con     *Console
	set     *dataset.Set
	test    *dataset.Set // nil: none
	loss    linear.Loss
	classes []float64
	targets [][]float64 // labels or targets of each weight vector
	w0      []float64
	eta     float64 // the step in use
	run     *runlog.Run

	model   linear.Model
	result  FitResult
	traces  []linear.Trace
	seconds float64
	loss0   float64 // the final loss, mean over weight vectors
	// what is known of the margin of each weight vector
	certified []linear.Certificate
}

// prepare turns labels into problems, one per weight vector, and settings into numbers.
func (w *fitting) prepare(ctx context.Context) error {
	if w.loss.Residual() {
		w.targets = [][]float64{w.set.Y}
	} else {
		w.classes = w.set.Classes()
		switch n := len(w.set.Y); {
		case len(w.classes) == 1:
			w.targets = [][]float64{nil}
		case len(w.classes) == 2 && w.classes[0] == -1 && w.classes[1] == 1:
			w.targets = [][]float64{w.set.Y}
		case len(w.classes) == 2:
			w.targets = [][]float64{against(w.set.Y, w.classes[1])}
		case len(w.classes) > max(20, n/4):
			return fmt.Errorf("%s: %d different labels for %d examples look like targets of a regression: use --loss square", w.set.Name, len(w.classes), n)
		default:
			for _, c := range w.classes {
				w.targets = append(w.targets, against(w.set.Y, c))
			}
		}
	}
	n, d := w.set.X.Dims()
	if w.Batch > n {
		return fmt.Errorf("--batch %d: there are only %d examples", w.Batch, n)
	}
	w.model = linear.Model{P: w.P, Loss: w.Loss, Method: w.Method, Bias: w.Bias, Classes: w.classes, Features: w.set.Features, Weights: [][]float64{make([]float64, d)}}
	var err error
	if w.Test != "" { // now: nobody wants to hear of a wrong name after an hour
		if w.test, err = loadFor(ctx, w.model, w.Test, dataset.Options{Label: w.Label}); err != nil {
			return err
		}
		if _, td := w.test.X.Dims(); td != d {
			return fmt.Errorf("%s has %d features, %s has %d", w.test.Name, td, w.set.Name, d)
		}
	}
	w.model.Weights = nil
	if st, err := os.Stat(w.Out); w.Out != "" && err == nil && st.IsDir() {
		return fmt.Errorf("--out %s is a folder: name a file", w.Out)
	}
	if w.w0, err = startAt(w.Init, d, w.Seed); err != nil {
		return err
	}
	if w.eta = w.LR; w.eta == 0 {
		w.eta, err = w.descent().FindStep(ctx, linear.Problem{X: w.set.X, Y: w.targets[0]}, w.w0)
	}
	return err
}

// descent is the settings as linear takes them.
func (w *fitting) descent() linear.Descent {
	d := linear.Descent{Potential: mirror.Power(w.P), Loss: w.loss, Eta: w.eta, Normalized: w.Method == "normalized", Batch: w.Batch, Seed: w.Seed}
	if w.Method == "steepest" {
		d.Steepest = w.P
	}
	return d
}

// against returns +1 for the examples of class c and −1 for the rest.
func against(labels []float64, c float64) []float64 {
	y := make([]float64, len(labels))
	for i, v := range labels {
		y[i] = -1
		if v == c {
			y[i] = 1
		}
	}
	return y
}

// startAt reads --init.
func startAt(spec string, d int, seed uint64) ([]float64, error) {
	w := make([]float64, d)
	if spec == "zero" || spec == "" {
		return w, nil
	}
	if dev, ok := strings.CutPrefix(spec, "normal:"); ok {
		s, err := strconv.ParseFloat(dev, 64)
		if err != nil || !(s >= 0) || math.IsInf(s, 1) {
			return nil, fmt.Errorf("--init %s: want normal:DEVIATION, for example normal:0.1", spec)
		}
		rng := rand.New(rand.NewPCG(seed, 0x77656967687473)) // "weights": a stream of its own
		for j := range w {
			w[j] = s * rng.NormFloat64()
		}
		return w, nil
	}
	rows, err := dataset.ReadWeights(spec)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--init: %w (or write zero, or normal:DEVIATION)", err)
	case len(rows) != 1 || len(rows[0]) != d:
		return nil, fmt.Errorf("--init %s: %d × %d weights, the data has %d features", spec, len(rows), len(rows[0]), d)
	}
	return rows[0], nil
}

// fit runs the descents, one per weight vector.
func (w *fitting) fit(ctx context.Context) error {
	bar := w.con.Bar("fit", int64(w.Steps)*int64(len(w.targets)))
	defer bar.Done()
	for k, y := range w.targets {
		prob := linear.Problem{X: w.set.X, Y: y}
		var s *linear.State
		var tr linear.Trace
		start := time.Now()
		err := w.retry(func() (err error) {
			if s, err = w.descent().Start(prob, w.w0); err != nil {
				return err
			}
			var logErr error
			tr = linear.Trace{P: w.P, Certify: true, StopGap: w.Gap, Each: func(pt linear.Point) {
				bar.Set(int64(k)*int64(w.Steps) + int64(pt.Step))
				if w.run != nil && logErr == nil {
					logErr = w.run.Append(metric{class(w.classes, k), pt})
				}
			}}
			if err = tr.Run(ctx, s, int(w.Steps)); err != nil {
				return err
			}
			return logErr
		})
		w.seconds += time.Since(start).Seconds()
		w.model.Weights = append(w.model.Weights, s.W)
		w.model.Steps = max(w.model.Steps, s.T)
		w.traces = append(w.traces, tr)
		w.measure(&tr, s)
		if err != nil {
			return err
		}
		if first, last := tr.Points[0].Loss, tr.Points[len(tr.Points)-1].Loss; !(last < first) {
			w.con.Say("the loss did not fall, from %.4g to %.4g: try another --lr, --method or --p", first, last)
		}
	}
	return nil
}

// retry runs a descent again with a smaller step where a step that was found by trial overflows later on.
func (w *fitting) retry(run func() error) error {
	for {
		err := run()
		var over *linear.OverflowError
		if w.LR != 0 || w.eta < 1e-280 || !errors.As(err, &over) {
			return err
		}
		w.con.Say("step %.3g overflows at step %d: trying %.3g", w.eta, over.Step, w.eta/8)
		w.eta /= 8
	}
}

// measure takes a descent into the result. Of several weight vectors the worst counts.
func (w *fitting) measure(tr *linear.Trace, s *linear.State) {
	pt := s.Measure(w.P, nil)
	w.loss0 += pt.Loss / float64(len(w.targets))
	w.result.Steps = max(w.result.Steps, s.T)
	if !w.loss.Residual() {
		w.certified = append(w.certified, linear.Certificate{Lower: pt.Margin, Upper: tr.Upper()})
	}
}

// metric is a line of metrics.jsonl.
type metric struct {
	class *float64
	pt    linear.Point
}

func (m metric) MarshalJSON() ([]byte, error) {
	b, err := m.pt.MarshalJSON()
	if err != nil || m.class == nil {
		return b, err
	}
	return append(fmt.Appendf(nil, `{"class":%v,`, *m.class), bytes.TrimPrefix(b, []byte("{"))...), nil
}

// class returns the class of the k-th weight vector where there are several.
func class(classes []float64, k int) *float64 {
	if len(classes) <= 2 {
		return nil
	}
	return &classes[k]
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
