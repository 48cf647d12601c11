package nets

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// cnn halves the picture twice at once, so that it costs little where there is
// no accelerator; it exists for tests and first tries.
func cnn(b *builder, x *Node, classes int) *Node {
	x = relu(b.norm("bn1", b.conv("conv1", x, 3, 8, 2)))
	x = relu(b.norm("bn2", b.conv("conv2", x, 3, 16, 2)))
	return b.head("linear", x, classes)
}
