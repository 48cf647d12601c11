// Command bregman-own-potential runs mirror descent in a geometry of its own, in a training step of GoMLX.
//
// Of all weights with ⟨x, w⟩ = 1, mirror descent from 0 finds those with the least ψ(w): their mirror image ∇ψ(w) is a
// multiple of x. Gradient descent finds a multiple of x itself.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/optim"
)

// mixed is ψ(w) = Σ |w|³/3 + c·w²/2: as p = 3 for large weights, and gradient descent for small ones, where p = 3 would
// hardly move. Its mirror map is w|w| + cw; the inverse solves that for w.
func mixed(c float64) optim.Potential {
	return optim.NewPotential("mixed", "c", c,
		func(w, c *graph.Node) *graph.Node {
			return graph.Mul(w, graph.Add(graph.Abs(w), graph.ConvertDType(c, w.DType())))
		},
		func(z, c *graph.Node) *graph.Node {
			c = graph.ConvertDType(c, z.DType())
			root := graph.Sqrt(graph.Add(graph.Square(c), graph.MulScalar(graph.Abs(z), 4)))
			return graph.Div(graph.MulScalar(z, 2), graph.Add(c, root))
		})
}

var x = []float64{1, 2, 4}

func main() {
	_, err := run(os.Stdout, "gradient descent", optim.Quadratic(1))
	if err == nil {
		_, err = run(os.Stdout, "mixed", mixed(0.25))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run minimises (⟨x, w⟩ − 1)² from w = 0 and returns the weights.
func run(out io.Writer, name string, psi optim.Potential) ([]float64, error) {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		return nil, err
	}
	opt := optim.Mirror().Potential(psi).LearningRate(0.01).Done()
	store := model.NewStore()
	step, err := model.NewExec(e.Backend, store, func(scope *model.Scope, g *graph.Graph) *graph.Node {
		w := scope.In("model").VariableWithValue("w", make([]float64, len(x))).NodeValue(g)
		loss := graph.Square(graph.AddScalar(graph.ReduceAllSum(graph.Mul(w, graph.Const(g, x))), -1))
		opt.UpdateGraph(scope, g, loss)
		return loss
	})
	if err != nil {
		return nil, err
	}
	for range 500 {
		if _, err := step.Call(); err != nil {
			return nil, err
		}
	}
	value, err := store.GetVariable("/model/w").Value()
	if err != nil {
		return nil, err
	}
	w, err := tensors.CopyFlatData[float64](value)
	if err == nil {
		fmt.Fprintf(out, "%-17s w = %.4f\n", name+":", w)
	}
	return w, err
}
