package linear

import (
	"context"
	"encoding/json"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// Point is the record of one step. A quantity that does not apply is NaN, and left out of JSON.
type Point struct {
	Step       int
	Loss       float64 // L(w)
	Margin     float64 // γ(w)/‖w‖ₚ: the margin of the direction
	Norm       float64 // ‖w‖ₚ
	Divergence float64 // D_ψ(u, w/‖w‖ₚ) for the reference direction u, with ψ = (1/p)‖·‖ₚᵖ
	Angle      float64 // between w and u, in radians
	Gap        float64 // certified relative distance to the maximum margin
}

// MarshalJSON writes the finite quantities.
func (p Point) MarshalJSON() ([]byte, error) {
	some := func(v float64) *float64 {
		if !finite(v) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Step       int      `json:"step"`
		Loss       *float64 `json:"loss,omitempty"`
		Margin     *float64 `json:"margin,omitempty"`
		Norm       *float64 `json:"norm,omitempty"`
		Divergence *float64 `json:"divergence,omitempty"`
		Angle      *float64 `json:"angle,omitempty"`
		Gap        *float64 `json:"gap,omitempty"`
	}{p.Step, some(p.Loss), some(p.Margin), some(p.Norm), some(p.Divergence), some(p.Angle), some(p.Gap)})
}

// Trace follows a descent.
type Trace struct {
	P         float64     // the exponent of norm and divergence; 0: 2
	Reference []float64   // the direction u to compare with; nil: none
	Certify   bool        // also compute the gap
	PerDecade int         // points per factor of ten in steps; 0: 20
	StopGap   float64     // above 0: stop once the gap is at most this (implies Certify)
	Each      func(Point) // called at each point, if not nil
	Points    []Point

	upper     float64      // the least upper bound on the maximum margin so far
	certified int          // the step of the last certificate
	pause     func() error // called between steps from time to time, if not nil
}

// Run runs s to the given step and records a point at the start, at logarithmically spaced steps and at the end.
// Points recorded before an error are kept.
func (t *Trace) Run(ctx context.Context, s *State, steps int) error {
	if t.P == 0 {
		t.P = 2
	}
	if t.PerDecade == 0 {
		t.PerDecade = 20
	}
	t.Certify = t.Certify || t.StopGap > 0
	if s.T == 0 {
		t.record(s, false)
	}
	for _, at := range LogSteps(steps, t.PerDecade) {
		if at <= s.T {
			continue
		}
		if err := t.advance(ctx, s, at); err != nil {
			if n := len(t.Points); s.T > 0 && (n == 0 || t.Points[n-1].Step < s.T) {
				t.record(s, true)
			}
			return err
		}
		if t.record(s, at == steps) {
			return nil
		}
		if t.pause != nil {
			if err := t.pause(); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance runs s to a step, with pauses.
func (t *Trace) advance(ctx context.Context, s *State, to int) error {
	for few := s.few(); t.pause != nil && s.T+few < to; {
		if err := s.Run(ctx, s.T+few); err != nil {
			return err
		}
		if err := t.pause(); err != nil {
			return err
		}
	}
	return s.Run(ctx, to)
}

// certifyEvery is the fewest steps between two certificates: one costs about six products with the data, as
// much as three steps.
const certifyEvery = 10

// record appends the point of s and reports whether the gap is reached.
func (t *Trace) record(s *State, last bool) (done bool) {
	pt := s.Measure(t.P, t.Reference)
	possible := pt.Norm > 0 && !s.d.Loss.Residual() && finite(pt.Norm) && finite(pt.Margin)
	if t.Certify && possible && (last || s.T-t.certified >= certifyEvery) {
		t.certified = s.T
		if c := s.Certify(t.P); t.upper == 0 || c.Upper < t.upper {
			t.upper = c.Upper
		}
		pt.Gap = Certificate{Lower: pt.Margin, Upper: t.upper}.Gap()
	}
	t.Points = append(t.Points, pt)
	if t.Each != nil {
		t.Each(pt)
	}
	return t.StopGap > 0 && pt.Gap <= t.StopGap
}

// Upper returns the least upper bound on the maximum margin the trace has seen, +Inf if it certified nothing.
func (t *Trace) Upper() float64 {
	if t.upper == 0 {
		return math.Inf(1)
	}
	return t.upper
}

func finite(v float64) bool { return v-v == 0 }

// Measure computes the point of the current state, all but the gap.
func (s *State) Measure(p float64, reference []float64) Point {
	pt := Point{Step: s.T, Margin: math.NaN(), Divergence: math.NaN(), Angle: math.NaN(), Gap: math.NaN()}
	pt.Norm = mirror.Norm(s.W, p)
	score := s.score // scratch between steps
	if len(score) < s.n {
		score = make([]float64, s.n)
	}
	s.prob.X.Mul(score, s.W)
	s.label(score, nil, s.d.Loss.Residual())
	pt.Loss = s.d.Loss.Sum(score) / float64(s.n)
	if !s.d.Loss.Residual() && pt.Norm > 0 {
		pt.Margin = minOf(score) / pt.Norm
	}
	if reference != nil && pt.Norm > 0 {
		u, w := make([]float64, len(s.W)), make([]float64, len(s.W))
		vec.Scale(u, 1/mirror.Norm(reference, p), reference)
		vec.Scale(w, 1/pt.Norm, s.W)
		pt.Divergence = mirror.Divergence(mirror.Power(p), u, w)
		pt.Angle = Angle(u, w)
	}
	return pt
}

// Angle returns the angle between two vectors, exact even if it is small:
// 2·atan2(‖x/‖x‖ − y/‖y‖‖, ‖x/‖x‖ + y/‖y‖‖).
func Angle(x, y []float64) float64 {
	nx, ny := mirror.Norm(x, 2), mirror.Norm(y, 2)
	var minus, plus float64
	for j := range x {
		a, b := x[j]/nx, y[j]/ny
		minus += (a - b) * (a - b)
		plus += (a + b) * (a + b)
	}
	return 2 * math.Atan2(math.Sqrt(minus), math.Sqrt(plus))
}

// LogSteps returns steps from 1 to total, about perDecade per factor of ten and total itself.
func LogSteps(total, perDecade int) []int {
	var steps []int
	for k := 0; ; k++ {
		s := int(math.Round(math.Pow(10, float64(k)/float64(perDecade))))
		if s >= total {
			break
		}
		if len(steps) == 0 || steps[len(steps)-1] < s {
			steps = append(steps, s)
		}
	}
	if total > 0 {
		steps = append(steps, total)
	}
	return steps
}
