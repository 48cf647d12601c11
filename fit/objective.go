package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// Objective is what a fit looks for.
type Objective string

// The objectives.
const (
	// Auto minimises the loss with a penalty and free intercepts. The strength of the penalty is chosen on held-out
	// examples along the whole path from strong to none. The end of the path is the largest margin: if it wins, it is
	// what is returned, for two classes with its certificate.
	Auto Objective = "auto"
	// Margin looks for the largest margin, or for what Method, Lambda, Soft and the like ask for. "" means Margin.
	Margin Objective = "margin"
	// Loss is Auto without the largest margin.
	Loss Objective = "loss"
)

// ObjectiveInfo is an objective and a description of it.
type ObjectiveInfo struct {
	Name  Objective
	About string // one line for a list of objectives
}

// Objectives are all objectives.
var Objectives = []ObjectiveInfo{
	{Auto, "penalty chosen by cross-validation, up to the largest margin"},
	{Margin, "the largest margin, certified, as the data are, without an intercept"},
	{Loss, "as auto, without the largest margin"},
}

// ObjectiveNames lists the names of the objectives.
func ObjectiveNames() []string {
	names := make([]string, len(Objectives))
	for i, o := range Objectives {
		names[i] = string(o.Name)
	}
	return names
}

// Penalties are those of the path from strong to weak, in the unit of linear.PenaltyPath.
func Penalties() []float64 {
	var all []float64
	for k := range 15 { // from 10 to 1e-6
		all = append(all, math.Pow(10, 1-float64(k)/2))
	}
	return all
}

// Geometries are the p among which a fit chooses if it is asked to.
var Geometries = []float64{1, 1.2, 1.5, 2, 3, math.Inf(1)}

// LeastToChoose is how many examples it takes to choose a penalty on held-out ones.
const LeastToChoose = 4

// onPath reports whether the objective is found on a path of penalties.
func (s Settings) onPath() bool { return s.Objective == Auto || s.Objective == Loss }

// checkPath returns an error if the settings do not go with an objective on a path, or with the data.
func (t *trainer) checkPath() error {
	n, _ := t.set.X.Dims()
	for _, p := range t.P {
		if !(p >= 1) {
			return &SettingError{"p", fmt.Sprintf(" %v: want a number from 1 to Inf", p)}
		}
	}
	for _, v := range t.Penalty {
		if !(v >= 0) || math.IsInf(v, 1) {
			return &SettingError{"penalty", fmt.Sprintf(" %v: want a positive number such as 0.01, or 0 for the largest "+
				"margin", v)}
		}
		if v == 0 && (t.Objective != Auto || len(t.classes) != 2 && !t.joint() || t.Balanced) {
			return &SettingError{"penalty", " 0: the largest margin at the end of the path is found for two classes, or for " +
				"several jointly, with the objective auto and no class weights"}
		}
		if v == 0 && t.joint() && (len(t.P)*len(t.Penalty) > 1 || t.Folds > 0) {
			return &SettingError{"penalty", " 0: the largest margin of several classes has no probabilities, by which it " +
				"could be compared with others: name one p and no other penalty, and no folds"}
		}
	}
	for name, given := range map[string]bool{"method": t.Method != "", "lp": len(t.Lambda) > 0, "soft": t.Soft != 0,
		"gap": t.Gap != 0, "lr": t.Eta != 0, "batch": t.Batch != 0, "init": t.Start != nil} {
		if given {
			return &SettingError{name, fmt.Sprintf(" goes with the objective margin, not with %s", t.Objective)}
		}
	}
	regression := t.Loss.Residual()
	switch {
	case !regression && len(t.classes) == 1:
		return &SettingError{"objective", fmt.Sprintf(" %s: all labels of %s are %v: want two classes, or the objective "+
			"margin for data whose labels are absorbed", t.Objective, t.set.Name, t.classes[0])}
	case t.Folds < 0 || t.Folds == 1:
		return &SettingError{"cv", fmt.Sprintf(" %d: want 2 or more folds", t.Folds)}
	case t.Folds > n:
		return &SettingError{"cv", fmt.Sprintf(" %d: the data has only %s", t.Folds, examples(n))}
	case n < LeastToChoose && len(t.P)*len(t.penalties()) > 1:
		return &SettingError{"penalty", fmt.Sprintf(": %s are too few to choose one: name it", examples(n))}
	case regression && t.set.Encoding != nil && len(t.set.Encoding.Classes) > 0:
		return &SettingError{"loss", fmt.Sprintf(" square is for targets, and the labels of %s are texts", t.set.Name)}
	case regression && t.Balanced:
		return &SettingError{"class-weight", " is about classes: it does not go with the loss square"}
	}
	return nil
}

// penalties are those that are tried.
func (s Settings) penalties() []float64 {
	if len(s.Penalty) == 0 {
		return Penalties()
	}
	all := slices.Clone(s.Penalty)
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// joint reports whether several classes are one problem: the softmax of their scores. It is the logistic loss.
func (t *trainer) joint() bool {
	return len(t.classes) > 2 && !t.Rest && t.Loss == linear.Loss(linear.Logistic{})
}

// penalised is the problem of some examples. rows are those of the data, in the order of x.
func (t *trainer) penalised(x matrix.Matrix, rows []int) linear.Penalised {
	prob := linear.Penalised{X: x, Loss: t.Loss, Intercept: !t.NoIntercept}
	if t.joint() {
		prob.Classes = len(t.classes)
		prob.Class = make([]int, len(rows))
		for k, i := range rows {
			prob.Class[k] = t.index[i]
		}
	} else {
		for _, y := range t.targets {
			prob.Y = append(prob.Y, pick(y, rows))
		}
	}
	if t.Balanced {
		weight := t.weights(rows)
		prob.Weight = make([]float64, len(rows))
		for k, i := range rows {
			prob.Weight[k] = weight(t.index[i])
		}
	}
	return prob
}

// weights returns the weight of an example of each class, with mean 1 over the rows: 1, or n/(K·n_k) if classes are
// balanced.
func (t *trainer) weights(rows []int) func(class int) float64 {
	if !t.Balanced {
		return func(int) float64 { return 1 }
	}
	count, present := make([]float64, len(t.classes)), 0.0
	for _, i := range rows {
		if count[t.index[i]]++; count[t.index[i]] == 1 {
			present++
		}
	}
	return func(class int) float64 { return float64(len(rows)) / (present * count[class]) }
}

// withConstant returns the data with a constant last column, which they have with Bias.
func (t *trainer) withConstant() matrix.Matrix {
	if t.NoIntercept || t.Bias {
		return t.set.X
	}
	return matrix.AppendConstant(t.set.X)
}

// withoutIntercept are the weight vectors without their last weights, if these are intercepts.
func withoutIntercept(w [][]float64, intercept bool) [][]float64 {
	if !intercept {
		return w
	}
	out := make([][]float64, len(w))
	for k, v := range w {
		out[k] = v[:len(v)-1]
	}
	return out
}
