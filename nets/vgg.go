package nets

import (
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
)

// vgg11 is configuration A of Simonyan and Zisserman (2014) with batch norm and
// one linear layer. Layers are counted as PyTorch's Sequential counts them.
func vgg11(b *Builder, x *Node, classes int) *Node {
	const pool = 0
	layer := 0
	for _, width := range []int{64, pool, 128, pool, 256, 256, pool, 512, 512, pool, 512, 512, pool} {
		if width == pool {
			x = maxPool(x)
			layer++
			continue
		}
		x = b.In("features").convBiasNormReLU(strconv.Itoa(layer), strconv.Itoa(layer+1), x, width)
		layer += 3
	}
	return b.Head("classifier", x, classes)
}
