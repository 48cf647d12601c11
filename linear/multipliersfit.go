package linear

import (
	"context"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// fitMultipliers fits by the method of multipliers. It reports false if another method should take over.
func fitMultipliers(ctx context.Context, r *run, patience int, rounding float64) (res *Result, err error, ok bool) {
	var s *multipliers
	if r.Resume != nil {
		s = emptyMultipliers(r.prob, r.p)
		if err := s.restore(*r.Resume); err != nil {
			return nil, err, true
		}
		r.next = s.t + 1
	} else if s = newMultipliers(r.prob, r.p); s == nil {
		return nil, nil, false
	} else {
		s.evaluate()
	}
	size := rounding / rounded
	for {
		err := ctx.Err()
		done := err != nil || s.t >= r.steps || s.cert.widened(rounding).Gap() <= r.gap ||
			s.cert.Upper <= hopeless*size || patience > 0 && s.work >= float64(patience) && !(s.cert.Lower > 0)
		done = done || s.idle >= mostIdle && s.cert.Lower > 0
		if !done && s.failing() {
			return nil, nil, false
		}
		if done || r.due(s.t) {
			r.record(s.point(r.steps), s.best)
		}
		if done {
			err = r.saveLast(err, s.checkpoint)
			s.finish(r, rounding)
			res, err := r.end(err)
			return res, err, true
		}
		if err := r.save(s.checkpoint); err != nil {
			res, err := r.end(err)
			return res, err, true
		}
		if s.step(ctx, r.gap) {
			s.evaluate()
		}
	}
}

// mostIdle is after how many steps that make no product a fit ends: the gradient is 0 to rounding.
const mostIdle = 20

// point returns the point of the current state, at most at so many steps. Its loss is that of the weights of margin 1,
// as of the result.
func (s *multipliers) point(steps int) Point {
	pt := Point{Step: min(s.t, steps), Loss: math.NaN(), Margin: s.cert.Lower, Norm: mirror.Norm(s.best, s.p),
		Gap: s.cert.Gap(), Divergence: math.NaN(), Angle: math.NaN()}
	scale := 1 / pt.Norm
	if s.cert.Lower > 0 {
		scale /= s.cert.Lower
	}
	margins := slices.Clone(s.bestM)
	vec.Scale(margins, scale, margins)
	pt.Loss = Exponential{}.Sum(margins) / float64(s.n)
	return pt
}

// finish puts the weights into the result, with margin 1, or norm 1 if their margin is not positive.
func (s *multipliers) finish(r *run, rounding float64) {
	w := slices.Clone(s.best)
	s.prob.Margins(s.m, w)
	norm := mirror.Norm(w, s.p)
	least := minOf(s.m)
	c := Certificate{Lower: least / norm, Upper: s.cert.Upper}
	if least > 0 {
		norm = least
	}
	if norm > 0 {
		vec.Scale(w, 1/norm, w)
		vec.Scale(s.m, 1/norm, s.m)
	}
	r.result.W, r.result.Certificate, r.result.Steps = w, c.widened(rounding), min(s.t, r.steps)
	r.result.Loss = r.loss.Sum(s.m) / float64(s.n)
	r.result.Objective = r.result.Loss
}

// multipliersEntries are the entries of a checkpoint. The method is the accelerated one: multiplierVector tells them
// apart.
var multipliersEntries = entries{
	scalars: []string{"penalty", "most", "before", "idle", "passes", "check", "lower", "upper", "last_lower",
		"last_upper"},
	vectors: []string{"weights", "margins", "best_weights", "best_margins", multiplierVector},
}

const multiplierVector = "multipliers"

// ofMultipliers reports whether a checkpoint is one of multipliers.
func ofMultipliers(c Checkpoint) bool {
	_, ok := c.Vectors[multiplierVector]
	return ok
}

func (s *multipliers) checkpoint() Checkpoint {
	return Checkpoint{
		Method: string(MethodAccelerated),
		Step:   s.t,
		Scalars: map[string]float64{
			"penalty":    s.c,
			"most":       float64(s.most),
			"before":     s.before,
			"idle":       float64(s.idle),
			"passes":     s.work,
			"check":      s.check,
			"lower":      s.cert.Lower,
			"upper":      s.cert.Upper,
			"last_lower": s.last.Lower,
			"last_upper": s.last.Upper,
		},
		Vectors: map[string][]float64{
			"weights":        slices.Clone(s.w),
			"margins":        slices.Clone(s.m),
			"best_weights":   slices.Clone(s.best),
			"best_margins":   slices.Clone(s.bestM),
			multiplierVector: slices.Clone(s.a),
		},
	}
}

func (s *multipliers) restore(c Checkpoint) error {
	if err := c.check(multipliersEntries); err != nil {
		return err
	}
	x, v := c.Scalars, c.Vectors
	for name, to := range map[string][]float64{"weights": s.w, "margins": s.m, "best_weights": s.best,
		"best_margins": s.bestM, multiplierVector: s.a} {
		if len(v[name]) != len(to) {
			return errOtherData
		}
		copy(to, v[name])
	}
	s.c, s.most, s.before, s.check = x["penalty"], int(x["most"]), x["before"], x["check"]
	s.idle = int(x["idle"])
	s.cert = Certificate{Lower: x["lower"], Upper: x["upper"]}
	s.last = Certificate{Lower: x["last_lower"], Upper: x["last_upper"]}
	s.choose()
	s.t, s.work = c.Step, x["passes"]
	return nil
}
