package paper

import (
	"context"
	"errors"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// squaredStatements and quadraticStatements are about potentials that the paper mentions. Its proof holds for any
// ψ = (1/k)‖·‖ᵏ: it uses homogeneity and Lemma 18 alone.
var (
	squaredStatements   = []statement[*trajectory]{otherPotential("½‖·‖ₚ² tends to the same direction as (1/p)‖·‖ₚᵖ")}
	quadraticStatements = []statement[*trajectory]{otherPotential("½Σaⱼwⱼ² tends to the largest margin in its own norm")}
)

// otherPotential is limitStatement for ψ = ½‖·‖².
func otherPotential(name string) statement[*trajectory] {
	st := limitStatement(name, "", nil)
	st.Beyond, st.Slip = true, ""
	st.Claim = "the bound of Theorem 13 with the exponent 2 and the potential's own norm; exponential loss, growing steps"
	return st
}

// squaredNorms checks the p-norm algorithm on all settings.
func squaredNorms(sub subject, sets []setting) *statementGroup[*trajectory] {
	g := &statementGroup[*trajectory]{statements: squaredStatements, oneCase: true}
	for _, set := range sets {
		of := sub.descent(set, expTail, growingSteps)
		of.psi, of.degree, of.shorter = mirror.SquaredNorm(set.p), 2, 4
		of.step = func() mirror.Potential { return sub.squared(set.p) }
		g.runs = append(g.runs, sub.run(of, set.space()))
	}
	return g
}

// quadratics checks a diagonal form on the problems, once each.
func quadratics(sub subject, sets []setting) *statementGroup[*trajectory] {
	g := &statementGroup[*trajectory]{statements: quadraticStatements, oneCase: true}
	for _, set := range withoutP(sets) {
		a := make([]float64, len(set.w0))
		for j := range a {
			a[j] = 0.5 + float64(j%5)
		}
		set.p = 2
		psi := mirror.Quadratic(a)
		norm := func(w []float64) float64 { return math.Sqrt(2 * psi.Value(w)) }
		r := sub.run(descentOf{
			setting: set, geometry: geometry{psi, 2, norm}, loss: expTail, rule: growingSteps, shorter: 2,
			step: func() mirror.Potential { return sub.quadratic(a) },
			direction: func() ([]float64, float64, error) {
				s, err := margin.SolveQuadratic(context.Background(), set.prob, a, margin.Settings{})
				if err != nil {
					return nil, 0, err
				}
				return scaled(1/norm(s.W), s.W), s.Lower, nil
			},
		}, set.space())
		r.p = 0
		g.runs = append(g.runs, r)
	}
	return g
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
	s, err := descendNormalized(l.ctx, psi, l.sub.loss(expTail.loss), l.prob)
	var over *linear.OverflowError
	if s == nil || err != nil && !errors.As(err, &over) {
		return nil, err
	}
	return s.W, nil
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

// quickSteps is the length of normalised descents.
const quickSteps = 100_000

// descendNormalized runs quickSteps normalised steps from 0. If the descent fails, it returns the error and the state
// before it.
func descendNormalized(ctx context.Context, psi mirror.Potential, loss linear.Loss, prob linear.Problem,
) (*linear.State, error) {
	d := linear.Descent{Potential: psi, Loss: loss, Normalized: true}
	var err error
	if d.Eta, err = d.FindStep(ctx, prob, nil); err != nil {
		return nil, err
	}
	s, err := d.Start(prob, nil)
	if err != nil {
		return nil, err
	}
	return s, s.Run(ctx, quickSteps)
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
