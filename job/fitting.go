package job

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
	"github.com/bregman-ml/bregman/runlog"
)

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
	fits    []*linear.Result // finished, one per weight vector
	exact   string           // the exact solver that finished them
	begin   time.Time
	seconds float64
}

// newFitting returns the fit that f asks for.
func newFitting(f *Fit, con *Console, set *dataset.Set) *fitting {
	w := &fitting{Fit: f, con: con, set: set, loss: must(linear.LossByName(f.Loss)), p: f.P[0], lambda: f.L2, soft: f.Soft}
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
	bar := w.con.Bar(fmt.Sprintf("fit p = %v", w.p), 1000)
	defer bar.Done()
	fits, err := w.all(ctx, w.set.X, w.targets, true, func(share float64, note string) {
		bar.Say(note)
		bar.Set(int64(1000 * share))
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
		return err
	}
	w.model.Scale = s
	return s.Apply(w.set.X)
}

// all fits every weight vector, each to its targets. Where one cannot separate its classes, all are fitted with a soft margin, so that
// their scores compare. With keep it goes on from a checkpoint, writes others, and logs.
func (w *fitting) all(ctx context.Context, x matrix.Matrix, targets [][]float64, keep bool, show func(share float64, note string)) ([]*linear.Result, error) {
	var fits []*linear.Result
	if keep && w.old != nil {
		fits = w.old.finished
		w.soft = w.old.soft
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
					return w.run.WriteFile(checkpointName, (&fitCheckpoint{hash: w.set.Hash, p: w.p, soft: w.soft, finished: fits, state: &c}).encode())
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
		if set.Patience > 0 && !(r.Lower > 0) && r.Steps < int(w.Steps) {
			if w.Soft > 0 {
				w.con.Say("the mean of the worst %.0f %% of margins is not positive after %d steps: try a larger --soft", 100*w.Soft, r.Steps)
				continue
			}
			if w.barely(ctx, prob, r) || w.soft >= softest {
				continue
			}
			before := w.soft
			w.soft = softer(w.soft, prob, r.W)
			what := "no weights make the least margin positive"
			if before > 0 {
				what = fmt.Sprintf("no weights make the mean of the worst %.0f %% of margins positive", 100*before)
			}
			w.con.Say("%s after %d steps (it is at most %.3g): maximising the mean of the worst %.0f %% instead (--soft %v); see also --loss logistic --lp",
				what, r.Steps, r.Upper, 100*w.soft, w.soft)
			fits, k = nil, -1
			continue
		}
		if w.exactly(prob) && r.Lower > 0 && r.Gap() > w.Gap {
			if err := w.handOver(ctx, prob, r); err != nil {
				return fits, err
			}
		}
	}
	return fits, nil
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

// patience is after how many steps without a positive margin data counts as not separable.
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

// barely asks the exact solver for a margin the accelerated method has not found, where that is quick, and puts it into r.
func (w *fitting) barely(ctx context.Context, prob linear.Problem, r *linear.Result) bool {
	if w.soft > 0 || !quick(prob) {
		return false
	}
	s, err := margin.Solve(ctx, prob, w.p, margin.Settings{Gap: max(w.Gap, 1e-8)})
	if err != nil {
		return false
	}
	w.exact = s.Method
	r.W, r.Certificate, r.Steps = s.W, s.Certificate, r.Steps+s.Iterations
	return true
}

// handOver has the exact solver go on.
func (w *fitting) handOver(ctx context.Context, prob linear.Problem, r *linear.Result) error {
	s, err := margin.Solve(ctx, prob, w.p, margin.Settings{Gap: w.Gap})
	var short *margin.GapError
	if s == nil || err != nil && !errors.As(err, &short) {
		return err
	}
	if s.Gap() < r.Gap() {
		w.exact = s.Method
		r.W, r.Certificate, r.Steps = s.W, s.Certificate, r.Steps+s.Iterations
	}
	return ctx.Err()
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
			w.con.Say("the objective is proved to be within %.3g of the least possible only: more --steps, a larger lambda or --scale std may help", r.Excess)
		case w.penalised() || w.method() == linear.Accelerated:
		case len(pts) > 1 && !(pts[len(pts)-1].Loss < pts[0].Loss) && pts[0].Step == 0:
			w.con.Say("the loss did not fall, from %.4g to %.4g: try another --lr, --method or --p", pts[0].Loss, pts[len(pts)-1].Loss)
		}
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
