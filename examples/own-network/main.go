// Command bregman-own-network trains a network of its own with SGD and with p = 3 on built-in images of clothes.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/train"
)

// network is two convolutions, each of which halves the picture, and a linear layer. Variables have PyTorch's names.
var network = nets.New("two-convolutions", func(b *nets.Builder, x *graph.Node, classes int) *graph.Node {
	x = nets.ReLU(b.Norm("bn1", b.Conv("conv1", x, 3, 8, 2)))
	x = nets.ReLU(b.Norm("bn2", b.Conv("conv2", x, 3, 32, 2)))
	return b.Head("linear", x, classes)
})

// printer hears how a run goes.
type printer struct {
	train.Silent
	w io.Writer
}

func (p printer) Epoch(r train.Record) {
	fmt.Fprintf(p.w, "  epoch %d: test accuracy %.3f\n", r.Epoch.Epoch, r.Score.Accuracy)
}

func main() {
	e, err := engine.Open(engine.Auto) // a GPU where there is one
	if err != nil {
		log.Fatal(err)
	}
	if _, err := run(context.Background(), os.Stdout, e, 5); err != nil {
		log.Fatal(err)
	}
}

// run trains with each p and returns the results in that order.
func run(ctx context.Context, w io.Writer, e *engine.Engine, epochs int) ([]train.Result, error) {
	set, err := images.Load("fashion-sample", "")
	if err != nil {
		return nil, err
	}
	const batch = 50
	steps := epochs * (set.Train.Len() / batch)
	schedule := optim.Triangular(steps, steps/4) // its kind is compiled into the session, its length belongs to a run
	session, err := train.New(e, set, train.Settings{
		Net: network, Batch: batch, Precision: "float32", Optimizer: optim.Mirror().Schedule(schedule),
	})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	fmt.Fprintf(w, "%s: %d parameters on %s\n", network.Name, session.Params, e.Name)
	var results []train.Result
	for _, p := range []float64{2, 3} { // p = 2 is SGD
		fmt.Fprintln(w, "p =", p)
		plan := train.Plan{P: p, LR: 0.4, Seed: 1, Epochs: epochs, Schedule: schedule}
		r, err := session.Run(ctx, plan, nil, printer{w: w}) // nil: no run folder
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}
