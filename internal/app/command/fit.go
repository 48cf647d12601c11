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
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// Fit is `bregman fit`: train a linear model.
type Fit struct {
	Data    string    `kong:"required,xor='source',placeholder='FILE',help='Training data: svmlight, CSV, npy or npz (also gzipped), or a built-in set such as r100:7.'" toml:"data" json:"data"`
	P       Exponents `kong:"name='p',default='2',help='Geometry: the exponent p > 1. Near 1: sparse weights; 2: Euclidean; large: small bounded weights. Several, with --cv.'" toml:"p" json:"p"`
	CV      int       `kong:"name='cv',default='0',help='Choose p, and lambda of --lp, among several by this many-fold cross-validation, e.g. 5.'" toml:"cv" json:"cv"`
	Loss    string    `kong:"default='exp',enum='exp,logistic,poly,square',help='Loss: exp, logistic, poly (polynomial tail) or square (regression).'" toml:"loss" json:"loss"`
	Method  string    `kong:"default='auto',enum='auto,accelerated,pgd,normalized,squared,steepest,newton',help='auto: newton with --l2 or --lp, pgd with another loss, --lr, --batch or --init, else accelerated. pgd: constant step; normalized: step divided by the loss; squared: the same with the squared norm as potential; steepest: steepest descent in the lp norm.'" toml:"method" json:"method"`
	L2      float64   `kong:"name='l2',default='0',help='Minimise mean loss + l2/2 times the squared Euclidean norm; liblinear has l2 = 1/(C n).'" toml:"l2" json:"l2"`
	LP      Exponents `kong:"name='lp',placeholder='LAMBDA',help='Minimise mean loss + lambda/2 times the squared lp norm, for data that no weights separate; for p = 2 the same as --l2. Several, with --cv.'" toml:"lp" json:"lp,omitempty"`
	Soft    float64   `kong:"default='0',help='Maximise the mean of this share of worst margins. 0: the worst one, and 0.1 to 0.4 if no positive margin is found.'" toml:"soft" json:"soft"`
	Scale   string    `kong:"default='none',enum='none,std,max',help='Bring features to one scale first: std (deviation 1, and mean 0 for dense data) or max (largest magnitude 1). The model keeps the scaler.'" toml:"scale" json:"scale"`
	Steps   Count     `kong:"default='100000',help='The largest number of steps.'" toml:"steps" json:"steps"`
	Gap     float64   `kong:"default='0',help='Stop once the margin (with --l2 or --lp, the objective) is certified to be within this relative distance of the best possible; 0: 1e-3 for accelerated and newton, never for others.'" toml:"gap" json:"gap"`
	LR      float64   `kong:"name='lr',default='0',help='Step size; 0 finds one that suits the data. The paper uses 1e-4.'" toml:"lr" json:"lr"`
	Batch   int       `kong:"default='0',help='Examples per step, 0 for all of them.'" toml:"batch" json:"batch"`
	Init    string    `kong:"default='zero',help='Start: zero, normal:DEVIATION, or an npy file.'" toml:"init" json:"init"`
	Seed    uint64    `kong:"default='1',help='Decides random starts, mini-batches and folds.'" toml:"seed" json:"seed"`
	Bias    bool      `kong:"help='Add a constant feature, whose weight counts in the norm.'" toml:"bias" json:"bias"`
	Label   string    `kong:"placeholder='NAME',help='CSV column with the labels; default the one called label, else the last.'" toml:"label" json:"label,omitempty"`
	Float32 bool      `kong:"name='float32',help='Keep the values of sparse data in 32 bits: a third less memory.'" toml:"float32" json:"float32,omitempty"`
	Test    string    `kong:"placeholder='FILE',help='Test data, for the test accuracy.'" toml:"test" json:"test,omitempty"`
	Top     int       `kong:"default='10',help='How many of the largest weights to list.'" toml:"top" json:"top"`
	Out     string    `kong:"placeholder='FILE',help='Also write the model here: .json, or .npy for the weights alone.'" toml:"out" json:"out,omitempty"`
	Resume  string    `kong:"required,xor='source',placeholder='RUN',help='Resume this run folder, with its settings.'" toml:"-" json:"-"`
	Runs    string    `kong:"default='runs',placeholder='DIR',help='Where run folders go; empty for none.'" toml:"runs" json:"runs"`
	JSON    bool      `kong:"name='json',help='Print one JSON object.'" toml:"-" json:"-"`

	ZeroBased bool `kong:"help='svmlight columns count from 0; so do those of --test.'" toml:"zero_based" json:"zero_based,omitempty"`
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
			return err
		}
	}
	if _, err := linear.LossByName(f.Loss); err != nil {
		return err
	}
	if f.Method == "" {
		f.Method = "auto"
	}
	for k, v := range f.LP {
		if !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("--lp %v: want a positive number such as 1e-3", v)
		}
		if slices.Contains(f.LP[:k], v) {
			return fmt.Errorf("--lp %v: %v is listed twice", f.LP, v)
		}
	}
	switch method := f.method(); {
	case f.Data == "":
		return errors.New("--data: name the training data")
	case len(f.P) == 0:
		return errors.New("--p: name at least one p")
	case len(f.P) > 1 && f.CV == 0:
		return fmt.Errorf("--p %v: several p need --cv 5, which chooses one", f.P)
	case f.CV < 0 || f.CV == 1:
		return fmt.Errorf("--cv %d: want 2 or more folds", f.CV)
	case f.CV > 0 && f.Loss == "square":
		return errors.New("--cv chooses by accuracy: it does not go with --loss square")
	case f.Method != "auto" && !slices.Contains(linear.Methods, linear.Method(f.Method)):
		return fmt.Errorf("method %q: choose auto or one of %v", f.Method, linear.Methods)
	case f.Scale != "none" && f.Scale != "std" && f.Scale != "max" && f.Scale != "":
		return fmt.Errorf("--scale %q: choose none, std or max", f.Scale)
	case f.Scale != "none" && f.Scale != "" && strings.EqualFold(filepath.Ext(f.Out), ".npy"):
		return fmt.Errorf("--out %s: npy has no place for the scaler: write the model as .json", f.Out)
	case f.Steps < 1:
		return fmt.Errorf("--steps %d: want at least 1", f.Steps)
	case !(f.Gap >= 0) || math.IsInf(f.Gap, 1):
		return fmt.Errorf("--gap %v: want a positive number such as 1e-2, or 0 for none", f.Gap)
	case !(f.LR >= 0) || math.IsInf(f.LR, 1):
		return fmt.Errorf("--lr %v: want a positive number, or 0 to have one found", f.LR)
	case !(f.L2 >= 0) || math.IsInf(f.L2, 1):
		return fmt.Errorf("--l2 %v: want a positive number such as 1e-6", f.L2)
	case !(f.Soft >= 0) || f.Soft > 1:
		return fmt.Errorf("--soft %v: want a share of the examples such as 0.1", f.Soft)
	case f.Batch < 0:
		return fmt.Errorf("--batch %d: want a positive number, or 0 for all examples", f.Batch)
	case f.Top < 0:
		return fmt.Errorf("--top %d: want a positive number, or 0 for none", f.Top)
	case f.L2 > 0 && (len(f.P) != 1 || f.P[0] != 2):
		return fmt.Errorf("--l2 with --p %v: the penalty is the Euclidean one, and its optimum the same for every p: drop --p, or say --lp for the one of p", f.P)
	case f.L2 > 0 && len(f.LP) > 0:
		return errors.New("--l2 is --lp with p = 2: say one of them")
	case len(f.LP) > 1 && f.CV == 0:
		return fmt.Errorf("--lp %v: several of them need --cv 5, which chooses one", f.LP)
	case f.penalised() != (method == linear.Newton):
		return errors.New("--l2 or --lp and --method newton go together: say --lp 1e-3, and no other method")
	case f.penalised() && (f.Batch > 0 || f.LR > 0):
		return errors.New("--l2 and --lp are solved by Newton's method: drop --batch and --lr")
	case f.Soft > 0 && method != linear.Accelerated:
		return fmt.Errorf("--soft goes with --method accelerated, not with %s", method)
	case f.Gap > 0 && f.Loss == "square" && !f.penalised():
		return errors.New("--gap is about margins: it does not go with --loss square")
	case method == linear.Accelerated && f.Loss != "exp":
		return fmt.Errorf("--method accelerated has no use for --loss %s: choose another method, or --lp", f.Loss)
	case method == linear.Accelerated && (f.Batch > 0 || f.LR > 0 || f.Init != "zero" && f.Init != ""):
		return errors.New("--method accelerated finds its steps itself and starts at 0: drop --batch, --lr and --init")
	case (method == linear.Normalized || method == linear.Squared) && f.Loss == "square":
		return fmt.Errorf("--method %s divides by the loss, which tends to 0 in a regression: use pgd", method)
	}
	return nil
}

// penalised says whether there is a penalty.
func (f *Fit) penalised() bool { return f.L2 > 0 || len(f.LP) > 0 }

// method is the method that auto stands for.
func (f *Fit) method() linear.Method {
	switch {
	case f.Method != "auto":
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

// Run fits the model.
func (f *Fit) Run(ctx context.Context, con *Console) error {
	begin := time.Now()
	var old *stoppedFit
	if f.Resume != "" {
		var err error
		if old, err = findStoppedFit(f.Resume); err != nil {
			return err
		}
		*f = old.settings(*f)
	}
	if err := f.Check(); err != nil {
		return err
	}
	if err := f.checkOutputs(); err != nil {
		return err
	}
	set, err := loadToLearn(ctx, f.Data,
		dataset.Options{Label: f.Label, Bias: f.Bias, Float32: f.Float32, ZeroBased: f.ZeroBased})
	if err != nil {
		return err
	}
	w := newFitting(f, con, set)
	if err := w.prepare(ctx); err != nil {
		return err
	}
	if old != nil {
		err = w.takeUp(old)
	} else if f.Runs != "" {
		name := fmt.Sprintf("fit-p%v-%s", f.P[0], strings.TrimSuffix(filepath.Base(set.Name), filepath.Ext(set.Name)))
		if f.CV > 0 {
			name = "fit-cv-" + strings.TrimSuffix(filepath.Base(set.Name), filepath.Ext(set.Name))
		}
		w.run, err = runlog.Create(f.Runs, name, runlog.Info{Command: "fit", Settings: f, Seed: f.Seed,
			Data: set.Name, DataHash: set.Hash, Engine: "go", Version: con.Version})
	}
	if err != nil {
		return err
	}
	if w.run != nil {
		w.run.Say = con.Say
	}
	err = w.fit(ctx)
	if err == nil || ctx.Err() != nil {
		if late := w.finish(begin); err == nil {
			err = late
		}
	}
	if w.run != nil {
		if ctx.Err() != nil || notWritten(err) {
			con.Say("resume with: bregman fit --resume %s", Quote(w.run.Dir))
		}
		err = w.run.Finish(err, ctx.Err() != nil)
	}
	return err
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
			w.con.Say("all labels are %v: they count as absorbed, and weights are sought that make every ⟨x,w⟩ positive", w.classes[0])
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
