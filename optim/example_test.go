package optim_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"

	"github.com/bregman-ml/bregman/optim"
)

// A GoMLX program with its own trainer: the optimizer is the one line that changes.
func Example() {
	// Points of the plane, labelled by whether they lie in the unit circle.
	const n = 512
	rng := rand.New(rand.NewPCG(1, 2))
	var x, y []float32
	for range n {
		a, b := float32(rng.NormFloat64()), float32(rng.NormFloat64())
		label := float32(0)
		if a*a+b*b < 1 {
			label = 1
		}
		x, y = append(x, a, b), append(y, label)
	}
	backend, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := dataset.InMemoryFromData(backend, "circle", []any{tensors.FromFlatDataAndDimensions(x, n, 2)},
		[]any{tensors.FromFlatDataAndDimensions(y, n, 1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	data.BatchSize(64, true).Infinite(true)

	network := func(scope *model.Scope, spec any, inputs []*graph.Node) []*graph.Node {
		h := activation.Relu(layers.Dense(scope.In("hidden"), inputs[0], true, 16))
		return []*graph.Node{layers.Dense(scope.In("out"), h, true, 1)}
	}
	store := model.NewStore()
	store.SetParam("/"+model.ParamInitialSeed, int64(42))
	trainer := train.NewTrainer(backend, store, network, loss.BinaryCrossentropyLogits,
		optim.Mirror().P(3).LearningRate(0.05).Done(), // was: optimizer.StochasticGradientDescent()
		nil, nil)
	metrics, err := train.NewLoop(trainer).RunSteps(data, 600)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("trained well:", tensors.ToScalar[float32](metrics[0]) < 0.3)
	// Output: trained well: true
}
