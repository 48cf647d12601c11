// Package linearmodel holds the commands on tables: fit, predict, margin and path.
package linearmodel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// Fit is `bregman fit`: train a linear model.
type Fit struct {
	Data        string          `required:"" xor:"source" placeholder:"FILE" json:"data" file:""`
	Objective   string          `default:"auto" json:"objective" late:"margin"`
	P           Geometry        `name:"p" default:"2" json:"p"`
	Penalty     settings.Floats `placeholder:"STRENGTH" json:"penalty,omitempty"`
	CV          int             `name:"cv" default:"0" json:"cv"`
	Loss        string          `default:"auto" json:"loss"`
	Multiclass  string          `default:"auto" json:"multiclass,omitempty" late:"auto"`
	ClassWeight string          `default:"none" json:"class_weight,omitempty" late:"none"`
	NoIntercept bool            `json:"no_intercept,omitempty" late:"false"`
	Scale       string          `default:"auto" json:"scale"`
	Seed        uint64          `default:"1" json:"seed" role:"seed"`
	Test        string          `placeholder:"FILE" json:"test,omitempty" file:""`
	Top         int             `default:"10" json:"top"`
	Out         string          `placeholder:"FILE" json:"out,omitempty" role:"output"`
	Resume      string          `required:"" xor:"source" placeholder:"RUN" json:"-"`
	Runs        string          `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	command.Labels
	command.Printed

	command.Table

	Float32   bool `name:"float32" group:"svmlight" json:"float32,omitempty"`
	ZeroBased bool `group:"svmlight" json:"zero_based,omitempty" late:"false"`

	Method string          `default:"auto" group:"margin" json:"method"`
	Gap    float64         `default:"0" group:"margin" json:"gap"`
	Soft   float64         `default:"0" group:"margin" json:"soft"`
	Steps  settings.Count  `default:"100000" group:"margin" json:"steps"`
	LR     float64         `name:"lr" default:"0" group:"margin" json:"lr"`
	Batch  int             `default:"0" group:"margin" json:"batch"`
	Init   string          `default:"zero" group:"margin" json:"init" file:""`
	LP     settings.Floats `name:"lp" placeholder:"LAMBDA" group:"margin" json:"lp,omitempty"`
	L2     float64         `name:"l2" default:"0" group:"margin" json:"l2"`
	Bias   bool            `group:"margin" json:"bias"`
}

// Texts are the words for its settings.
func (*Fit) Texts() settings.Texts {
	return settings.Texts{
		About: "Train a linear classifier or regression on a table, in a chosen geometry.",
		Help: map[string]string{
			"data": "Training data: CSV, Parquet, svmlight, npy or npz (also gzipped), or a built-in set such as iris or " +
				"r100:7.",
			"objective": objectiveHelp(),
			"p": "The exponent p of the norm, from 1 to inf. 1: many weights exactly 0; 2: the usual Euclidean norm; large: " +
				"small weights of similar size. With several, or auto (1,1.2,1.5,2,3,inf), the best on held-out examples. " +
				"With --objective margin p is above 1, and several need --cv.",
			"penalty": "Strength of the penalty, e.g. 0.01. It is relative: at 10 the weights have almost no effect, at " +
				"1e-6 the penalty has almost none, for every p and data set; 0 is the largest margin. With several, or by " +
				"default up to 15, the best on held-out examples.",
			"cv": "Number of folds of cross-validation. 0: 5 folds, or one fifth held out of more than 20 million " +
				"entries; with --objective margin, none.",
			"loss": lossHelp(),
			"multiclass": "More than two classes: joint (one problem: the softmax, or the margin of the right class over " +
				"every other) or rest (each against the rest). auto: joint with the logistic loss and for the largest margin, " +
				"else rest.",
			"class_weight": "balanced: every class weighs the same, whatever its number of examples.",
			"no_intercept": "Fit no intercept.",
			"method":       methodHelp(),
			"l2":           "Minimise mean loss + l2/2 times the squared Euclidean norm; liblinear has l2 = 1/(C n).",
			"lp": "Minimise mean loss + lambda/2 times the squared lp norm, for data that no weights separate; for p " +
				"= 2 the same as --l2. Several, with --cv.",
			"soft": "Maximise the mean of this share of worst margins. 0: the worst one, and 0.1 to 0.4 if no " +
				"positive margin is found.",
			"scale": "Bring features to one scale first: std (deviation 1, and mean 0 for dense data) or max (largest " +
				"magnitude 1). The model keeps the scaler. auto: std for dense data, none for sparse data and margins.",
			"steps": "The largest number of steps.",
			"gap": "Stop once the margin (with --l2 or --lp, the objective) is certified to be within this relative " +
				"distance of the best possible; 0: 1e-3 for accelerated and newton, never for others.",
			"lr":         "Step size; 0 finds one that suits the data. The paper uses 1e-4.",
			"batch":      "Examples per step, 0 for all of them.",
			"init":       "Start: zero, normal:DEVIATION, or an npy file.",
			"seed":       "Decides random starts, mini-batches and folds.",
			"bias":       "Of a margin: add a constant feature, whose weight counts in the norm.",
			"float32":    "Keep the values of sparse data in 32 bits: a third less memory.",
			"test":       "Test data, for the test accuracy.",
			"top":        "How many of the largest weights to list.",
			"out":        "Also write the model here: .json, or .npy for the weights alone.",
			"resume":     "Resume this run folder, with its settings.",
			"runs":       "Where run folders go; empty for none.",
			"zero_based": "svmlight columns count from 0; so do those of --test.",
		},
		Choices: map[string][]string{
			"objective":    fit.ObjectiveNames(),
			"loss":         append([]string{"auto"}, linear.LossNames()...),
			"method":       append([]string{"auto"}, linear.MethodNames()...),
			"multiclass":   {"auto", "joint", "rest"},
			"class_weight": {"none", "balanced"},
			"scale":        append([]string{"auto", "none"}, fit.Scalings...),
		},
		Known: map[string][]string{"data": tables(), "test": tables(), "init": {"zero", "normal"}},
	}
}

// Help is shown by --help.
func (*Fit) Help() string {
	return `Examples:
  bregman fit --data train.csv --test test.csv --out model.json
  bregman fit --data train.csv --p auto
  bregman fit --data r100 --p 1.5
  bregman fit --data train.csv --objective margin --scale std --bias --p 1.1,1.5,2,3,6,10 --cv 5
  bregman fit --data train.svm --loss logistic --l2 1e-6
  bregman fit --resume runs/20261115-120000-fit-p2-train

By default it minimises the logistic loss of standardised features (the square, if the labels look like targets of a
regression) with a penalty on the lp norm of the weights and a free intercept. The penalty is chosen on held-out
examples along a path from strong to weak, at whose end stands the classifier of largest margin: if that is the best,
you get it, for two classes with a certificate.

--objective margin finds the classifier of largest lp margin, of the data as they are and without an intercept; "gap"
says how far its margin can still be from the best possible, proved by a dual bound. --method, --gap, --soft, --steps,
--lr, --batch, --init, --lp and --l2 belong to it and select it, and so do data with one label only. With --lp it
minimises a loss with a given penalty; "excess" says how far above the least possible its objective can be. --resume
continues a stopped run: of a margin from its last checkpoint, else from the start, with the same settings.`
}

// checkOutputs returns an error if the model or the run folder could not be written, or would replace what is read.
func (f *Fit) checkOutputs() error {
	inputs := []command.Input{{Name: "--data", Path: f.Data}, {Name: "--test", Path: f.Test}}
	if f.Init != "zero" {
		inputs = append(inputs, command.Input{Name: "--init", Path: f.Init})
	}
	if err := command.CheckOut(f.Out, inputs...); err != nil {
		return err
	}
	return command.CheckFolder("--runs", f.Runs)
}

// Do fits the model.
func (f *Fit) Do(ctx context.Context, env *command.Env) (command.Result, error) {
	r, err := f.fit(ctx, env)
	if r == nil {
		return nil, err
	}
	return r, err
}

func (f *Fit) fit(ctx context.Context, env *command.Env) (*Fitted, error) {
	begin := time.Now()
	var old *stoppedFit
	if f.Resume != "" {
		var err error
		if old, err = findStoppedFit(f.Resume); err != nil {
			return nil, err
		}
		f = old.settings(f)
		if err := f.Check(); err != nil {
			return nil, err
		}
	}
	if err := f.checkOutputs(); err != nil {
		return nil, err
	}
	own := *f // it takes on what the data decides
	w := &fitting{Fit: &own, env: env}
	if err := w.load(ctx); err != nil {
		return nil, err
	}
	if err := w.open(old); err != nil {
		return nil, err
	}
	bar := &stages{env: env}
	w.lib.Hooks = w.hooks(bar)
	var usage *command.UsageLog
	if w.run != nil {
		usage = command.WatchUsage(w.run, 10*time.Second, false)
	}
	result, err := fit.Train(ctx, w.set, w.lib)
	bar.end()
	usage.Stop()
	var out *Fitted
	if err = withFlags(err); result != nil && (err == nil || ctx.Err() != nil) {
		w.result = result
		w.result.Model.ZeroBased = w.ZeroBased // also of data without indices, for svmlight text to predict
		var late error
		if out, late = w.finish(begin); err == nil {
			err = late
		}
	}
	if w.run != nil {
		if ctx.Err() != nil || command.NotWritten(err) {
			env.Say("resume with: bregman fit --resume %s", settings.Quote(w.run.Dir))
		}
		err = w.run.Finish(err, ctx.Err() != nil)
		if out != nil {
			env.Finished(w.run.Dir)
		}
	}
	return out, err
}

// fitting is a running fit.
type fitting struct {
	*Fit
	env    *command.Env
	set    *dataset.Set
	test   *dataset.Set // nil: none
	lib    fit.Settings
	run    *runlog.Run // nil: none
	result *fit.Result
	sum    FitResult
	out    command.File // the model that --out asks for
	few    bool         // too few examples to choose a penalty
}

// load reads the data and the start, and checks the settings against them.
func (w *fitting) load(ctx context.Context) (err error) {
	w.set, err = loadToLearn(ctx, w.env, w.Data,
		w.Options())
	if err != nil {
		return err
	}
	if err := w.decide(); err != nil {
		return err
	}
	_, d := w.set.X.Dims()
	var start []float64
	if w.Init != "zero" && w.Init != "" {
		if start, err = startAt(w.Init, d, w.Seed); err != nil {
			return err
		}
	}
	w.lib = w.settings(start)
	if err := withFlags(fit.Check(w.set, w.lib)); err != nil {
		return err
	}
	if n, _ := w.set.X.Dims(); w.few {
		w.env.Say("%s are too few to choose a penalty: this is the largest margin, as with --objective margin",
			render.Count(n, "example"))
	}
	if w.Test == "" {
		return nil
	}
	like := fit.Model{Bias: w.Bias, Features: w.set.Features, ZeroBased: w.ZeroBased, Encoding: w.set.Encoding,
		Weights: [][]float64{make([]float64, d)}}
	w.test, err = loadFor(ctx, w.env, like, w.Test, dataset.Options{Label: w.Label}) // now, not after an hour
	if err != nil {
		return err
	}
	if w.test.Unlabeled {
		return fmt.Errorf("--test %s: no column %q of labels: predict labels data without them", w.test.Name, w.set.Label)
	}
	if _, td := w.test.X.Dims(); td != d {
		return fmt.Errorf("%s has %s%s, %s has %d", w.test.Name, render.Count(td, "feature"), counted(w.test), w.set.Name, d)
	}
	return nil
}

// decide fills in what the data decides.
func (w *fitting) decide() error {
	n, _ := w.set.X.Dims()
	one := len(w.set.Classes()) == 1
	if one && w.set.Encoding != nil && len(w.set.Encoding.Classes) > 0 {
		return fmt.Errorf("%s: every label in column %q is %q: a classifier needs two classes", w.set.Name, w.set.Label,
			w.set.ClassName(w.set.Y[0]))
	}
	if w.Objective == string(fit.Auto) && len(w.Penalty) == 0 && (n < fit.LeastToChoose || one) {
		w.few = !one
		w.marginDefaults()
		if err := w.Check(); err != nil {
			return err
		}
	}
	if w.Scale == "auto" {
		w.Scale = "none"
		if _, dense := w.set.X.(*matrix.Dense); dense {
			w.Scale = "std"
		}
	}
	return nil
}

// open creates the run folder, or locks that of the run to resume.
func (w *fitting) open(old *stoppedFit) (err error) {
	if old != nil {
		err = w.resumeFrom(old)
	} else if w.Runs != "" {
		name := strings.TrimSuffix(filepath.Base(w.set.Name), filepath.Ext(w.set.Name))
		if len(w.P) > 1 || w.CV > 0 && !w.onPath() {
			name = "fit-cv-" + name
		} else {
			name = fmt.Sprintf("fit-p%v-%s", mirror.Exponent(w.P[0]), name)
		}
		w.run, err = runlog.Create(w.Runs, name, runlog.Info{Command: "fit", Settings: w.Fit, Seed: w.Seed,
			Data: w.set.Name, DataHash: w.set.Hash, Engine: "go", Version: w.env.Version})
	}
	if w.run != nil {
		w.run.Say = w.env.Say
		if err := w.PutLabels(w.run, ""); err != nil {
			w.run.Lost("about.json", err)
		}
	}
	return err
}

// hooks write the run folder and show the progress of the fit.
func (w *fitting) hooks(bar *stages) fit.Hooks {
	var h fit.Hooks
	if w.run != nil {
		h = fit.InFolder(w.run)
		score := h.Score
		h.Score = func(s fit.CellScore) error {
			if len(w.LP) == 0 {
				s.Lambda = 0 // of --l2, which is not one of several
			}
			return score(s)
		}
	}
	h.Say = func(r fit.Remark) { w.env.Say("%s%s", r.Text, advice[r.Kind]) }
	h.Progress = bar.set
	return h
}

// advice is what the command line adds to a remark.
var advice = map[fit.RemarkKind]string{
	fit.Softened:       "; see --soft, and --loss logistic --lp",
	fit.SoftTooSmall:   ": try a larger --soft",
	fit.NoMargin:       "; see --loss logistic --lp",
	fit.FoldsSoft:      "; see also --loss logistic --lp",
	fit.NotProved:      ": more --steps, a larger lambda or --scale std may help",
	fit.LossNotFalling: ": try another --lr, --method or --p",
	fit.NotConverged:   "; try more --steps, another --lr, or --scale std",
	fit.ManyClasses:    "; say --loss square for a regression",
	fit.Majority:       ": see the confusion matrix, and --class-weight balanced",
}

// withFlags adds to an error of the library which flags help.
func withFlags(err error) error {
	var setting *fit.SettingError
	var uneven *fit.UnevenError
	switch {
	case errors.As(err, &setting):
		return settings.At(setting.Setting, fmt.Errorf("--%w", err))
	case errors.As(err, &uneven):
		return fmt.Errorf("%s: %s: %s: %s", uneven.Set.Name, uneven.Text, uneven.Features(), scaleFlags)
	}
	return err
}

// scaleFlags is what to do about features of very different scales.
const scaleFlags = "fit with --scale max, or with --scale std --bias, or rescale it in the file"

// stages shows the stages of a fit, each with a bar.
type stages struct {
	env  command.Observer
	name string
	bar  command.Bar
}

func (s *stages) set(stage string, share float64, note string) {
	if stage != s.name {
		s.end()
		s.name, s.bar = stage, s.env.Bar(stage, 0, 1000)
	}
	s.bar.Set(int64(1000*share), note)
}

func (s *stages) end() {
	if s.bar != nil {
		s.bar.End()
	}
}

// startAt reads --init.
func startAt(spec string, d int, seed uint64) ([]float64, error) {
	w := make([]float64, d)
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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
