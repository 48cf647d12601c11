package nets_test

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/nets"
)

// The graph of a network: from pictures to logits, with its weights in a scope.
func Example() {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nets.ByName("resnet18")
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := model.NewStore().Scope("/model")
	g := graph.NewGraph(e.Backend, net.Name)
	pictures := graph.Parameter(g, "pictures", shapes.Make(dtypes.Float32, 8, 32, 32, 3))
	logits := net.Logits(scope, pictures, 10, true)
	fmt.Println(logits.Shape(), nets.Count(scope), "parameters")
	fmt.Println(nets.Params(scope)[0].Path())
	// Output:
	// (Float32)[8, 10] 11173962 parameters
	// /model/conv1/weight
}

// A network of your own: a convolution with batch norm, and a linear layer on the mean over all pixels.
func ExampleNew() {
	net := nets.New("mine", func(b *nets.Builder, x *graph.Node, classes int) *graph.Node {
		return b.Head("linear", nets.ReLU(b.Norm("bn1", b.Conv("conv1", x, 3, 16, 2))), classes)
	})
	e, err := engine.Open(engine.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := model.NewStore().Scope("/model")
	g := graph.NewGraph(e.Backend, net.Name)
	pictures := graph.Parameter(g, "pictures", shapes.Make(dtypes.Float32, 8, 28, 28, 1))
	net.Logits(scope, pictures, 10, true)
	for _, v := range nets.Params(scope) {
		fmt.Println(v.Path(), v.Shape())
	}
	// Output:
	// /model/conv1/weight (Float32)[3, 3, 1, 16]
	// /model/bn1/weight (Float32)[16]
	// /model/bn1/bias (Float32)[16]
	// /model/linear/weight (Float32)[16, 10]
	// /model/linear/bias (Float32)[10]
}
