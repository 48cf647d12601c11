package paper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// Finding is the result of checking one statement over all its cases.
type Finding struct {
	Name     string   `json:"name"`     // the statement's name and number in the paper
	Beyond   bool     `json:"beyond"`   // the paper does not make this statement
	Claim    string   `json:"claim"`    // in the form that was checked
	Slip     string   `json:"slip"`     // how the paper's text differs from it, empty if it does not
	Quantity string   `json:"quantity"` // what Measured is
	Measured Measure  `json:"measured"` // the worst over all cases
	Bound    float64  `json:"bound"`
	AtLeast  bool     `json:"at_least"` // Measured must be at least Bound, not at most
	Share    *float64 `json:"share"`    // of steps where the statement's condition held; null: it has none
	Cases    int      `json:"cases"`
	Worst    string   `json:"worst"` // the case of Measured
	Pass     bool     `json:"pass"`
	Tested   bool     `json:"tested"` // false: no case of these p and seeds put it to the test
}

// Measure is a number that may be infinite or NaN, null in JSON.
type Measure float64

// MarshalJSON writes null where there is no number.
func (m Measure) MarshalJSON() ([]byte, error) {
	if v := float64(m); v-v != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(m))
}

// check gathers the cases of one statement. The zero share counters mean that it has no condition.
type check struct {
	Finding
	worst       float64
	held, steps int
}

func newCheck(name, claim, slip, quantity string, bound float64) *check {
	c := &check{Finding: Finding{Name: name, Claim: claim, Slip: slip, Quantity: quantity, Bound: bound}, worst: math.Inf(-1)}
	return c
}

// atLeast turns the bound around.
func (c *check) atLeast() *check {
	c.AtLeast, c.worst = true, math.Inf(1)
	return c
}

// beyond marks a statement that the paper does not make.
func (c *check) beyond() *check {
	c.Beyond, c.Name = true, "Beyond the paper: "+c.Name
	return c
}

// broke records that a case could not even be measured.
func (c *check) broke(err error) {
	c.Cases++
	c.see(math.NaN(), err.Error())
}

// see records one measurement. NaN is a failure that nothing can make good.
func (c *check) see(v float64, where string) {
	worse := v > c.worst
	if c.AtLeast {
		worse = v < c.worst
	}
	if math.IsNaN(c.worst) {
		worse = false
	}
	if worse || math.IsNaN(v) {
		c.worst, c.Worst = v, where
	}
}

// merge takes the cases of another part of the same check.
func (c *check) merge(o *check) {
	c.Cases += o.Cases
	c.held += o.held
	c.steps += o.steps
	if o.Worst != "" {
		c.see(o.worst, o.Worst)
	}
}

// done judges. A statement that was never put to the test has not passed.
func (c *check) done() Finding {
	f := c.Finding
	if c.steps > 0 {
		s := float64(c.held) / float64(c.steps)
		f.Share = &s
	}
	f.Measured = Measure(c.worst)
	f.Tested = c.Cases > 0 && !(c.steps > 0 && c.held == 0) && !math.IsInf(c.worst, 0)
	if f.Pass = c.worst <= f.Bound; f.AtLeast {
		f.Pass = c.worst >= f.Bound
	}
	f.Pass = f.Pass && f.Tested
	return f
}

// subject is the algorithm under test. Tests put broken parts in place of ours and see the checks fail.
type subject struct {
	potential  func(p float64) mirror.Potential   // of p-GD
	squared    func(p float64) mirror.Potential   // of the p-norm algorithm
	quadratic  func(a []float64) mirror.Potential // a diagonal form
	loss       linear.Loss                        // as the descent uses it
	square     linear.Loss                        // likewise, for regression
	pathLoss   func(margin.Curved) margin.Curved  // likewise, for the regularisation path
	norm       func(x []float64, p float64) float64
	conjugate  func(p float64) float64
	divergence func(psi mirror.Potential, x, y []float64) float64
	powers     func(p, x float64) (xp, xp1 float64) // xᵖ and x^(p−1)
	// direction returns the unit vector of largest ℓₚ margin, and that margin.
	direction func(prob linear.Problem, p float64) (u []float64, margin float64, err error)
	// interpolate returns the solution of least ℓₚ norm.
	interpolate func(prob linear.Problem, p float64) ([]float64, error)
}

// ours is the algorithm as it is.
func ours(ctx context.Context) subject {
	return subject{
		potential: mirror.Power, squared: mirror.SquaredNorm, quadratic: mirror.Quadratic, loss: linear.Exponential{}, square: linear.Square{},
		pathLoss: func(l margin.Curved) margin.Curved { return l }, norm: mirror.Norm, conjugate: mirror.Conjugate,
		divergence: mirror.Divergence, powers: func(p, x float64) (float64, float64) { return math.Pow(x, p), math.Pow(x, p-1) },
		direction: func(prob linear.Problem, p float64) ([]float64, float64, error) {
			s, err := margin.Solve(ctx, prob, p, margin.Settings{})
			if err != nil {
				return nil, 0, err
			}
			return scaled(1/mirror.Norm(s.W, p), s.W), s.Lower, nil
		},
		interpolate: func(prob linear.Problem, p float64) ([]float64, error) {
			// the error of w is about the root of the gap
			s, err := margin.LeastNorm(ctx, prob, p, margin.Settings{Gap: 1e-14})
			var short *margin.GapError
			if errors.As(err, &short) && s != nil {
				err = nil // rounding: as good as it gets
			}
			if err != nil {
				return nil, err
			}
			return s.W, nil
		},
	}
}

// setting is one case: a problem with a start and a geometry.
type setting struct {
	name  string
	prob  linear.Problem
	w0    []float64
	p     float64
	eta   float64
	steps int
}

func (s setting) String() string { return fmt.Sprintf("%s, p = %v", s.name, s.p) }

// excess is how far left is above right, relative to the size of the terms: rounding leaves some 1e-15.
func excess(left, right float64, terms ...float64) float64 {
	size := math.Abs(left) + math.Abs(right)
	for _, t := range terms {
		size += math.Abs(t)
	}
	if size == 0 {
		return 0
	}
	return (left - right) / size
}

func dot(x, y []float64) float64 {
	var s float64
	for j := range x {
		s += x[j] * y[j]
	}
	return s
}

// scaled returns c·x.
func scaled(c float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for j, v := range x {
		out[j] = c * v
	}
	return out
}
