package fit_test

import (
	"context"
	"fmt"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
)

// The classifier of largest ℓₚ margin, with its certificate.
func Example() {
	ctx := context.Background()
	set, err := dataset.Open(ctx, "r100:7", dataset.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := fit.Train(ctx, set, fit.Settings{P: []float64{1.5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("within 0.1 % of the largest margin:", r.Gap < 1e-3)
	// Output: within 0.1 % of the largest margin: true
}

// A classifier for a table, with no choices to make: the penalty is chosen on held-out examples.
func ExampleTrain_auto() {
	ctx := context.Background()
	set, err := dataset.Open(ctx, "iris", dataset.Options{Missing: dataset.MissingMean})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := fit.Train(ctx, set, fit.Settings{Objective: fit.Auto, Scale: "std"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Model.ClassNames(), r.HeldOut.Classes.Accuracy > 0.95)
	// Output: [setosa versicolor virginica] true
}
