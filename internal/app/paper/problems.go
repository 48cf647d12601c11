package paper

import (
	"fmt"
	"math/rand/v2"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
)

// The streams of random numbers, one for each purpose.
const (
	streamStart2 = iota + 100
	streamStart100
	streamLabels
	streamRegression
)

// start draws w₀ ~ N(0, deviation²·I).
func start(seed, stream uint64, d int, deviation float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, stream))
	w := make([]float64, d)
	for j := range w {
		w[j] = deviation * rng.NormFloat64()
	}
	return w
}

func problemR2(seed uint64) linear.Problem {
	return linear.Problem{X: dataset.R2(seed, dataset.Deviation).X}
}

func problemR100(seed uint64) linear.Problem { return linear.Problem{X: dataset.R100(seed).X} }

// setting is a problem with a start and a geometry.
type setting struct {
	name string
	prob linear.Problem
	w0   []float64
	p    float64
}

// String names the problem and p.
func (s setting) String() string { return fmt.Sprintf("%s, p = %v", s.name, s.p) }

// location names the problem and p.
func (s setting) location() location { return location{s.String(), -1} }

// space names the kind of problem, without its seed.
func (s setting) space() string {
	if s.plane() {
		return "R²"
	}
	return "R¹⁰⁰"
}

// plane reports whether the problem is in R².
func (s setting) plane() bool { return len(s.w0) == 2 }

// allSettings are the problems of both experiments, in R² and R¹⁰⁰, for every seed and every p.
func allSettings(ps []float64, first uint64, seeds int) []setting {
	var out []setting
	for seed := first; seed < first+uint64(seeds); seed++ {
		for _, p := range ps {
			out = append(out,
				setting{fmt.Sprintf("R², seed %d", seed), problemR2(seed), start(seed, streamStart2, 2, 1), p},
				setting{fmt.Sprintf("R¹⁰⁰, seed %d", seed), problemR100(seed), start(seed, streamStart100, 100, 0.1), p})
		}
	}
	return out
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
