package main

import (
	"math"
	"testing"

	"github.com/bregman-ml/bregman/optim"
)

// The limit of mirror descent solves the equation, and its mirror image is a multiple of x. Sums of float64 round by
// some 1e-16 a step, 1e-13 in all.
func TestTheLimitHasTheLeastPotential(t *testing.T) {
	const c, tolerance = 0.25, 1e-9 // the store keeps c in float32, which holds 1/4
	for _, test := range []struct {
		name string
		psi  optim.Potential
		dual func(w float64) float64
	}{
		{"gradient descent", optim.Quadratic(1), func(w float64) float64 { return w }},
		{"mixed", mixed(c), func(w float64) float64 { return w*math.Abs(w) + c*w }},
	} {
		w, err := run(t.Output(), test.name, test.psi)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for j := range w {
			sum += x[j] * w[j]
			if got, want := test.dual(w[j])/x[j], test.dual(w[0])/x[0]; !(math.Abs(got-want) < tolerance) {
				t.Errorf("%s: coordinate %d of the mirror image is %v times x, the first %v", test.name, j, got, want)
			}
		}
		if !(math.Abs(sum-1) < tolerance) {
			t.Errorf("%s: ⟨x, w⟩ = %v", test.name, sum)
		}
	}
}
