package mirror

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

type entropy struct{}

var _ Potential = entropy{}

// Entropy is ψ(w) = Σ wⱼ log wⱼ − wⱼ on w > 0: mirror descent with it is the (unnormalised)
// exponentiated gradient, w ← w·e^(−ηg). It starts at w = 1, its minimiser.
// For weights of both signs take SignedEntropy or HyperbolicEntropy.
func Entropy() Potential { return entropy{} }

func (entropy) String() string           { return "entropy" }
func (entropy) Mirror(dst, w []float64)  { vec.Log(dst, w) }
func (entropy) Inverse(dst, z []float64) { vec.Exp(dst, z) }

func (entropy) Value(w []float64) float64 {
	var sum float64
	for _, v := range w {
		if v != 0 { // 0·log 0 = 0, the limit
			sum += v*math.Log(v) - v
		}
	}
	return sum
}

func (entropy) Start(dst []float64) {
	for j := range dst {
		dst[j] = 1
	}
}

func (entropy) Check(w []float64) error {
	for j, v := range w {
		if !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("coordinate %d is %v: the entropy's domain is w > 0", j, v)
		}
	}
	return nil
}

type signedEntropy struct{ radius float64 }

var _ Potential = signedEntropy{}

// SignedEntropy is EG± (Kivinen & Warmuth 1997) as a potential: weights w = u − v with u, v > 0 and
// Σ(u + v) = radius, so that the domain is ‖w‖₁ < radius. With S = Σ cosh zⱼ,
//
//	∇ψ*(z) = radius·sinh(z)/S,   ψ*(z) = radius·log(2S),
//
// which is the exponentiated gradient on (u, v), normalised. It starts at w = 0 and keeps ‖w‖₁ bounded.
//
// SignedEntropy panics unless radius is positive and finite.
func SignedEntropy(radius float64) Potential {
	if !(radius > 0) || math.IsInf(radius, 1) {
		panic(fmt.Sprintf("mirror: SignedEntropy with radius %v, want a positive number", radius))
	}
	return signedEntropy{radius}
}

func (s signedEntropy) String() string      { return fmt.Sprintf("signedentropy(%v)", s.radius) }
func (s signedEntropy) Start(dst []float64) { clear(dst) }

// Value is the conjugate ⟨z, w⟩ − ψ*(z) at z = ∇ψ(w).
func (s signedEntropy) Value(w []float64) float64 {
	t := s.partition(w)
	var sum float64
	for _, v := range w {
		sum += v * math.Asinh(v*t/s.radius)
	}
	return sum - s.radius*math.Log(2*t)
}

func (s signedEntropy) Mirror(dst, w []float64) {
	t := s.partition(w)
	for j, v := range w {
		dst[j] = math.Asinh(v * t / s.radius)
	}
}

// partition returns the S = Σ cosh zⱼ that belongs to w: the root of f(S) = Σ√(1 + (wⱼS/radius)²) − S.
// f is convex and decreasing with f(0) > 0, so Newton's method from the left rises to the root.
func (s signedEntropy) partition(w []float64) float64 {
	t := float64(len(w))
	for range 100 {
		f, df := -t, -1.0
		for _, v := range w {
			a := v / s.radius
			h := math.Hypot(1, a*t)
			f += h
			df += a * (a * t / h)
		}
		next := t - f/df
		if !(next > t) {
			break
		}
		t = next
	}
	return t
}

// Inverse divides by the largest exponential, so that it does not overflow.
func (s signedEntropy) Inverse(dst, z []float64) {
	m := maxAbs(z)
	var sum float64
	for _, v := range z {
		sum += math.Exp(v-m) + math.Exp(-v-m)
	}
	for j, v := range z {
		if math.Abs(v) < 1 {
			dst[j] = s.radius * 2 * math.Sinh(v) * math.Exp(-m) / sum // the difference below would cancel
		} else {
			dst[j] = s.radius * (math.Exp(v-m) - math.Exp(-v-m)) / sum
		}
	}
}

func (s signedEntropy) Check(w []float64) error {
	if err := checkFinite(w); err != nil {
		return err
	}
	if n := Norm(w, 1); !(n < s.radius) {
		return fmt.Errorf("‖w‖₁ = %v: the domain of %v is ‖w‖₁ < %v", n, s, s.radius)
	}
	return nil
}
