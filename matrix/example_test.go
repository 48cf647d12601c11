package matrix_test

import (
	"fmt"

	"github.com/bregman-ml/bregman/matrix"
)

// The same examples dense and sparse, and the two products that a first-order method needs.
func Example() {
	dense := matrix.FromRows([][]float64{{2, 0, 1}, {0, 3, 0}})
	var b matrix.Builder
	b.Add(0, 2)
	b.Add(2, 1)
	b.EndRow()
	b.Add(1, 3)
	b.EndRow()
	for _, a := range []matrix.Matrix{dense, b.Build(3)} {
		n, d := a.Dims()
		scores, gradient := make([]float64, n), make([]float64, d)
		a.Mul(scores, []float64{1, -1, 4})
		a.AddMulT(gradient, []float64{1, -1})
		fmt.Println(a.NNZ(), "entries:", scores, gradient)
	}
	// Output:
	// 6 entries: [6 -3] [2 -3 1]
	// 3 entries: [6 -3] [2 -3 1]
}
