package customop

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// CanPool reports whether [Pool] takes x, which needs an engine with kernels.
func CanPool(x *Node) bool {
	d := x.Shape().Dimensions
	return hasKernels(x) && poolTaken(d[0], d[1], d[2], d[3])
}

// Pool returns what forward computes, the largest of each window of x, with a gradient of its own: of a window, the
// first pixel in reading order that is the largest has all of it. Windows are 2×2 without a border or 3×3 with a border
// of one pixel, two apart.
func Pool(x *Node, side int, forward func() *Node) *Node {
	s := x.Shape().Dimensions
	y := forward()
	plain := func(v *Node) *Node {
		d := y.Shape().Dimensions
		first := 1 // of tap: a window without a border begins with the second
		if side == 3 {
			first = 0
		}
		var sum, taken *Node
		for t := range side * side {
			i, j := first+t/side, first+t%side
			is := Equal(inside(x, i, j, d[1], d[2]), y)
			if taken == nil {
				taken = is
			} else {
				is, taken = LogicalAnd(is, LogicalNot(taken)), LogicalOr(taken, is)
			}
			term := untap(Where(is, widen(v), ZerosLike(widen(v))), i, j, s[1], s[2], 2)
			if sum == nil {
				sum = term
			} else {
				sum = Add(sum, term)
			}
		}
		return convert(sum, x.DType())
	}
	return withGradients(func() *Node { return y }, y.Shape(), []*Node{x}, func(v *Node) []*Node {
		call := PoolCall(s[0], s[1], s[2], s[3], side)
		return call.on([]*Node{x, v}, func() []*Node { return []*Node{plain(v)} }, x.Shape())
	})
}

// inside is tap with pixels outside of x that are never the largest.
func inside(x *Node, i, j, h, w int) *Node {
	low := Infinity(x.Graph(), x.DType(), -1)
	d := x.Shape().Dimensions
	border := func(n, size int) PadAxis { return PadAxis{Start: 1, End: max(1, (size-1)*2+2-n)} }
	x = Pad(x, low, PadAxis{}, border(d[1], h), border(d[2], w), PadAxis{})
	return Slice(x, AxisRange(), AxisRange(i, i+(h-1)*2+1).Stride(2), AxisRange(j, j+(w-1)*2+1).Stride(2))
}
