// Command bregman-gomlx-loop trains a network of its own with GoMLX's trainer, on a table of handwritten digits, once
// with SGD and once with p = 3. Each training is a run folder: "bregman serve" shows it while it trains, and
// "bregman report runs/*" compares the two. Stop one with Ctrl-C, and go on with it:
//
//	go run . -resume runs/20261119-101500-digits-p3
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"

	tables "github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/looplog"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

func main() {
	resume := flag.String("resume", "", "the folder of a run to go on with")
	steps := flag.Int("steps", 2000, "steps of each run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *resume != "" {
		if _, err := resumed(ctx, os.Stdout, *resume); err != nil {
			log.Fatal(err)
		}
		return
	}
	for _, p := range []float64{2, 3} {
		if _, err := run(ctx, os.Stdout, hyper{P: p, Rate: 0.1, Steps: *steps}, looplog.Settings{}); err != nil {
			log.Fatal(err)
		}
	}
}

// hyper is what the run folder keeps as settings.
type hyper struct {
	P     float64 `json:"p"`
	Rate  float64 `json:"lr"`
	Steps int     `json:"steps"`
}

// resumed goes on with a run, with its own settings.
func resumed(ctx context.Context, out io.Writer, dir string) (float64, error) {
	info, err := runlog.ReadInfo(dir)
	if err != nil {
		return 0, err
	}
	s, _ := info.Settings.(map[string]any)
	number := func(name string) float64 { v, _ := s[name].(float64); return v }
	return run(ctx, out, hyper{number("p"), number("lr"), int(number("steps"))}, looplog.Settings{Resume: dir})
}

// run trains a network and returns its accuracy on images that it has not seen.
func run(ctx context.Context, out io.Writer, h hyper, s looplog.Settings) (accuracy float64, err error) {
	e, err := engine.Open(engine.Auto)
	if err != nil {
		return 0, err
	}
	training, test, err := digits(e)
	if err != nil {
		return 0, err
	}
	network := func(scope *model.Scope, _ any, inputs []*graph.Node) []*graph.Node {
		x := activation.Relu(layers.Dense(scope.In("hidden"), inputs[0], true, 64))
		return []*graph.Node{layers.Dense(scope.In("readout"), x, true, 10)}
	}
	store := model.NewStore()
	store.SetParam("/"+model.ParamInitialSeed, int64(1))
	trainer := train.NewTrainer(e.Backend, store, network, loss.SparseCategoricalCrossEntropyLogits,
		optim.Mirror().P(h.P).LearningRate(h.Rate).Schedule(optim.Cosine(h.Steps)).Done(), nil, nil)

	s.Name, s.Settings, s.Data = fmt.Sprintf("digits-p%v", h.P), h, "digits"
	r, err := looplog.Start(ctx, trainer, s)
	if err != nil {
		return 0, err
	}
	train.EveryNSteps(r.Loop, 100, "test", 0, func(*train.Loop, []*tensors.Tensor) error {
		accuracy, err = test(store, network)
		r.Add("test_accuracy", accuracy)
		return err
	})
	_, err = r.Loop.RunToGlobalStep(training, h.Steps)
	if err := r.Finish(err); err != nil {
		return 0, fmt.Errorf("%s: %w", r.Dir(), err)
	}
	fmt.Fprintf(out, "p = %v: %.1f %% of the digits it has not seen; %s\n", h.P, 100*accuracy, r.Dir())
	return accuracy, nil
}

// digits are 1,797 images of 8 × 8 pixels: four fifths to train on, and the accuracy on the rest.
func digits(e *engine.Engine) (training train.Dataset, test func(*model.Store, network) (float64, error), err error) {
	table, err := tables.Generate("digits")
	if err != nil {
		return nil, nil, err
	}
	const batch, pixels = 64, 64
	var x [2][]float32
	var y [2][]int32
	matrix.Rows(table.X, func(i int, _ []int32, val []float64) { // the table is dense
		part := 0
		if i%5 == 4 {
			part = 1
		}
		for _, v := range val {
			x[part] = append(x[part], float32(v/16))
		}
		y[part] = append(y[part], int32(math.Round(table.Y[i])))
	})
	inputs := tensors.FromFlatDataAndDimensions(x[0], len(y[0]), pixels)
	data, err := dataset.InMemoryFromData(e.Backend, "digits", []any{inputs},
		[]any{tensors.FromFlatDataAndDimensions(y[0], len(y[0]), 1)})
	if err != nil {
		return nil, nil, err
	}
	data.Shuffle().BatchSize(batch, true).Infinite(true)
	return data, func(store *model.Store, net network) (float64, error) {
		exec, err := model.NewExec(e.Backend, store, func(scope *model.Scope, images *graph.Node) *graph.Node {
			return graph.ArgMax(net(scope, nil, []*graph.Node{images})[0], -1)
		})
		if err != nil {
			return 0, err
		}
		answers, err := exec.Call(tensors.FromFlatDataAndDimensions(x[1], len(y[1]), pixels))
		if err != nil {
			return 0, err
		}
		right := 0
		for k, class := range answers[0].Value().([]int32) {
			if class == y[1][k] {
				right++
			}
		}
		return float64(right) / float64(len(y[1])), nil
	}, nil
}

type network = func(scope *model.Scope, spec any, inputs []*graph.Node) []*graph.Node
