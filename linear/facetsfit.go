package linear

import (
	"context"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// fitFacets fits by facets. It reports false if another method should take over.
func fitFacets(ctx context.Context, r *run, rounding float64) (res *Result, err error, ok bool) {
	var s *facets
	if r.Resume != nil {
		s = emptyFacets(r.prob, r.p)
		if err := s.restore(*r.Resume); err != nil {
			return nil, err, true
		}
		r.next = s.t + 1
	} else if s = newFacets(r.prob, r.p); s == nil {
		return nil, nil, false
	}
	for {
		err := ctx.Err()
		done := err != nil || s.t >= r.steps || s.cert.widened(rounding).Gap() <= r.gap
		if !done && s.failing() {
			return nil, nil, false
		}
		if done || r.due(s.t) {
			r.record(s.point(), s.weights())
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
		s.round()
	}
}

// weights are those of the lower bound; if there is none yet, those that follow from a.
func (s *facets) weights() []float64 {
	if !math.IsInf(s.cert.Lower, -1) {
		return s.best
	}
	mirror.DualityMap(s.u, s.v, mirror.Conjugate(s.goal))
	return s.u
}

// point returns the point of the current state. Its loss is that of the weights of margin 1, as of the result.
func (s *facets) point() Point {
	pt := Point{Step: s.t, Loss: math.NaN(), Margin: s.cert.Lower, Norm: mirror.Norm(s.weights(), s.goal),
		Gap: s.cert.Gap(), Divergence: math.NaN(), Angle: math.NaN()}
	if !math.IsInf(s.cert.Lower, -1) {
		scale := 1 / pt.Norm
		if s.cert.Lower > 0 {
			scale /= s.cert.Lower
		}
		margins := slices.Clone(s.bestM)
		vec.Scale(margins, scale, margins)
		pt.Loss = Exponential{}.Sum(margins) / float64(s.n)
	}
	return pt
}

// finish puts the weights into the result, with margin 1, or norm 1 if their margin is not positive.
func (s *facets) finish(r *run, rounding float64) {
	w := slices.Clone(s.weights())
	s.prob.Margins(s.m, w)
	norm := mirror.Norm(w, s.goal)
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

// facetsEntries are the entries of a checkpoint. The method is the accelerated one: facetVector tells them apart.
var facetsEntries = entries{
	scalars: []string{"p", "damping", "lipschitz", "inner", "passes", "rounds", "check", "lower", "upper", "last_lower",
		"last_upper"},
	vectors: []string{"weights", "margins", facetVector, "sum"},
}

const facetVector = "dual"

// ofFacets reports whether a checkpoint is one of facets.
func ofFacets(c Checkpoint) bool {
	_, ok := c.Vectors[facetVector]
	return ok
}

func (s *facets) checkpoint() Checkpoint {
	return Checkpoint{
		Method: string(MethodAccelerated),
		Step:   s.t,
		Scalars: map[string]float64{
			"p":          s.p, // of the stage
			"damping":    s.damp,
			"lipschitz":  s.lip,
			"inner":      float64(s.inner),
			"passes":     s.work,
			"rounds":     float64(s.rounds),
			"check":      s.check,
			"lower":      s.cert.Lower,
			"upper":      s.cert.Upper,
			"last_lower": s.last.Lower,
			"last_upper": s.last.Upper,
		},
		Vectors: map[string][]float64{
			"weights":   slices.Clone(s.weights()),
			"margins":   slices.Clone(s.bestM),
			facetVector: slices.Clone(s.a),
			"sum":       slices.Clone(s.v), // Aᵀa
		},
	}
}

func (s *facets) restore(c Checkpoint) error {
	if err := c.check(facetsEntries); err != nil {
		return err
	}
	x, v := c.Scalars, c.Vectors
	if len(v["weights"]) != s.d || len(v["margins"]) != s.n || len(v[facetVector]) != s.n || len(v["sum"]) != s.d ||
		mirror.CheckP(x["p"]) != nil {
		return errOtherData
	}
	s.stage(x["p"])
	s.t, s.work, s.rounds = c.Step, x["passes"], int(x["rounds"])
	s.damp, s.lip, s.inner, s.check = x["damping"], x["lipschitz"], int(x["inner"]), x["check"]
	s.cert = Certificate{Lower: x["lower"], Upper: x["upper"]}
	s.last = Certificate{Lower: x["last_lower"], Upper: x["last_upper"]}
	copy(s.best, v["weights"])
	copy(s.bestM, v["margins"])
	copy(s.a, v[facetVector])
	copy(s.v, v["sum"])
	mirror.DualityMap(s.w, s.v, s.q)
	s.prob.Margins(s.m, s.w)
	return nil
}
