package nets

import (
	"fmt"
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"
)

// regNetX200 is RegNetX-200MF of Radosavovic et al. (2020) with the stem and
// strides for small pictures.
func regNetX200(b *Builder, x *Node, classes int) *Node {
	stages := []struct{ blocks, width, stride int }{
		{1, 24, 1},
		{1, 56, 1},
		{4, 152, 2},
		{7, 368, 2},
	}
	x = b.NormReLU("bn1", b.Conv("conv1", x, 3, 64, 1))
	for i, s := range stages {
		for block := range s.blocks {
			stride := 1
			if block == 0 {
				stride = s.stride
			}
			x = groupedBottleneck(b.In(fmt.Sprintf("layer%d", i+1), strconv.Itoa(block)), x, s.width, stride)
		}
	}
	return b.Head("linear", x, classes)
}

func groupedBottleneck(b *Builder, x *Node, width, stride int) *Node {
	const groupWidth = 8
	y := b.NormReLU("bn1", b.Conv("conv1", x, 1, width, 1))
	y = b.NormReLU("bn2", b.GroupConv("conv2", y, 3, groupWidth, stride))
	y = b.Conv("conv3", y, 1, width, 1)
	return b.NormAddReLU("bn3", y, func() *Node { return b.shortcut("shortcut", x, width, stride) })
}
