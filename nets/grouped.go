package nets

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// hasGroups reports whether an engine runs grouped convolutions well, with gradients that are grouped, too. XLA on a
// GPU is quicker with the other forms here, and GoMLX's engine in Go is slow with either.
func hasGroups(x *Node) bool {
	return x.DType() == dtypes.Float32 && x.Graph().Backend().Name() == "cpu"
}

// grouped is a convolution of x with a kernel [side, side, in/groups, out], with gradients that are one convolution
// each, where GoMLX takes one per group.
func grouped(x, kernel *Node, groups, stride int) *Node {
	d, k := x.Shape().Dimensions, kernel.Shape().Dimensions
	side, in, out := k[0], d[3], k[3]
	pad := (side - 1) / 2
	size := func(n int) int { return (n+2*pad-side)/stride + 1 }
	h, w := size(d[1]), size(d[2])
	last := ConvolveAxesConfig{InputBatch: 0, InputChannels: 3, InputSpatial: []int{1, 2}, KernelInputChannels: 2,
		KernelOutputChannels: 3,
		KernelSpatial:        []int{0, 1}, OutputBatch: 0, OutputChannels: 3, OutputSpatial: []int{1, 2}}
	steps := []int{stride, stride}

	forward := func() *Node {
		return ConvGeneral(x, kernel, last, steps, [][2]int{{pad, pad}, {pad, pad}}, nil, nil, groups, 1)
	}
	// end is the padding after an axis that makes a window of `side` over n gradients, stride apart, give `want`
	// values.
	end := func(want, n int) int { return want - 1 + side - (side - 1 - pad) - ((n-1)*stride + 1) }
	byInput := func(v *Node) *Node {
		turned := Reshape(kernel, side, side, in/groups, groups, out/groups)
		turned = Reshape(TransposeAllAxes(turned, 0, 1, 4, 3, 2), side, side, out/groups, in)
		return ConvGeneral(v, Reverse(turned, 0, 1), last, nil,
			[][2]int{{side - 1 - pad, end(d[1], h)}, {side - 1 - pad, end(d[2], w)}}, steps, nil, groups, 1)
	}
	byKernel := func(v *Node) *Node {
		crossed := ConvolveAxesConfig{InputBatch: 3, InputChannels: 0, InputSpatial: []int{1, 2}, KernelInputChannels: 0,
			KernelOutputChannels: 3,
			KernelSpatial:        []int{1, 2}, OutputBatch: 2, OutputChannels: 3, OutputSpatial: []int{0, 1}}
		after := func(size, n int) int { return (n-1)*stride + side - size - pad }
		return ConvGeneral(x, v, crossed, nil, [][2]int{{pad, after(d[1], h)}, {pad, after(d[2], w)}}, nil, steps, 1, groups)
	}
	return withGradients(forward, shapes.Make(x.DType(), d[0], h, w, out), []*Node{x, kernel}, byInput, byKernel)
}

// withGradients returns forward's value of the given shape, with these gradients by its inputs, each a function of the
// gradient by the value.
//
// GoMLX lets a node be differentiated as another one of the same shape. The other one here reads an element of each
// input; on its way back the gradient by the value is caught, and each input's is made from it. Of the stand-in itself
// nothing is ever computed.
func withGradients(forward func() *Node, shape shapes.Shape, inputs []*Node, gradients ...func(v *Node) *Node) *Node {
	standIn := func() *Node {
		var caught, sum *Node
		for i, x := range inputs {
			x = IdentityWithCustomGradient(x, func(_, _ *Node) *Node { return gradients[i](caught) })
			for range shape.Rank() {
				x = Slice(x, AxisElem(0))
				x = Reshape(x, x.Shape().Dimensions[1:]...)
			}
			x = BroadcastToShape(x, shape)
			if sum == nil {
				sum = x
			} else {
				sum = Add(sum, x)
			}
		}
		return IdentityWithCustomGradient(sum, func(_, v *Node) *Node {
			caught = v
			return v
		})
	}
	y, fused := InternalFusedOpCaller(forward, standIn, true)
	if !fused {
		panic("nets: GOMLX_FUSION is off: grouped convolutions need it on this engine")
	}
	return y
}
