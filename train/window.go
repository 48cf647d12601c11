package train

import (
	"image"
	"math"

	"github.com/bregman-ml/bregman/images"
)

// window is the part of a picture that the engine sees, height × width pixels that begin at even places. Any crop of
// any picture of the set fits into one: crops have an aspect ratio of at most 4/3, pictures of any.
type window struct{ height, width int }

func newWindow(s *images.Set) window {
	var w window
	for _, part := range [][]images.PackEntry{s.Train.Packed, s.Test.Packed} {
		for _, e := range part {
			w.height = max(w.height, longestCrop(int(e.Height), int(e.Width)))
			w.width = max(w.width, longestCrop(int(e.Width), int(e.Height)))
		}
	}
	// One pixel more for crops that begin at odd places; then even. The largest picture is enough.
	return window{min((w.height+2)&^1, s.Height), min((w.width+2)&^1, s.Width)}
}

// longestCrop bounds the length of a crop along a side: the other side of the crop is at most the picture's, and both
// are rounded to whole pixels, which adds half a pixel to each.
func longestCrop(side, other int) int {
	return min(side, int(math.Ceil((float64(other)+0.5)*mostAspect+0.5)))
}

// slot is the number of bytes of a window's planes.
func (w window) slot() int { return w.height * w.width * 3 / 2 }

// appendRow appends the row of a plan for a crop of picture i.
func (w window) appendRow(plan []int32, i int, e images.PackEntry, top, left, height, width, flip int32) []int32 {
	row, column := top&^1, left&^1
	fields := [packFields]int32{packExample: int32(i), packLabel: int32(e.Label), packRow: row, packColumn: column,
		packTop: top - row, packLeft: left - column, packHeight: height, packWidth: width, packFlip: flip}
	return append(plan, fields[:]...)
}

// read copies the crop of a row from the file into a window's bytes.
func (w window) read(r *images.PackReader, e images.PackEntry, row []int32, dst []byte) error {
	top, left := int(row[packRow]+row[packTop]), int(row[packColumn]+row[packLeft])
	crop := image.Rect(left, top, left+int(row[packWidth]), top+int(row[packHeight]))
	return r.ReadCrop(e, crop, images.NewPlanes(dst, w.height, w.width), image.Pt(int(row[packLeft]), int(row[packTop])))
}
