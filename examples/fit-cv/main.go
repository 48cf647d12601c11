// Command bregman-fit-cv fits a classifier to a table as `bregman fit` does, and tests it on another:
//
//	go run . train.csv test.csv
//
// A table is CSV with a header, whose label is the column called label or else the last. Text columns and missing
// values are fine. Parquet, svmlight text, npy and npz are read, too.
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
	train, err := dataset.Open(ctx, trainFile, dataset.Options{Missing: dataset.MissingMean})
	if err != nil {
		return fit.Model{}, 0, err
	}
	settings := fit.Settings{Objective: fit.Auto, P: []float64{1.1, 2, 10}, Scale: "std"}
	r, err := fit.Train(ctx, train, settings)
	if err != nil {
		return fit.Model{}, 0, err
	}
	best := map[float64]fit.Score{} // of each p
	for _, s := range r.CV {
		if b, ok := best[float64(s.P)]; !ok || s.Better(b) {
			best[float64(s.P)] = s
		}
	}
	for _, p := range settings.P {
		fmt.Fprintf(w, "p = %-4v penalty %-8.2g accuracy %.3f ± %.3f, log-loss %.3f\n", p, best[p].Penalty, best[p].Accuracy,
			best[p].Deviation, *best[p].LogLoss)
	}
	// the model knows the columns, categories and classes of its table
	test, err := dataset.Open(ctx, testFile, dataset.Options{Like: r.Model.Encoding})
	if err != nil {
		return fit.Model{}, 0, err
	}
	q, err := r.Model.Quality(test)
	if err != nil {
		return fit.Model{}, 0, err
	}
	fmt.Fprintf(w, "chosen: p = %v, %d of %d weights count; accuracy %.3f on the test table\n",
		r.Model.P, r.Model.Nonzero(), r.Model.Dim(), q.Classes.Accuracy)
	return r.Model, q.Classes.Accuracy, nil
}
