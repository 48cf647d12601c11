package nets

import (
	"fmt"
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
)

// resNet18 is that of He et al. (2015) with the stem for small pictures: a 3×3
// convolution of stride 1 and no pooling.
func resNet18(b *builder, x *Node, classes int) *Node {
	x = relu(b.norm("bn1", b.conv("conv1", x, 3, 64, 1)))
	for stage, width := range []int{64, 128, 256, 512} {
		for block := range 2 {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = basicBlock(b.in(fmt.Sprintf("layer%d", stage+1), strconv.Itoa(block)), x, width, stride)
		}
	}
	return b.head("linear", x, classes)
}

func basicBlock(b *builder, x *Node, width, stride int) *Node {
	y := relu(b.norm("bn1", b.conv("conv1", x, 3, width, stride)))
	y = b.norm("bn2", b.conv("conv2", y, 3, width, 1))
	return relu(Add(y, b.shortcut(x, width, stride)))
}

// shortcut is x itself, or a 1×1 convolution and batch norm where the shape changes.
func (b *builder) shortcut(x *Node, width, stride int) *Node {
	if channels(x) == width && stride == 1 {
		return x
	}
	b = b.in("shortcut")
	return b.norm("1", b.conv("0", x, 1, width, stride))
}
