package nets

import (
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
)

// Whitened is the name of a layer whose weight is not trained. Package train sets it from the training images of a run:
// the outputs of one half of its filters have mean square 1 there and no correlation, those of the other are their
// negatives.
const Whitened = "whiten"

// airbench is a network in the manner of airbench94 (K. Jordan 2024), small enough to train to 94 % on CIFAR-10 in
// seconds: a first layer that whitens 2×2 pixels, then three pairs of 3×3 convolutions with a max pool in each.
//
// Unlike there, activations are ReLUs, initial weights are PyTorch's, batch norm has a scale, its biases learn at the
// rate of all else, and the head averages: with these each layer is like those of the other networks, so that what p
// does can be compared.
func airbench(b *Builder, x *Node, classes int) *Node {
	x = ReLU(b.whitened(x))
	for k, width := range []int{64, 256, 256} {
		block := b.In("layer" + strconv.Itoa(k+1))
		x = block.NormReLU("bn1", maxPool(block.Conv("conv1", x, 3, width, 1)))
		x = block.NormReLU("bn2", block.Conv("conv2", x, 3, width, 1))
	}
	return b.Head("linear", x, classes)
}

// whiteSide is the side of the patches that the first layer whitens.
const whiteSide = 2

// whitened is a convolution of 2×2 pixels without a border, whose weight is not trained, and its bias.
func (b *Builder) whitened(x *Node) *Node {
	patch := whiteSide * whiteSide * channels(x)
	layer := b.In(Whitened)
	weight := layer.Variable("weight", whiteSide, whiteSide, channels(x), 2*patch).SetTrainable(false)
	y := convolve(x, to(b.narrow, weight.NodeValue(x)), 1)
	return b.addBias(y, layer.Variable("bias", 2*patch).NodeValue(x))
}
