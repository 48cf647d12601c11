package nets

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine/customop"
)

// Layers that are one operation on an engine with kernels of ours, where they read and write less memory than one by
// one.

// convBiasNormReLU is ReLU(Norm(ConvBias(x))) with a 3×3 convolution. Batch norm takes the bias away again, so with
// kernels it is not added: it is part of the running mean, and its gradient is 0, which elsewhere it is but for
// rounding.
func (b *Builder) convBiasNormReLU(conv, norm string, x *Node, out int) *Node {
	y := b.Conv(conv, x, 3, out, 1)
	bias := b.In(conv).Variable("bias", out).NodeValue(x)
	if !b.training || !customop.CanNormalise(y) {
		return b.NormReLU(norm, b.addBias(y, bias))
	}
	n := b.normLayer(norm, y)
	shift := Sub(n.shift(y), StopGradient(bias))
	return n.ofBatch(y, shift, customop.Moments(y, shift), customop.ReLU).Apply()
}

// at is a layer by its name in a place.
type at struct {
	*Builder
	name string
}

// depthwiseBetweenNorms is act(norm(depthwise(act(norm(x))))) with a 3×3 convolution, where act clips to [0, top].
//
// With kernels the first norm and activation happen while the convolution reads x, and its result is summed up for the
// second norm while it is written.
func depthwiseBetweenNorms(x *Node, norm, depth, after at, stride int, top float64) *Node {
	c := channels(x)
	if !norm.training || !customop.CanNormalise(x) || !customop.CanConvolveDepth(x) || norm.blurred != nil && stride > 1 {
		return after.norm(after.name, depth.DepthConv(depth.name, norm.norm(norm.name, x, top), 3, stride), top)
	}
	first := norm.normLayer(norm.name, x)
	kernel := depth.In(depth.name).Variable("weight", 3, 3, 1, c).NodeValue(x)
	second := after.normLayer(after.name, x)
	shift := first.shift(x)
	y, moments := first.ofBatch(x, shift, customop.Moments(x, shift), top).Depthwise(kernel, stride, second.shift(x))
	return second.ofBatch(y, second.shift(x), moments, top).Apply()
}
