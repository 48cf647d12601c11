package customop

import (
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// on calls the kernel in the graph of its inputs, or computes its plain form where kernels only stand for those. The
// outputs of the plain form may have fewer parts.
//
// The engine replaces the function's body, so it computes nothing: its outputs are an element of the first input,
// broadcast.
func (c Call) on(inputs []*Node, plain func() []*Node, outputs ...shapes.Shape) []*Node {
	g := inputs[0].Graph()
	if mode(g.Backend()) == PlainForms {
		return plain()
	}
	// Symbols are told apart by the number of a node of their own. It is the same in equal graphs, so that their programs
	// are equal, too.
	unique := int(Identity(inputs[0]).Id())
	f := NewFunction(g, c.symbol(unique), func(g *Graph) []*Node {
		var in, out []*Node
		for i, x := range inputs {
			in = append(in, Parameter(g, fmt.Sprintf("in%d", i), x.Shape()))
		}
		for _, s := range outputs {
			out = append(out, BroadcastToShape(convert(first(in[0]), s.DType), s))
		}
		return out
	})
	return f.Call(inputs...)
}

// first is the first element of x, a scalar.
func first(x *Node) *Node {
	for x.Rank() > 0 {
		x = Slice(x, AxisElem(0))
		x = Reshape(x, x.Shape().Dimensions[1:]...)
	}
	return x
}

// gradients are those of a value by its inputs, one for each, as a function of the gradient v by the value.
type gradients func(v *Node) []*Node

// withGradients returns forward's value, of the given shape, with these gradients by its inputs.
//
// GoMLX lets a node be differentiated as another one of the same shape. The other one here reads an element of each
// input; on its way back the gradient by the value is caught, and each input's is made from it. Of the stand-in itself
// nothing is ever computed.
func withGradients(forward func() *Node, shape shapes.Shape, inputs []*Node, by gradients) *Node {
	standIn := func() *Node {
		var caught, sum *Node
		var made []*Node
		for i, x := range inputs {
			x = IdentityWithCustomGradient(x, func(_, _ *Node) *Node {
				if made == nil {
					made = by(caught)
				}
				return made[i]
			})
			x = BroadcastToShape(convert(first(x), shape.DType), shape)
			if sum == nil {
				sum = x
			} else {
				sum = Add(sum, x)
			}
		}
		return IdentityWithCustomGradient(sum, func(_, v *Node) *Node {
			caught, made = v, nil
			return v
		})
	}
	// GoMLX needs the value to be a later node than its stand-in.
	y, fused := InternalFusedOpCaller(func() *Node { return Identity(forward()) }, standIn, true)
	if !fused {
		panic("customop: GOMLX_FUSION is off: operations with gradients of their own need it")
	}
	return y
}
