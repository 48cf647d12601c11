package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
	"github.com/bregman-ml/bregman/runlog"
)

// fitting is a fit under way.
type fitting struct {
	*Fit
	env     *Env
	set     *dataset.Set
	test    *dataset.Set // nil: none
	loss    linear.Loss
	classes []float64
	targets [][]float64 // labels or targets of each weight vector
	w0      []float64
	p       float64 // the geometry in use
	lambda  float64 // the penalty in use
	soft    float64 // the share of worst margins in use
	run     *runlog.Run
	old     *fitCheckpoint // where to go on, nil: at the start
	before  []linear.Point // what was recorded before it
	cv      []CVScore
	cells   map[cell]cellScore // what cross-validation has done

	watch func(linear.Point, []float64) // sees the weights at each point, if not nil

	model   linear.Model
	result  FitResult
	out     File             // the model that --out asks for
	fits    []*linear.Result // finished, one per weight vector
	exact   string           // the exact solver that finished them
	none    string           // why the margin is soft, or none was found; "": it is not, or was
	refuted bool             // the data are proved not to be separable
	quiet   bool             // a fit of cross-validation, of which the summary speaks
	begin   time.Time
	seconds float64
}

// newFitting returns the fit that f asks for.
func newFitting(f *Fit, env *Env, set *dataset.Set) *fitting {
	w := &fitting{Fit: f, env: env, set: set, loss: must(linear.LossByName(f.Loss)), p: f.P[0], lambda: f.L2, soft: f.Soft}
	if len(f.LP) > 0 {
		w.lambda = f.LP[0]
	}
	return w
}

// fit chooses p where it is asked to, scales the data, and fits the weight vectors.
func (w *fitting) fit(ctx context.Context) error {
	w.begin = time.Now()
	defer func() { w.seconds = time.Since(w.begin).Seconds() }()
	if w.CV > 0 {
		if err := w.crossValidate(ctx); err != nil {
			return err
		}
	}
	if err := w.scale(); err != nil {
		return err
	}
	bar := w.env.Bar(fmt.Sprintf("fit p = %v", w.p), 0, 1000)
	defer bar.End()
	fits, err := w.all(ctx, w.set.X, w.targets, w.Soft, true, func(share float64, note string) {
		bar.Set(int64(1000*share), note)
	})
	for _, r := range fits {
		w.model.Weights = append(w.model.Weights, r.W)
		w.model.Steps = max(w.model.Steps, r.Steps)
	}
	w.model.P, w.fits = w.p, fits
	if err == nil {
		w.remarks()
	}
	return err
}

// scale scales the data if it is asked to.
func (w *fitting) scale() error {
	if w.Scale != "std" && w.Scale != "max" {
		return nil
	}
	s, err := linear.NewScaler(w.Scale, w.set.X, w.Bias)
	if err != nil {
		return w.nameFeature(err)
	}
	w.model.Scale = s
	return s.Apply(w.set.X)
}

// nameFeature adds the name of the feature that cannot be scaled.
func (w *fitting) nameFeature(err error) error {
	var bad *linear.ScaleError
	if errors.As(err, &bad) && bad.Feature < len(w.set.Features) {
		return fmt.Errorf("%s: %q: %w", w.set.Name, w.set.Features[bad.Feature], err)
	}
	return fmt.Errorf("%s: %w", w.set.Name, err)
}

// all fits every weight vector, each to its targets, and starts with the given share of worst margins: nothing stays of
// what another p, fold or attempt needed. If one cannot separate its classes, all are fitted with a soft margin, so that
// their scores compare. With keep it resumes from a checkpoint, writes others, and logs.
func (w *fitting) all(ctx context.Context, x matrix.Matrix, targets [][]float64, soft float64, keep bool,
	show func(share float64, note string)) ([]*linear.Result, error) {
	var fits []*linear.Result
	w.soft, w.exact, w.none, w.refuted = soft, "", "", false
	if keep && w.old != nil {
		fits = w.old.finished
		w.soft, w.none, w.refuted = w.old.soft, w.old.none, w.old.refuted
	}
	for k := len(fits); k < len(targets); k++ {
		prob := linear.Problem{X: x, Y: targets[k]}
		set := w.settings(prob)
		var logging error
		var before []linear.Point
		if keep {
			if w.old != nil {
				set.Resume, before = w.old.state, w.before
				w.old, w.before = nil, nil
			}
			if w.run != nil {
				set.SaveEvery = saveEvery
				set.Save = func(c linear.Checkpoint) error {
					now := &fitCheckpoint{hash: w.set.Hash, p: w.p, soft: w.soft, none: w.none, refuted: w.refuted,
						finished: fits, state: &c}
					w.run.Save(checkpointName, now.encode())
					return nil
				}
			}
		}
		set.Progress = func(pt linear.Point) {
			note := fmt.Sprintf("step %d", pt.Step)
			if pt.Gap < 1 {
				note = fmt.Sprintf("step %d, gap %.2g %%", pt.Step, 100*pt.Gap)
			}
			show((float64(k)+progress(pt, set))/float64(len(targets)), note)
			if keep && w.run != nil && logging == nil {
				logging = w.run.Append(metric{class(w.classes, k), pt})
			}
		}
		set.Weights = w.watch
		r, err := linear.Fit(ctx, prob, set)
		if r != nil {
			r.Points = append(before, r.Points...)
			fits = append(fits, r)
		}
		if err == nil {
			err = logging
		}
		if err != nil {
			return fits, err
		}
		again, err := w.rescue(ctx, prob, k, set, r)
		if err != nil {
			return fits, err
		}
		if again {
			fits, k = nil, -1
		}
	}
	return fits, w.checkScale(linear.Problem{X: x}, fits)
}

// rescue looks at a fit without a positive margin, or without the gap asked for: it asks the exact solver for a better one, or
// softens the margin and reports that all weight vectors are to be fitted again.
func (w *fitting) rescue(ctx context.Context, prob linear.Problem, k int, set linear.Settings, r *linear.Result) (again bool, err error) {
	if set.Method != linear.Accelerated {
		return false, nil
	}
	if r.Lower > 0 {
		goal := set.Gap
		if w.Gap > 0 {
			goal = w.Gap
		}
		if w.soft == 0 && r.Gap() > goal && (w.exactly(prob) || quick(prob)) {
			return false, w.handOver(ctx, prob, goal, r)
		}
		return false, nil
	}
	if r.Steps >= int(w.Steps) {
		return false, nil
	}
	if w.Soft > 0 {
		w.none = fmt.Sprintf("the mean of the worst %.0f %% of margins is not positive after %d steps", 100*w.Soft, r.Steps)
		w.tell("%s: try a larger --soft", w.none)
		return false, nil
	}
	if found, err := w.barely(ctx, prob, k, r); found || err != nil {
		return false, err
	}
	if w.soft >= softest {
		what := fmt.Sprintf("the mean of the worst %.0f %% of margins is not positive either", 100*w.soft)
		w.tell("%s; see --loss logistic --lp", what)
		w.none += "; " + what
		return false, nil
	}
	what := w.none
	switch {
	case w.soft > 0:
		what = fmt.Sprintf("no positive mean of the worst %.0f %% of margins was found in %d steps (it is at most %.3g)",
			100*w.soft, r.Steps, r.Upper)
	case !w.refuted:
		what = fmt.Sprintf("no positive margin was found in %d steps (it is at most %.3g)", r.Steps, r.Upper)
	}
	if w.none == "" {
		w.none = what
	}
	w.soft = softer(w.soft, prob, r.W)
	w.tell("%s: maximising the mean of the worst %.0f %% instead (--soft %v); see also --loss logistic --lp",
		what, 100*w.soft, w.soft)
	return true, nil
}

// tell says something about the fit, unless it is one of many.
func (w *fitting) tell(format string, args ...any) {
	if !w.quiet {
		w.env.Say(format, args...)
	}
}

// checkScale returns an error if features of different scales kept a soft margin from being found: its weights would be useless.
func (w *fitting) checkScale(prob linear.Problem, fits []*linear.Result) error {
	if w.soft == 0 || w.Soft > 0 {
		return nil
	}
	for _, r := range fits {
		if r.Gap() > hardlySolved {
			if s := margin.Scales(prob); s != nil {
				why, _, _ := strings.Cut(w.none, "; ")
				return fmt.Errorf("%s: %s, and a soft margin was not found either: %s", w.set.Name, why, scaleAdvice(s, w.set))
			}
		}
	}
	return nil
}

// hardlySolved is the gap above which a soft margin was not found. One that is found has 1e-3.
const hardlySolved = 0.1

// scaleAdvice says which feature stands in the way and what to do.
func scaleAdvice(s *margin.Scale, set *dataset.Set) string {
	return fmt.Sprintf("feature %s is %.1g times as large as feature %s: fit with --scale max, or with --scale std --bias, or rescale it in the file",
		featureName(set, s.Column), s.Ratio, featureName(set, s.Small))
}

// settings are the settings as linear takes them.
func (w *fitting) settings(prob linear.Problem) linear.Settings {
	set := linear.Settings{P: w.p, Method: w.method(), Loss: w.loss, Lambda: w.lambda, Gap: w.Gap, Steps: int(w.Steps), Eta: w.LR, Batch: w.Batch, Seed: w.Seed, Start: w.w0}
	if set.Method == linear.Accelerated {
		set.Soft = w.soft
		if set.Gap == 0 {
			set.Gap = 1e-3
		}
		set.Patience = patience
		if w.Soft > 0 {
			set.Patience = 4 * patience
		}
		if w.exactly(prob) {
			set.Gap = 1e-3
		}
	}
	return set
}

// softest is the largest share of worst margins that is tried where the user asks for none, after a quarter and a half of it.
const softest = 0.4

// softer is the next share of worst margins to try after soft, for data of which w gets some examples wrong: the mean of a share is not
// positive where all of the share is wrong.
func softer(soft float64, prob linear.Problem, w []float64) float64 {
	_, right := prob.Margin(w)
	for next := softest / 4; next < softest; next *= 2 {
		if next > soft && next > 1-right {
			return next
		}
	}
	return softest
}

// saveEvery is how much work a killed fit may lose.
const saveEvery = time.Second

// patience is after how many steps without a positive margin the search for one ends.
const patience = 300

// exactly says whether the exact solver is quicker to the gap asked for: below 1e-4, where its equations are not large.
func (w *fitting) exactly(prob linear.Problem) bool {
	return w.method() == linear.Accelerated && w.soft == 0 && w.Gap > 0 && w.Gap < 1e-4 && small(prob)
}

// small says whether the equations of the exact solver are not large.
func small(prob linear.Problem) bool {
	n, d := prob.Dims()
	return min(n, d) <= 2000 && max(n, d) <= 50_000
}

// quick says whether they take no longer than the accelerated method: a second or two for the thirty systems of equations.
func quick(prob linear.Problem) bool {
	n, d := prob.Dims()
	k := float64(min(n, d))
	return small(prob) && k*k*float64(max(n, d)) <= 1e9
}

// barely asks the exact solver for a margin that the accelerated method has not found, if that is quick, and puts it into r. If the
// scale of a feature is why there is none, that is an error.
func (w *fitting) barely(ctx context.Context, prob linear.Problem, k int, r *linear.Result) (found bool, err error) {
	if w.soft > 0 || !quick(prob) {
		return false, nil
	}
	s, err := margin.Solve(ctx, prob, w.p, margin.Settings{Gap: max(w.Gap, 1e-8)})
	if s != nil {
		if w.Scale == "std" && s.Lower <= scalerRounding*prob.RowNorm(mirror.Conjugate(w.p)) {
			return false, ctx.Err() // what the scaler rounded would decide
		}
		w.take(s, r)
		return true, ctx.Err()
	}
	var not *margin.NotSeparableError
	var short *margin.GapError
	switch {
	case errors.As(err, &not):
		w.refuted = true
		what := "no weights separate the data"
		if c := class(w.classes, k); c != nil {
			what = fmt.Sprintf("no weights separate class %v from the rest", *c)
		}
		w.none = fmt.Sprintf("%s: the examples %s cancel exactly", what, some(not.Rows))
		if len(not.Rows) == 1 {
			w.none = fmt.Sprintf("%s: all values of example %d are 0", what, not.Rows[0]+1)
		}
	case errors.As(err, &short) && short.Scale != nil && short.Cause == nil:
		return false, fmt.Errorf("%s: not decided in float64: no positive margin was found (it is at most %.3g), and %s",
			w.set.Name, short.Upper, scaleAdvice(short.Scale, w.set))
	}
	return false, ctx.Err()
}

// scalerRounding is the margin, as a share of the longest example, that centring features in float64 may make up.
const scalerRounding = 1e-12

// some lists examples, counted from 1, and how many more there are.
func some(rows []int) string {
	const most = 5
	var out []string
	for _, i := range rows[:min(len(rows), most)] {
		out = append(out, strconv.Itoa(i+1))
	}
	text := strings.Join(out, ", ")
	if more := len(rows) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// handOver has the exact solver go on.
func (w *fitting) handOver(ctx context.Context, prob linear.Problem, goal float64, r *linear.Result) error {
	s, err := margin.Solve(ctx, prob, w.p, margin.Settings{Gap: goal})
	if s != nil && s.Gap() < r.Gap() {
		w.take(s, r)
	}
	var short *margin.GapError
	var not *margin.NotSeparableError
	if err != nil && !errors.As(err, &short) && !errors.As(err, &not) {
		return err
	}
	return ctx.Err()
}

// take replaces a fit by the exact solution.
func (w *fitting) take(s *margin.Solution, r *linear.Result) {
	w.exact = s.Method
	r.W, r.Certificate, r.Steps = s.W, s.Certificate, r.Steps+s.Iterations
}

// progress is the share of the way to the gap, by its logarithm, or of the steps.
func progress(pt linear.Point, set linear.Settings) float64 {
	share := float64(pt.Step) / float64(set.Steps)
	if set.Patience > 0 {
		share = max(share, 0.1*min(float64(pt.Step)/float64(set.Patience), 1))
	}
	if pt.Gap > 0 && pt.Gap < 1 && set.Gap > 0 {
		share = max(share, math.Log(pt.Gap)/math.Log(set.Gap))
	}
	return min(share, 1)
}

// remarks says what the user should know of a fit that ended.
func (w *fitting) remarks() {
	set := w.settings(linear.Problem{X: w.set.X})
	if set.Gap == 0 {
		set.Gap = 1e-3
	}
	for _, r := range w.fits {
		pts := r.Points
		switch gap := set.Gap; {
		case w.penalised() && !(r.Excess <= gap*r.Objective):
			w.env.Say("the objective is proved to be within %.3g of the least possible only: more --steps, a larger lambda or --scale std may help", r.Excess)
		case w.penalised() || w.method() == linear.Accelerated || len(pts) < 2:
		case !(pts[len(pts)-1].Loss < pts[0].Loss) && pts[0].Step == 0:
			w.env.Say("the loss did not fall, from %.4g to %.4g: try another --lr, --method or --p", pts[0].Loss, pts[len(pts)-1].Loss)
		case w.loss.Residual():
			if j, c := correlation(w.set.X, w.targets[0], r.W); c > correlated {
				w.env.Say("not converged: the residual still has a correlation of %.2g with feature %s; try more --steps, "+
					"another --lr, or --scale std", c, featureName(w.set, j))
			}
		}
	}
}

// correlated is the correlation of a feature with the residual above which a regression has not converged: the loss could fall
// by the square of it, 1e-4 of itself, by that feature alone.
const correlated = 0.01

// correlation returns the feature with the largest |⟨xⱼ, r⟩|/(‖xⱼ‖‖r‖), r = Xw − y, which is 0 at the least loss; 0 if r is nothing beside y.
func correlation(x matrix.Matrix, y, w []float64) (feature int, most float64) {
	n, d := x.Dims()
	r, grad, square := make([]float64, n), make([]float64, d), make([]float64, d)
	x.Mul(r, w)
	for i := range r {
		r[i] -= y[i]
	}
	size := mirror.Norm(r, 2)
	if size <= 1e-6*mirror.Norm(y, 2) {
		return 0, 0
	}
	x.AddMulT(grad, r)
	matrix.Rows(x, func(_ int, idx []int32, val []float64) {
		for k, v := range val {
			if j := k; idx == nil {
				square[j] += v * v
			} else {
				square[idx[k]] += v * v
			}
		}
	})
	for j, g := range grad {
		if c := math.Abs(g) / (math.Sqrt(square[j]) * size); c > most {
			feature, most = j, c
		}
	}
	return feature, most
}

// featureName is the name of a feature, or its number as the file counts it.
func featureName(set *dataset.Set, j int) string {
	switch {
	case j < len(set.Features):
		return strconv.Quote(set.Features[j])
	case set.ZeroBased:
		return strconv.Itoa(j)
	}
	return strconv.Itoa(j + 1)
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
