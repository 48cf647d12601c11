package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/mirror"
)

// Method is an algorithm that fits a linear model: Accelerated, Newton, MirrorDescent or SteepestDescent. The exported
// fields of a method are its settings, and a field that is zero has the default its comment states.
type Method interface {
	// Name returns the name of the method in Methods and in checkpoints.
	Name() string

	// Fit fits a model to the problem. If ctx ends or the weights overflow, it returns the result so far together with
	// the error. After another error the result may be nil.
	Fit(ctx context.Context, prob Problem, h Hooks) (*Result, error)
}

// Hooks connect a running fit with its caller. The zero value asks for nothing. All functions are called from the
// goroutine of Fit.
type Hooks struct {
	// Progress is called at the start, at logarithmically spaced steps and at the end. Newton calls it at every step.
	Progress func(Point)

	// Weights is called before Progress, with the weights at that point. It must copy what it keeps. The weights of
	// Accelerated are not scaled yet: a fit that stops there returns them scaled to margin 1, or to norm 1 if their
	// margin is not positive.
	Weights func(Point, []float64)

	// Save is called about every SaveEvery (0: ten seconds) and when ctx ends. An error ends the fit.
	Save      func(Checkpoint) error
	SaveEvery time.Duration

	// Resume is a checkpoint of the same method, settings and problem. The fit continues from there and computes
	// the same numbers, bit for bit, as a fit that was never interrupted.
	Resume *Checkpoint
}

// Result is a fitted model.
type Result struct {
	W           []float64
	Certificate         // of the ℓₚ margin; Upper is +Inf if nothing is known about it
	Loss        float64 // the mean loss
	Objective   float64 // the mean loss plus the penalty
	Excess      float64 // Newton: Objective is at most this far above its minimum; other methods: NaN
	Steps       int
	Eta         float64 // the step size that was used; 0 for Accelerated and Newton
	Points      []Point // the points that Progress saw
}

// MethodName is the name of a method in Settings, on the command line and in files.
type MethodName string

// The names of the methods. All but Newton tend to the maximum ℓₚ margin on separable data.
const (
	MethodAccelerated MethodName = "accelerated" // Accelerated
	MethodPGD         MethodName = "pgd"         // MirrorDescent, with a constant step as in the paper
	MethodNormalized  MethodName = "normalized"  // MirrorDescent with Normalized
	MethodSquared     MethodName = "squared"     // MirrorDescent with Squared
	MethodSteepest    MethodName = "steepest"    // SteepestDescent
	MethodNewton      MethodName = "newton"      // Newton
)

// MethodInfo is a method and a description of it.
type MethodInfo struct {
	Name  MethodName
	About string // one line for a list of methods
}

// Methods are all methods.
var Methods = []MethodInfo{
	{MethodAccelerated, "mirror descent with momentum, which finds its steps itself"},
	{MethodPGD, "constant step"},
	{MethodNormalized, "step divided by the loss"},
	{MethodSquared, "the same with the squared norm as potential"},
	{MethodSteepest, "steepest descent in the lp norm"},
	{MethodNewton, "Newton's method, for a loss with a penalty"},
}

// MethodNames lists the names of the methods.
func MethodNames() []string {
	names := make([]string, len(Methods))
	for i, m := range Methods {
		names[i] = string(m.Name)
	}
	return names
}

// MethodByName returns name as a MethodName, or an error if no method has it.
func MethodByName(name string) (MethodName, error) {
	if !slices.Contains(MethodNames(), name) {
		return "", fmt.Errorf("method %q: choose one of %s", name, strings.Join(MethodNames(), ", "))
	}
	return MethodName(name), nil
}

// The defaults that methods share.
const (
	defaultP     = 2
	defaultGap   = 1e-3
	defaultSteps = 100_000
)

// rounded is how much rounding may change a bound on the margin, relative to the longest example: sums over some
// hundred iterations are accurate to some hundred times 1e-16.
const rounded = 1e-13

// common are the settings that every method has, with their defaults filled in.
type common struct {
	method MethodName
	p      float64
	loss   Loss
	gap    float64
	steps  int
	start  []float64
}

// check returns an error if the settings are invalid, or if they do not match the problem or the checkpoint.
func (c common) check(prob Problem, resume *Checkpoint) error {
	if err := mirror.CheckP(c.p); err != nil {
		return err
	}
	_, d := prob.Dims()
	switch {
	case c.loss.Residual() && prob.Y == nil:
		return fmt.Errorf("the %v loss needs targets", c.loss)
	case !(c.gap >= 0) || math.IsInf(c.gap, 1):
		return fmt.Errorf("gap %v: want a positive number such as 1e-3", c.gap)
	case c.steps < 0:
		return fmt.Errorf("%d steps: want a positive number", c.steps)
	case c.start != nil && len(c.start) != d:
		return fmt.Errorf("start has %d weights, the data has %d features", len(c.start), d)
	case resume != nil && resume.Method != string(c.method):
		return fmt.Errorf("the checkpoint is of method %s, not %s", resume.Method, c.method)
	}
	if !c.loss.Residual() {
		return prob.checkSigns()
	}
	return nil
}

// run is a running fit: its settings, its hooks and the result so far.
type run struct {
	common
	Hooks
	prob   Problem
	result Result
	saved  time.Time // the time of the last checkpoint
	next   int       // the step of the next point
}

// begin checks the problem and the common settings and returns a run before its first step.
func begin(prob Problem, c common, h Hooks) (*run, error) {
	if err := prob.Check(); err != nil {
		return nil, err
	}
	if err := c.check(prob, h.Resume); err != nil {
		return nil, err
	}
	if h.SaveEvery == 0 {
		h.SaveEvery = 10 * time.Second
	}
	r := &run{common: c, Hooks: h, prob: prob, saved: time.Now()}
	r.result.Upper, r.result.Lower, r.result.Excess = math.Inf(1), math.Inf(-1), math.NaN()
	return r, nil
}

// end returns what Fit returns: no result if there are no weights yet.
func (r *run) end(err error) (*Result, error) {
	if r.result.W == nil {
		return nil, err
	}
	return &r.result, err
}

// record keeps a point, at which the weights are w.
func (r *run) record(pt Point, w []float64) {
	r.result.Points = append(r.result.Points, pt)
	if r.Weights != nil {
		r.Weights(pt, w)
	}
	if r.Progress != nil {
		r.Progress(pt)
	}
}

// due reports whether step t gets a point, about twenty per factor of ten.
func (r *run) due(t int) bool {
	if t < r.next {
		return false
	}
	r.next = max(t+1, int(math.Round(float64(max(t, 1))*math.Pow(10, 0.05))))
	return true
}

// save saves a checkpoint if SaveEvery has passed since the last one.
func (r *run) save(state func() Checkpoint) error {
	if r.Save == nil || time.Since(r.saved) < r.SaveEvery {
		return nil
	}
	err := r.Save(state())
	r.saved = time.Now()
	return err
}

// saveLast saves a checkpoint of a fit that ends with err, if it was cancelled.
func (r *run) saveLast(err error, state func() Checkpoint) error {
	if err == nil || r.Save == nil {
		return err
	}
	return errors.Join(err, r.Save(state()))
}
