package nets

import (
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine/customop"
)

// mobileNetV2 is that of Sandler et al. (2018) with the strides for small
// pictures and ReLU in place of ReLU6.
func mobileNetV2(b *Builder, x *Node, classes int) *Node {
	stages := []struct{ expansion, width, blocks, stride int }{
		{1, 16, 1, 1},
		{6, 24, 2, 1},
		{6, 32, 3, 2},
		{6, 64, 4, 2},
		{6, 96, 3, 1},
		{6, 160, 3, 2},
		{6, 320, 1, 1},
	}
	x = b.NormReLU("bn1", b.Conv("conv1", x, 3, 32, 1))
	layer := 0
	for _, s := range stages {
		for block := range s.blocks {
			stride := 1
			if block == 0 {
				stride = s.stride
			}
			x = invertedResidual(b.In("layers", strconv.Itoa(layer)), x, s.expansion, s.width, stride)
			layer++
		}
	}
	x = b.NormReLU("bn2", b.Conv("conv2", x, 1, 1280, 1))
	return b.Head("linear", x, classes)
}

// invertedResidual widens, convolves each channel by itself, and narrows; there
// is no nonlinearity after the narrow end.
func invertedResidual(b *Builder, x *Node, expansion, width, stride int) *Node {
	y := b.Conv("conv1", x, 1, expansion*channels(x), 1)
	y = depthwiseBetweenNorms(y, at{b, "bn1"}, at{b, "conv2"}, at{b, "bn2"}, stride, customop.ReLU)
	y = b.Norm("bn3", b.Conv("conv3", y, 1, width, 1))
	if stride > 1 {
		return y
	}
	return Add(y, b.shortcut("shortcut", x, width, 1))
}
