package fit

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// problem is the data of an attempt: the examples, and the targets of each weight vector.
type problem struct {
	x       matrix.Matrix
	targets [][]float64
	class   []int // of each example, of a joint margin; else nil
	classes int
}

// problem is that of all examples.
func (t *trainer) problem(x matrix.Matrix) problem {
	data := problem{x: x, targets: t.targets}
	if t.jointMargin() {
		data.class, data.classes = t.index, len(t.classes)
	}
	return data
}

// of is the problem of the k-th weight vector.
func (p problem) of(k int) linear.Problem {
	if p.class != nil {
		joint, _ := linear.Joint(p.x, p.class, p.classes)
		return joint
	}
	return linear.Problem{X: p.x, Y: p.targets[k]}
}

// outcome is what an attempt came to. Its Soft may have grown.
type outcome struct {
	Attempt
	fits    []*linear.Result // one per weight vector, as far as it came
	exact   string           // the exact solver that finished them
	none    string           // why the margin is soft, or none was found
	refuted bool             // the data are proved not to be separable
}

// hooks are those of one attempt. Each may be nil.
type hooks struct {
	progress func(share float64, note string)
	say      func(kind RemarkKind, format string, args ...any)
	point    func(class *float64, pt linear.Point) error
	weights  func(linear.Point, []float64)
	save     func(Checkpoint)
	resume   *Checkpoint
}

// modelHooks are those of the fit that makes the model.
func (t *trainer) modelHooks(a Attempt) hooks {
	h := hooks{say: t.say, point: t.Point, weights: t.Weights, save: t.Save, resume: t.Resume}
	if t.Progress != nil {
		stage := fmt.Sprintf("fit p = %v", a.P)
		h.progress = func(share float64, note string) { t.Progress(stage, share, note) }
	}
	return h
}

// all fits every weight vector, each to its targets. If one cannot separate its classes, all are fitted with a soft
// margin, so that their scores compare.
func (t *trainer) all(ctx context.Context, data problem, a Attempt, h hooks) (outcome, error) {
	out := outcome{Attempt: a}
	if c := h.resume; c != nil {
		out.fits, out.Soft, out.none, out.refuted = c.Finished, c.Attempt.Soft, c.None, c.Refuted
	}
	for k := len(out.fits); k < len(data.targets); k++ {
		prob := data.of(k)
		set := t.settings(prob, out.Attempt)
		r, err := t.one(ctx, prob, k, len(data.targets), set, out, h)
		h.resume = nil
		if r != nil {
			out.fits = append(out.fits, r)
		}
		if err != nil {
			return out, err
		}
		next, again, err := t.rescue(ctx, prob, k, set, out, h)
		if out = next; err != nil {
			return out, err
		}
		if again {
			out.fits, k = nil, -1
		}
	}
	return out, t.checkScale(linear.Problem{X: data.x}, out)
}

// one fits the k-th weight vector of so many.
func (t *trainer) one(ctx context.Context, prob linear.Problem, k, of int, set linear.Settings, out outcome,
	h hooks) (*linear.Result, error) {
	var before []linear.Point
	if h.resume != nil {
		set.Resume, before = h.resume.State, h.resume.Points
	}
	if h.save != nil {
		set.SaveEvery = saveEvery
		set.Save = func(c linear.Checkpoint) error {
			h.save(Checkpoint{Data: t.set.Hash, Attempt: out.Attempt, None: out.none, Refuted: out.refuted, Finished: out.fits,
				State: &c})
			return nil
		}
	}
	var logging error
	set.Progress = func(pt linear.Point) {
		if h.progress != nil {
			note := fmt.Sprintf("step %d", pt.Step)
			if pt.Gap < 1 {
				note = fmt.Sprintf("step %d, gap %.2g %%", pt.Step, 100*pt.Gap)
			}
			h.progress((float64(k)+progress(pt, set))/float64(of), note)
		}
		if h.point != nil && logging == nil {
			logging = h.point(t.class(k), pt)
		}
	}
	set.Weights = h.weights
	r, err := linear.Fit(ctx, prob, set)
	if r != nil {
		r.Points = append(before, r.Points...)
	}
	if err == nil {
		err = logging
	}
	return r, err
}

// saveEvery is how much work a killed fit may lose.
const saveEvery = time.Second

// patience is after how many steps without a positive margin the search for one ends.
const patience = 300

// settings are those of an attempt as linear takes them.
func (t *trainer) settings(prob linear.Problem, a Attempt) linear.Settings {
	set := linear.Settings{P: a.P, Method: t.ChosenMethod(), Loss: t.Loss, Lambda: a.Lambda, Gap: t.Gap, Steps: t.Steps,
		Eta:   t.Eta,
		Batch: t.Batch, Seed: t.Seed, Start: t.Start}
	if set.Method == linear.MethodAccelerated {
		set.Soft = a.Soft
		if set.Gap == 0 {
			set.Gap = 1e-3
		}
		set.Patience = patience
		if t.Soft > 0 {
			set.Patience = 4 * patience
		}
		if t.useExactSolver(prob, a) {
			set.Gap = 1e-3
		}
	}
	return set
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
