package job

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// Replay is the way of a fit's weights, which a run folder does not keep: the descent made once more.
type Replay struct {
	X       [][]float64    // the examples, labels absorbed
	U       []float64      // the exact ℓₚ max-margin direction, ‖u‖ₚ = 1; nil where there is none
	W       [][]float64    // the weights at Points
	Points  []linear.Point // with divergence and angle to U
	Stopped bool           // before the last step: the budget of time is used up
}

// replaySteps is how far a replay goes.
const replaySteps = 20_000_000

// Replay makes the descent of a finished or running fit again, up to the given step, and keeps the weights at logarithmically spaced ones. It takes built-in data
// sets and starts only, so that the settings of a run, which anyone may have written, name no file. lr is the step the fit used, 0 to have it found again.
func (f Fit) Replay(ctx context.Context, lr float64, steps int) (*Replay, error) {
	f.Test, f.Out, f.Runs = "", "", ""
	if err := f.Check(); err != nil {
		return nil, err
	}
	set, err := builtIn(f.Data)
	switch {
	case err != nil:
		return nil, err
	case set == nil:
		return nil, fmt.Errorf("%s is no built-in set: only those are computed again", f.Data)
	case f.Bias || f.Loss == "square" || len(f.P) != 1 || f.CV > 0:
		return nil, errors.New("only classifiers of one p without --bias are computed again")
	case f.Init != "" && f.Init != "zero" && !strings.HasPrefix(f.Init, "normal:"):
		return nil, errors.New("a start from a file is not computed again")
	}
	w := &fitting{Fit: &f, con: &Console{}, set: set, loss: must(linear.LossByName(f.Loss))}
	if err := w.prepare(ctx); err != nil {
		return nil, err
	}
	w.p = f.P[0]
	if lr > 0 {
		w.LR = lr
	}
	prob := linear.Problem{X: set.X, Y: w.targets[0]}
	r := &Replay{X: absorbed(set, prob.Y)}
	if s, err := margin.Solve(ctx, prob, w.p, margin.Settings{}); err == nil {
		for _, v := range s.W {
			r.U = append(r.U, v*s.Lower)
		}
	}
	settings := w.settings(prob)
	if f.Steps > 0 {
		steps = min(steps, int(f.Steps))
	}
	for _, at := range append([]int{0}, linear.LogSteps(min(steps, replaySteps), 20)...) {
		weights := w.w0
		if at > 0 { // from the start each time: all methods can do that, and on these sets it is quick
			settings.Steps = at
			fit, err := linear.Fit(ctx, prob, settings)
			if errors.Is(err, context.DeadlineExceeded) {
				r.Stopped = true
				break
			}
			if fit == nil {
				return nil, err
			}
			weights = fit.W
		}
		if weights == nil {
			_, d := set.X.Dims()
			weights = make([]float64, d)
		}
		s, err := linear.Descent{Potential: mirror.Power(w.p)}.Start(prob, weights)
		if err != nil {
			return nil, err
		}
		pt := s.Measure(w.p, r.U)
		pt.Step = at
		if pt.Norm == 0 {
			pt.Divergence, pt.Angle = math.NaN(), math.NaN()
		}
		r.Points, r.W = append(r.Points, pt), append(r.W, append([]float64(nil), weights...))
	}
	return r, nil
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
