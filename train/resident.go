package train

import (
	"context"
	"image"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/images"
)

// Pictures of many sizes are on the engine one behind the other, in blocks of bytes that none of them crosses: each
// takes its own room, not that of the largest. A table says where each one is.

// The table has a row for each picture. Its planes are Y, Cb and Cr of even height and width.
const (
	placeBlock = iota
	placeOffset
	placeHeight
	placeWidth
	placeFields
)

// blockBytes is how long blocks are: offsets fit into 32 bits, and little is lost at their ends. Tests change it.
var blockBytes = 16 << 20

// Variables of a part, behind its path.
const (
	blocksVar = "/blocks"
	placesVar = "/places"
)

// even rounds up: the engine's planes have chroma for every 2×2 pixels.
func even(n uint16) int { return int(n+1) &^ 1 }

// layout places pictures. A window may be read behind the last row of a picture, so blocks end with room for a row.
func (w window) layout(entries []images.PackEntry) (table []int32, blocks, length int) {
	table = make([]int32, 0, len(entries)*placeFields)
	offset, longest := 0, 0
	for _, e := range entries {
		h, wide := even(e.Height), even(e.Width)
		size := h * wide * 3 / 2
		if blocks == 0 || offset+size+w.width > blockBytes {
			blocks, offset = blocks+1, 0
		}
		table = append(table, int32(blocks-1), int32(offset), int32(h), int32(wide))
		offset += size
		longest = max(longest, offset)
	}
	return table, blocks, longest + w.width
}

// ResidentBytes is the engine's memory that a packed set takes if it is there whole.
func ResidentBytes(s *images.Set) int64 {
	w, sum := newWindow(s), int64(0)
	for _, part := range [][]images.PackEntry{s.Train.Packed, s.Test.Packed} {
		table, blocks, length := w.layout(part)
		sum += int64(blocks)*int64(length) + 4*int64(len(table))
	}
	return sum
}

// loadingStep is how many pictures are put on the engine between two calls of Settings.Loading.
const loadingStep = 256

// loadPart puts a part on the engine.
func (x packed) loadPart(ctx context.Context, path string, entries []images.PackEntry) error {
	table, blocks, length := x.window.layout(entries)
	t := tensors.FromShape(shapes.Make(dtypes.Uint8, blocks, length))
	var bad error
	err := tensors.MutableFlatData(t, func(bytes []byte) {
		_, bad = fill(ctx, readers(x.set.Pack), len(entries), func(r *images.PackReader, i int) error {
			if i%loadingStep == 0 && x.settings.Loading != nil {
				if err := x.settings.Loading(i, len(entries)); err != nil {
					return err
				}
			}
			e, place := entries[i], table[i*placeFields:]
			h, w := int(place[placeHeight]), int(place[placeWidth])
			from := int(place[placeBlock])*length + int(place[placeOffset])
			to := images.NewPlanes(bytes[from:from+h*w*3/2], h, w)
			return r.ReadCrop(e, image.Rect(0, 0, int(e.Width), int(e.Height)), to, image.Point{})
		})
	})
	if bad != nil {
		return bad
	}
	if err != nil {
		return err
	}
	if err := t.MaterializeOnDevice(x.engine.Backend, false, 0); err != nil {
		return err
	}
	t.FinalizeLocal() // the host's copy
	x.put(path+blocksVar, t)
	x.put(path+placesVar, tensors.FromFlatDataAndDimensions(table, len(entries), placeFields))
	return nil
}

// gathered takes the windows of rows out of pictures that are on the engine. Pixels outside a picture are whatever is
// there: no crop weighs them.
func (x packed) gathered(path string, rows *Node) (y, cb, cr *Node) {
	g, b, h, w := rows.Graph(), rows.Shape().Dimensions[0], x.window.height, x.window.width
	column := func(of *Node, k int) *Node { return Slice(of, AxisRange(), AxisRange(k, k+1)) } // [b, 1]
	place := Gather(x.node(g, path+placesVar), column(rows, packExample))
	blocks := x.node(g, path+blocksVar)
	block, offset := column(place, placeBlock), column(place, placeOffset)
	height, stride := column(place, placeHeight), column(place, placeWidth)
	two := ConstAs(offset, 2)
	last := ConstAs(offset, blocks.Shape().Dimensions[1]-w)

	take := func(offset, stride, row, from *Node, h, w int) *Node {
		line := Iota(g, shapes.Make(dtypes.Int32, b, h), 1)
		wide := func(v *Node) *Node { return BroadcastToDims(v, b, h) }
		start := Min(Add(wide(Add(offset, from)), Mul(Add(wide(row), line), wide(stride))), wide(last))
		where := Reshape(Stack([]*Node{wide(block), start}, 2), b*h, 2)
		return Reshape(GatherSlices(blocks, []int{0, 1}, where, []int{1, w}, false), b, h, w)
	}
	row, from := column(rows, packRow), column(rows, packColumn)
	luma := Mul(height, stride)
	chroma := Div(luma, ConstAs(offset, 4))
	y = take(offset, stride, row, from, h, w)
	halfStride, halfRow, halfFrom := Div(stride, two), Div(row, two), Div(from, two)
	cb = take(Add(offset, luma), halfStride, halfRow, halfFrom, h/2, w/2)
	cr = take(Add(offset, Add(luma, chroma)), halfStride, halfRow, halfFrom, h/2, w/2)
	return y, cb, cr
}
