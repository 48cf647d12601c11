package train

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// A crop, a flip and a resize along one axis are one matrix with a row for each pixel of the result. Its entries follow
// from three numbers an example, so that pictures of any size in slots of one size go through two batched products:
// rows, then columns. The engines share this graph.

// span is a stretch of pixels along one axis of each example, [batch, 1, 1] each in float32. It may begin and end
// between pixels, as the stretch of a chroma plane does.
type span struct{ from, length *Node }

// halved is the same stretch in a plane of half the resolution.
func (s span) halved() span { return span{MulScalar(s.from, 0.5), MulScalar(s.length, 0.5)} }

// resizeMatrix is [batch, out, in]: the weights of in pixels in each of out. A pixel of the result is the mean over the
// part of the span it covers (area interpolation); if that is less than a pixel, it is interpolated between the two
// nearest pixel centres, with the span's edge pixels repeated. Pixels outside the span have weight 0 exactly: what the
// slot holds there does not matter. Where mirrored, [batch, 1, 1] of booleans, the result is turned around.
func resizeMatrix(s span, mirrored *Node, out, in int) *Node {
	g := s.from.Graph()
	b := s.from.Shape().Dimensions[0]
	dims := []int{b, out, in}
	row := Iota(g, shapes.Make(dtypes.Float32, b, out, 1), 1)
	if mirrored != nil {
		row = Where(BroadcastToDims(mirrored, b, out, 1), Sub(ConstAs(row, float32(out-1)), row), row)
	}
	column := Iota(g, shapes.Make(dtypes.Float32, 1, 1, in), 2)
	wide := func(x *Node) *Node { return BroadcastToDims(x, dims...) }
	one := ConstAs(column, float32(1))

	scale := DivScalar(s.length, float64(out)) // pixels of the span for one of the result
	begin := Add(wide(s.from), wide(Mul(row, BroadcastToDims(scale, b, out, 1))))
	end := Add(begin, wide(scale))
	overlap := Sub(Min(end, wide(Add(column, one))), Max(begin, wide(column)))
	area := Div(Max(overlap, ZerosLike(overlap)), wide(scale))

	first, last := Floor(s.from), Sub(Ceil(Add(s.from, s.length)), one)
	middle := AddScalar(MulScalar(Add(begin, end), 0.5), -0.5)
	middle = Min(Max(middle, wide(first)), wide(last))
	near := Sub(wide(one), Abs(Sub(wide(column), middle)))
	linear := Max(near, ZerosLike(near))

	weights := Where(GreaterOrEqual(wide(scale), wide(one)), area, linear)
	inside := LogicalAnd(GreaterOrEqual(wide(column), wide(first)), LessOrEqual(wide(column), wide(last)))
	return Where(inside, weights, ZerosLike(weights))
}

// resized is a plane [batch, h, w] of bytes, less 128, with the rows and columns that the matrices say. The products
// are in the network's type: in bf16, which has all bytes less 128 exactly, weights and results are off by 2⁻⁹ of their
// size, half a level at most each, as the network's input then is; they take half the memory.
func resized(plane, rows, columns *Node, dtype dtypes.DType) *Node {
	plane = ConvertDType(AddScalar(ConvertDType(plane, dtypes.Float32), -128), dtype)
	plane = Einsum("boh,bhw->bow", ConvertDType(rows, dtype), plane)
	return ConvertDType(Einsum("bow,bpw->bop", plane, ConvertDType(columns, dtype)), dtypes.Float32)
}

// slotPlanes are the planes of slots of YCbCr 4:2:0, bytes [batch, slot]: Y of height × width, then Cb, then Cr.
func slotPlanes(slots *Node, height, width int) (y, cb, cr *Node) {
	b, luma, chroma := slots.Shape().Dimensions[0], height*width, height/2*(width/2)
	plane := func(from, size, h, w int) *Node {
		return Reshape(Slice(slots, AxisRange(), AxisRange(from, from+size)), b, h, w)
	}
	return plane(0, luma, height, width), plane(luma, chroma, height/2, width/2),
		plane(luma+chroma, chroma, height/2, width/2)
}

// fromPlanes cuts the spans out of planes of YCbCr 4:2:0, bytes [batch, height, width], resizes them to side × side and
// returns RGB from 0 to 255, [batch, side, side, 3] in float32. The conversion is JPEG's (ITU-R BT.601, full range).
func fromPlanes(y, cb, cr *Node, side int, rows, columns span, mirrored *Node, dtype dtypes.DType) *Node {
	height, width := y.Shape().Dimensions[1], y.Shape().Dimensions[2]
	y = AddScalar(resized(y, resizeMatrix(rows, nil, side, height), resizeMatrix(columns, mirrored, side, width), dtype),
		128)
	down := resizeMatrix(rows.halved(), nil, side, height/2)
	across := resizeMatrix(columns.halved(), mirrored, side, width/2)
	cb, cr = resized(cb, down, across, dtype), resized(cr, down, across, dtype)
	rgb := Stack([]*Node{
		Add(y, MulScalar(cr, 1.402)),
		Sub(Sub(y, MulScalar(cb, 0.344136)), MulScalar(cr, 0.714136)),
		Add(y, MulScalar(cb, 1.772)),
	}, 3)
	return ClipScalar(rgb, 0, 255)
}
