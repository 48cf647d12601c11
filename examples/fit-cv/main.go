// Command bregman-fit-cv fits a linear classifier to a table, chooses p by cross-validation and tests it on another:
//
//	go run . train.csv test.csv
//
// A table is CSV with a header, whose label is the column called label or else the last; svmlight text, npy and npz are
// read, too.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("want two tables: go run . train.csv test.csv")
	}
	if _, _, err := run(context.Background(), os.Stdout, os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// run prints what cross-validation found for each p, and returns the model with its accuracy on the test table.
func run(ctx context.Context, w io.Writer, trainFile, testFile string) (fit.Model, float64, error) {
	options := dataset.Options{Bias: true}
	train, err := dataset.Open(ctx, trainFile, options)
	if err != nil {
		return fit.Model{}, 0, err
	}
	test, err := dataset.Open(ctx, testFile, options)
	if err != nil {
		return fit.Model{}, 0, err
	}
	settings := fit.Settings{P: []float64{1.1, 2, 10}, Folds: 5, Scale: "std", Bias: true, Seed: 1}
	r, err := fit.Train(ctx, train, settings)
	if err != nil {
		return fit.Model{}, 0, err
	}
	for _, s := range r.CV {
		fmt.Fprintf(w, "p = %-4v accuracy %.3f ± %.3f\n", s.P, s.Accuracy, s.Deviation)
	}
	labels, _, err := r.Model.Predict(test.X)
	if err != nil {
		return fit.Model{}, 0, err
	}
	right := 0
	for i, label := range labels {
		if label == test.Y[i] {
			right++
		}
	}
	accuracy := float64(right) / float64(len(labels))
	fmt.Fprintf(w, "chosen: p = %v, %d of %d weights count; %.3f of the test table is right\n",
		r.Model.P, r.Model.Nonzero(), r.Model.Dim(), accuracy)
	return r.Model, accuracy, nil
}
