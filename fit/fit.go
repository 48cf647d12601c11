// Package fit trains a linear model on a data set, as the command `bregman fit` does: it scales the features, fits one
// weight vector for two classes or one per class against the rest, chooses p and λ by cross-validation, asks the exact
// solver if that is faster or finds more, and maximises a soft margin if no weights separate the classes.
//
//	set, err := dataset.Open(ctx, "train.csv", dataset.Options{})
//	result, err := fit.Train(ctx, set, fit.Settings{P: []float64{1.1, 2, 3}, Folds: 5, Scale: "std"})
//	labels, _, err := result.Model.Predict(test.X)
package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Settings of Train. The zero value asks for the classifier of largest ℓ₂ margin, certified to 0.1 %;
// Settings{Objective: Auto, Scale: "std"} for the one to use on most tables.
type Settings struct {
	Objective Objective // "": Margin

	// several classes are fitted one against the rest, not as one problem: the softmax, or the joint margin
	Rest bool

	// Of Auto and Loss alone.
	Penalty     []float64 // its strength, as linear.PenaltyPath counts it; 0: the largest margin; nil: the best of a path
	NoIntercept bool
	Balanced    bool // classes weigh the same, whatever their numbers of examples

	P      []float64 // the geometry, above 1 (on a path from 1 to +Inf); several need Folds; nil: 2
	Lambda []float64 // λ of the penalty (λ/2)‖w‖ₚ²; several need Folds; nil: no penalty
	Folds  int       // choose P and Lambda by cross-validation with so many folds; 0: none, on a path 5
	// nil: the exponential one; on a path the logistic one, or the square if the labels look like targets
	Loss   linear.Loss
	Method linear.MethodName // "": see ChosenMethod
	Scale  string            // one of Scalings, or none with ""
	Bias   bool              // the last column is a constant, which is not scaled
	// the share of worst margins whose mean is maximised; 0: the worst one, and more if it must be
	Soft  float64
	Gap   float64   // the relative gap to reach; 0: 1e-3 for the accelerated method and Newton's, none for others
	Steps int       // the most; 0: 100,000
	Eta   float64   // the step of a descent; 0: found by trial
	Batch int       // examples per step of a descent; 0: all
	Seed  uint64    // decides mini-batches and folds
	Start []float64 // nil: 0

	InPlace bool // the set's matrix may be scaled in place, which saves a copy

	Hooks
	Resume *Checkpoint // where to continue; nil: at the start
	Scored []CellScore // of cross-validation: what was scored before
}

// Hooks hear how a fit goes. Each may be nil.
type Hooks struct {
	Say      func(Remark)
	Progress func(stage string, share float64, note string) // share of the stage, from 0 to 1
	Point    func(class *float64, pt linear.Point) error    // of the model's fit; class is nil unless there are several
	Score    func(CellScore) error                          // a cell of cross-validation is done
	Weights  func(pt linear.Point, w []float64)             // the weights at a point; it must copy what it keeps
	Save     func(Checkpoint)                               // about every second of the model's fit
}

// Attempt is one way to fit. It is a value: nothing passes from one p, fold or attempt to another except by return.
type Attempt struct{ P, Lambda, Soft float64 }

// Result is a fitted model, with what is known of it. If several weight vectors were fitted, its numbers are means over
// them, and the worst of their margins.
type Result struct {
	Model     Model
	Attempt   Attempt          // that made the model
	Fits      []*linear.Result // one per weight vector; of a joint margin one for all
	Joint     bool             // of several classes: one problem, of the right class against every other
	Exact     string           // the exact solver that finished them; "": none did
	Separable *bool            // proved either way, of each class against the rest, or jointly; nil: not known
	None      string           // why the margin is soft, or none was found; "": it is not, or was
	CV        []Score

	Penalty float64 // on a path: the one that was used, in its unit
	End     bool    // the end of the path: the largest margin
	Folds   int     // on a path: how many parts of the examples were held out in turn; 0: none
	// on a path: of the examples that were held out, by models that have not seen them; nil: none were
	HeldOut *Quality

	Loss, Objective, Excess float64 // Objective and Excess are of a penalised loss
	Certificate             linear.Certificate
	Gap                     float64
	Separated               bool // every weight vector has a positive margin: Certificate and Gap count
	Steps                   int
	Eta                     float64
	Seconds                 float64
}

// Whole reports whether every weight vector was fitted: an interrupt leaves some out.
func (r *Result) Whole() bool {
	if r.Joint {
		return len(r.Fits) == 1
	}
	return len(r.Fits) > 0 && len(r.Fits) == vectors(r.Model.Classes)
}

// vectors is how many weight vectors a model of these classes has.
func vectors(classes []float64) int {
	if len(classes) > 2 {
		return len(classes)
	}
	return 1
}

// SettingError says that a setting does not go with the data.
type SettingError struct{ Setting, Text string }

func (e *SettingError) Error() string { return e.Setting + e.Text }

// ChosenMethod is the method that is used: Method, or else Newton's for a penalty, mirror descent for another loss, a
// step, mini-batches or a start, and the accelerated method for the rest.
func (s Settings) ChosenMethod() linear.MethodName {
	switch {
	case s.Method != "":
		return s.Method
	case len(s.Lambda) > 0:
		return linear.MethodNewton
	case s.Loss != nil && s.Loss != linear.Loss(linear.Exponential{}) || s.Eta != 0 || s.Batch != 0 || s.Start != nil:
		return linear.MethodPGD
	}
	return linear.MethodAccelerated
}

// withDefaults fills in what nothing said means.
func (s Settings) withDefaults() Settings {
	if len(s.P) == 0 {
		s.P = []float64{2}
	}
	if s.Loss == nil {
		if s.Loss = (linear.Exponential{}); s.onPath() {
			s.Loss = linear.Logistic{}
		}
	}
	if s.Steps == 0 {
		s.Steps = 100_000
	}
	return s
}

// Check returns an error if the settings make no sense for the data. Train checks, too.
func Check(set *dataset.Set, s Settings) error { return newTrainer(set, s).check() }

// trainer is what does not change from one attempt to the next.
type trainer struct {
	Settings
	set     *dataset.Set
	guessed bool        // that it is a regression
	classes []float64   // none of a regression
	index   []int       // the class of each example, on a path and of a joint margin
	targets [][]float64 // labels ±1 or targets, of each weight vector; of a joint margin nil, once
}

func newTrainer(set *dataset.Set, s Settings) *trainer {
	regression := s.onPath() && s.Loss == nil && isRegression(set)
	if regression {
		s.Loss = linear.Square{}
	}
	t := &trainer{Settings: s.withDefaults(), set: set, guessed: regression}
	if t.Loss.Residual() {
		t.targets = [][]float64{set.Y}
		return t
	}
	t.classes = set.Classes()
	t.targets = targets(set.Y, t.classes)
	if c := s.Resume; c != nil && c.ofRest(set) {
		t.Rest = true
	}
	if t.jointMargin() {
		t.targets = [][]float64{nil}
	}
	if t.onPath() || t.jointMargin() {
		t.index = make([]int, len(set.Y))
		for i, y := range set.Y {
			t.index[i], _ = slices.BinarySearch(t.classes, y)
		}
	}
	return t
}

// jointMargin reports whether the margin is that of the right class over every other: of several classes, by the
// accelerated method.
func (t *trainer) jointMargin() bool {
	return !t.onPath() && len(t.classes) > 2 && !t.Rest && t.ChosenMethod() == linear.MethodAccelerated
}

func (t *trainer) check() error {
	n, d := t.set.X.Dims()
	_, dense := t.set.X.(*matrix.Dense)
	if t.onPath() {
		return cmp.Or(t.checkPath(), t.checkLabels(), t.checkSize())
	}
	for _, p := range t.P {
		if err := mirror.CheckP(p); err != nil {
			return err
		}
	}
	if err := t.checkLabels(); err != nil {
		return err
	}
	if err := t.checkSize(); err != nil {
		return err
	}
	switch {
	case len(t.P)*max(1, len(t.Lambda)) > 1 && t.Folds == 0:
		return &SettingError{"p", ": several p or lambda need folds, which choose one"}
	case t.Folds == 1 || t.Folds < 0:
		return &SettingError{"cv", fmt.Sprintf(" %d: want 2 or more folds", t.Folds)}
	case t.Soft > 0 && t.ChosenMethod() != linear.MethodAccelerated:
		return &SettingError{"soft", fmt.Sprintf(" goes with the accelerated method, not with %s", t.ChosenMethod())}
	case t.Batch > n:
		return &SettingError{"batch", fmt.Sprintf(" %d: the data has only %s", t.Batch, examples(n))}
	case t.Folds > n:
		return &SettingError{"cv", fmt.Sprintf(" %d: the data has only %s", t.Folds, examples(n))}
	case dense && t.Scale == "std" && len(t.classes) == 1:
		return &SettingError{"scale", " std centres the features, and with one label no weights make centred examples " +
			"all positive: " +
			"use max"}
	case t.Folds > 0 && len(t.classes) < 2:
		return &SettingError{"cv", " chooses by accuracy, which needs two classes"}
	case t.Start != nil && len(t.Start) != d:
		return &SettingError{"init", fmt.Sprintf(": %d weights, the data has %d features", len(t.Start), d)}
	}
	return nil
}

// checkSize returns an error if the examples are too long or too short to compute with, and not scaled.
func (t *trainer) checkSize() error {
	if t.Scale != "" {
		return nil
	}
	if least, most := lengths(t.set.X); !(most < 1e150) || least < 1e-150 {
		return &SettingError{"scale", fmt.Sprintf(": %s: the lengths of the examples go from %.2g to %.2g, beyond what "+
			"can be computed with: scale the data, by max", t.set.Name, least, most)}
	}
	return nil
}

// isRegression reports whether labels are the targets of a regression, as far as they show it: there are more different
// numbers than classes have, or more than two that are not all whole.
func isRegression(set *dataset.Set) bool {
	if set.Encoding != nil && len(set.Encoding.Classes) > 0 {
		return false
	}
	n, _ := set.X.Dims()
	classes := set.Classes()
	broken := func(y float64) bool { return y != math.Trunc(y) }
	return likeTargets(classes, n) || len(classes) > mostClasses ||
		len(classes) > 2 && slices.ContainsFunc(classes, broken)
}

// mostClasses is above how many different numbers labels are taken for targets.
const mostClasses = 30

// manyClasses is above how many classes, if they are numbers, a fit says that it takes them for classes.
const manyClasses = 10

// likeTargets reports whether labels look like the targets of a regression: of n examples too many are different.
func likeTargets(classes []float64, n int) bool { return len(classes) > max(20, n/4) }

// checkLabels returns an error if the labels look like targets.
func (t *trainer) checkLabels() error {
	if n, _ := t.set.X.Dims(); likeTargets(t.classes, n) {
		return &SettingError{"loss", fmt.Sprintf(": %s: %d different labels for %d examples look like targets of a "+
			"regression: use square", t.set.Name, len(t.classes), n)}
	}
	return nil
}

func examples(n int) string {
	if n == 1 {
		return "1 example"
	}
	return fmt.Sprintf("%d examples", n)
}

// Train fits a model. If ctx ends, the result so far comes with the error.
func Train(ctx context.Context, set *dataset.Set, s Settings) (*Result, error) {
	t := newTrainer(set, s)
	if err := t.check(); err != nil {
		return nil, err
	}
	if c := t.Resume; c != nil {
		if err := c.Check(set, s); err != nil {
			return nil, fmt.Errorf("the checkpoint %w", err)
		}
	}
	if len(t.classes) == 1 && t.classes[0] != 1 {
		t.say(Absorbed, "all labels are %s: they count as absorbed, and weights are sought that make every ⟨x,w⟩ positive",
			t.className(t.classes[0]))
	}
	if t.guessed {
		t.say(Regression, "the labels have %d different values: this is a regression", len(set.Classes()))
	}
	texts := set.Encoding != nil && len(set.Encoding.Classes) > 0
	if t.onPath() && s.Loss == nil && len(t.classes) > manyClasses && !texts {
		t.say(ManyClasses, "the labels are %d different numbers: they are taken for classes", len(t.classes))
	}
	begin := time.Now()
	run := t.train
	if t.onPath() {
		run = t.trainPath
	}
	r, err := run(ctx)
	if r != nil {
		r.Seconds = time.Since(begin).Seconds()
	}
	return r, err
}

// train chooses an attempt if there are several, scales the data, and fits the weight vectors.
func (t *trainer) train(ctx context.Context) (*Result, error) {
	r := &Result{Attempt: Attempt{P: t.P[0], Soft: t.Soft}}
	if len(t.Lambda) > 0 {
		r.Attempt.Lambda = t.Lambda[0]
	}
	r.Model = t.model(string(t.ChosenMethod()))
	r.Model.Bias = t.Bias
	if t.Folds > 0 {
		chosen, scores, err := t.crossValidate(ctx)
		if r.CV = scores; err != nil {
			return r, err
		}
		r.Attempt.P, r.Attempt.Lambda = float64(chosen.P), chosen.Lambda
	}
	x, err := t.scaled(r)
	if err != nil {
		return nil, err
	}
	r.Joint = t.jointMargin()
	out, err := t.all(ctx, t.problem(x), r.Attempt, t.modelHooks(r.Attempt))
	t.take(r, out)
	if err == nil {
		t.remarks(x, r)
	}
	return r, err
}

// model is a model without weights.
func (t *trainer) model(method string) Model {
	return Model{P: mirror.Exponent(t.P[0]), Loss: t.lossName(), Method: method, Classes: t.classes,
		Features: t.set.Features, ZeroBased: t.set.ZeroBased, Encoding: t.set.Encoding}
}

// scaled returns the data as the weights see it, and puts the scaler into the model.
func (t *trainer) scaled(r *Result) (matrix.Matrix, error) {
	x := t.set.X
	if t.Scale == "" {
		return x, nil
	}
	if !t.InPlace {
		x = matrix.Clone(x)
	}
	s, err := NewScaler(t.Scale, x, t.Bias)
	if err != nil {
		return nil, t.nameFeature(err)
	}
	r.Model.Scale = s
	return x, s.Apply(x)
}

// nameFeature adds the name of the feature that cannot be scaled.
func (t *trainer) nameFeature(err error) error {
	var bad *ScaleError
	if errors.As(err, &bad) && bad.Feature < len(t.set.Features) {
		return fmt.Errorf("%s: %q: %w", t.set.Name, t.set.Features[bad.Feature], err)
	}
	return fmt.Errorf("%s: %w", t.set.Name, err)
}

// take puts what was fitted into the result.
func (t *trainer) take(r *Result, out outcome) {
	r.Attempt, r.Fits, r.Exact, r.None = out.Attempt, out.fits, out.exact, out.none
	r.Model.P = mirror.Exponent(r.Attempt.P)
	c := linear.Certificate{Lower: math.Inf(1), Upper: math.Inf(1)}
	of := float64(len(t.targets))
	positive := true
	for _, f := range out.fits {
		r.Model.Weights = append(r.Model.Weights, t.vectors(f.W)...)
		r.Model.Steps = max(r.Model.Steps, f.Steps)
		r.Loss += f.Loss / of
		r.Objective += f.Objective / of
		r.Excess += f.Excess / of
		r.Steps, r.Eta = max(r.Steps, f.Steps), f.Eta
		if f.Lower < c.Lower || math.IsNaN(f.Lower) {
			c = f.Certificate
		}
		r.Gap = max(r.Gap, f.Gap())
		positive = positive && f.Lower > 0
	}
	r.Certificate = c
	all := len(out.fits) == len(t.targets)
	r.Separated = all && !t.Loss.Residual() && c.Lower > 0 && !math.IsInf(c.Lower, 1) && !math.IsInf(1/c.Lower, 1)
	if yes, no := true, false; out.refuted {
		r.Separable = &no
	} else if out.Soft == 0 && len(t.Lambda) == 0 && !t.Loss.Residual() && all && positive {
		r.Separable = &yes
	}
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
	case slices.Equal(classes, []float64{-1, 1}):
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

// class returns the class of the k-th weight vector if there are several.
func (t *trainer) class(k int) *float64 {
	if len(t.classes) <= 2 || t.jointMargin() {
		return nil
	}
	return &t.classes[k]
}

// vectors are the weight vectors of a fit: one, or of a joint margin those of the classes.
func (t *trainer) vectors(w []float64) [][]float64 {
	if !t.jointMargin() {
		return [][]float64{w}
	}
	d := len(w) / len(t.classes)
	var out [][]float64
	for k := range t.classes {
		out = append(out, w[k*d:(k+1)*d])
	}
	return out
}
