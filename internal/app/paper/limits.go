package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// pathStatements are about regularisation paths, and about all w of the norms on the way: on a path lies the w of least
// loss of its norm, the worst case of Lemma 11.
var pathStatements = []statement[*pathPoint]{
	{
		Name:     "Lemma 11, the reference vector, for any w",
		Claim:    "L((1+α)‖w‖u) ≤ L(w) for ‖w‖ ≥ r_α: at the w of least loss of its norm, and at random w; 4 α for each norm",
		Quantity: "largest log L((1+α)‖w‖u) − log L(w)",
		Bound:    1e-9,
		If:       func(p *pathPoint) bool { return !math.IsInf(p.rho, 1) },
		Check: func(p *pathPoint, r *tally) {
			for _, times := range []float64{1, 1.2, 2, 10} {
				left := p.logLoss(scaled(p.b+times*p.rho, p.u))
				for _, w := range p.points {
					r.record(left - p.logLoss(w))
				}
			}
		},
	},
	{
		Name:     "Corollary 12, the cross term, for any w",
		Claim:    "⟨∇L(w), w⟩ ≥ (1+α)‖w‖⟨∇L(w), u⟩ for ‖w‖ ≥ r_α, at the same w and α",
		Quantity: oneStep,
		Bound:    1e-9,
		If:       func(p *pathPoint) bool { return !math.IsInf(p.rho, 1) },
		Check: func(p *pathPoint, r *tally) {
			grad := make([]float64, len(p.u))
			for _, w := range p.points {
				p.at(grad, w)
				for _, times := range []float64{1, 1.2, 2, 10} {
					r.atMost((p.b+times*p.rho)*dot(grad, p.u), dot(grad, w))
				}
			}
		},
	},
	{
		Name: "Proposition 14, exponential tails",
		Claim: "w̄(B)/B → u: γ̂ − γ(w̄(B))/B ≤ log(n/κ)/(aB), and D(w̄(B)/B, u) is at most that over γ̂; " +
			"ℓ between κb·e^(−as) and b·e^(−as)",
		Slip:     "its proof has L as a sum in one line and as a mean elsewhere",
		Quantity: oneStep,
		Bound:    1e-9,
		Runs:     exponentialPath,
		At:       func(p *pathPoint) bool { return p.low >= 0 },
		Check: func(p *pathPoint, r *tally) {
			bound := (math.Log(p.n/p.kappa) + math.Log1p(p.gap)) / p.a / p.b / p.margin
			r.atMost(1-p.low/p.b/p.margin, bound, 1)
			r.atMost(p.reverse, bound, 1)
			if p.ended && bound > 0.05 {
				r.undecide("the path ends at B = %.3g, where the bound is %.2g", p.b, bound)
			}
		},
	},
	{
		Name:     "the regularised direction of a polynomial tail is not u",
		Claim:    "D(w̄(B)/B, u) does not fall over the last factor of ten in B (R¹⁰⁰), u the max-margin direction",
		Quantity: "least D at the end of the path over that a factor of ten in B earlier",
		Bound:    0.5,
		AtLeast:  true,
		Beyond:   true,
		Runs:     func(w where) bool { return w.loss == polyTail.name && w.data == "R¹⁰⁰" }, // in R² they can agree by chance
		At:       func(p *pathPoint) bool { return p.ended },
		Check: func(p *pathPoint, r *tally) {
			if p.earlier == 0 {
				r.undecide("the path ends at B = %.3g, before a factor of ten", p.b)
				return
			}
			r.record(p.apart / p.earlier)
		},
	},
}

func exponentialPath(w where) bool { return w.loss != polyTail.name }

// pathPoint is a point of a regularisation path, and other points of the same norm.
type pathPoint struct {
	landscape
	b       float64     // the norm
	points  [][]float64 // w̄(B), then others
	gap     float64     // (L(w̄(B)) − min L)/L is at most this
	rho     float64     // least ρ of Lemma 11
	low     float64     // the margin of w̄(B)
	reverse float64     // D(w̄(B)/B, u)
	apart   float64     // D(w̄(B)/B, the max-margin direction), and the same at B/10
	earlier float64
	ended   bool
}

// location names the case.
func (p *pathPoint) location() location {
	return location{fmt.Sprintf("%v, %s, B = %.3g", p.set, p.name, p.b), -1}
}

// paths checks pathStatements on all settings and losses.
func paths(sub subject, sets []setting) *statementGroup[*pathPoint] {
	g := &statementGroup[*pathPoint]{statements: pathStatements}
	for _, set := range sets {
		for _, l := range tails {
			g.runs = append(g.runs, run[*pathPoint]{where{p: set.p, data: set.space(), loss: l.name},
				func(ctx context.Context, each func(*pathPoint)) error { return followPath(ctx, sub, set, l, each) }})
		}
	}
	return g
}

// followPath computes a path and passes its points.
func followPath(ctx context.Context, sub subject, set setting, l tail, each func(*pathPoint)) error {
	best, largest, err := sub.direction(set.prob, set.p)
	if err != nil {
		return err
	}
	u, m, to := best, largest, 300.0
	if !l.exponential() {
		if u, m, err = sub.regularised(set.prob, set.p, l.loss); err != nil {
			return err
		}
		to = 1e4
	}
	points, err := margin.Path{P: set.p, Loss: sub.pathLoss(l.loss), To: to / largest, PerDecade: 5}.Run(ctx, set.prob)
	if err != nil && (ctx.Err() != nil || len(points) < 2) { // a large p leaves the range of floats on the way
		return fmt.Errorf("%v, %s: %w", set, l.name, err)
	}
	psi := mirror.Power(set.p)
	rng := rand.New(rand.NewPCG(uint64(len(u)), 0x70617468))
	apart := make([]float64, len(points))
	earlier := 0 // the point a factor of ten before
	p := &pathPoint{landscape: newLandscape(sub, set, l, u, m)}
	for i, pt := range points {
		unit := scaled(1/mirror.Norm(pt.W, set.p), pt.W)
		p.b, p.gap, p.low = mirror.Norm(pt.W, set.p), pt.Gap, pt.Margin*pt.B
		p.reverse, apart[i] = mirror.Divergence(psi, unit, u), mirror.Divergence(psi, unit, best)
		for earlier < i && points[earlier+1].B <= p.b/10 {
			earlier++
		}
		if p.apart, p.earlier = apart[i], 0; points[earlier].B <= p.b/10 {
			p.earlier = apart[earlier]
		}
		p.rho = p.reference(p.b)
		p.points = [][]float64{pt.W}
		for k := range 4 { // random points, and points near the path
			w := make([]float64, len(u))
			for j := range w {
				if w[j] = rng.NormFloat64(); k > 1 {
					w[j] = unit[j] * (1 + 0.1*w[j])
				}
			}
			p.points = append(p.points, scaled(p.b/mirror.Norm(w, set.p), w))
		}
		p.ended = i == len(points)-1
		each(p)
	}
	return nil
}

// uniqueStatements are about the max-margin direction.
var uniqueStatements = []statement[*solutions]{{
	Name: "Proposition 14, proof: u is unique",
	Claim: "1 − ‖(v + v′)/2‖ₚ ≤ ε for any two unit vectors of margin (1−ε)γ̂ or more, as in the proof. Five of them: " +
		"two exact solutions (one of the problem with its rows doubled and its rows and columns in another order), an " +
		"accelerated fit, and two descents from different starts",
	Quantity: "largest 1 − ‖(v + v′)/2‖ − ε",
	Bound:    1e-9,
	Check: func(s *solutions, r *tally) {
		for i := range s.units {
			for j := range i {
				mid := scaled(0.5, s.units[i])
				for c, v := range s.units[j] {
					mid[c] += v / 2
				}
				r.record(1 - mirror.Norm(mid, s.p) - max(s.short[i], s.short[j]))
			}
		}
		if worst := max(s.short[0], s.short[1], s.short[2]); worst > 0.01 {
			r.undecide("the solutions are %.2g from the largest margin", worst)
		}
	},
}}

// solutions are unit vectors of nearly largest margin, found by different methods.
type solutions struct {
	setting
	units [][]float64
	short []float64 // 1 − margin/γ̂
}

// location names the case.
func (s *solutions) location() location { return location{s.String(), -1} }

// uniqueness checks uniqueStatements on all settings.
func uniqueness(sub subject, sets []setting) *statementGroup[*solutions] {
	g := &statementGroup[*solutions]{statements: uniqueStatements}
	for _, set := range sets {
		g.runs = append(g.runs, run[*solutions]{where{p: set.p, data: set.space()},
			func(ctx context.Context, each func(*solutions)) error {
				s := &solutions{setting: set}
				if err := s.find(ctx, sub); err != nil {
					return fmt.Errorf("%v: %w", set, err)
				}
				each(s)
				return nil
			}})
	}
	return g
}

func (s *solutions) find(ctx context.Context, sub subject) error {
	exact, best, err := sub.direction(s.prob, s.p)
	if err != nil {
		return err
	}
	other, err := s.shuffled(sub)
	if err != nil {
		return err
	}
	fast, err := linear.Accelerated{P: s.p}.Fit(ctx, s.prob, linear.Hooks{})
	if err != nil {
		return err
	}
	s.units = [][]float64{exact, other, fast.W}
	for seed := range uint64(2) {
		w0 := start(seed, streamStart2, len(exact), 1)
		d := linear.Descent{Potential: sub.potential(s.p), Loss: sub.loss(expTail.loss), Normalized: true, Eta: 0.1 * s.p}
		state, err := d.Start(s.prob, w0)
		if err != nil {
			return err
		}
		if err := state.Run(ctx, 2000); err != nil {
			return err
		}
		s.units = append(s.units, state.W)
	}
	for i, w := range s.units {
		s.units[i] = scaled(1/mirror.Norm(w, s.p), w)
		m, _ := s.prob.Margin(s.units[i])
		s.short = append(s.short, 1-m/best)
	}
	return nil
}

// shuffled solves the problem with its rows doubled and rows and columns in another order, and restores the order of
// the columns.
func (s *solutions) shuffled(sub subject) ([]float64, error) {
	n, d := s.prob.Dims()
	rng := rand.New(rand.NewPCG(9, uint64(n)))
	cols, order := rng.Perm(d), rng.Perm(n)
	var rows [][]float64
	for _, i := range append(order, order...) {
		idx, val := s.prob.X.Row(i)
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
	v, _, err := sub.direction(linear.Problem{X: matrix.FromRows(rows)}, s.p)
	if err != nil {
		return nil, err
	}
	back := make([]float64, d)
	for j, c := range cols {
		back[j] = v[c]
	}
	return back, nil
}
