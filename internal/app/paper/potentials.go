package paper

import (
	"context"
	"errors"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// potentialStatements are about potentials that are not powers of p-norms.
var potentialStatements = []statement[*potentialLimit]{
	{
		Name:     "quadratic potential",
		Claim:    "Quadratic(a) tends to the largest margin in its own norm (Σaⱼwⱼ²)^½",
		Quantity: "largest gap of that margin",
		Bound:    1e-3,
		Beyond:   true,
		Check: func(l *potentialLimit, r *tally) {
			_, d := l.prob.Dims()
			a := make([]float64, d)
			for j := range a {
				a[j] = 0.5 + float64(j%5)
			}
			exact, err := margin.SolveQuadratic(l.ctx, l.prob, a, margin.Settings{})
			if err != nil {
				r.fail(err)
				return
			}
			w, err := l.descend(l.sub.quadratic(a))
			if err != nil {
				r.fail(err)
				return
			}
			m, _ := l.prob.Margin(w)
			own := math.Sqrt(2 * mirror.Quadratic(a).Value(w))
			r.record(exact.Lower/(m/own) - 1)
		},
	},
}

// potentialLimit is a problem on which descents with other potentials end. It has no p.
type potentialLimit struct {
	ctx  context.Context
	sub  subject
	name string
	prob linear.Problem
}

// String names the case.
func (l *potentialLimit) String() string { return l.name }

// descend runs normalised steps until their number is reached or a weight overflows, as sinh may: then it returns the
// state before that.
func (l *potentialLimit) descend(psi mirror.Potential) ([]float64, error) {
	s, err := descendNormalized(l.ctx, psi, l.sub.loss, l.prob)
	var over *linear.OverflowError
	if s == nil || err != nil && !errors.As(err, &over) {
		return nil, err
	}
	return s.W, nil
}

// potentials checks potentialStatements on the problems in R¹⁰⁰.
func potentials(sub subject, sets []setting) *statementGroup[*potentialLimit] {
	g := &statementGroup[*potentialLimit]{statements: potentialStatements}
	for _, set := range withoutP(sets) {
		g.runs = append(g.runs, func(ctx context.Context, each func(*potentialLimit)) error {
			each(&potentialLimit{ctx, sub, set.name, set.prob})
			return nil
		})
	}
	return g
}

// withoutP are the problems in R¹⁰⁰, once each.
func withoutP(sets []setting) []setting {
	var out []setting
	for _, set := range sets {
		if !set.plane() && set.p == sets[0].p {
			out = append(out, set)
		}
	}
	return out
}

// hyperbolicLimit is where the descent with HyperbolicEntropy ends: its margin over the best possible, in ℓ₁ and in ℓ₂.
// The paper says nothing about it, so no statement is checked.
type hyperbolicLimit struct {
	Case       string  `json:"case"`
	Beta       float64 `json:"beta"`
	InL1, InL2 float64
	Error      string `json:"error,omitempty"` // why there are no numbers
}

// hyperbolicBetas range from one near ℓ₁ to one near ℓ₂.
var hyperbolicBetas = []float64{0.01, 1}

// hyperbolic returns the tasks that measure the limits, and where the results are when the tasks are done.
func hyperbolic(sub subject, sets []setting) (tasks []task, results []hyperbolicLimit) {
	sets = withoutP(sets)
	results = make([]hyperbolicLimit, len(sets)*len(hyperbolicBetas))
	for i, set := range sets {
		tasks = append(tasks, task{1, func(ctx context.Context, _ func(int)) (any, error) {
			l := &potentialLimit{ctx, sub, set.name, set.prob}
			for k, beta := range hyperbolicBetas {
				results[i*len(hyperbolicBetas)+k] = l.hyperbolic(beta)
			}
			return nil, ctx.Err()
		}})
	}
	return tasks, results
}

func (l *potentialLimit) hyperbolic(beta float64) hyperbolicLimit {
	h := hyperbolicLimit{Case: l.name, Beta: beta}
	w, err := l.descend(mirror.HyperbolicEntropy(beta))
	if err != nil {
		h.Error = err.Error()
		return h
	}
	m, _ := l.prob.Margin(w)
	share := func(p float64) float64 {
		best, solveErr := margin.Solve(l.ctx, l.prob, p, margin.Settings{Gap: 1e-8})
		if solveErr != nil {
			err = solveErr
			return 0
		}
		return m / mirror.Norm(w, p) / best.Lower
	}
	if h.InL1, h.InL2 = share(1), share(2); err != nil {
		h.Error = err.Error()
	}
	return h
}
