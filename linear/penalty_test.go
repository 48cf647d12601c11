package linear

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

var penalisedProblems = flag.Int("linear.penalised", 600, "so many random problems with a penalty")

// penalised is a random problem with a penalty: of any shape, scale, loss and p, separable or not.
type penalised struct {
	prob      Problem
	loss      Loss
	p, lambda float64
	about     string
}

func randomPenalised(seed uint64) penalised {
	rng := rand.New(rand.NewPCG(seed, 77))
	n, d := 1+rng.IntN(25), 1+rng.IntN(12)
	scale := math.Pow(10, 12*rng.Float64()-6)
	losses := []Loss{Logistic{}, Exponential{}, PolynomialTail{}, PolynomialTail{Degree: 3}, Square{}}
	c := penalised{loss: losses[rng.IntN(len(losses))], p: 1.05 * math.Pow(50/1.05, rng.Float64())}
	if rng.IntN(2) == 0 {
		c.p = []float64{1.05, 1.1, 1.5, 2, 3, 6, 10, 20, 50}[rng.IntN(9)]
	}
	rows, y := make([][]float64, n), make([]float64, n)
	hidden := make([]float64, d)
	for j := range hidden {
		hidden[j] = rng.NormFloat64()
	}
	noise := []float64{0, 0, 1, 10}[rng.IntN(4)]
	spread := []float64{0, 0, 2}[rng.IntN(3)] // features of different scales
	for i := range rows {
		rows[i] = make([]float64, d)
		var s float64
		for j := range rows[i] {
			rows[i][j] = rng.NormFloat64()
			s += rows[i][j] * hidden[j]
			if rng.IntN(4) == 0 {
				rows[i][j] = 0
			}
		}
		y[i] = math.Copysign(1, s+noise*rng.NormFloat64())
		if c.loss.Residual() {
			y[i] = s + noise*rng.NormFloat64()
		}
		if i > 0 && rng.IntN(10) == 0 { // the same example, and perhaps the other label
			copy(rows[i], rows[i-1])
		}
	}
	for j := range d {
		f := scale * math.Pow(10, spread*rng.NormFloat64())
		for i := range rows {
			rows[i][j] *= f
		}
	}
	c.prob = Problem{matrix.FromRows(rows), y}
	c.lambda = scale * scale * math.Pow(10, 10*rng.Float64()-8)
	c.about = fmt.Sprintf("seed %d: %d × %d of scale %.1e, %v loss, p = %.4g, lambda %.2e, noise %v",
		seed, n, d, scale, c.loss, c.p, c.lambda, noise)
	return c
}

// objective is L(w) + (λ/2)‖w‖ₚ².
func (c penalised) objective(w []float64) float64 {
	n, _ := c.prob.Dims()
	m := make([]float64, n)
	if c.prob.X.Mul(m, w); c.loss.Residual() {
		for i, y := range c.prob.Y {
			m[i] -= y
		}
	} else {
		c.prob.Margins(m, w)
	}
	norm := mirror.Norm(w, c.p)
	return c.loss.Sum(m)/float64(n) + c.lambda/2*norm*norm
}

// descend is the slow twin: from w, it searches along coordinates, the ray and random directions by golden sections,
// and returns the least objective it finds.
func (c penalised) descend(w []float64, rounds int) float64 {
	_, d := c.prob.Dims()
	rng := rand.New(rand.NewPCG(1, 2))
	w = slices.Clone(w)
	best := c.objective(w)
	at := make([]float64, d)
	for range rounds {
		for k := range 2*d + 1 {
			dir := make([]float64, d)
			switch {
			case k < d:
				dir[k] = max(math.Abs(w[k]), 1e-6*mirror.Norm(w, 2), 1e-9/math.Sqrt(c.lambda))
			case k == d:
				copy(dir, w)
			default:
				for j := range dir {
					dir[j] = rng.NormFloat64() * mirror.Norm(w, 2)
				}
			}
			value := func(t float64) float64 {
				for j := range at {
					at[j] = w[j] + t*dir[j]
				}
				return c.objective(at)
			}
			lo, hi := -2.0, 2.0
			const golden = 0.6180339887498949
			a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
			fa, fb := value(a), value(b)
			for range 60 {
				if fa <= fb {
					hi, b, fb = b, a, fa
					a = hi - golden*(hi-lo)
					fa = value(a)
				} else {
					lo, a, fa = a, b, fb
					b = lo + golden*(hi-lo)
					fb = value(b)
				}
			}
			if f := value(a); f < best {
				best = f
				copy(w, at)
			}
		}
	}
	return best
}

// A false certificate is the worst that can happen. For any problem, the twin finds no weights that are better than the
// bound allows. The objective itself is computed to some 1e-14.
func TestPenalisedFitsAreCertifiedAndNothingIsBetter(t *testing.T) {
	count := *penalisedProblems
	if testing.Short() {
		count = 100
	}
	worst := 0
	for seed := range uint64(count) {
		c := randomPenalised(seed)
		r, err := Fit(t.Context(), c.prob, Settings{P: c.p, Loss: c.loss, Lambda: c.lambda, Steps: 500})
		if err != nil {
			t.Fatalf("%s: %v", c.about, err)
		}
		worst = max(worst, r.Steps)
		got := c.objective(r.W)
		if math.Abs(got-r.Objective) > 1e-10*got || !(r.Excess >= 0) {
			t.Errorf("%s: objective %v, the weights have %v; excess %v", c.about, r.Objective, got, r.Excess)
		}
		if r.Excess > 1e-3*r.Objective {
			t.Errorf("%s: %.2e of the objective after %d steps", c.about, r.Excess/r.Objective, r.Steps)
		}
		if least := c.descend(r.W, 5); least < r.Objective-r.Excess-1e-13*got {
			t.Errorf("%s: the twin has %v, below %v − %v", c.about, least, r.Objective, r.Excess)
		}
	}
	t.Logf("at most %d steps", worst)
}

func TestPenaltiesOfOneFeatureAreTheSameForEveryP(t *testing.T) {
	x := matrix.FromRows([][]float64{{1}, {2}, {-1}, {0.5}, {-3}})
	for _, loss := range []Loss{Logistic{}, Exponential{}, PolynomialTail{}, Square{}} {
		c := penalised{prob: Problem{x, []float64{1, 1, 1, -1, -1}}, loss: loss, p: 2, lambda: 0.01}
		want := c.descend([]float64{0.1}, 20)
		for _, p := range []float64{1.05, 1.5, 2, 3, 50} {
			r := mustFit(t, c.prob, Settings{P: p, Loss: loss, Lambda: 0.01, Gap: 1e-10})
			// Golden sections find the minimum to the square root of the rounding in its argument, and so to rounding.
			if math.Abs(r.Objective-want) > 1e-9*want {
				t.Errorf("%v, p = %v: %v, want %v", loss, p, r.Objective, want)
			}
		}
	}
}

// The twin starts elsewhere and uses no gradients: it reaches the same objective, from above.
func TestThePenalisedOptimumIsTheTwins(t *testing.T) {
	for _, p := range []float64{1.3, 1.5, 2, 3, 6} {
		for _, loss := range []Loss{Logistic{}, Exponential{}, Square{}} {
			c := penalised{prob: noisy(8, 30, 3), loss: loss, p: p, lambda: 0.05}
			r := mustFit(t, c.prob, Settings{P: p, Loss: loss, Lambda: 0.05, Gap: 1e-9})
			twin := c.descend([]float64{0.1, -0.2, 0.3}, 60)
			if r.Excess > 1e-9*r.Objective || twin < r.Objective*(1-1e-9) || twin > r.Objective*(1+1e-6) {
				t.Errorf("%v, p = %v: %v, excess %v; the twin has %v", loss, p, r.Objective, r.Excess, twin)
			}
		}
	}
}

// Where numbers leave the range of floats nothing may be claimed that is not so.
func TestNothingIsCertifiedWhereFloatsEnd(t *testing.T) {
	for _, scale := range []float64{1e-200, 1e-160, 1e-100, 1e100, 1e160, 1e200} {
		for _, lambda := range []float64{1e-300, 1e-100, 1, 1e100, 1e300} {
			for _, p := range []float64{1.05, 2, 50} {
				prob := noisy(2, 20, 3)
				matrix.ScaleColumns(prob.X, nil, []float64{scale, scale, scale})
				c := penalised{prob: prob, loss: Logistic{}, p: p, lambda: lambda}
				r, err := Fit(t.Context(), prob, Settings{P: p, Lambda: lambda, Steps: 200})
				if err != nil {
					continue // refused
				}
				got := c.objective(r.W)
				if least := c.descend(r.W, 3); !(least >= got-r.Excess-1e-13*got) {
					t.Errorf("scale %v, lambda %v, p = %v: the twin has %v, below %v − %v",
						scale, lambda, p, least, got, r.Excess)
				}
			}
		}
	}
}
