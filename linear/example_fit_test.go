package linear_test

import (
	"context"
	"fmt"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// The classifier of largest ℓ₁.₁ margin, which prefers few weights, with a proof of how good it is.
func ExampleFit() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}

	r, err := linear.Fit(context.Background(), prob, linear.Settings{
		P:     1.1,
		Gap:   1e-4,
		Hooks: linear.Hooks{Progress: func(p linear.Point) { _ = p.Gap }}, // at logarithmically spaced steps
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("w = (%.2f, %.2f, about 0)\n", r.W[0], r.W[1])
	fmt.Printf("margin %.3f, proved to be within 0.01 %% of the best: %v\n", r.Lower, r.Gap() <= 1e-4)
	// Output:
	// w = (0.33, 0.33, about 0)
	// margin 1.598, proved to be within 0.01 % of the best: true
}

// The least penalised loss in the geometry of p, for data that no weights separate.
func ExampleFit_penalty() {
	// The last two examples are the same, with different labels: no weights separate the classes.
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}, {1, 1, 1}, {1, 1, 1}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1, 1, -1}}

	r, err := linear.Fit(context.Background(), prob, linear.Settings{P: 1.5, Loss: linear.Logistic{}, Lambda: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean loss %.3f, with the penalty %.3f, proved to be within 0.1 %% of the least: %v\n", r.Loss, r.Objective, r.Excess <= 1e-3*r.Objective)
	// Output:
	// mean loss 0.343, with the penalty 0.406, proved to be within 0.1 % of the least: true
}
