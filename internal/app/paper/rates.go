package paper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// rates is how fast p-GD converges in the plane: over many data sets of Figure 1, with both readings of its 0.15. The
// exact solution says what happens in the limit, the mirror flow what happens before, and steps of p-GD on two data
// sets how far the flow is from them.
type rates struct {
	figure  *figure1
	sets    []*followed
	skipped map[dataset.Reading]int // data sets that are not separable
	shown   []*shown
}

// ratePs are the exponents whose flows are followed. The first three are those of Figure 1.
var ratePs = []float64{1.5, 2, 3, 6}

const (
	perDecade = 10 // points of a flow
	lastTime  = 60 // decades that it is followed
	figurePs  = 3  // exponents of Figure 1, which “faster for larger p” is about
)

// followed is a separable data set with a flow for each p.
type followed struct {
	plane
	limits []*asymptote
	tracks []track
}

// track is a flow at t = 10^(k/perDecade), k = 1, 2, …; it is shorter if the flow is too stiff.
type track struct {
	logT, divergence, norm []float64
	side                   []float64 // the sign of the angle between w and u
}

// shown is a data set whose steps of p-GD are made, too.
type shown struct {
	*followed
	curves []*curve     // by p
	flows  [][2]float64 // by p: divergence and norm of the flow at the last step
}

// newRates solves the data sets: so many seeds of each reading, from that of Figure 1 on.
func newRates(ctx context.Context, figure *figure1, seeds int) (*rates, error) {
	r := &rates{figure: figure, skipped: map[dataset.Reading]int{}}
	for _, reading := range readings {
		for k := range seeds {
			s := &followed{plane: newPlane(figure.seed+uint64(k), reading)}
			for _, p := range ratePs {
				a, err := newAsymptote(ctx, s.prob, p)
				if none := (*margin.NotSeparableError)(nil); errors.As(err, &none) {
					break
				} else if err != nil {
					return nil, fmt.Errorf("the data of the plane with %v, p = %v: %w", s.plane, p, err)
				}
				s.limits = append(s.limits, a)
			}
			if s.limits == nil {
				r.skipped[reading]++
				continue
			}
			s.tracks = make([]track, len(ratePs))
			r.sets = append(r.sets, s)
		}
	}
	return r, r.show(ctx)
}

// show chooses the data sets that are drawn: that of Figure 1, and for contrast the first of the same reading with a
// rate of the other kind for p = 2: t^(−1/3), the fastest power of t, or log^(−2) t.
func (r *rates) show(ctx context.Context) error {
	const p2 = 1 // the index of p = 2
	var polylog bool
	for _, s := range r.of(r.figure.reading) {
		a := s.limits[p2]
		v := &shown{followed: s, flows: make([][2]float64, len(ratePs))}
		switch {
		case len(r.shown) == 0:
			polylog = a.polylog()
			v.curves = append(v.curves, r.figure.curves...)
		case polylog && (a.polylog() || a.Gap < a.Settle), !polylog && a.K == 0:
			continue
		}
		for _, p := range ratePs[len(v.curves):] {
			c, err := s.newCurve(ctx, p)
			if err != nil {
				return err
			}
			v.curves = append(v.curves, c)
		}
		if r.shown = append(r.shown, v); len(r.shown) == 2 {
			break
		}
	}
	return nil
}

// tasks are the descents that Figure 1 lacks, and the flows.
func (r *rates) tasks() []task {
	var tasks []task
	for _, v := range r.shown {
		for k, c := range v.curves {
			if !slices.Contains(r.figure.curves, c) {
				tasks = append(tasks, v.descend(c, r.figure.steps, "rates"))
			}
			tasks = append(tasks, task{0, func(ctx context.Context, _ func(int)) (any, error) {
				return nil, v.compare(ctx, k, r.figure.steps)
			}})
		}
	}
	for _, s := range r.sets {
		tasks = append(tasks, task{0, func(ctx context.Context, _ func(int)) (any, error) {
			for k := range ratePs {
				if err := s.follow(ctx, k); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}})
	}
	return tasks
}

// follow records a flow.
func (s *followed) follow(ctx context.Context, k int) error {
	a, t := s.limits[k], &s.tracks[k]
	f := newFlow(s.prob, a.P, eta, s.w0)
	for i := range lastTime * perDecade {
		err := f.run(ctx, float64(i+1)*math.Ln10/perDecade)
		if errors.Is(err, errStiff) {
			return nil
		} else if err != nil {
			return err
		}
		d, n := a.measure(f.W())
		t.logT, t.divergence, t.norm = append(t.logT, f.Tau), append(t.divergence, d), append(t.norm, n)
		w := f.W()
		t.side = append(t.side, math.Copysign(1, w[0]*a.U[1]-w[1]*a.U[0]))
	}
	return nil
}

// compare follows a flow to the last step of p-GD.
func (v *shown) compare(ctx context.Context, k, steps int) error {
	a := v.limits[k]
	f := newFlow(v.prob, a.P, eta, v.w0)
	err := f.run(ctx, math.Log1p(float64(steps)))
	if errors.Is(err, errStiff) {
		v.flows[k] = [2]float64{math.NaN(), math.NaN()}
		return nil
	} else if err != nil {
		return err
	}
	v.flows[k][0], v.flows[k][1] = a.measure(f.W())
	return nil
}

// measure returns D(u, w/‖w‖) and ‖w‖.
func (a *asymptote) measure(w []float64) (divergence, norm float64) {
	norm = mirror.Norm(w, a.P)
	return mirror.Divergence(mirror.Power(a.P), a.U, scaled(1/norm, w)), norm
}

// at is the index of the point at t = 10^decades, −1 if the flow was not followed so far.
func (t track) at(decades int) int {
	if k := decades*perDecade - 1; k < len(t.logT) {
		return k
	}
	return -1
}

// of are the data sets of a reading.
func (r *rates) of(reading dataset.Reading) []*followed {
	var out []*followed
	for _, s := range r.sets {
		if s.reading == reading {
			out = append(out, s)
		}
	}
	return out
}

// order says how the divergences of the p of Figure 1 compare.
type order struct{ Faster, Slower, Neither int } // D falls with p, rises with p, or neither

// count adds a data set, given whether D is smaller and larger for each next p.
func (o *order) count(smaller, larger bool) {
	switch {
	case smaller:
		o.Faster++
	case larger:
		o.Slower++
	default:
		o.Neither++
	}
}

// orderAt counts the orders at t = 10^decades.
func (r *rates) orderAt(reading dataset.Reading, decades int) (o order) {
	for _, s := range r.of(reading) {
		smaller, larger := true, true
		for k := 1; k < figurePs; k++ {
			i := s.tracks[k].at(decades)
			if i < 0 || s.tracks[k-1].at(decades) < 0 {
				smaller, larger = false, false
				break
			}
			before, after := s.tracks[k-1].divergence[i], s.tracks[k].divergence[i]
			smaller, larger = smaller && after < before, larger && after > before
		}
		o.count(smaller, larger)
	}
	return o
}

// orderInTheLimit counts the orders for t → ∞, and the data sets in which a larger p has a larger exponent.
func (r *rates) orderInTheLimit(reading dataset.Reading) (o order, byExponent int) {
	for _, s := range r.of(reading) {
		smaller, larger, exponent := true, true, true
		for k := 1; k < figurePs; k++ {
			before, after := s.limits[k-1].law(), s.limits[k].law()
			c := after.compare(before)
			smaller, larger = smaller && c < 0, larger && c > 0
			before.C, after.C = math.NaN(), math.NaN()
			exponent = exponent && after.compare(before) < 0
		}
		o.count(smaller, larger)
		if exponent {
			byExponent++
		}
	}
	return o, byExponent
}

// window is a range of t, in decades.
type window struct{ from, to int }

// windows are the last two decades of the paper's experiment, those of nine decades, and thirty decades that only the
// flow reaches.
var windows = []window{{4, 6}, {7, 9}, {30, lastTime}}

// verdict counts the flows of a window for the p of Figure 1.
type verdict struct {
	Flows, Falling int // followed so far; of these, D falls throughout
	Log, Power     int // of these, the model that fits better
	Right          int // of these, the better one is that of the limit
}

// judge fits both models in a window.
func (r *rates) judge(reading dataset.Reading, w window) (v verdict) {
	for _, s := range r.of(reading) {
		for k := range figurePs {
			t, polylog := s.tracks[k], s.limits[k].polylog()
			if t.at(w.to) < 0 {
				continue
			}
			v.Flows++
			f, ok := fitRate(t.logT, t.divergence, float64(w.from)*math.Ln10, float64(w.to)*math.Ln10)
			if !ok || !f.Falls {
				continue
			}
			v.Falling++
			if f.logarithmic() {
				v.Log++
			} else {
				v.Power++
			}
			if f.logarithmic() == polylog {
				v.Right++
			}
		}
	}
	return v
}

// passing counts the data sets in which, for some p of Figure 1, w passes through its limit direction after t = 10³.
func (r *rates) passing(reading dataset.Reading) (n int) {
	for _, s := range r.of(reading) {
		if slices.ContainsFunc(s.tracks[:figurePs], func(t track) bool {
			late := t.side[max(t.at(3), 0):]
			return len(late) > 0 && slices.Contains(late, -late[len(late)-1])
		}) {
			n++
		}
	}
	return n
}

// ratios are, sorted, the limits that D‖w‖² reaches for two support vectors, over K, at t = 10^decades.
func (r *rates) ratios(decades int) []float64 {
	var out []float64
	for _, s := range r.sets {
		for k, a := range s.limits {
			if i := s.tracks[k].at(decades); i >= 0 && a.K > 0 {
				t := s.tracks[k]
				out = append(out, t.divergence[i]*t.norm[i]*t.norm[i]/a.K)
			}
		}
	}
	slices.Sort(out)
	return out
}

// growths are, sorted, γ̂‖w‖ per log t over the last two decades before t = 10^decades, for one p.
func (r *rates) growths(k, decades int) []float64 {
	var out []float64
	for _, s := range r.sets {
		t := s.tracks[k]
		if i := t.at(decades); i >= 0 {
			j := t.at(decades - 2)
			out = append(out, s.limits[k].Margin*(t.norm[i]-t.norm[j])/(t.logT[i]-t.logT[j]))
		}
	}
	slices.Sort(out)
	return out
}

// outside counts the flows whose norm is not between the paper's bounds at some t ≥ 100.
func (r *rates) outside() (n int) {
	for _, s := range r.sets {
		for k, a := range s.limits {
			rows, _ := s.prob.Dims()
			b := normBounds{p: a.P, eta: eta, n: rows, margin: a.Margin, u: a.U, w0: s.w0,
				c: s.prob.RowNorm(mirror.Conjugate(a.P))}
			t := s.tracks[k]
			for i, norm := range t.norm {
				x := math.Exp(t.logT[i])
				if x >= 100 && (norm > b.upper(x) || norm < b.sharper(x)) {
					n++
					break
				}
			}
		}
	}
	return n
}

// flowError is the largest relative difference of norm and divergence between the flow and p-GD at its last step.
func (r *rates) flowError() (divergence, norm float64) {
	for _, v := range r.shown {
		for k, c := range v.curves {
			last := c.last()
			if math.IsNaN(v.flows[k][0]) {
				continue
			}
			divergence = max(divergence, math.Abs(v.flows[k][0]/last.Divergence-1))
			norm = max(norm, math.Abs(v.flows[k][1]/last.Norm-1))
		}
	}
	return divergence, norm
}
