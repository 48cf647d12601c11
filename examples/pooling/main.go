// Command bregman-pooling trains a small convolutional network with GoMLX's own layers and trainer: convolutions, max
// pools, a mean pool. It tells apart six kinds of figures in noisy images of 28 × 28, which are made here.
//
//	go run . -p 3 -steps 300
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/looplog"
	"github.com/bregman-ml/bregman/optim"
)

const (
	side  = 28
	kinds = 6
	batch = 64
)

func main() {
	p := flag.Float64("p", 0, "geometry; 0: p = 2 and p = 3, one after the other")
	steps := flag.Int("steps", 300, "training steps")
	resume := flag.String("resume", "", "the run folder to go on with, whose -p and -steps are these")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	backend, err := engine.Default()
	if err != nil {
		log.Fatal(err)
	}
	geometries := []float64{2, 3}
	if *p != 0 {
		geometries = []float64{*p}
	}
	for _, p := range geometries {
		if _, err := run(ctx, os.Stdout, backend, p, *steps, looplog.Settings{Resume: *resume}); err != nil {
			log.Fatal(err)
		}
	}
}

// rate is what suits a p: p-GD moves a weight w at the rate η|w|^(2−p)/(p−1).
func rate(p float64) float64 {
	if p == 2 {
		return 0.05
	}
	return 0.002
}

// run trains the network and returns its accuracy on images that it has not seen.
func run(ctx context.Context, out io.Writer, backend compute.Backend, p float64, steps int,
	s looplog.Settings) (float64, error) {
	store := model.NewStore()
	store.SetParam("/"+model.ParamInitialSeed, int64(42))
	accuracy := metric.NewSparseCategoricalAccuracy("accuracy", "accuracy")
	trainer := train.NewTrainer(backend, store, network, loss.SparseCategoricalCrossEntropyLogits,
		optim.Mirror().P(p).LearningRate(rate(p)).Momentum(0.9).Done(), nil, []metric.Interface{accuracy})
	var start time.Time
	s.Name, s.Data = fmt.Sprintf("figures-p%v", p), "figures"
	s.Settings = map[string]any{"p": p, "lr": rate(p), "steps": steps}
	r, err := looplog.Start(ctx, trainer, s)
	if err != nil {
		return 0, err
	}
	r.Loop.OnStep("time", 0, func(loop *train.Loop, metrics []*tensors.Tensor) error {
		if start.IsZero() {
			start = time.Now() // the first step compiles
		}
		if (loop.LoopStep+1)%100 == 0 {
			fmt.Fprintf(out, "p = %g, step %d: loss %.3f\n", p, loop.LoopStep+1, tensors.ToScalar[float32](metrics[0]))
		}
		return nil
	})
	_, err = r.Loop.RunToGlobalStep(figures{seed: 1}, steps)
	if err := r.Finish(err); err != nil {
		return 0, fmt.Errorf("%s: %w", r.Dir(), err)
	}
	took := time.Since(start).Seconds() / float64(max(1, steps-1))
	results, err := trainer.Eval(figures{seed: 2, batches: 8})
	if err != nil {
		return 0, err
	}
	right := float64(tensors.ToScalar[float32](results[len(results)-1]))
	fmt.Fprintf(out, "p = %g: %.1f %% right after %d steps of %.1f ms; %s\n", p, 100*right, steps, 1e3*took, r.Dir())
	return right, nil
}

// network maps images [batch, 28, 28, 1] to logits [batch, kinds].
func network(scope *model.Scope, _ any, inputs []*graph.Node) []*graph.Node {
	x := inputs[0]
	for i, channels := range []int{32, 64} {
		x = layers.Convolution(scope.In("conv%d", i), x).Channels(channels).KernelSize(3).PadSame().Done()
		x = graph.MaxPool(activation.Relu(x)).Window(2).Done()
	}
	x = activation.Relu(layers.Convolution(scope.In("conv2"), x).Channels(64).KernelSize(3).PadSame().Done())
	x = graph.MeanPool(x).Window(7).Done()
	return []*graph.Node{layers.Dense(scope.In("out"), graph.Reshape(x, batch, 64), true, kinds)}
}

// figures are images of discs, rings, squares, frames, crosses and stripes, as a train.Dataset.
type figures struct {
	seed    uint64
	batches int // 0: without an end
}

// Name of the data set.
func (f figures) Name() string { return "figures" }

// Iter yields batches.
func (f figures) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		rng := rand.New(rand.NewPCG(f.seed, 1))
		for i := 0; f.batches == 0 || i < f.batches; i++ {
			var x []float32
			var y []int32
			for range batch {
				kind := rng.IntN(kinds)
				x, y = append(x, draw(rng, kind)...), append(y, int32(kind))
			}
			b := train.Batch{Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x, batch, side, side, 1)},
				Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(y, batch, 1)}}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// draw makes an image of a kind, with its centre and size drawn, and noise.
func draw(rng *rand.Rand, kind int) []float32 {
	image := make([]float32, side*side)
	size := 4 + 6*rng.Float64()
	cx, cy := size+(side-2*size)*rng.Float64(), size+(side-2*size)*rng.Float64()
	for i := range image {
		x, y := math.Abs(float64(i%side)-cx), math.Abs(float64(i/side)-cy)
		round, square := math.Hypot(x, y)/size, max(x, y)/size
		inside := false
		switch kind {
		case 0:
			inside = round < 1
		case 1:
			inside = round < 1 && round > 0.6
		case 2:
			inside = square < 0.9
		case 3:
			inside = square < 0.9 && square > 0.55
		case 4:
			inside = square < 1 && min(x, y) < 0.3*size
		case 5:
			inside = square < 0.9 && i%side/2%2 == 0
		}
		image[i] = float32(0.3 * rng.NormFloat64())
		if inside {
			image[i]++
		}
	}
	return image
}
