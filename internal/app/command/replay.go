package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// Replay is the trajectory of a fit's weights, which a run folder does not keep: the fit is run once more.
type Replay struct {
	X       [][]float64    // the examples, labels absorbed
	U       []float64      // the exact ℓₚ max-margin direction, ‖u‖ₚ = 1; nil if there is none
	W       [][]float64    // the weights at Points, as a fit that stops there returns them
	Points  []linear.Point // with divergence and angle to U
	Stopped bool           // before the last step: the budget of time is used up
}

// replaySteps is how far a replay goes.
const replaySteps = 20_000_000

// Replay runs a finished or running fit again, up to the given step, and keeps the weights at the points that it
// records. It takes built-in data sets and starts only, so that the settings of a run, which anyone may have written,
// name no file. lr and soft are the step and the share of worst margins that the fit used; with 0 they are found
// again.
func (f Fit) Replay(ctx context.Context, lr, soft float64, steps int) (*Replay, error) {
	f.Test, f.Out, f.Runs = "", "", ""
	if err := f.Check(); err != nil {
		return nil, err
	}
	set, err := dataset.Generate(f.Data)
	switch {
	case errors.Is(err, dataset.ErrNotBuiltin):
		return nil, fmt.Errorf("%s is not a built-in set: only those can be recomputed", f.Data)
	case err != nil:
		return nil, err
	case f.Bias || f.Loss == "square" || len(f.P) != 1 || f.CV > 0:
		return nil, errors.New("only classifiers of one p without --bias can be recomputed")
	case f.Init != "" && f.Init != "zero" && !strings.HasPrefix(f.Init, "normal:"):
		return nil, errors.New("a start from a file cannot be recomputed")
	}
	w := newFitting(&f, &Env{Observer: Quiet()}, set)
	if err = w.prepare(ctx); err == nil {
		err = w.scale()
	}
	if err != nil {
		return nil, err
	}
	if lr > 0 {
		w.LR = lr
	}
	if soft == 0 {
		soft = w.Soft
	}
	w.Steps = settings.Count(max(1, min(steps, int(w.Steps), replaySteps)))
	prob := linear.Problem{X: set.X, Y: w.targets[0]}
	r := &Replay{X: absorbed(set, prob.Y)}
	if s, err := margin.Solve(ctx, prob, w.p, margin.Settings{}); err == nil {
		for _, v := range s.W {
			r.U = append(r.U, v*s.Lower)
		}
	}
	w.watch = func(pt linear.Point, weights []float64) {
		scale := 1.0
		if w.method() == linear.Accelerated && pt.Norm > 0 { // as linear.Fit scales its result
			scale = pt.Norm
			if pt.Margin > 0 {
				scale *= pt.Margin
			}
		}
		r.add(w.p, pt, weights, 1/scale)
	}
	fits, err := w.all(ctx, set.X, w.targets[:1], soft, false, func(float64, string) {})
	r.Stopped = errors.Is(err, context.DeadlineExceeded)
	if len(r.W) == 0 {
		return nil, err
	}
	if w.exact != "" && len(fits) == 1 {
		end := fits[0]
		pt := linear.Point{Step: end.Steps, Loss: end.Loss, Margin: end.Lower, Norm: mirror.Norm(end.W, w.p), Gap: end.Gap()}
		r.add(w.p, pt, end.W, 1)
	}
	return r, nil
}

// add adds a point, with the weights times a factor. A fit that starts again, with a smaller step or a soft margin,
// replaces the points that it had.
func (r *Replay) add(p float64, pt linear.Point, weights []float64, factor float64) {
	for n := len(r.Points); n > 0 && r.Points[n-1].Step >= pt.Step; n-- {
		r.Points, r.W = r.Points[:n-1], r.W[:n-1]
	}
	w := make([]float64, len(weights))
	vec.Scale(w, factor, weights)
	pt.Divergence, pt.Angle = math.NaN(), math.NaN()
	if norm := mirror.Norm(w, p); r.U != nil && norm > 0 {
		unit := make([]float64, len(w))
		vec.Scale(unit, 1/norm, w)
		pt.Divergence, pt.Angle = mirror.Divergence(mirror.Power(p), r.U, unit), linear.Angle(r.U, unit)
	}
	r.Points, r.W = append(r.Points, pt), append(r.W, w)
}

// absorbed returns the rows y·x.
func absorbed(set *dataset.Set, y []float64) [][]float64 {
	n, d := set.X.Dims()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		cols, x := set.X.Row(i)
		for k, v := range x {
			j := k
			if cols != nil {
				j = int(cols[k])
			}
			rows[i][j] = v
			if y != nil {
				rows[i][j] *= y[i]
			}
		}
	}
	return rows
}
