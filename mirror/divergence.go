package mirror

import "github.com/bregman-ml/bregman/internal/vec"

// divergence is for potentials that have a form of their divergence with less cancellation.
type divergence interface {
	divergence(x, y []float64) float64
}

// Divergence returns the Bregman divergence D_ψ(x, y) = ψ(x) − ψ(y) − ⟨∇ψ(y), x − y⟩ ≥ 0.
//
// For Power its relative error is about 1e-15/(p−1) at most, also where x ≈ y. For other potentials it is the
// difference as written, with an absolute error of about 1e-16 times the largest of its terms.
func Divergence(psi Potential, x, y []float64) float64 {
	if d, ok := psi.(divergence); ok {
		return d.divergence(x, y)
	}
	grad := make([]float64, len(y))
	psi.Mirror(grad, y)
	diff := make([]float64, len(y))
	for j := range diff {
		diff[j] = x[j] - y[j]
	}
	return psi.Value(x) - psi.Value(y) - vec.Dot(grad, diff)
}

// Step makes one step of mirror descent from the dual state z = ∇ψ(w):
//
//	z ← z − η·grad,   w = ∇ψ*(z).
//
// Keeping z from step to step costs one map instead of two and loses nothing to a round trip.
func Step(w, z []float64, psi Potential, eta float64, grad []float64) {
	vec.Axpy(-eta, grad, z)
	psi.Inverse(w, z)
}
