package customop

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// groupWidth is how many channels go in and out of each group that kernels convolve.
const groupWidth = 8

// CanConvolveGroups reports whether [Grouped] takes x, in groups of this width, and makes so many channels of it, which
// needs an engine with kernels.
func CanConvolveGroups(x *Node, width, out int) bool {
	d := x.Shape().Dimensions
	return hasKernels(x) && width == groupWidth && out == d[3] && groupedTaken(d[0], d[1], d[2], d[3])
}

// Grouped convolves each group of eight channels with a kernel of its own, [3, 3, 8, channels], with a border of one
// pixel of zeros. Products are of the pictures' type and sums are in float32.
func Grouped(x, kernel *Node, stride int) *Node {
	s := x.Shape().Dimensions
	h, w, c := output(s[1], stride), output(s[2], stride), s[3]
	shape := shapes.Make(x.DType(), s[0], h, w, c)
	call := GroupedForwardCall(s[0], s[1], s[2], c, stride)
	forward := func() *Node {
		return call.on([]*Node{x, kernel}, func() []*Node {
			return []*Node{convert(plainGrouped(x, kernel, h, w, stride), x.DType())}
		}, shape)[0]
	}
	return withGradients(forward, shape, []*Node{x, kernel}, func(v *Node) []*Node {
		return []*Node{groupedByInput(x, kernel, v, stride), groupedByKernel(x, kernel, v, stride)}
	})
}

func groupedByInput(x, kernel, v *Node, stride int) *Node {
	s := x.Shape().Dimensions
	if stride == 1 { // a convolution with the kernel turned around, its channels out where they were in
		turned := TransposeAllAxes(Reshape(kernel, 3, 3, groupWidth, s[3]/groupWidth, groupWidth), 0, 1, 4, 3, 2)
		turned = Reverse(Reshape(turned, kernel.Shape().Dimensions...), 0, 1)
		return GroupedForwardCall(s[0], s[1], s[2], s[3], 1).on([]*Node{v, turned}, func() []*Node {
			return []*Node{convert(plainGrouped(v, turned, s[1], s[2], 1), x.DType())}
		}, x.Shape())[0]
	}
	return GroupedByInputCall(s[0], s[1], s[2], s[3]).on([]*Node{v, kernel}, func() []*Node {
		var sum *Node
		for t := range 9 {
			k := Transpose(groupsOfKernel(kernel, t), 1, 2)
			term := untap(eachGroup(widen(v), k), t/3, t%3, s[1], s[2], stride)
			if sum == nil {
				sum = term
			} else {
				sum = Add(sum, term)
			}
		}
		return []*Node{convert(sum, x.DType())}
	}, x.Shape())[0]
}

func groupedByKernel(x, kernel, v *Node, stride int) *Node {
	s, k := x.Shape().Dimensions, kernel.Shape().Dimensions
	call, parts := GroupedByKernelCall(s[0], s[1], s[2], s[3], stride)
	sums := call.on([]*Node{x, v}, func() []*Node {
		d := v.Shape().Dimensions
		var taps []*Node
		for t := range 9 {
			in := splitGroups(tap(widen(x), t/3, t%3, d[1], d[2], stride))
			product := DotGeneral(in, []int{0}, []int{1}, splitGroups(widen(v)), []int{0}, []int{1}) // [group, in, out]
			taps = append(taps, Reshape(TransposeAllAxes(product, 1, 0, 2), 1, 1, groupWidth, s[3]))
		}
		return []*Node{Reshape(Concatenate(taps, 1), 1, 3, 3, groupWidth, s[3])}
	}, shapes.Make(dtypes.Float32, append([]int{parts}, k...)...))[0]
	return convert(addParts(sums), kernel.DType())
}

// plainGrouped is the convolution in the wide type.
func plainGrouped(x, kernel *Node, h, w, stride int) *Node {
	var sum *Node
	for t := range 9 {
		term := eachGroup(tap(widen(x), t/3, t%3, h, w, stride), groupsOfKernel(kernel, t))
		if sum == nil {
			sum = term
		} else {
			sum = Add(sum, term)
		}
	}
	return sum
}

// groupsOfKernel is a tap of the kernel as [group, in, out].
func groupsOfKernel(kernel *Node, t int) *Node {
	c := kernel.Shape().Dimensions[3]
	k := Reshape(Slice(widen(kernel), AxisElem(t/3), AxisElem(t%3)), groupWidth, c/groupWidth, groupWidth)
	return TransposeAllAxes(k, 1, 0, 2)
}

// splitGroups is x as [pixel, group, channel].
func splitGroups(x *Node) *Node {
	c := channels(x)
	return Reshape(x, x.Shape().Size()/c, c/groupWidth, groupWidth)
}

// eachGroup multiplies the channels of each group of x by its matrix.
func eachGroup(x, matrices *Node) *Node {
	product := DotGeneral(splitGroups(x), []int{2}, []int{1}, matrices, []int{1}, []int{0}) // [group, pixel, out]
	return Reshape(TransposeAllAxes(product, 1, 0, 2), x.Shape().Dimensions...)
}
