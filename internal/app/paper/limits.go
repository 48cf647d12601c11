package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

const (
	longSteps  = 3_000_000 // of plain p-GD in the plane
	quickSteps = 100_000   // of normalised steps
)

// limitStatements are about where descents and regularisation paths end.
var limitStatements = []statement[*limit]{
	{
		Name:     "Lemma 4: loss",
		Claim:    "L(w_t) → 0: each of the last two decades of steps lowers it",
		Quantity: "largest loss over that a decade earlier",
		Bound:    0.9,
		At:       inPlane,
		Check: ofLongDescent(func(d *longDescent, r *tally) {
			for _, t := range []int{longSteps, longSteps / 10} {
				r.record(d.at(t).Loss / d.at(t/10).Loss)
			}
		}),
	},
	{
		Name:     "Lemma 4: norm",
		Claim:    "‖w_t‖ₚ → ∞: each of the last two decades of steps raises it",
		Quantity: "least norm over that a decade earlier",
		Bound:    1.05,
		AtLeast:  true,
		At:       inPlane,
		Check: ofLongDescent(func(d *longDescent, r *tally) {
			for _, t := range []int{longSteps, longSteps / 10} {
				r.record(d.at(t).Norm / d.at(t/10).Norm)
			}
		}),
	},
	{
		Name:     "Theorem 13: limit direction, constant step",
		Claim:    "D(u, w_t/‖w_t‖ₚ) falls with a constant step, R², 3·10⁶ steps",
		Quantity: "largest D at the end over the start",
		Bound:    0.6,
		At:       inPlane,
		Check: ofLongDescent(func(d *longDescent, r *tally) {
			r.record(d.at(longSteps).Divergence / d.points[0].Divergence)
		}),
	},
	{
		Name:     "Theorem 13: limit direction",
		Claim:    "w_t/‖w_t‖ₚ → u: D(u, w_t/‖w_t‖ₚ) for p-GD with normalised steps, R² and (p ≤ 3) R¹⁰⁰",
		Quantity: "largest D at the end",
		Bound:    5e-5,
		At:       func(l *limit) bool { return l.plane() || l.p <= 3 },
		Check:    func(l *limit, r *tally) { l.normalizedDescent(l.sub.potential(l.p), r) },
	},
	{
		Name: "Corollary 15: rate in the norm",
		Claim: "D(u, w_t/‖w_t‖ₚ)·‖w_t‖^(p−1) stays bounded: no larger from √T to T than before " +
			"(p ≤ 3: for larger p the norm is still below 5)",
		Slip:     "the proof leaves α fixed, so it shows a limit α/(1+α) and not 0",
		Quantity: "largest of the second half of log t over the first",
		Bound:    1,
		At:       inPlaneUpTo3,
		Check: ofLongDescent(func(d *longDescent, r *tally) {
			r.record(d.growth(func(pt linear.Point) float64 { return pt.Divergence * math.Pow(pt.Norm, d.p-1) }))
		}),
	},
	{
		Name: "Corollary 17: rate in t",
		Claim: "D(u, w_t/‖w_t‖ₚ)·log^(p−1) t stays bounded: no larger from √T to T than before " +
			"(p ≤ 3)",
		Quantity: "largest of the second half of log t over the first",
		Bound:    1,
		At:       inPlaneUpTo3,
		Check: ofLongDescent(func(d *longDescent, r *tally) {
			r.record(d.growth(func(pt linear.Point) float64 {
				return pt.Divergence * math.Pow(math.Log(float64(pt.Step)), d.p-1)
			}))
		}),
	},
	{
		Name:     "Uniqueness of the max-margin direction",
		Claim:    "one u for rows and columns in any order, and with doubled rows",
		Quantity: "largest D between solutions",
		Bound:    1e-6,
		Check: func(l *limit, r *tally) {
			exact, err := l.exact()
			if err != nil {
				r.fail(err)
				return
			}
			other, err := l.shuffled()
			if err != nil {
				r.fail(err)
				return
			}
			r.record(mirror.Divergence(mirror.Power(l.p), exact.u, other))
		},
	},
	{
		Name:     "Proposition 14, exponential loss",
		Claim:    "w̄(B)/B → u",
		Quantity: "largest D at the end of the path",
		Bound:    1e-4,
		Check: ofPath(linear.Exponential{}, 500, func(p *regularPath, r *tally) {
			r.record(p.divergence(p.end()))
		}),
	},
	{
		Name:     "Proposition 14, logistic loss",
		Claim:    "w̄(B)/B → u: any loss with an exponential tail",
		Quantity: "largest D at the end of the path",
		Bound:    1e-4,
		Check: ofPath(linear.Logistic{}, 500, func(p *regularPath, r *tally) {
			r.record(p.divergence(p.end()))
		}),
	},
	{
		Name:     "regularised direction, polynomial tail",
		Claim:    "w̄(B)/B does not tend to u if the tail is polynomial (R¹⁰⁰)",
		Quantity: "least D at the end of the path over that a decade in B earlier",
		Bound:    0.5,
		AtLeast:  true,
		Beyond:   true,
		At:       func(l *limit) bool { return !l.plane() }, // in the plane the two can agree by chance
		Check: ofPath(linear.PolynomialTail{}, 1e4, func(p *regularPath, r *tally) {
			r.record(p.divergence(p.end()) / p.divergence(p.end()/10))
		}),
	},
	{
		Name:     "½‖·‖ₚ² and (1/p)‖·‖ₚᵖ",
		Claim:    "SquaredNorm(p) tends to the same direction u as Power(p), normalised steps",
		Quantity: "largest D at the end",
		Bound:    1e-3,
		Beyond:   true,
		Check:    func(l *limit, r *tally) { l.normalizedDescent(l.sub.squared(l.p), r) },
	},
}

func inPlane(l *limit) bool      { return l.plane() }
func inPlaneUpTo3(l *limit) bool { return l.plane() && l.p <= 3 }

// limit is a setting with the exact direction that descents on it tend to. What several statements need is computed
// when it is first needed.
type limit struct {
	setting
	ctx         context.Context
	sub         subject
	exact       func() (exactDirection, error)
	longDescent func() (*longDescent, error)
}

// exactDirection is the max-margin direction, ‖u‖ₚ = 1, and its margin γ̂ₚ.
type exactDirection struct {
	u      []float64
	margin float64
}

// limits checks limitStatements on all settings.
func limits(sub subject, sets []setting) *statementGroup[*limit] {
	g := &statementGroup[*limit]{statements: limitStatements}
	for _, set := range sets {
		g.runs = append(g.runs, func(ctx context.Context, each func(*limit)) error {
			l := &limit{setting: set, ctx: ctx, sub: sub}
			l.exact = sync.OnceValues(func() (exactDirection, error) {
				u, m, err := sub.direction(set.prob, set.p)
				return exactDirection{u, m}, err
			})
			l.longDescent = sync.OnceValues(l.runLongDescent)
			each(l)
			return nil
		})
	}
	return g
}

// longDescent is plain p-GD in the plane for many steps.
type longDescent struct {
	p      float64
	points []linear.Point
}

func (l *limit) runLongDescent() (*longDescent, error) {
	exact, err := l.exact()
	if err != nil {
		return nil, err
	}
	s, err := linear.Descent{Potential: l.sub.potential(l.p), Loss: l.sub.loss, Eta: largeEta}.Start(l.prob, l.w0)
	if err != nil {
		return nil, err
	}
	tr := linear.Trace{P: l.p, Reference: exact.u, PerDecade: 20}
	if err := tr.Run(l.ctx, s, longSteps); err != nil {
		return nil, err
	}
	return &longDescent{l.p, tr.Points}, nil
}

// ofLongDescent returns a check of the long descent.
func ofLongDescent(check func(*longDescent, *tally)) func(*limit, *tally) {
	return func(l *limit, r *tally) {
		d, err := l.longDescent()
		if err != nil {
			r.fail(err)
			return
		}
		check(d, r)
	}
}

// at returns the first point from a step on.
func (d *longDescent) at(step int) linear.Point {
	i, _ := slices.BinarySearchFunc(d.points, step, func(p linear.Point, t int) int { return p.Step - t })
	return d.points[min(i, len(d.points)-1)]
}

// growth is the largest f of the second half of log t over that of the first.
func (d *longDescent) growth(f func(linear.Point) float64) float64 {
	largest := func(from, to int) float64 {
		v := math.Inf(-1)
		for _, pt := range d.points {
			if pt.Step >= from && pt.Step < to {
				v = max(v, f(pt))
			}
		}
		return v
	}
	half := int(math.Sqrt(float64(longSteps)))
	return largest(half, longSteps+1) / largest(10, half)
}

// normalizedDescent records how far from the exact direction the normalised steps of a potential end.
func (l *limit) normalizedDescent(psi mirror.Potential, r *tally) {
	exact, err := l.exact()
	if err != nil {
		r.fail(err)
		return
	}
	s, err := descendNormalized(l.ctx, psi, l.sub.loss, l.prob)
	if err != nil {
		r.fail(fmt.Errorf("%v, %v: %w", l.setting, psi, err))
		return
	}
	r.record(s.Measure(l.p, exact.u).Divergence)
}

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

// shuffled solves the problem with a row doubled and rows and columns in another order, and restores the order of the
// columns.
func (l *limit) shuffled() ([]float64, error) {
	n, d := l.prob.Dims()
	rng := rand.New(rand.NewPCG(9, uint64(n)))
	cols, order := rng.Perm(d), rng.Perm(n)
	var rows [][]float64
	for _, i := range append(order, order[0]) {
		idx, val := l.prob.X.Row(i)
		row := make([]float64, d)
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			row[cols[j]] = v
		}
		rows = append(rows, row)
	}
	v, _, err := l.sub.direction(linear.Problem{X: matrix.FromRows(rows)}, l.p)
	if err != nil {
		return nil, err
	}
	back := make([]float64, d)
	for j, c := range cols {
		back[j] = v[c]
	}
	return back, nil
}

// regularPath is a regularisation path w̄(B).
type regularPath struct {
	p      float64
	u      []float64
	points []margin.PathPoint
}

// ofPath returns a check of the path of a loss, up to B = to/γ̂ₚ.
func ofPath(loss margin.Curved, to float64, check func(*regularPath, *tally)) func(*limit, *tally) {
	return func(l *limit, r *tally) {
		exact, err := l.exact()
		if err != nil {
			r.fail(err)
			return
		}
		points, err := margin.Path{P: l.p, Loss: l.sub.pathLoss(loss), To: to / exact.margin}.Run(l.ctx, l.prob)
		if err != nil {
			r.fail(fmt.Errorf("%v, %v: %w", l.setting, loss, err))
			return
		}
		check(&regularPath{l.p, exact.u, points}, r)
	}
}

// end is the largest B.
func (p *regularPath) end() float64 { return p.points[len(p.points)-1].B }

// divergence is D(u, w̄(B)/‖w̄(B)‖ₚ) at the first point from B on.
func (p *regularPath) divergence(b float64) float64 {
	i, _ := slices.BinarySearchFunc(p.points, b, func(pt margin.PathPoint, b float64) int {
		if pt.B < b {
			return -1
		}
		return 1
	})
	w := p.points[min(i, len(p.points)-1)].W
	return mirror.Divergence(mirror.Power(p.p), p.u, scaled(1/mirror.Norm(w, p.p), w))
}
