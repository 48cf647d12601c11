// Package mirror holds the geometry of mirror descent: potentials ψ with their mirror maps ∇ψ and
// inverses ∇ψ*, Bregman divergences, p-norms and the mirror step.
//
// Mirror descent on a loss L with step η moves in the dual space:
//
//	z = ∇ψ(w),   z ← z − η∇L(w),   w = ∇ψ*(z).
//
// With ψ = (1/p)‖w‖ₚᵖ (Power) this is p-GD, one independent update per coordinate; p = 2 is gradient descent.
package mirror

import (
	"fmt"
	"math"
)

// Potential is a strictly convex differentiable ψ on a domain in Rᵈ.
// Implement it for a geometry of your own; every algorithm here takes the interface.
type Potential interface {
	// String names the potential with its parameters, e.g. "power(3)".
	String() string
	// Value returns ψ(w).
	Value(w []float64) float64
	// Mirror sets dst = ∇ψ(w), the dual vector of w. dst may be w.
	Mirror(dst, w []float64)
	// Inverse sets dst = ∇ψ*(z) = (∇ψ)⁻¹(z). dst may be z.
	Inverse(dst, z []float64)
	// Start sets dst to the minimiser of ψ, where the dual vector is 0: the natural start of a descent.
	Start(dst []float64)
	// Check returns an error that names the first coordinate of w outside the domain, or nil.
	Check(w []float64) error
}

// CheckP says whether p can be the exponent of a potential: finite and above 1.
func CheckP(p float64) error {
	if !(p > 1) || math.IsInf(p, 0) {
		return fmt.Errorf("p = %v: p must be a finite number above 1 (1.1 stands in for ℓ₁, 10 for ℓ∞)", p)
	}
	return nil
}

// mustP guards the constructors: a bad p is a bug of the caller, who can ask CheckP first.
func mustP(p float64) {
	if err := CheckP(p); err != nil {
		panic("mirror: " + err.Error())
	}
}

// checkFinite is the domain check of potentials defined on all of Rᵈ.
func checkFinite(w []float64) error {
	for j, v := range w {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("coordinate %d is %v", j, v)
		}
	}
	return nil
}
