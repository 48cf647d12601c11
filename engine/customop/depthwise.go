package customop

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// CanConvolveDepth reports whether [Depthwise] and [Norm.Depthwise] take x, which needs an engine with kernels.
func CanConvolveDepth(x *Node) bool {
	d := x.Shape().Dimensions
	return hasKernels(x) && depthwiseTaken(d[0], d[1], d[2], d[3])
}

// Depthwise convolves every channel of x with a kernel of its own, [3, 3, 1, channels], with a border of one pixel of
// zeros. Value and gradients are computed by one kernel each.
func Depthwise(x, kernel *Node, stride int) *Node {
	zeros := ZerosLike(Reshape(Slice(kernel, AxisElem(0), AxisElem(0)), channels(x)))
	d := depthwise{x: x, stride: stride}
	y, _ := d.forward(kernel, zeros)
	return y
}

// Depthwise is the depthwise convolution of [Norm.Apply], and Σ d and Σ d² of d = y − shift over its pixels, [2,
// channels], which have no gradient. Norm.Apply itself is not written to memory.
func (n Norm) Depthwise(kernel *Node, stride int, shift *Node) (y, moments *Node) {
	d := depthwise{x: n.X, norm: &n, stride: stride}
	return d.forward(kernel, shift)
}

// depthwise is a convolution of x, or of norm, which is of x.
type depthwise struct {
	x      *Node
	norm   *Norm
	stride int
}

func (d depthwise) forward(kernel, shift *Node) (y, moments *Node) {
	s := d.x.Shape().Dimensions
	h, w, c := output(s[1], d.stride), output(s[2], d.stride), s[3]
	shape := shapes.Make(d.x.DType(), s[0], h, w, c)
	taps := Reshape(kernel, 9, c)
	call, parts := DepthwiseForwardCall(s[0], s[1], s[2], c, d.stride, d.norm != nil, top(d.norm))
	in := append([]*Node{d.x, taps, shift}, d.vectors()...)
	plain := func() []*Node {
		a := d.input()
		var sum *Node
		for t := range 9 {
			term := Mul(tap(a, t/3, t%3, h, w, d.stride), perChannel(Reshape(Slice(taps, AxisElem(t)), c)))
			if sum == nil {
				sum = term
			} else {
				sum = Add(sum, term)
			}
		}
		y := convert(sum, d.x.DType())
		m := Sub(widen(y), perChannel(shift))
		return []*Node{y, plainMoments(m, m)}
	}
	out := call.on(in, plain, shape, shapes.Make(dtypes.Float32, parts, 2, c))

	inputs := []*Node{d.x, kernel}
	if d.norm != nil {
		inputs = []*Node{d.x, kernel, d.norm.Weight, d.norm.Bias}
	}
	forward := func() *Node { return out[0] }
	y = withGradients(forward, shape, inputs, func(v *Node) []*Node { return d.backward(kernel, v) })
	return y, StopGradient(addParts(out[1]))
}

// backward returns the gradients by x and the kernel, and by the norm's weight and bias.
func (d depthwise) backward(kernel, v *Node) []*Node {
	s := d.x.Shape().Dimensions
	c := s[3]
	taps := Reshape(kernel, 9, c)
	call, parts := DepthwiseBackwardCall(s[0], s[1], s[2], c, d.stride, d.norm != nil, top(d.norm))
	in := append([]*Node{d.x, v, taps}, d.vectors()...)
	outputs := []shapes.Shape{d.x.Shape(), shapes.Make(dtypes.Float32, parts, 9, c)}
	if d.norm != nil {
		outputs = append(outputs, shapes.Make(dtypes.Float32, parts, 2, c))
	}
	plain := func() []*Node {
		a, wide := d.input(), widen(v)
		h, w := v.Shape().Dimensions[1], v.Shape().Dimensions[2]
		var g *Node
		var dk []*Node
		for t := range 9 {
			dk = append(dk, Reshape(ReduceSum(Mul(tap(a, t/3, t%3, h, w, d.stride), wide), 0, 1, 2), 1, 1, c))
			term := untap(Mul(wide, perChannel(Reshape(Slice(taps, AxisElem(t)), c))), t/3, t%3, s[1], s[2], d.stride)
			if g == nil {
				g = term
			} else {
				g = Add(g, term)
			}
		}
		out := []*Node{g, Concatenate(dk, 1)}
		if d.norm != nil {
			g = d.norm.passed(g)
			out = []*Node{g, out[1], plainMoments(widen(convert(g, d.x.DType())), d.norm.deviation())}
		}
		out[0] = convert(out[0], d.x.DType())
		return out
	}
	out := call.on(in, plain, outputs...)
	byKernel := Reshape(addParts(out[1]), 3, 3, 1, c)
	if d.norm == nil {
		return []*Node{out[0], byKernel}
	}
	by := d.norm.gradients(out[0], addParts(out[2]))
	return []*Node{by[0], byKernel, by[1], by[2]}
}

// input is what is convolved, as wide as sums but with the digits of pictures.
func (d depthwise) input() *Node {
	if d.norm == nil {
		return widen(d.x)
	}
	return widen(convert(d.norm.clip(d.norm.value()), d.x.DType()))
}

// vectors are the kernel's inputs for the norm.
func (d depthwise) vectors() []*Node {
	if d.norm == nil {
		return nil
	}
	return []*Node{d.norm.Center, d.norm.scale(), d.norm.Bias}
}

// top is where the norm clips.
func top(n *Norm) float32 {
	if n == nil {
		return 0
	}
	return float32(n.Top)
}
