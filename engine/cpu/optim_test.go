package cpu_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine/cpu"
	"github.com/bregman-ml/bregman/optim"
)

// The engine recognises the graph that package optim writes: a change of that graph must not lose the kernel.
func TestTheStepOfOptimIsTheMirrorKernel(t *testing.T) {
	b, err := cpu.New("threads=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	const n = 5000
	p3 := func() *optim.Config { return optim.Mirror().P(3).LearningRate(0.125) }
	for name, opt := range map[string]*optim.Config{
		"plain":        p3(),
		"momentum":     p3().Momentum(0.9),
		"weight decay": p3().WeightDecay(1e-9), // too small to be seen in float32
		"schedule":     p3().Schedule(optim.Step(10, 0.5)),
	} {
		store := model.NewStore()
		w := make([]float32, n)
		for i := range w {
			w[i] = 0.5
		}
		store.RootScope().In("model").VariableWithValue("w", tensors.FromFlatDataAndDimensions(w, n/10, 10))
		optimizer := opt.Done()
		exec, err := model.NewExec(b, store, func(scope *model.Scope, g *Graph) *Node {
			loss := ReduceAllSum(Square(store.GetVariable("/model/w").NodeValue(g))) // its gradient is 2w
			optimizer.UpdateGraph(scope, g, loss)
			return loss
		})
		if err != nil {
			t.Fatal(err)
		}
		_, g, err := exec.CallWithGraph()
		if err != nil {
			t.Fatal(err)
		}
		if programs, steps := cpu.Programs(g.Executable(), n); steps != 1 || programs != 2 {
			t.Errorf("%s: %d mirror kernels in %d programs over the weights, want 1 in 2, the other one the loss",
				name, steps, programs)
		}
		value, err := store.GetVariable("/model/w").Value()
		if err != nil {
			t.Fatal(err)
		}
		got, err := tensors.CopyFlatData[float32](value)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Sqrt(0.5*0.5 - 0.125*2*0.5) // z = w², z − ηg
		for i, v := range got {
			if math.Abs(float64(v)-want) > 1e-6 { // a few roundings of float32
				t.Fatalf("%s: weight %d is %v, want %v", name, i, v, want)
			}
		}
	}
}
