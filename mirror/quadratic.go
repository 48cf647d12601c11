package mirror

import (
	"fmt"
	"math"
)

type quadratic struct{ a []float64 }

var _ Potential = quadratic{}

// Quadratic is ψ(w) = ½ Σ aⱼwⱼ², a diagonal Mahalanobis form: gradient descent with a rate per coordinate.
// It keeps a; a must be positive and finite, or Quadratic panics. Vectors must have a's length.
func Quadratic(a []float64) Potential {
	for j, v := range a {
		if !(v > 0) || math.IsInf(v, 1) {
			panic(fmt.Sprintf("mirror: Quadratic with a[%d] = %v, want positive numbers", j, v))
		}
	}
	return quadratic{a}
}

func (s quadratic) String() string      { return fmt.Sprintf("quadratic(%d)", len(s.a)) }
func (s quadratic) Start(dst []float64) { clear(dst) }

func (s quadratic) Value(w []float64) float64 {
	var sum float64
	for j, v := range w {
		sum += s.a[j] * v * v
	}
	return sum / 2
}

func (s quadratic) Mirror(dst, w []float64) {
	for j, v := range w {
		dst[j] = s.a[j] * v
	}
}

func (s quadratic) Inverse(dst, z []float64) {
	for j, v := range z {
		dst[j] = v / s.a[j]
	}
}

func (s quadratic) Check(w []float64) error {
	if len(w) != len(s.a) {
		return fmt.Errorf("%d coordinates, the form has %d", len(w), len(s.a))
	}
	return checkFinite(w)
}
