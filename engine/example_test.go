package engine_test

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine"
)

// A GoMLX graph on an engine; "auto" in place of engine.CPU takes a GPU where there is one.
func Example() {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	norm := graph.MustNewExec(e.Backend, func(x *graph.Node) *graph.Node {
		return graph.Sqrt(graph.ReduceAllSum(graph.Square(x)))
	})
	length, err := norm.Call1([]float32{3, 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Name, length.Value())
	// Output: cpu 5
}

// Graph building panics where shapes do not fit; Try makes an error of that.
func ExampleTry() {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = engine.Try(func() error {
		g := graph.NewGraph(e.Backend, "misfit")
		graph.Add(graph.Const(g, []float32{1, 2}), graph.Const(g, []float32{1, 2, 3}))
		return nil
	})
	fmt.Println("an error:", err != nil)
	// Output: an error: true
}
