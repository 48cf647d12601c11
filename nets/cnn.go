package nets

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// cnn is small enough to train on a CPU in seconds, and good enough to show what p does: three convolutions of 16, 32 and 64 channels,
// halving the picture twice.
func cnn(b *builder, x *Node, classes int) *Node {
	x = relu(b.norm("bn1", b.conv("conv1", x, 3, 16, 1)))
	x = relu(b.norm("bn2", b.conv("conv2", x, 3, 32, 2)))
	x = relu(b.norm("bn3", b.conv("conv3", x, 3, 64, 2)))
	return b.head("linear", x, classes)
}
