package nets

import (
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"

	"github.com/bregman-ml/bregman/engine/customop"
)

// Whitened is the name of a layer whose weight is not trained. Package train sets it from the training images of a run:
// the outputs of one half of its filters have mean square 1 there and no correlation, those of the other are their
// negatives.
const Whitened = "whiten"

// airbench is a network in the manner of airbench94 (K. Jordan 2024), small enough to train to 94 % on CIFAR-10 in
// seconds: a first layer that whitens 2×2 pixels, then three pairs of 3×3 convolutions with a max pool in each, GELUs,
// and a max over all pixels before the last layer.
//
// Unlike there, convolutions begin with PyTorch's random weights, without identities among them, so that the weights
// that p shapes are of one kind.
func airbench(b *Builder, x *Node, classes int) *Node {
	x = activation.Gelu(b.whitened(x))
	for k, width := range []int{64, 256, 256} {
		block := b.In("layer" + strconv.Itoa(k+1))
		x = activation.Gelu(block.normShift("bn1", maxPool(block.Conv("conv1", x, 3, width, 1))))
		x = activation.Gelu(block.normShift("bn2", block.Conv("conv2", x, 3, width, 1)))
	}
	features := DivScalar(ReduceMax(to(b.wide, x), 1, 2), featuresOver)
	return b.Head("linear", Reshape(features, -1, 1, 1, channels(x)), classes)
}

const (
	featuresOver = 9 // lowers the logits, and the rate of the last layer, as airbench94 does
	biasTimes    = 8 // a bias that is multiplied by 8 moves at 64 times the rate of gradient descent
)

// normShift is batch normalisation without a weight, whose bias learns fast.
func (b *Builder) normShift(name string, x *Node) *Node {
	b.In(name).Variable("weight", channels(x)).SetTrainable(false) // it stays 1
	n := b.normLayer(name, x)
	n.bias = MulScalar(n.bias, biasTimes)
	return n.apply(b, x, customop.Linear)
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
