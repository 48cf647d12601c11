package nets

import (
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
)

// mobileNetV2 is that of Sandler et al. (2018) with the strides for small
// pictures and ReLU in place of ReLU6.
func mobileNetV2(b *builder, x *Node, classes int) *Node {
	stages := []struct{ expansion, width, blocks, stride int }{
		{1, 16, 1, 1},
		{6, 24, 2, 1},
		{6, 32, 3, 2},
		{6, 64, 4, 2},
		{6, 96, 3, 1},
		{6, 160, 3, 2},
		{6, 320, 1, 1},
	}
	x = relu(b.norm("bn1", b.conv("conv1", x, 3, 32, 1)))
	layer := 0
	for _, s := range stages {
		for block := range s.blocks {
			stride := 1
			if block == 0 {
				stride = s.stride
			}
			x = invertedResidual(b.in("layers", strconv.Itoa(layer)), x, s.expansion, s.width, stride)
			layer++
		}
	}
	x = relu(b.norm("bn2", b.conv("conv2", x, 1, 1280, 1)))
	return b.head("linear", x, classes)
}

// invertedResidual widens, convolves each channel by itself, and narrows; there
// is no nonlinearity after the narrow end.
func invertedResidual(b *builder, x *Node, expansion, width, stride int) *Node {
	y := relu(b.norm("bn1", b.conv("conv1", x, 1, expansion*channels(x), 1)))
	y = relu(b.norm("bn2", b.depthConv("conv2", y, 3, stride)))
	y = b.norm("bn3", b.conv("conv3", y, 1, width, 1))
	if stride > 1 {
		return y
	}
	return Add(y, b.shortcut(x, width, 1))
}
