package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Certificate encloses the maximum ℓₚ margin γₚ = max{minᵢ yᵢ⟨xᵢ, w⟩ : ‖w‖ₚ ≤ 1}.
type Certificate struct {
	Lower float64 // a margin that was reached; not positive if w errs on an example
	Upper float64 // a margin that cannot be exceeded
}

// Gap returns Upper/Lower − 1, the relative distance to the best possible margin; +Inf if Lower ≤ 0.
func (c Certificate) Gap() float64 {
	if !(c.Lower > 0) {
		return math.Inf(1)
	}
	return max(c.Upper/c.Lower-1, 0)
}

// widened returns the certificate with both bounds moved outwards.
func (c Certificate) widened(by float64) Certificate {
	return Certificate{Lower: c.Lower - by, Upper: c.Upper + by}
}

// Certify bounds γₚ from both sides, for any w and any a ≥ 0 with a positive sum, by weak duality:
//
//	minᵢ yᵢ⟨xᵢ, w⟩ / ‖w‖ₚ  ≤  γₚ  ≤  ‖Σ aᵢyᵢxᵢ‖_q / Σaᵢ,   1/p + 1/q = 1.
//
// It is scale-free in w and a, for 1 ≤ p ≤ ∞. The weights a may be given as a sum of several vectors, for more digits
// than one has. All sums are made in twice the precision of float64. The lower bound is reduced and the upper one
// increased by the most that rounding may still change in them. The norms are accurate to 1e-13.
func Certify(prob Problem, p float64, w []float64, a ...[]float64) Certificate {
	v, total := combined(prob, a)
	return Certificate{
		Lower: prob.LeastMargin(w) / mirror.Norm(w, p),
		Upper: mirror.Norm(v, mirror.Conjugate(p)) / total,
	}
}

// CertifyIntercept is Certify for the margin with a free intercept, max{minᵢ yᵢ(⟨xᵢ, w⟩ + b) : ‖w‖ₚ ≤ 1}: the last
// column of X is 1, and the last of the weights is b. The dual weights of the two classes should have equal sums: any b
// can then be chosen, since Σ aᵢyᵢ = 0. If they differ, the upper bound is larger by as much as the best b, which is at
// most maxᵢ ‖xᵢ‖_q, can gain. There must be examples of both classes. Of Joint, the last weight of every class is its
// intercept.
func CertifyIntercept(prob Problem, p float64, w []float64, a ...[]float64) Certificate {
	if m, ok := prob.X.(*matrix.Pairs); ok {
		return certifyJointIntercept(prob, m, p, w, a)
	}
	v, total := combined(prob, a)
	q, d := mirror.Conjugate(p), len(w)-1
	var longest float64
	matrix.Rows(prob.X, func(_ int, idx []int32, val []float64) {
		longest = max(longest, mirror.Norm(withoutLast(idx, val, d), q))
	})
	return Certificate{
		Lower: prob.LeastMargin(w) / mirror.Norm(w[:d], p),
		Upper: (mirror.Norm(v[:d], q) + longest*v[d]) / total,
	}
}

// combined returns |Σ aᵢyᵢxᵢ|, coordinate by coordinate, plus the most that rounding may have added, and Σa.
func combined(prob Problem, a [][]float64) (v []float64, total float64) {
	_, d := prob.Dims()
	sums := twofold.NewVector(d)
	var mass twofold.Sum
	for _, part := range a {
		for _, ai := range part {
			mass.Add(ai)
		}
	}
	matrix.Rows(prob.X, func(i int, idx []int32, val []float64) {
		for _, part := range a {
			ai := part[i]
			if ai == 0 {
				continue
			}
			if prob.Y != nil {
				ai *= prob.Y[i]
			}
			sums.Axpy(ai, idx, val)
		}
	})
	v = make([]float64, d)
	for j := range v {
		s := sums.At(j)
		v[j] = math.Abs(s.Value()) + s.Error()
	}
	return v, mass.Value()
}

// CertifyWeights is Certify with dual weights that follow from w: a = softmax(−s·margins), the examples' weights in the
// gradient of the exponential loss at s·w. It searches for the s that gives the least upper bound: at a small w the
// weights do not yet tell the support vectors from the rest, but along its direction they do.
func CertifyWeights(prob Problem, p float64, w []float64) Certificate {
	return newCertifier(prob, p).weights(w)
}

// certifier keeps the vectors of a certificate and the best s, from which the next search along a run starts.
type certifier struct {
	prob     Problem
	p        float64
	m, a     []float64 // of the examples
	v        []float64 // of the features
	exponent float64   // s·spread = 10^exponent was best
	known    bool
}

func newCertifier(prob Problem, p float64) *certifier {
	n, d := prob.Dims()
	return &certifier{prob: prob, p: p, m: make([]float64, n), a: make([]float64, n), v: make([]float64, d)}
}

// upper returns ‖Σ aᵢyᵢxᵢ‖_q / Σaᵢ, and overwrites a.
func (c *certifier) upper() float64 {
	var sum float64
	for _, ai := range c.a {
		sum += ai
	}
	clear(c.v)
	c.prob.addAbsorbed(c.v, c.a)
	return mirror.Norm(c.v, mirror.Conjugate(c.p)) / sum
}

func (c *certifier) weights(w []float64) Certificate {
	c.prob.Margins(c.m, w)
	out := Certificate{Lower: minOf(c.m) / mirror.Norm(w, c.p), Upper: math.Inf(1)}
	spread := maxOf(c.m) - minOf(c.m)
	if !(spread > 0) {
		spread = 1 // all margins are equal, and so are the weights for every s
	}
	try := func(exponent float64) {
		vec.Scale(c.a, math.Pow(10, exponent)/spread, c.m)
		Exponential{}.Normalized(c.a, c.a)
		if u := c.upper(); u < out.Upper {
			out.Upper, c.exponent = u, exponent
		}
	}
	width := 0.25
	if !c.known { // from 10^−1 (all examples count) to 10⁵ (only the closest)
		for e := -1.0; e <= 5; e += 0.5 {
			try(e)
		}
		c.known = true
	}
	for at, e := c.exponent, -2.0; e <= 2; e++ {
		try(at + e*width)
	}
	return out
}

// Certify is CertifyWeights of the current state, improved for normalized mirror descent by a second upper bound:
// its dual vector is a sum of examples, Z − z₀ = Σ aᵢyᵢxᵢ with a the coefficients of all steps, so that
// γₚ ≤ ‖Z − z₀‖_q/Σaᵢ.
func (s *State) Certify(p float64) Certificate {
	if s.cert == nil || s.cert.p != p {
		s.cert = newCertifier(s.prob, p)
	}
	c := s.cert.weights(s.W)
	if s.z0 != nil && s.mass > 0 {
		v := s.cert.v
		for j := range v {
			v[j] = s.Z[j] - s.z0[j]
		}
		c.Upper = min(c.Upper, mirror.Norm(v, mirror.Conjugate(p))/s.mass)
	}
	return c
}

func maxOf(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, v)
	}
	return m
}
