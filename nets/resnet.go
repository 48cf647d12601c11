package nets

import (
	"fmt"
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
)

// resNet18 is that of He et al. (2015) with the stem for small pictures: a 3×3
// convolution of stride 1 and no pooling.
func resNet18(b *Builder, x *Node, classes int) *Node {
	x = b.NormReLU("bn1", b.Conv("conv1", x, 3, 64, 1))
	for stage, width := range []int{64, 128, 256, 512} {
		for block := range 2 {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = basicBlock(b.In(fmt.Sprintf("layer%d", stage+1), strconv.Itoa(block)), x, width, stride)
		}
	}
	return b.Head("linear", x, classes)
}

func basicBlock(b *Builder, x *Node, width, stride int) *Node {
	y := b.NormReLU("bn1", b.Conv("conv1", x, 3, width, stride))
	y = b.Conv("conv2", y, 3, width, 1)
	return b.NormAddReLU("bn2", y, func() *Node { return b.shortcut("shortcut", x, width, stride) })
}

// shortcut is x itself, or a 1×1 convolution and batch norm where the shape changes.
func (b *Builder) shortcut(name string, x *Node, width, stride int) *Node {
	if channels(x) == width && stride == 1 {
		return x
	}
	b = b.In(name)
	return b.Norm("1", b.Conv("0", x, 1, width, stride))
}
