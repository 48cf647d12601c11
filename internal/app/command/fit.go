package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// Fit is `bregman fit`: train a linear model.
type Fit struct {
	Data    string          `required:"" xor:"source" placeholder:"FILE" json:"data" file:""`
	P       settings.Floats `name:"p" default:"2" json:"p"`
	CV      int             `name:"cv" default:"0" json:"cv"`
	Loss    string          `default:"exp" json:"loss"`
	Method  string          `default:"auto" json:"method"`
	L2      float64         `name:"l2" default:"0" json:"l2"`
	LP      settings.Floats `name:"lp" placeholder:"LAMBDA" json:"lp,omitempty"`
	Soft    float64         `default:"0" json:"soft"`
	Scale   string          `default:"none" json:"scale"`
	Steps   settings.Count  `default:"100000" json:"steps"`
	Gap     float64         `default:"0" json:"gap"`
	LR      float64         `name:"lr" default:"0" json:"lr"`
	Batch   int             `default:"0" json:"batch"`
	Init    string          `default:"zero" json:"init" file:""`
	Seed    uint64          `default:"1" json:"seed" role:"seed"`
	Bias    bool            `json:"bias"`
	Label   string          `placeholder:"NAME" json:"label,omitempty"`
	Float32 bool            `name:"float32" json:"float32,omitempty"`
	Test    string          `placeholder:"FILE" json:"test,omitempty" file:""`
	Top     int             `default:"10" json:"top"`
	Out     string          `placeholder:"FILE" json:"out,omitempty" role:"output"`
	Resume  string          `required:"" xor:"source" placeholder:"RUN" json:"-"`
	Runs    string          `default:"runs" placeholder:"DIR" json:"runs" role:"place"`
	Printed

	ZeroBased bool `json:"zero_based,omitempty" late:"false"`
}

// Texts are the words for its settings.
func (*Fit) Texts() settings.Texts {
	return settings.Texts{
		About: "Train a linear classifier in a chosen geometry, with a certificate on its margin.",
		Help: map[string]string{
			"data": "Training data: svmlight, CSV, npy or npz (also gzipped), or a built-in set such as r100:7.",
			"p": "Geometry: the exponent p > 1. Near 1: sparse weights; 2: Euclidean; large: small bounded weights. " +
				"Several, with --cv.",
			"cv":     "Choose p, and lambda of --lp, among several by this many-fold cross-validation, e.g. 5.",
			"loss":   lossHelp(),
			"method": methodHelp(),
			"l2":     "Minimise mean loss + l2/2 times the squared Euclidean norm; liblinear has l2 = 1/(C n).",
			"lp": "Minimise mean loss + lambda/2 times the squared lp norm, for data that no weights separate; for p " +
				"= 2 the same as --l2. Several, with --cv.",
			"soft": "Maximise the mean of this share of worst margins. 0: the worst one, and 0.1 to 0.4 if no " +
				"positive margin is found.",
			"scale": "Bring features to one scale first: std (deviation 1, and mean 0 for dense data) or max (largest " +
				"magnitude 1). The model keeps the scaler.",
			"steps": "The largest number of steps.",
			"gap": "Stop once the margin (with --l2 or --lp, the objective) is certified to be within this relative " +
				"distance of the best possible; 0: 1e-3 for accelerated and newton, never for others.",
			"lr":         "Step size; 0 finds one that suits the data. The paper uses 1e-4.",
			"batch":      "Examples per step, 0 for all of them.",
			"init":       "Start: zero, normal:DEVIATION, or an npy file.",
			"seed":       "Decides random starts, mini-batches and folds.",
			"bias":       "Add a constant feature, whose weight counts in the norm.",
			"label":      "CSV column with the labels; default the one called label, else the last.",
			"float32":    "Keep the values of sparse data in 32 bits: a third less memory.",
			"test":       "Test data, for the test accuracy.",
			"top":        "How many of the largest weights to list.",
			"out":        "Also write the model here: .json, or .npy for the weights alone.",
			"resume":     "Resume this run folder, with its settings.",
			"runs":       "Where run folders go; empty for none.",
			"zero_based": "svmlight columns count from 0; so do those of --test.",
		},
		Choices: map[string][]string{
			"loss":   linear.LossNames(),
			"method": append([]string{"auto"}, linear.MethodNames()...),
			"scale":  append([]string{"none"}, linear.Scalings...),
		},
		Known: map[string][]string{"data": tables(), "test": tables(), "init": {"zero", "normal"}},
	}
}

// Help is shown by --help.
func (*Fit) Help() string {
	return `Examples:
  bregman fit --data r100 --p 1.5
  bregman fit --data train.csv --test test.csv --scale std --bias --p 1.1,1.5,2,3,6,10 --cv 5 --out model.json
  bregman fit --data train.svm --loss logistic --l2 1e-6
  bregman fit --data train.svm --loss logistic --lp 1e-4,1e-3,1e-2 --p 1.1,1.5,2,3 --cv 5
  bregman fit --resume runs/20261115-120000-fit-p2-train

Finds the classifier of largest lp margin; "gap" says how far its margin can still be from the best possible, proved by a dual
bound. With --lp it minimises a penalised loss instead, the better choice for data that no weights separate; "excess" says how far
above the least possible its objective can be. More than two labels are fitted one against the rest. --resume continues a stopped run from its last checkpoint.`
}

// FitResult is what `bregman fit --json` prints. Margin, Norm and Gap are null where the data is not separated.
type FitResult struct {
	P             float64   `json:"p"`
	Method        string    `json:"method"`
	LossName      string    `json:"loss_name"`
	LR            float64   `json:"lr"`
	L2            float64   `json:"l2,omitempty"`
	LP            float64   `json:"lp,omitempty"` // the lambda that was used
	Soft          float64   `json:"soft,omitempty"`
	Label         string    `json:"label,omitempty"` // the column of labels, if the data have names
	N             int       `json:"n"`
	D             int       `json:"d"`
	Steps         int       `json:"steps"`
	Loss          *float64  `json:"loss"`                // null where it overflows
	Objective     *float64  `json:"objective,omitempty"` // with L2 or LP: the loss and the penalty
	Excess        *float64  `json:"excess,omitempty"`    // with L2 or LP: the objective is at most this far above the least possible
	Margin        *float64  `json:"margin"`              // γ(w)/‖w‖ₚ
	Norm          *float64  `json:"norm"`                // ‖w‖ₚ after rescaling to margin 1
	Lower         *float64  `json:"lower"`
	Upper         *float64  `json:"upper"`
	Gap           *float64  `json:"gap"`
	Separable     *bool     `json:"separable,omitempty"` // proved either way, of each class against the rest; absent: not known
	None          string    `json:"none,omitempty"`      // why the margin is soft, or none was found
	Nonzero       int       `json:"nonzero"`             // weights above a thousandth of the largest, the mean over weight vectors
	TrainAccuracy *float64  `json:"train_accuracy"`
	TestAccuracy  *float64  `json:"test_accuracy,omitempty"`
	TestLoss      *float64  `json:"test_loss,omitempty"` // of a regression
	CV            []CVScore `json:"cv,omitempty"`
	Seconds       float64   `json:"seconds"`
	TotalSeconds  float64   `json:"total_seconds"`
	Run           string    `json:"run,omitempty"`
	Model         string    `json:"model,omitempty"`
}

// Check returns the first thing wrong with the settings.
func (f *Fit) Check() error {
	if f.Resume != "" && f.Data == "" {
		return nil // its settings are in its folder
	}
	for _, p := range f.P {
		if err := mirror.CheckP(p); err != nil {
			return settings.At("p", err)
		}
	}
	for k, v := range f.LP {
		if !(v > 0) || math.IsInf(v, 1) {
			return settings.Errorf("lp", "--lp %v: want a positive number such as 1e-3", v)
		}
		if slices.Contains(f.LP[:k], v) {
			return settings.Errorf("lp", "--lp %v: %v is listed twice", f.LP, v)
		}
	}
	switch method := f.method(); {
	case f.Data == "":
		return settings.Errorf("data", "--data: name the training data")
	case len(f.P) == 0:
		return settings.Errorf("p", "--p: name at least one p")
	case len(f.P) > 1 && f.CV == 0:
		return settings.Errorf("p", "--p %v: several p need --cv 5, which chooses one", f.P)
	case f.CV < 0 || f.CV == 1:
		return settings.Errorf("cv", "--cv %d: want 2 or more folds", f.CV)
	case f.CV > 0 && f.Loss == "square":
		return settings.Errorf("cv", "--cv chooses by accuracy: it does not go with --loss square")
	case f.Scale != "none" && f.Scale != "" && strings.EqualFold(filepath.Ext(f.Out), ".npy"):
		return settings.Errorf("out", "--out %s: npy has no place for the scaler: write the model as .json", f.Out)
	case f.Steps < 1:
		return settings.Errorf("steps", "--steps %d: want at least 1", f.Steps)
	case !(f.Gap >= 0) || math.IsInf(f.Gap, 1):
		return settings.Errorf("gap", "--gap %v: want a positive number such as 1e-2, or 0 for none", f.Gap)
	case !(f.LR >= 0) || math.IsInf(f.LR, 1):
		return settings.Errorf("lr", "--lr %v: want a positive number, or 0 to have one found", f.LR)
	case !(f.L2 >= 0) || math.IsInf(f.L2, 1):
		return settings.Errorf("l2", "--l2 %v: want a positive number such as 1e-6", f.L2)
	case !(f.Soft >= 0) || f.Soft > 1:
		return settings.Errorf("soft", "--soft %v: want a share of the examples such as 0.1", f.Soft)
	case f.Batch < 0:
		return settings.Errorf("batch", "--batch %d: want a positive number, or 0 for all examples", f.Batch)
	case f.Top < 0:
		return settings.Errorf("top", "--top %d: want a positive number, or 0 for none", f.Top)
	case f.L2 > 0 && (len(f.P) != 1 || f.P[0] != 2):
		return settings.Errorf("l2", "--l2 with --p %v: the penalty is the Euclidean one, and its optimum the same for every p: drop --p, or say --lp for the one of p", f.P)
	case f.L2 > 0 && len(f.LP) > 0:
		return settings.Errorf("l2", "--l2 is --lp with p = 2: say one of them")
	case len(f.LP) > 1 && f.CV == 0:
		return settings.Errorf("lp", "--lp %v: several of them need --cv 5, which chooses one", f.LP)
	case f.penalised() != (method == linear.Newton):
		return settings.Errorf("method", "--l2 or --lp and --method newton go together: say --lp 1e-3, and no other method")
	case f.penalised() && f.Batch > 0:
		return settings.Errorf("batch", "--l2 and --lp are solved by Newton's method: drop --batch")
	case f.penalised() && f.LR > 0:
		return settings.Errorf("lr", "--l2 and --lp are solved by Newton's method: drop --lr")
	case f.Soft > 0 && method != linear.Accelerated:
		return settings.Errorf("soft", "--soft goes with --method accelerated, not with %s", method)
	case f.Gap > 0 && f.Loss == "square" && !f.penalised():
		return settings.Errorf("gap", "--gap is about margins: it does not go with --loss square")
	case method == linear.Accelerated && f.Loss != "exp":
		return settings.Errorf("method", "--method accelerated has no use for --loss %s: choose another method, or --lp", f.Loss)
	case method == linear.Accelerated && (f.Batch > 0 || f.LR > 0 || f.Init != "zero" && f.Init != ""):
		return settings.Errorf("method", "--method accelerated finds its steps itself and starts at 0: drop --batch, --lr and --init")
	case (method == linear.Normalized || method == linear.Squared) && f.Loss == "square":
		return settings.Errorf("method", "--method %s divides by the loss, which tends to 0 in a regression: use pgd", method)
	}
	return nil
}

// penalised says whether there is a penalty.
func (f *Fit) penalised() bool { return f.L2 > 0 || len(f.LP) > 0 }

// method is the method that auto stands for.
func (f *Fit) method() linear.Method {
	switch {
	case f.Method != "auto" && f.Method != "":
		return linear.Method(f.Method)
	case f.penalised():
		return linear.Newton
	case f.Loss != "exp" || f.LR != 0 || f.Batch != 0 || f.Init != "zero" && f.Init != "":
		return linear.PGD
	}
	return linear.Accelerated
}

// checkOutputs returns an error if the model or the run folder could not be written, or would replace what is read.
func (f *Fit) checkOutputs() error {
	inputs := []Input{{"--data", f.Data}, {"--test", f.Test}}
	if f.Init != "zero" {
		inputs = append(inputs, Input{"--init", f.Init})
	}
	if err := CheckOut(f.Out, inputs...); err != nil {
		return err
	}
	return CheckFolder("--runs", f.Runs)
}

// Do fits the model.
func (f *Fit) Do(ctx context.Context, env *Env) (Result, error) {
	r, err := f.fit(ctx, env)
	if r == nil {
		return nil, err
	}
	return r, err
}

func (f *Fit) fit(ctx context.Context, env *Env) (*Fitted, error) {
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
	set, err := loadToLearn(ctx, f.Data,
		dataset.Options{Label: f.Label, Bias: f.Bias, Float32: f.Float32, ZeroBased: f.ZeroBased})
	if err != nil {
		return nil, err
	}
	w := newFitting(f, env, set)
	if err := w.prepare(ctx); err != nil {
		return nil, err
	}
	if old != nil {
		err = w.takeUp(old)
	} else if f.Runs != "" {
		name := strings.TrimSuffix(filepath.Base(set.Name), filepath.Ext(set.Name))
		if f.CV > 0 {
			name = "fit-cv-" + name
		} else {
			name = fmt.Sprintf("fit-p%v-%s", f.P[0], name)
		}
		w.run, err = runlog.Create(f.Runs, name, runlog.Info{Command: "fit", Settings: f, Seed: f.Seed,
			Data: set.Name, DataHash: set.Hash, Engine: "go", Version: env.Version})
	}
	if err != nil {
		return nil, err
	}
	if w.run != nil {
		w.run.Say = env.Say
	}
	err = w.fit(ctx)
	var out *Fitted
	if err == nil || ctx.Err() != nil {
		var late error
		if out, late = w.finish(begin); err == nil {
			err = late
		}
	}
	if w.run != nil {
		if ctx.Err() != nil || notWritten(err) {
			env.Say("resume with: bregman fit --resume %s", settings.Quote(w.run.Dir))
		}
		err = w.run.Finish(err, ctx.Err() != nil)
	}
	return out, err
}

// prepare turns labels into problems, one per weight vector, and settings into numbers.
func (w *fitting) prepare(ctx context.Context) error {
	if w.loss.Residual() {
		w.targets = [][]float64{w.set.Y}
	} else {
		w.classes = w.set.Classes()
		if n := len(w.set.Y); len(w.classes) > max(20, n/4) {
			return fmt.Errorf("%s: %d different labels for %d examples look like targets of a regression: use --loss square", w.set.Name, len(w.classes), n)
		}
		w.targets = targets(w.set.Y, w.classes)
		if len(w.classes) == 1 && w.classes[0] != 1 {
			w.env.Say("all labels are %v: they count as absorbed, and weights are sought that make every ⟨x,w⟩ positive", w.classes[0])
		}
	}
	n, d := w.set.X.Dims()
	if least, most := lengths(w.set.X); (w.Scale == "none" || w.Scale == "") && (!(most < 1e150) || least < 1e-150) {
		return fmt.Errorf("%s: the lengths of the examples go from %.2g to %.2g, beyond what can be computed with: scale the data (--scale max)", w.set.Name, least, most)
	}
	if w.Batch > n {
		return fmt.Errorf("--batch %d: the data has only %s", w.Batch, render.Count(n, "example"))
	}
	if w.CV > n {
		return fmt.Errorf("--cv %d: the data has only %s", w.CV, render.Count(n, "example"))
	}
	if _, dense := w.set.X.(*matrix.Dense); dense && w.Scale == "std" && len(w.classes) == 1 {
		return errors.New("--scale std centres the features, and with one label no weights make centred examples all positive: use --scale max")
	}
	if w.CV > 0 && len(w.classes) < 2 {
		return errors.New("--cv chooses by accuracy, which needs two classes")
	}
	w.model = linear.Model{Loss: w.Loss, Method: string(w.method()), Bias: w.Bias, Classes: w.classes,
		Features: w.set.Features, ZeroBased: w.ZeroBased, Weights: [][]float64{make([]float64, d)}}
	var err error
	if w.Test != "" { // now: nobody wants to hear of a wrong name after an hour
		if w.test, err = loadFor(ctx, w.model, w.Test, dataset.Options{Label: w.Label}); err != nil {
			return err
		}
		if _, td := w.test.X.Dims(); td != d {
			return fmt.Errorf("%s has %s%s, %s has %d", w.test.Name, render.Count(td, "feature"), counted(w.test), w.set.Name, d)
		}
	}
	w.model.Weights = nil
	if w.Init != "zero" && w.Init != "" {
		w.w0, err = startAt(w.Init, d, w.Seed)
	}
	return err
}

// lengths are the least and the largest of the largest magnitudes of the rows that are not 0.
func lengths(x matrix.Matrix) (least, most float64) {
	n, _ := x.Dims()
	least = math.Inf(1)
	for i := range n {
		_, values := x.Row(i)
		var size float64
		for _, v := range values {
			size = max(size, math.Abs(v))
		}
		if size > 0 {
			least, most = min(least, size), max(most, size)
		}
	}
	return least, most
}

// targets returns the labels ±1 of each weight vector; nil stands for absorbed ones.
func targets(labels, classes []float64) [][]float64 {
	switch {
	case len(classes) == 1:
		return [][]float64{nil}
	case len(classes) == 2 && classes[0] == -1 && classes[1] == 1:
		return [][]float64{labels}
	case len(classes) == 2:
		return [][]float64{against(labels, classes[1])}
	}
	var out [][]float64
	for _, c := range classes {
		out = append(out, against(labels, c))
	}
	return out
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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
