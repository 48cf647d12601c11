package linearmodel

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// asksForMargin returns the flag of a setting that only a margin has; "" if there is none.
func (f *Fit) asksForMargin() string {
	for _, s := range []struct {
		flag string
		set  bool
	}{{"method", f.Method != "auto" && f.Method != ""}, {"gap", f.Gap != 0}, {"soft", f.Soft != 0},
		{"steps", f.Steps != defaultSteps && f.Steps != 0}, {"lr", f.LR != 0}, {"batch", f.Batch != 0},
		{"init", f.Init != "zero" && f.Init != ""}, {"lp", len(f.LP) > 0}, {"l2", f.L2 != 0}} {
		if s.set {
			return s.flag
		}
	}
	return ""
}

const defaultSteps = 100_000

// onPath reports whether the model is looked for on a path of penalties. Settings without an objective are older than
// it, and mean a margin.
func (f *Fit) onPath() bool {
	return f.Objective == string(fit.Auto) || f.Objective == string(fit.Loss)
}

// Resolve fills in what the objective decides, as far as it does not depend on the data.
func (f *Fit) Resolve() (command.Command, error) {
	one := *f
	if f.Resume != "" && f.Data == "" {
		return &one, nil // its settings are in its folder
	}
	one.Multiclass, one.ClassWeight = cmp.Or(one.Multiclass, "auto"), cmp.Or(one.ClassWeight, "none")
	if one.Objective == string(fit.Auto) && f.asksForMargin() != "" {
		one.Objective = string(fit.Margin)
	}
	if !one.onPath() {
		one.marginDefaults()
	}
	return &one, nil
}

// marginDefaults fills in what is left to a margin.
func (f *Fit) marginDefaults() {
	f.Objective = string(fit.Margin)
	if f.Loss == "auto" {
		f.Loss = "exp"
	}
	if f.Scale == "auto" {
		f.Scale = "none"
	}
}

// Check returns the first thing wrong with the settings.
func (f *Fit) Check() error {
	if err := f.CheckLabels(); err != nil {
		return err
	}
	switch {
	case f.Resume != "" && f.Data == "":
		return nil // its settings are in its folder
	case f.Data == "":
		return settings.Errorf("data", "--data: name the training data")
	case len(f.P) == 0:
		return settings.Errorf("p", "--p: name at least one p")
	case f.CV < 0 || f.CV == 1:
		return settings.Errorf("cv", "--cv %d: want 2 or more folds", f.CV)
	case f.Steps < 1:
		return settings.Errorf("steps", "--steps %d: want at least 1", f.Steps)
	case f.Top < 0:
		return settings.Errorf("top", "--top %d: want a positive number, or 0 for none", f.Top)
	}
	for k, p := range f.P {
		if slices.Contains(f.P[:k], p) {
			return settings.Errorf("p", "--p %v: %v is listed twice", settings.Floats(f.P), mirror.Exponent(p))
		}
	}
	if err := f.CheckTable(); err != nil {
		return err
	}
	if f.onPath() {
		return f.checkPath()
	}
	return f.checkMargin()
}

// checkPath checks the settings of a path of penalties.
func (f *Fit) checkPath() error {
	for k, v := range f.Penalty {
		if !(v >= 0) || math.IsInf(v, 1) {
			return settings.Errorf("penalty", "--penalty %v: want a positive number such as 0.01, or 0 for the largest "+
				"margin", v)
		}
		if slices.Contains(f.Penalty[:k], v) {
			return settings.Errorf("penalty", "--penalty %v: %v is listed twice", f.Penalty, v)
		}
	}
	for _, p := range f.P {
		if !(p >= 1) {
			return settings.Errorf("p", "--p %v: want numbers from 1 to inf, or auto", p)
		}
	}
	switch flag := f.asksForMargin(); {
	case flag != "":
		return settings.Errorf(flag, "--%s goes with --objective margin, not with %s", flag, f.Objective)
	case f.Bias:
		return settings.Errorf("bias", "--bias: there is an intercept already, which no penalty holds back: drop --bias, "+
			"or say --objective margin for a constant feature whose weight counts in the norm")
	case f.Multiclass == "joint" && f.Loss != "auto" && f.Loss != "logistic":
		return settings.Errorf("multiclass", "--multiclass joint is the softmax of the logistic loss: drop --loss %s, or "+
			"say --multiclass rest", f.Loss)
	case f.Loss == "square" && f.Multiclass == "rest":
		return settings.Errorf("multiclass", "--multiclass is about classes: it does not go with --loss square")
	case f.Loss == "square" && f.ClassWeight == "balanced":
		return settings.Errorf("class_weight", "--class-weight is about classes: it does not go with --loss square")
	case !(f.NoIntercept && f.Scale == "none") && strings.EqualFold(filepath.Ext(f.Out), ".npy"):
		return settings.Errorf("out", "--out %s: npy has no place for the intercept and the scaler: write the model as "+
			".json, or say --no-intercept --scale none, or --objective margin", f.Out)
	}
	return nil
}

// checkMargin checks the settings of a margin.
func (f *Fit) checkMargin() error {
	if slices.Equal(f.P, Geometry(fit.Geometries)) {
		return settings.Errorf("p", "--p auto goes with --objective auto or loss: name several p for a margin, with --cv 5")
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
	npy := strings.EqualFold(filepath.Ext(f.Out), ".npy")
	switch method := f.method(); {
	case len(f.Penalty) > 0:
		return settings.Errorf("penalty", "--penalty goes with --objective auto or loss: the penalty of a margin is --lp")
	case f.Multiclass == "joint" && method != linear.MethodAccelerated:
		return settings.Errorf("multiclass", "--multiclass joint of a margin goes with --method accelerated, not with %s: "+
			"say --multiclass rest, or --objective loss", method)
	case f.ClassWeight == "balanced":
		return settings.Errorf("class_weight", "--class-weight goes with --objective auto or loss")
	case f.NoIntercept:
		return settings.Errorf("no_intercept", "--no-intercept goes with --objective auto or loss: a margin has none")
	case len(f.P) > 1 && f.CV == 0:
		return settings.Errorf("p", "--p %v: several p need --cv 5, which chooses one", settings.Floats(f.P))
	case f.CV > 0 && f.Loss == "square":
		return settings.Errorf("cv", "--cv chooses by accuracy: it does not go with --loss square")
	case f.Scale != "none" && f.Scale != "" && npy:
		return settings.Errorf("out", "--out %s: npy has no place for the scaler: write the model as .json, or say "+
			"--scale none", f.Out)
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
	case f.L2 > 0 && (len(f.P) != 1 || f.P[0] != 2):
		return settings.Errorf("l2", "--l2 with --p %v: the penalty is the Euclidean one, and its optimum the same for "+
			"every p: drop --p, or say --lp for the one of p", settings.Floats(f.P))
	case f.L2 > 0 && len(f.LP) > 0:
		return settings.Errorf("l2", "--l2 is --lp with p = 2: say one of them")
	case len(f.LP) > 1 && f.CV == 0:
		return settings.Errorf("lp", "--lp %v: several of them need --cv 5, which chooses one", f.LP)
	case f.penalised() != (method == linear.MethodNewton):
		return settings.Errorf("method", "--l2 or --lp and --method newton go together: say --lp 1e-3, and no other method")
	case f.penalised() && f.Batch > 0:
		return settings.Errorf("batch", "--l2 and --lp are solved by Newton's method: drop --batch")
	case f.penalised() && f.LR > 0:
		return settings.Errorf("lr", "--l2 and --lp are solved by Newton's method: drop --lr")
	case f.Soft > 0 && method != linear.MethodAccelerated:
		return settings.Errorf("soft", "--soft goes with --method accelerated, not with %s", method)
	case f.Gap > 0 && f.Loss == "square" && !f.penalised():
		return settings.Errorf("gap", "--gap is about margins: it does not go with --loss square")
	case method == linear.MethodAccelerated && f.Loss != "exp":
		return settings.Errorf("method", "--method accelerated has no use for --loss %s: choose another method, or --lp",
			f.Loss)
	case method == linear.MethodAccelerated && (f.Batch > 0 || f.LR > 0 || f.Init != "zero" && f.Init != ""):
		return settings.Errorf("method", "--method accelerated finds its steps itself and starts at 0: drop --batch, "+
			"--lr and --init")
	case (method == linear.MethodNormalized || method == linear.MethodSquared) && f.Loss == "square":
		return settings.Errorf("method", "--method %s divides by the loss, which tends to 0 in a regression: use pgd", method)
	}
	return nil
}

// penalised reports whether there is a penalty.
func (f *Fit) penalised() bool { return f.L2 > 0 || len(f.LP) > 0 }

// method is the method that auto chooses.
func (f *Fit) method() linear.MethodName {
	var start []float64
	if f.Init != "zero" && f.Init != "" {
		start = []float64{}
	}
	return f.settings(start).ChosenMethod()
}

// settings are those of the library. The command owns the matrix: it is scaled in place.
func (f *Fit) settings(start []float64) fit.Settings {
	loss, _ := linear.LossByName(f.Loss) // nil means the exponential one
	if f.onPath() {
		s := fit.Settings{Objective: fit.Objective(f.Objective), P: f.P, Penalty: f.Penalty, Folds: f.CV, Loss: loss,
			Rest: f.Multiclass == "rest", NoIntercept: f.NoIntercept, Balanced: f.ClassWeight == "balanced", Seed: f.Seed}
		if f.Scale != "none" {
			s.Scale = f.Scale
		}
		return s
	}
	s := fit.Settings{P: f.P, Lambda: f.LP, Folds: f.CV, Loss: loss, Bias: f.Bias, Soft: f.Soft, Gap: f.Gap,
		Rest: f.Multiclass == "rest", Steps: int(f.Steps),
		Eta: f.LR, Batch: f.Batch, Seed: f.Seed, Start: start, InPlace: true}
	if f.L2 > 0 {
		s.Lambda = []float64{f.L2}
	}
	if f.Method != "auto" {
		s.Method = linear.MethodName(f.Method)
	}
	if f.Scale != "none" {
		s.Scale = f.Scale
	}
	return s
}

// Options say how the data are read.
func (f *Fit) Options() dataset.Options {
	opt := f.Table.Options()
	opt.Bias, opt.Float32, opt.ZeroBased = f.Bias, f.Float32, f.ZeroBased
	return opt
}
