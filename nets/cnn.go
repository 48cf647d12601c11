package nets

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// cnn is small enough to train on a CPU in seconds, and good enough to show what p does: three convolutions of 16, 32
// and 64 channels, halving the picture twice.
func cnn(b *Builder, x *Node, classes int) *Node {
	x = b.NormReLU("bn1", b.Conv("conv1", x, 3, 16, 1))
	x = b.NormReLU("bn2", b.Conv("conv2", x, 3, 32, 2))
	x = b.NormReLU("bn3", b.Conv("conv3", x, 3, 64, 2))
	return b.Head("linear", x, classes)
}
