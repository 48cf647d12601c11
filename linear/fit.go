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

// Method is a way to find a classifier.
type Method string

// The methods. All but Newton tend to the maximum ℓₚ margin on separable data.
const (
	Accelerated Method = "accelerated" // mirror descent with momentum and steps of its own: some hundred iterations to a gap of 0.1 %
	PGD         Method = "pgd"         // mirror descent with ψ = (1/p)‖·‖ₚᵖ and a constant step, as in the paper
	Normalized  Method = "normalized"  // the same with the step divided by the loss
	Squared     Method = "squared"     // normalized, with ψ = ½‖·‖ₚ²
	Steepest    Method = "steepest"    // steepest descent in the ℓₚ norm
	Newton      Method = "newton"      // the minimiser of L(w) + (λ/2)‖w‖ₚ²
)

// MethodInfo is a method and what to say of it.
type MethodInfo struct {
	Name  Method
	About string // one line for a list of methods
}

// Methods are all methods.
var Methods = []MethodInfo{
	{Accelerated, "mirror descent with momentum, which finds its steps itself"},
	{PGD, "constant step"},
	{Normalized, "step divided by the loss"},
	{Squared, "the same with the squared norm as potential"},
	{Steepest, "steepest descent in the lp norm"},
	{Newton, "Newton's method, for a loss with a penalty"},
}

// MethodNames lists the names of the methods.
func MethodNames() []string {
	names := make([]string, len(Methods))
	for i, m := range Methods {
		names[i] = string(m.Name)
	}
	return names
}

// MethodByName returns the method of that name.
func MethodByName(name string) (Method, error) {
	if !slices.Contains(MethodNames(), name) {
		return "", fmt.Errorf("method %q: choose one of %s", name, strings.Join(MethodNames(), ", "))
	}
	return Method(name), nil
}

// Settings of Fit. The zero value asks for the classifier of largest ℓ₂ margin, certified to 0.1 %.
type Settings struct {
	P      float64 // the geometry, above 1; 0: 2
	Method Method  // "": Newton where Lambda > 0, else Accelerated
	Loss   Loss    // nil: Exponential, and Logistic where Lambda > 0. Accelerated is about the exponential loss only
	Soft   float64 // Accelerated: maximise the mean of this share of worst margins, for data that no w separates; 0: the worst one
	Lambda float64 // λ of the penalty (λ/2)‖w‖ₚ², for Newton
	Gap    float64 // stop at this relative gap to the maximum margin, or to the least objective; 0: 1e-3 for Accelerated and Newton, none for others
	Steps  int     // most steps; 0: 100,000
	// Patience is after how many steps Accelerated stops where it has found no positive margin; 0: it goes on.
	Patience int

	// For the methods that are neither Accelerated nor Newton.
	Eta   float64   // the step; 0: found by trial
	Batch int       // examples per step; 0: all
	Seed  uint64    // decides the order of mini-batches
	Start []float64 // where to start; nil: at 0. Newton starts here too

	// Progress is called at the start, at logarithmically spaced steps and at the end, from the goroutine of Fit.
	Progress func(Point)

	// Weights is called before Progress, with the weights at that point. It must copy what it keeps. Those of
	// Accelerated are not scaled yet: a fit that stops there returns them with margin 1, or else with norm 1.
	Weights func(Point, []float64)

	// Save is called about every SaveEvery (0: ten seconds) with a checkpoint that Resume goes on from, bit by bit. An
	// error ends the fit.
	Save      func(Checkpoint) error
	SaveEvery time.Duration
	Resume    *Checkpoint
}

// Result is a fitted classifier.
type Result struct {
	W           []float64
	Certificate         // of the ℓₚ margin; Upper is +Inf where nothing is known of it
	Loss        float64 // the mean loss
	Objective   float64 // the mean loss and the penalty
	Excess      float64 // Newton: Objective is at most this far above the least possible; else NaN
	Steps       int
	Eta         float64 // the step that was used, 0 for Accelerated and Newton
	Points      []Point // as Progress saw them
}

// Checkpoint is a fit under way.
type Checkpoint struct {
	Method  Method
	Step    int
	Numbers []float64
	Vectors [][]float64
}

// Fit trains a classifier. Where ctx ends, Save fails or the weights overflow, the result so far comes with the error.
func Fit(ctx context.Context, prob Problem, set Settings) (*Result, error) {
	if err := prob.Check(); err != nil {
		return nil, err
	}
	set, err := set.withDefaults(prob)
	if err != nil {
		return nil, err
	}
	if !set.Loss.Residual() {
		if err := prob.checkSigns(); err != nil {
			return nil, err
		}
	}
	f := &fit{Settings: set, prob: prob, saved: time.Now()}
	f.result.Upper, f.result.Lower, f.result.Excess = math.Inf(1), math.Inf(-1), math.NaN()
	switch set.Method {
	case Accelerated:
		err = f.accelerate(ctx)
	case Newton:
		err = f.newton(ctx)
	default:
		err = f.descend(ctx)
	}
	if f.result.W == nil {
		return nil, err
	}
	return &f.result, err
}

func (set Settings) withDefaults(prob Problem) (Settings, error) {
	n, d := prob.Dims()
	if set.P == 0 {
		set.P = 2
	}
	if set.Steps == 0 {
		set.Steps = 100_000
	}
	if set.Method == "" {
		if set.Method = Accelerated; set.Lambda > 0 {
			set.Method = Newton
		}
	}
	if set.Loss == nil {
		set.Loss = Exponential{}
		if set.Method == Newton {
			set.Loss = Logistic{}
		}
	}
	if set.SaveEvery == 0 {
		set.SaveEvery = 10 * time.Second
	}
	if set.Gap == 0 && (set.Method == Accelerated || set.Method == Newton) {
		set.Gap = 1e-3
	}
	if err := mirror.CheckP(set.P); err != nil {
		return set, err
	}
	if _, err := MethodByName(string(set.Method)); err != nil {
		return set, err
	}
	switch {
	case !(set.Lambda >= 0) || math.IsInf(set.Lambda, 1):
		return set, fmt.Errorf("lambda = %v: want a positive number", set.Lambda)
	case !(set.Soft >= 0) || set.Soft > 1:
		return set, fmt.Errorf("soft = %v: want a share of the examples such as 0.1", set.Soft)
	case set.Soft > 0 && set.Method != Accelerated:
		return set, fmt.Errorf("soft goes with the accelerated method, not with %s", set.Method)
	case (set.Method == Newton) != (set.Lambda > 0):
		return set, errors.New("a penalty lambda > 0 and the method newton go together")
	case set.Loss.Residual() && prob.Y == nil:
		return set, fmt.Errorf("the %v loss needs targets", set.Loss)
	case !(set.Gap >= 0) || math.IsInf(set.Gap, 1):
		return set, fmt.Errorf("gap %v: want a positive number such as 1e-3", set.Gap)
	case set.Steps < 0:
		return set, fmt.Errorf("%d steps: want a positive number", set.Steps)
	case set.Start != nil && len(set.Start) != d:
		return set, fmt.Errorf("start has %d weights, the data has %d features", len(set.Start), d)
	case set.Resume != nil && set.Resume.Method != set.Method:
		return set, fmt.Errorf("the checkpoint is of method %s, not %s", set.Resume.Method, set.Method)
	}
	if set.Method == Accelerated {
		switch {
		case set.Loss != Loss(Exponential{}):
			return set, fmt.Errorf("the accelerated method maximises the margin through the exponential loss: the %v loss needs another method, or a penalty", set.Loss)
		case set.Batch != 0 || set.Eta != 0 || set.Start != nil:
			return set, errors.New("the accelerated method finds its steps itself and starts at 0, with all examples: a batch, a step size or a start need another method")
		}
	}
	if set.Batch < 0 || set.Batch > n {
		return set, fmt.Errorf("batch of %d: there are %d examples", set.Batch, n)
	}
	return set, nil
}

// fit is a fit under way.
type fit struct {
	Settings
	prob   Problem
	result Result
	saved  time.Time // when the last checkpoint was
	next   int       // the step of the next point
}

// record keeps a point, at which the weights are w.
func (f *fit) record(pt Point, w []float64) {
	f.result.Points = append(f.result.Points, pt)
	if f.Weights != nil {
		f.Weights(pt, w)
	}
	if f.Progress != nil {
		f.Progress(pt)
	}
}

// due says whether step t gets a point, about twenty per factor of ten.
func (f *fit) due(t int) bool {
	if t < f.next {
		return false
	}
	f.next = max(t+1, int(math.Round(float64(max(t, 1))*math.Pow(10, 0.05))))
	return true
}

// save writes a checkpoint where it is time.
func (f *fit) save(state func() Checkpoint) error {
	if f.Save == nil || time.Since(f.saved) < f.SaveEvery {
		return nil
	}
	err := f.Save(state())
	f.saved = time.Now()
	return err
}

// rounded is what rounding may change in a bound on the margin, as a share of the longest example: sums of some
// hundred iterations are right to some hundred times 1e-16.
const rounded = 1e-13

// hopeless is the upper bound, as a share of the longest example, below which the accelerated method stops to look for a w. That
// is not a proof that there is none.
const hopeless = 1e-10

// accelerate runs the accelerated method.
func (f *fit) accelerate(ctx context.Context) error {
	s := newAccelerated(f.prob, f.P, f.Soft)
	if f.Resume != nil {
		if err := s.restore(*f.Resume); err != nil {
			return err
		}
		f.next = s.t + 1
	}
	size := f.prob.RowNorm(s.q)
	rounding := rounded * size
	for {
		proved := s.certify(f.Gap)
		err := ctx.Err()
		done := s.cert.widened(rounding).Gap() <= f.Gap || s.t >= f.Steps || s.cert.Upper <= hopeless*size || err != nil ||
			f.Patience > 0 && s.t >= f.Patience && !(s.cert.Lower > 0)
		if done && !proved {
			s.prove()
		}
		if done || f.due(s.t) {
			f.record(s.point(), s.w)
		}
		if done {
			var state Checkpoint
			if err != nil && f.Save != nil {
				state = s.checkpoint()
			}
			f.result.W, f.result.Certificate, f.result.Steps = s.w, s.cert.widened(rounding), s.t
			s.toMarginOne()
			f.prob.Margins(s.m, s.w)
			f.result.Loss = f.Loss.Sum(s.m) / float64(s.n)
			f.result.Objective = f.result.Loss
			if err != nil && f.Save != nil {
				return errors.Join(err, f.Save(state))
			}
			return err
		}
		if err := f.save(s.checkpoint); err != nil {
			return err
		}
		s.step()
	}
}

// newton runs Newton's method.
func (f *fit) newton(ctx context.Context) error {
	s, err := newNewton(f.prob, f.Loss, f.P, f.Lambda, f.Start)
	if err == nil && f.Resume != nil {
		err = s.restore(*f.Resume)
	}
	if err != nil {
		return err
	}
	for {
		err := ctx.Err()
		done := err != nil || s.done(f.Gap) || s.t >= f.Steps
		pt := Point{Step: s.t, Loss: s.mean, Norm: mirror.Norm(s.w, f.P), Gap: s.bound / math.Abs(s.f), Margin: math.NaN(), Divergence: math.NaN(), Angle: math.NaN()}
		if !f.Loss.Residual() && pt.Norm > 0 {
			pt.Margin = minOf(s.score) / pt.Norm
		}
		f.record(pt, s.w)
		if done {
			f.result.W, f.result.Loss, f.result.Objective, f.result.Excess, f.result.Steps = s.w, s.mean, s.f, s.bound, s.t
			if pt.Norm > 0 && !f.Loss.Residual() {
				f.result.Lower = pt.Margin
			}
			if err != nil && f.Save != nil {
				return errors.Join(err, f.Save(s.checkpoint()))
			}
			return err
		}
		if err := f.save(s.checkpoint); err != nil {
			return err
		}
		s.step(ctx)
	}
}

// descend runs mirror descent or steepest descent. A step that was found by trial and overflows later on is made smaller.
func (f *fit) descend(ctx context.Context) error {
	d := Descent{Potential: mirror.Power(f.P), Loss: f.Loss, Eta: f.Eta, Batch: f.Batch, Seed: f.Seed}
	switch f.Method {
	case Squared:
		d.Potential = mirror.SquaredNorm(f.P)
		d.Normalized = true
	case Normalized:
		d.Normalized = true
	case Steepest:
		d.Steepest = f.P
	}
	if d.Normalized && f.Loss.Residual() {
		return fmt.Errorf("the method %s divides by the loss, which tends to 0 in a regression: use pgd", f.Method)
	}
	if f.Resume != nil {
		if len(f.Resume.Numbers) != 3 {
			return errOtherData
		}
		d.Eta = f.Resume.Numbers[0]
	} else if d.Eta == 0 {
		eta, err := d.FindStep(ctx, f.prob, f.Start)
		if err != nil {
			return err
		}
		d.Eta = eta
	}
	for {
		err := f.descendWith(ctx, d)
		var over *OverflowError
		if f.Eta != 0 || d.Eta < 1e-280 || !errors.As(err, &over) {
			return err
		}
		d.Eta /= 8
		f.Resume, f.result.Points = nil, nil
	}
}

func (f *fit) descendWith(ctx context.Context, d Descent) error {
	s, err := d.Start(f.prob, f.Start)
	if err != nil {
		return err
	}
	tr := Trace{P: f.P, Certify: true, StopGap: f.Gap, Each: func(pt Point) { f.record(pt, s.W) }}
	if f.Resume != nil {
		if err := s.restoreCheckpoint(*f.Resume); err != nil {
			return err
		}
		tr.upper = f.Resume.Numbers[2]
	}
	if f.Save != nil {
		tr.pause = func() error { return f.save(func() Checkpoint { return s.checkpoint(f.Method, tr.upper) }) }
	}
	if err = tr.Run(ctx, s, f.Steps); err != nil && f.Save != nil && ctx.Err() != nil {
		err = errors.Join(err, f.Save(s.checkpoint(f.Method, tr.upper)))
	}
	pt := s.Measure(f.P, nil)
	f.result.W, f.result.Steps, f.result.Eta, f.result.Loss, f.result.Objective = s.W, s.T, d.Eta, pt.Loss, pt.Loss
	if !f.Loss.Residual() {
		f.result.Certificate = Certificate{Lower: pt.Margin, Upper: tr.Upper()}.widened(rounded * f.prob.RowNorm(mirror.Conjugate(f.P)))
	}
	return err
}

var errOtherData = errors.New("the checkpoint was made from other data: its vectors do not fit")
