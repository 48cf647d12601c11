package mirror

import (
	"fmt"
	"math"
)

type hyperbolicEntropy struct{ beta float64 }

var _ Potential = hyperbolicEntropy{}

// HyperbolicEntropy is ψ(w) = Σ wⱼ asinh(wⱼ/β) − √(wⱼ² + β²), with ∇ψ(w) = asinh(w/β) and
// ∇ψ*(z) = β sinh z (Ghai, Hazan & Singer 2020). Small β behaves like the entropy on signed weights,
// large β like ½‖w‖²/β. It equals the unnormalised EG± started at u = v = β/2.
//
// HyperbolicEntropy panics unless β is positive and finite.
func HyperbolicEntropy(beta float64) Potential {
	if !(beta > 0) || math.IsInf(beta, 1) {
		panic(fmt.Sprintf("mirror: HyperbolicEntropy with β = %v, want a positive number", beta))
	}
	return hyperbolicEntropy{beta}
}

func (s hyperbolicEntropy) String() string          { return fmt.Sprintf("hyperbolicentropy(%v)", s.beta) }
func (s hyperbolicEntropy) Start(dst []float64)     { clear(dst) }
func (s hyperbolicEntropy) Check(w []float64) error { return checkFinite(w) }

func (s hyperbolicEntropy) Value(w []float64) float64 {
	var sum float64
	for _, v := range w {
		sum += v*math.Asinh(v/s.beta) - math.Hypot(v, s.beta)
	}
	return sum
}

func (s hyperbolicEntropy) Mirror(dst, w []float64) {
	for j, v := range w {
		dst[j] = math.Asinh(v / s.beta)
	}
}

func (s hyperbolicEntropy) Inverse(dst, z []float64) {
	for j, v := range z {
		dst[j] = s.beta * math.Sinh(v)
	}
}
