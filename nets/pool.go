package nets

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine/customop"
)

// maxPool takes the largest of every 2×2 pixels, dropping an odd last row or
// column; a picture of one row or column is left alone. Written as maxima of
// shifted pictures: forward and gradient are element-wise, where the gradient
// of a pooling window is a scatter.
func maxPool(x *Node) *Node {
	h, w := x.Shape().Dimensions[1]/2, x.Shape().Dimensions[2]/2
	if h == 0 || w == 0 {
		return x
	}
	if customop.CanPool(x) {
		return customop.Pool(x, 2, func() *Node { return largestOfFour(x, h, w) })
	}
	return largestOfFour(x, h, w)
}

func largestOfFour(x *Node, h, w int) *Node {
	at := func(i, j int) *Node { return every(x, i, j, h, w, 2) }
	return Max(Max(at(0, 0), at(0, 1)), Max(at(1, 0), at(1, 1)))
}

// maxPool3 takes the largest of every 3×3 pixels, two apart, with a border of one pixel that is never the largest.
// It is written as maxima of shifted pictures too, first along rows and then along columns: four instead of eight.
//
// Of equal pixels the first in reading order has the whole gradient, as in PyTorch.
func maxPool3(x *Node) *Node {
	if customop.CanPool(x) {
		return customop.Pool(x, 3, func() *Node { return largestOfNine(x) })
	}
	return largestOfNine(x)
}

func largestOfNine(x *Node) *Node {
	d := x.Shape().Dimensions
	h, w := (d[1]-1)/2+1, (d[2]-1)/2+1
	border := PadAxis{Start: 1, End: 1}
	x = Pad(x, Infinity(x.Graph(), x.DType(), -1), PadAxis{}, border, border, PadAxis{})
	column := func(j int) *Node { return Slice(x, AxisRange(), AxisRange(), AxisRange(j, j+2*w-1).Stride(2)) }
	x = larger(larger(column(0), column(1)), column(2))
	row := func(i int) *Node { return Slice(x, AxisRange(), AxisRange(i, i+2*h-1).Stride(2)) }
	return larger(larger(row(0), row(1)), row(2))
}

// larger is the maximum, whose gradient goes to a if both are equal. GoMLX's Max gives it to both.
func larger(a, b *Node) *Node { return Where(GreaterOrEqual(a, b), a, b) }
