package paper

import (
	"context"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// breaker breaks the subject on purpose, in one way. A check that still passes has not looked.
type breaker struct {
	name, about string
	algorithm   bool // it breaks the descent, not what the descent is compared with
	apply       func(*subject)
}

// breakerPs are the p that broken algorithms are tried with.
var breakerPs = []float64{1.5, 2, 3}

// breakers are all of them, those of the algorithm first.
var breakers = []breaker{
	{"wrong p", "the descent uses the mirror map of 1 + 3(p−1)", true, func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return mirror.Power(1 + 3*(p-1)) }
		s.squared = func(p float64) mirror.Potential { return mirror.SquaredNorm(1 + 3*(p-1)) }
		s.quadratic = func(a []float64) mirror.Potential {
			b := make([]float64, len(a))
			for j, v := range a {
				b[len(b)-1-j] = v
			}
			return mirror.Quadratic(b)
		}
	}},
	{"wrong exponent", "the mirror map has the exponent p for p − 1, and its inverse 1/p", true, func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return wrongExponent{mirror.Power(p), p} }
	}},
	{"wrong inverse", "the inverse of the mirror map is 1 % too large", true, func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return wrongInverse{mirror.Power(p)} }
		s.squared = func(p float64) mirror.Potential { return wrongInverse{mirror.SquaredNorm(p)} }
	}},
	{"no mirror", "the descent subtracts the gradient from w, as for p = 2", true, func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return mirror.Power(2) }
		s.squared = func(p float64) mirror.Potential { return mirror.Power(2) }
		s.quadratic = func(a []float64) mirror.Potential { return mirror.Power(2) }
	}},
	{"norm in the step", "p-GD divides by a norm, as the p-norm algorithm does, and that one does not", true,
		func(s *subject) { s.potential, s.squared = s.squared, s.potential }},
	{"wrong sign", "the descent climbs", true, scaleGradient(-1)},
	{"frozen", "the descent does not move", true, scaleGradient(0)},
	{"short step", "the step is half of what it should be", true, scaleGradient(0.5)},
	{"long step", "the step is fifty times what it should be", true, scaleGradient(50)},
	{"first example", "the gradient is that of the first example alone", true, func(s *subject) {
		right := s.loss
		s.loss = func(l margin.Curved) linear.Loss { return otherGradient{right(l), firstOnly} }
		s.square = otherGradient{s.square, firstOnly}
	}},
	{"perturbed limit", "the limit direction is turned by some ten degrees", false, func(s *subject) {
		right, regularised, project := s.direction, s.regularised, s.project
		s.direction = func(prob linear.Problem, p float64) ([]float64, float64, error) {
			u, m, err := right(prob, p)
			return turned(u, p), m, err
		}
		s.regularised = func(prob linear.Problem, p float64, loss margin.Curved) ([]float64, float64, error) {
			u, m, err := regularised(prob, p, loss)
			return turned(u, p), m, err
		}
		s.project = func(prob linear.Problem, p float64, w0 []float64) (*margin.Projection, error) {
			return project(prob, p+1, w0)
		}
	}},
	{"opposite limit", "the limit direction points the other way", false, func(s *subject) {
		right, regularised := s.direction, s.regularised
		s.direction = func(prob linear.Problem, p float64) ([]float64, float64, error) {
			u, m, err := right(prob, p)
			return scaled(-1, u), m, err
		}
		s.regularised = func(prob linear.Problem, p float64, loss margin.Curved) ([]float64, float64, error) {
			u, m, err := regularised(prob, p, loss)
			return scaled(-1, u), m, err
		}
	}},
	{"wrong margin", "the largest margin is said to be 1 % smaller than it is", false, func(s *subject) {
		right := s.direction
		s.direction = func(prob linear.Problem, p float64) ([]float64, float64, error) {
			u, m, err := right(prob, p)
			return u, 0.99 * m, err
		}
	}},
	{"wrong norm", "norms are a tenth of what they are", false, func(s *subject) {
		s.norm = func(x []float64, p float64) float64 { return mirror.Norm(x, p) / 10 }
	}},
	{"wrong divergence", "D(w, w′) is D(w′, w)", false, func(s *subject) {
		s.divergence = func(psi mirror.Potential, x, y []float64) float64 { return mirror.Divergence(psi, y, x) }
	}},
	{"wrong degree", "the divergence is its root", false, func(s *subject) {
		s.divergence = func(psi mirror.Potential, x, y []float64) float64 { return math.Sqrt(mirror.Divergence(psi, x, y)) }
	}},
	{"wrong powers", "x^(p−1) is x^(p−½)", false, func(s *subject) {
		s.powers = func(p, x float64) (float64, float64) { return math.Pow(x, p), math.Pow(x, p-0.5) }
	}},
	{"low powers", "x^(p−1) is x^(p−1.5)", false, func(s *subject) {
		s.powers = func(p, x float64) (float64, float64) { return math.Pow(x, p), math.Pow(x, p-1.5) }
	}},
	{"wrong path", "paths of exponential tails are those of the polynomial one, and the other way round", false,
		func(s *subject) {
			s.pathLoss = func(l margin.Curved) margin.Curved {
				if _, ok := l.(linear.PolynomialTail); ok {
					return linear.Exponential{}
				}
				return linear.PolynomialTail{}
			}
		}},
}

// wrongExponent is a potential whose mirror map and inverse have the exponents p and 1/p, not p − 1 and 1/(p−1).
type wrongExponent struct {
	mirror.Potential
	p float64
}

func (w wrongExponent) Mirror(dst, x []float64)  { mirror.Power(w.p+1).Mirror(dst, x) }
func (w wrongExponent) Inverse(dst, z []float64) { mirror.Power(w.p+1).Inverse(dst, z) }

// wrongInverse has the right mirror map.
type wrongInverse struct{ mirror.Potential }

func (w wrongInverse) Inverse(dst, z []float64) {
	w.Potential.Inverse(dst, z)
	for j := range dst {
		dst[j] *= 1.01
	}
}

// otherGradient is a loss with another gradient.
type otherGradient struct {
	linear.Loss
	change func(coef []float64)
}

func (c otherGradient) Weights(dst, s []float64)    { c.Loss.Weights(dst, s); c.change(dst) }
func (c otherGradient) Normalized(dst, s []float64) { c.Loss.Normalized(dst, s); c.change(dst) }

func firstOnly(coef []float64) { clear(coef[1:]) }

// scaleGradient multiplies the gradient that descents use.
func scaleGradient(factor float64) func(*subject) {
	scale := func(coef []float64) {
		for i := range coef {
			coef[i] *= factor
		}
	}
	return func(s *subject) {
		right := s.loss
		s.loss = func(l margin.Curved) linear.Loss { return otherGradient{right(l), scale} }
		s.square = otherGradient{s.square, scale}
	}
}

// turned is a unit vector some ten degrees from u.
func turned(u []float64, p float64) []float64 {
	if u == nil {
		return nil
	}
	v := make([]float64, len(u))
	for j := range v {
		v[j] = u[j] + 0.2*u[(j+1)%len(u)]*float64(1-2*(j%2))
	}
	return scaled(1/mirror.Norm(v, p), v)
}

// breakage is which statements fail under which breakers.
type breakage struct {
	findings []Finding                  // of the algorithm as it is
	fails    map[string]map[string]bool // statement, breaker
}

// breakAll checks all statements on every broken subject. progress is called after each.
func breakAll(ctx context.Context, ps []float64, seeds int, progress func(done, all int)) (*breakage, error) {
	m := &breakage{fails: map[string]map[string]bool{}}
	var err error
	if m.findings, _, err = verify(ctx, ours(ctx), ps, 1, seeds, func(int) {}); err != nil {
		return nil, err
	}
	progress(1, len(breakers)+1)
	for _, f := range m.findings {
		m.fails[f.Name] = map[string]bool{}
	}
	for i, b := range breakers {
		sub := ours(ctx)
		b.apply(&sub)
		findings, _, err := verify(ctx, sub, ps, 1, seeds, func(int) {})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		for _, f := range findings {
			m.fails[f.Name][b.name] = f.Verdict == Fail
		}
		progress(i+2, len(breakers)+1)
	}
	return m, nil
}

// missed are the statements that no breaker makes fail, or that are about the algorithm and that only breakers of
// something else make fail; and the breakers that nothing notices.
func (m *breakage) missed() []string {
	var out []string
	noticed := map[string]bool{}
	for _, f := range m.findings {
		caught := false
		for _, b := range breakers {
			if m.fails[f.Name][b.name] {
				noticed[b.name] = true
				caught = caught || b.algorithm || !f.Descent
			}
		}
		if !caught {
			out = append(out, f.Name)
		}
	}
	for _, b := range breakers {
		if !noticed[b.name] {
			out = append(out, "breaker "+b.name)
		}
	}
	return out
}

// table has a row for each statement and a column for each breaker.
func (m *breakage) table() render.Table {
	t := render.Table{Title: "Which broken algorithm makes which statement fail", Header: []string{"statement"}}
	for i, b := range breakers {
		t.Header = append(t.Header, fmt.Sprintf("%c", 'A'+i))
		if t.Note != "" {
			t.Note += "; "
		}
		t.Note += fmt.Sprintf("%c %s: %s", 'A'+i, b.name, b.about)
	}
	for _, f := range m.findings {
		row := []render.Cell{render.Text("%s", f.Name)}
		for _, b := range breakers {
			mark := "·"
			if m.fails[f.Name][b.name] {
				mark = "×"
			}
			row = append(row, render.Text("%s", mark))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// json is the names of the breakers that make each statement fail; nil if nothing was broken.
func (m *breakage) json() map[string][]string {
	if m == nil {
		return nil
	}
	out := map[string][]string{}
	for _, f := range m.findings {
		out[f.Name] = []string{}
		for _, b := range breakers {
			if m.fails[f.Name][b.name] {
				out[f.Name] = append(out[f.Name], b.name)
			}
		}
	}
	return out
}
