package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// Certificate encloses the maximum ℓₚ margin γₚ = max{minᵢ yᵢ⟨xᵢ, w⟩ : ‖w‖ₚ ≤ 1}.
type Certificate struct {
	Lower float64 // a margin that was reached; not positive where w errs on an example
	Upper float64 // a margin that cannot be passed
}

// Gap returns Upper/Lower − 1, the relative distance to the best possible margin; +Inf where Lower ≤ 0.
func (c Certificate) Gap() float64 {
	if !(c.Lower > 0) {
		return math.Inf(1)
	}
	return max(c.Upper/c.Lower-1, 0)
}

// Certify bounds γₚ from both sides, for any w and any a ≥ 0 with a positive sum, by weak duality:
//
//	minᵢ yᵢ⟨xᵢ, w⟩ / ‖w‖ₚ  ≤  γₚ  ≤  ‖Σ aᵢyᵢxᵢ‖_q / Σaᵢ,   1/p + 1/q = 1.
//
// It is scale-free in w and a, for 1 ≤ p ≤ ∞.
func Certify(prob Problem, p float64, w, a []float64) Certificate {
	n, d := prob.Dims()
	m, v := make([]float64, n), make([]float64, d)
	prob.Margins(m, w)
	c := Certificate{Lower: minOf(m) / mirror.Norm(w, p)}
	var sum float64
	for _, ai := range a {
		sum += ai
	}
	prob.addAbsorbed(v, a, m)
	c.Upper = mirror.Norm(v, mirror.Conjugate(p)) / sum
	return c
}

// CertifyWeights is Certify with dual weights read off w itself: a = softmax(−s·margins), the examples' weights
// in the gradient of the exponential loss at s·w. The s that gives the least upper bound is searched for:
// a small w has not yet told the support vectors from the rest, but its direction has.
func CertifyWeights(prob Problem, p float64, w []float64) Certificate {
	n, _ := prob.Dims()
	m, a := make([]float64, n), make([]float64, n)
	prob.Margins(m, w)
	spread := maxOf(m) - minOf(m)
	best := Certificate{Lower: math.NaN(), Upper: math.Inf(1)}
	try := func(s float64) float64 {
		vec.Scale(a, s, m)
		Exponential{}.Normalized(a, a)
		c := Certify(prob, p, w, a)
		best = Certificate{Lower: c.Lower, Upper: min(best.Upper, c.Upper)}
		return c.Upper
	}
	if !(spread > 0) {
		try(1)
		return best
	}
	// s·spread from 0.1 (all examples count) to 10⁵ (only the closest): a coarse walk, then a finer one around its best.
	at, least := 0.0, math.Inf(1)
	for e := -1.0; e <= 5; e += 0.5 {
		if u := try(math.Pow(10, e) / spread); u < least {
			at, least = e, u
		}
	}
	for e := at - 0.4; e < at+0.45; e += 0.1 {
		try(math.Pow(10, e) / spread)
	}
	return best
}

// Certify is CertifyWeights of the current state, improved for normalized mirror descent by a second upper bound:
// its dual vector is a sum of examples, Z − z₀ = Σ aᵢyᵢxᵢ with a the coefficients of all steps, so that
// γₚ ≤ ‖Z − z₀‖_q/Σaᵢ.
func (s *State) Certify(p float64) Certificate {
	c := CertifyWeights(s.prob, p, s.W)
	if s.z0 != nil && s.mass > 0 {
		v := make([]float64, len(s.Z))
		for j := range v {
			v[j] = s.Z[j] - s.z0[j]
		}
		if u := mirror.Norm(v, mirror.Conjugate(p)) / s.mass; u < c.Upper {
			c.Upper = u
		}
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
