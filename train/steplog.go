package train

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/nets"
)

// logVar has a row for each step of an epoch: its loss, and then the largest |w| of each layer after it. It stays on
// the device until the epoch is over.
const logVar = "/stats/steps"

// layerVars are the variables of Weights, in its order.
func (x *Session) layerVars() []*model.Variable {
	var out []*model.Variable
	for _, v := range nets.Params(x.modelScope()) {
		if v.Name() == "weight" && v.Shape().Rank() >= 2 && v.DType() == dtypes.Float32 {
			out = append(out, v)
		}
	}
	return out
}

// logStep writes the row of step k.
func (x *Session) logStep(g *Graph, k, loss *Node) {
	layers := x.layerVars()
	width := 1 + len(layers)
	log := x.store.GetVariable(logVar)
	if log == nil {
		log = x.store.VariableWithValue(logVar, tensors.FromFlatDataAndDimensions(make([]float32, x.PerEpoch*width),
			x.PerEpoch, width)).SetTrainable(false)
	}
	before := log.NodeValue(g)
	row := Reshape(loss, 1, 1)
	if len(layers) > 0 {
		row = Concatenate([]*Node{row, Reshape(largest(g, layers), 1, len(layers))}, 1)
	}
	here := Equal(Iota(g, shapes.Make(k.DType(), x.PerEpoch, width), 0), k)
	log.SetNodeValue(Where(here, BroadcastToDims(row, x.PerEpoch, width), before))
}

// logBlock is how many weights one number of the first pass of largest stands for.
const logBlock = 1024

// inBlocks returns the values of a tensor as rows of logBlock, the last one filled up with zeros.
func inBlocks(n *Node) *Node {
	size := n.Shape().Size()
	n = Reshape(n, size)
	if rest := (logBlock - size%logBlock) % logBlock; rest > 0 {
		n = Pad(n, ScalarZero(n.Graph(), n.DType()), PadAxis{End: rest})
	}
	return Reshape(n, -1, logBlock)
}

// largest is the largest |w| of each of these variables. It is two passes over all of them at once, not two over each:
// on a GPU most layers are so small that starting a kernel takes longer than its work.
func largest(g *Graph, vars []*model.Variable) *Node {
	var blocks []*Node
	var owner []int32 // of each block
	for i, v := range vars {
		b := inBlocks(v.NodeValue(g))
		for range b.Shape().Dimensions[0] {
			owner = append(owner, int32(i))
		}
		blocks = append(blocks, b)
	}
	byBlock := ReduceMax(Abs(Concatenate(blocks, 0)), 1)
	n := len(owner)
	of := BroadcastToDims(Reshape(Const(g, owner), 1, n), len(vars), n)
	mine := Equal(of, Iota(g, shapes.Make(dtypes.Int32, len(vars), n), 0))
	spread := BroadcastToDims(Reshape(byBlock, 1, n), len(vars), n)
	return ReduceMax(Where(mine, spread, ZerosLike(spread)), 1)
}

// steps are the rows of the epoch that was trained last.
func (x *Session) steps() ([][]float32, error) {
	t, err := x.store.GetVariable(logVar).Value()
	if err != nil {
		return nil, err
	}
	flat, err := tensors.CopyFlatData[float32](t)
	if err != nil {
		return nil, err
	}
	width := t.Shape().Dimensions[1]
	out := make([][]float32, 0, x.PerEpoch)
	for len(flat) > 0 {
		out = append(out, flat[:width])
		flat = flat[width:]
	}
	return out, nil
}
