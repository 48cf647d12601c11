package linear_test

import (
	"context"
	"fmt"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// The short form: settings that name a method, or leave the choice to Fit.
func ExampleFit() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}

	for _, set := range []linear.Settings{
		{P: 3}, // the largest ℓ₃ margin
		{P: 3, Method: linear.MethodPGD, Steps: 50_000},
		{P: 3, Lambda: 0.1}, // the least logistic loss with a penalty
	} {
		r, err := linear.Fit(context.Background(), prob, set)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("margin %.1f\n", r.Lower)
	}
	// Output:
	// margin 2.4
	// margin 2.3
	// margin 2.2
}

// The classifier of largest ℓ₁.₁ margin, which prefers few weights, with a proof of how good it is.
func ExampleAccelerated() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}

	var last linear.Point
	m := linear.Accelerated{P: 1.1, Gap: 1e-4}
	r, err := m.Fit(context.Background(), prob, linear.Hooks{Progress: func(p linear.Point) { last = p }})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("w = (%.2f, %.2f, about 0)\n", r.W[0], r.W[1])
	fmt.Printf("margin %.3f, proved to be within 0.01 %% of the best: %v\n", r.Lower, r.Gap() <= 1e-4)
	fmt.Println("the last point is the last step:", last.Step == r.Steps)
	// Output:
	// w = (0.33, 0.33, about 0)
	// margin 1.598, proved to be within 0.01 % of the best: true
	// the last point is the last step: true
}

// The least logistic loss with a penalty in the geometry of p, for data that no weights separate.
func ExampleNewton() {
	// The last two examples are the same, with different labels: no weights separate the classes.
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}, {1, 1, 1}, {1, 1, 1}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1, 1, -1}}

	r, err := linear.Newton{P: 1.5, Lambda: 0.1}.Fit(context.Background(), prob, linear.Hooks{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean loss %.3f, with the penalty %.3f\n", r.Loss, r.Objective)
	fmt.Println("proved to be within 0.1 % of the least:", r.Excess <= 1e-3*r.Objective)
	// Output:
	// mean loss 0.343, with the penalty 0.406
	// proved to be within 0.1 % of the least: true
}

// Normalized p-GD with p = 3, until its margin is certified to be within 1 % of the best.
func ExampleMirrorDescent() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}

	m := linear.MirrorDescent{P: 3, Normalized: true, Gap: 0.01}
	r, err := m.Fit(context.Background(), prob, linear.Hooks{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: margin %.2f, within 1 %% of the best: %v\n", m.Name(), r.Lower, r.Gap() <= 0.01)
	// Output: normalized: margin 2.37, within 1 % of the best: true
}

// Steepest descent in the ℓ₄ norm.
func ExampleSteepestDescent() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}

	r, err := linear.SteepestDescent{P: 4, Steps: 1000}.Fit(context.Background(), prob, linear.Hooks{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("every example is right: %v, with a margin of %.1f\n", r.Lower > 0, r.Lower)
	// Output: every example is right: true, with a margin of 2.4
}

// A fit that is stopped, and resumes from its checkpoint as if it had never been.
func ExampleCheckpoint() {
	x := matrix.FromRows([][]float64{{2, 1, 0}, {0, 3, 1}, {-1, -2, 1}, {-3, 0, 2}})
	prob := linear.Problem{X: x, Y: []float64{1, 1, -1, -1}}
	m := linear.Accelerated{P: 3, Gap: 1e-4}

	ctx, stop := context.WithCancel(context.Background())
	var saved linear.Checkpoint
	_, err := m.Fit(ctx, prob, linear.Hooks{
		Progress: func(p linear.Point) {
			if p.Step == 10 {
				stop()
			}
		},
		Save: func(c linear.Checkpoint) error { saved = c; return nil },
	})
	fmt.Println(err)

	resumed, err := m.Fit(context.Background(), prob, linear.Hooks{Resume: &saved})
	if err != nil {
		fmt.Println(err)
		return
	}
	whole, err := m.Fit(context.Background(), prob, linear.Hooks{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the same steps:", resumed.Steps == whole.Steps, "the same margin:", resumed.Lower == whole.Lower)
	// Output:
	// context canceled
	// the same steps: true the same margin: true
}
