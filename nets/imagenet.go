package nets

import (
	"fmt"
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine/customop"
)

// The networks here are torchvision's, layer by layer and name by name, for pictures of any size: the first layers
// divide it by four (ResNets) or two, the others by eight or sixteen more.

// resNet18ImageNet is that of He et al. (2015) with basic blocks.
func resNet18ImageNet(b *Builder, x *Node, classes int) *Node {
	return resNetImageNet(b, x, classes, []int{2, 2, 2, 2}, torchBasicBlock)
}

// resNet50ImageNet is that of He et al. (2015) with bottlenecks. The stride is in their 3×3 convolution, where the
// paper has it in the first 1×1.
func resNet50ImageNet(b *Builder, x *Node, classes int) *Node {
	return resNetImageNet(b, x, classes, []int{3, 4, 6, 3}, torchBottleneck)
}

func resNetImageNet(b *Builder, x *Node, classes int, blocks []int,
	block func(b *Builder, x *Node, width, stride int) *Node) *Node {
	x = maxPool3(b.NormReLU("bn1", b.Conv("conv1", x, 7, 64, 2)))
	for stage, n := range blocks {
		for i := range n {
			stride := 1
			if stage > 0 && i == 0 {
				stride = 2
			}
			x = block(b.In(fmt.Sprintf("layer%d", stage+1), strconv.Itoa(i)), x, 64<<stage, stride)
		}
	}
	return b.Head("fc", x, classes)
}

func torchBasicBlock(b *Builder, x *Node, width, stride int) *Node {
	y := b.NormReLU("bn1", b.Conv("conv1", x, 3, width, stride))
	y = b.Conv("conv2", y, 3, width, 1)
	return b.NormAddReLU("bn2", y, func() *Node { return b.downsample(x, width, stride) })
}

func torchBottleneck(b *Builder, x *Node, width, stride int) *Node {
	const expansion = 4
	y := b.NormReLU("bn1", b.Conv("conv1", x, 1, width, 1))
	y = b.NormReLU("bn2", b.Conv("conv2", y, 3, width, stride))
	y = b.Conv("conv3", y, 1, expansion*width, 1)
	return b.NormAddReLU("bn3", y, func() *Node { return b.downsample(x, expansion*width, stride) })
}

// downsample is torchvision's name of the shortcut.
func (b *Builder) downsample(x *Node, width, stride int) *Node {
	return b.shortcut("downsample", x, width, stride)
}

// mobileNetV2ImageNet is that of Sandler et al. (2018).
func mobileNetV2ImageNet(b *Builder, x *Node, classes int) *Node {
	stages := []struct{ expansion, width, blocks, stride int }{
		{1, 16, 1, 1},
		{6, 24, 2, 2},
		{6, 32, 3, 2},
		{6, 64, 4, 2},
		{6, 96, 3, 1},
		{6, 160, 3, 2},
		{6, 320, 1, 1},
	}
	features, layer := b.In("features"), 1
	conv := func(b *Builder, x *Node, side, width, stride int) *Node {
		return b.NormReLU6("1", b.Conv("0", x, side, width, stride))
	}
	x = conv(features.In("0"), x, 3, 32, 2)
	for _, s := range stages {
		for block := range s.blocks {
			stride := 1
			if block == 0 {
				stride = s.stride
			}
			x = torchInvertedResidual(features.In(strconv.Itoa(layer), "conv"), x, s.expansion, s.width, stride)
			layer++
		}
	}
	x = conv(features.In(strconv.Itoa(layer)), x, 1, 1280, 1)
	return b.In("classifier").Head("1", x, classes)
}

// torchInvertedResidual widens, convolves each channel by itself, and narrows. A block that does not widen lacks the
// first convolution, and one that changes the shape has no shortcut.
func torchInvertedResidual(b *Builder, x *Node, expansion, width, stride int) *Node {
	y, layer := x, 0
	next := func() string { layer++; return strconv.Itoa(layer - 1) }
	if expansion > 1 {
		first, depth := b.In(next()), b.In(next())
		y = first.Conv("0", y, 1, expansion*channels(x), 1)
		y = depthwiseBetweenNorms(y, at{first, "1"}, at{depth, "0"}, at{depth, "1"}, stride, customop.ReLU6)
	} else {
		depth := b.In(next())
		y = depth.NormReLU6("1", depth.DepthConv("0", y, 3, stride))
	}
	y = b.Conv(next(), y, 1, width, 1)
	y = b.Norm(next(), y)
	if stride > 1 || channels(x) != width {
		return y
	}
	return Add(y, x)
}
