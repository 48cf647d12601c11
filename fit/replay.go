package fit

import (
	"context"
	"errors"
	"math"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// Trajectory is that of a fit's weights, which a model does not keep.
type Trajectory struct {
	X       [][]float64    // the examples, labels absorbed
	U       []float64      // the exact ℓₚ max-margin direction, ‖u‖ₚ = 1; nil if there is none
	W       [][]float64    // the weights at Points, as a fit that stops there returns them
	Points  []linear.Point // with divergence and angle to U
	Stopped bool           // before the last step: the time is used up
}

// Replay runs a fit of one p to two classes again and keeps the weights at the points that it records. soft is the
// share of worst margins that the fit ended with; with 0 it is found again.
func Replay(ctx context.Context, set *dataset.Set, s Settings, soft float64) (*Trajectory, error) {
	t := newTrainer(set, s)
	if err := t.check(); err != nil {
		return nil, err
	}
	if len(t.P) != 1 || len(t.Lambda) > 1 || t.Folds > 0 || t.Loss.Residual() {
		return nil, errors.New("only classifiers of one p can be recomputed")
	}
	if len(t.classes) > 2 {
		return nil, errors.New("only classifiers of two classes can be recomputed")
	}
	var r Result
	x, err := t.scaled(&r)
	if err != nil {
		return nil, err
	}
	a := Attempt{P: t.P[0], Soft: soft}
	if soft == 0 {
		a.Soft = t.Soft
	}
	if len(t.Lambda) > 0 {
		a.Lambda = t.Lambda[0]
	}
	prob := linear.Problem{X: x, Y: t.targets[0]}
	out := &Trajectory{X: absorbed(prob)}
	if s, err := margin.Solve(ctx, prob, a.P, margin.Settings{}); err == nil {
		for _, v := range s.W {
			out.U = append(out.U, v*s.Lower)
		}
	}
	end, err := t.all(ctx, t.problem(x), a, hooks{weights: func(pt linear.Point, weights []float64) {
		scale := 1.0
		if t.ChosenMethod() == linear.MethodAccelerated && pt.Norm > 0 { // as linear.Fit scales its result
			scale = pt.Norm
			if pt.Margin > 0 {
				scale *= pt.Margin
			}
		}
		out.add(a.P, pt, weights, 1/scale)
	}})
	out.Stopped = errors.Is(err, context.DeadlineExceeded)
	if len(out.W) == 0 {
		return nil, err
	}
	if end.exact != "" && len(end.fits) == 1 {
		f := end.fits[0]
		pt := linear.Point{Step: f.Steps, Loss: f.Loss, Margin: f.Lower, Norm: mirror.Norm(f.W, a.P), Gap: f.Gap()}
		out.add(a.P, pt, f.W, 1)
	}
	return out, nil
}

// add adds a point, with the weights times a factor. A fit that starts again, with a smaller step or a soft margin,
// replaces the points that it had.
func (r *Trajectory) add(p float64, pt linear.Point, weights []float64, factor float64) {
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
func absorbed(prob linear.Problem) [][]float64 {
	n, d := prob.Dims()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		cols, x := prob.X.Row(i)
		for k, v := range x {
			j := k
			if cols != nil {
				j = int(cols[k])
			}
			rows[i][j] = v
			if prob.Y != nil {
				rows[i][j] *= prob.Y[i]
			}
		}
	}
	return rows
}
