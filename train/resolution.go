package train

import "math"

// Resolution is the side of the square pictures that the network sees. Packed pictures are cropped and resized to it;
// other sets have pictures of one size and no resolution.
type Resolution struct {
	Low, High int // in training: Low at first, High at the end; equal for one size
	Test      int // of test pictures
}

// At is the side in an epoch, counted from 0. It follows the FFCV recipe: linear from Low to High between 3/4 and 7/8
// of the run, rounded to a multiple of 32. From 160 to 192 that is one change, in the middle of the ramp.
func (r Resolution) At(epoch, epochs int) int {
	if r.Low == r.High {
		return r.High
	}
	begin, end := 0.75*float64(epochs)-1, 0.875*float64(epochs)-1
	share := min(max((float64(epoch)-begin)/(end-begin), 0), 1)
	side := float64(r.Low) + share*float64(r.High-r.Low)
	return int(32 * math.RoundToEven(side/32))
}
