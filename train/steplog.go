package train

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/nets"
)

// logVar has a row for each step of an epoch: its loss, the largest |w| of each layer after it, and the norm of its
// gradient. It stays on the device until the epoch is over, or is read every few seconds for stepRecorder.
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
func (x *Session) logStep(g *Graph, k, loss, gradient *Node) {
	layers := x.layerVars()
	width := 2 + len(layers)
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
	row = Concatenate([]*Node{row, Reshape(gradient, 1, 1)}, 1)
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

// alone is from how many values on a gradient is summed by itself. To put all of them together would take the memory of
// another copy of the network, and to sum each small one by itself more time on a GPU than its work.
const alone = 1 << 18

// gradientNorm is the ℓ₂ norm of all gradients together.
func gradientNorm(grads []*Node) *Node {
	var blocks []*Node
	var total *Node
	add := func(d *Node) {
		if sum := ReduceAllSum(Square(d)); total == nil {
			total = sum
		} else {
			total = Add(total, sum)
		}
	}
	for _, d := range grads {
		if d = ConvertDType(d, dtypes.Float32); d.Shape().Size() >= alone {
			add(d)
		} else {
			blocks = append(blocks, inBlocks(d))
		}
	}
	if len(blocks) > 0 {
		add(Concatenate(blocks, 0))
	}
	return Sqrt(total)
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
