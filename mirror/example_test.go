package mirror_test

import (
	"fmt"

	"github.com/bregman-ml/bregman/mirror"
)

// One step of p-GD with p = 3 from w = (1, −0.5).
func ExampleStep() {
	psi := mirror.Power(3)
	w, grad := []float64{1, -0.5}, []float64{2, -1}
	z := make([]float64, 2)
	psi.Mirror(z, w) // sign(w)|w|²
	mirror.Step(w, z, psi, 0.1, grad)
	fmt.Printf("z = %.3f, w = %.4f\n", z, w)
	// Output: z = [0.800 -0.150], w = [0.8944 -0.3873]
}
