package runlog

import (
	"math"
)

// Sizes is a histogram of |w| in bins of half an octave: Counts[k] weights have 2^(From + k/2) ≤ |w| < 2^(From +
// (k+1)/2). Empty bins at both ends are omitted.
type Sizes struct {
	Below  int     `json:"below"` // weights smaller than the smallest bin, 2⁻¹⁸ in a run of train, and zeros
	From   float64 `json:"from"`
	Counts []int   `json:"counts"`
}

// NewSizes makes a histogram of counts: the first is of sizes below 2^from, then one for each half octave.
func NewSizes(counts []int, from float64) *Sizes {
	s := &Sizes{Below: counts[0], From: from, Counts: counts[1:]}
	for len(s.Counts) > 0 && s.Counts[len(s.Counts)-1] == 0 {
		s.Counts = s.Counts[:len(s.Counts)-1]
	}
	for len(s.Counts) > 0 && s.Counts[0] == 0 {
		s.Counts, s.From = s.Counts[1:], s.From+0.5
	}
	return s
}

// SizeCounter counts |w| in half octaves: place 2e + h is for 2^(e−127+h/2) ≤ |w| < 2^(e−127+(h+1)/2), e being the
// exponent as float32 stores it.
type SizeCounter [512]int

// SmallestOctave is where the bins of a SizeCounter begin, as a power of 2: what is smaller, and 0, is counted in one.
const SmallestOctave = -18

// halfOctave is the mantissa of √2 in float32, rounded up.
const halfOctave = 0x3504f4

// Add counts weights.
func (c *SizeCounter) Add(w []float32) {
	for _, v := range w {
		bits := math.Float32bits(v)
		upper := (bits&(1<<23-1) + (1<<23 - halfOctave)) >> 23 // 1 from √2 on, without a branch that would be guessed wrong
		c[(bits>>23<<1+upper)&511]++                           // the sign falls off
	}
}

// Sizes has one bin for what lies below 2^SmallestOctave, then one for each half octave.
func (c *SizeCounter) Sizes() *Sizes {
	const first = 2 * (127 + SmallestOctave)
	out := []int{0}
	for _, n := range c[:first] {
		out[0] += n
	}
	return NewSizes(append(out, c[first:]...), SmallestOctave)
}

// Edge is where bin k begins and bin k−1 ends.
func (s *Sizes) Edge(k int) float64 { return math.Exp2(s.From + float64(k)/2) }

// Total is the number of weights.
func (s *Sizes) Total() int {
	n := s.Below
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// maxOctave is beyond the sizes of a float32, maxBins as many half octaves as lie between, and maxCounts more than a
// run of many thousand epochs has.
const (
	maxOctave = 150
	maxBins   = 4 * maxOctave
	maxCounts = 1 << 20
	maxCount  = 1e15
)

// SizesAt is the histogram of a point of a curve.
type SizesAt struct {
	Index int
	*Sizes
}

// sizesOf reads the "sizes" of a line. It returns nil if they are malformed.
func sizesOf(v any) *Sizes {
	m, _ := v.(map[string]any)
	below, isBelow := m["below"].(float64)
	from, isFrom := m["from"].(float64)
	counts, isCounts := m["counts"].([]any)
	if !isBelow || !isFrom || !isCounts || !(below >= 0 && below <= maxCount) || !(math.Abs(from) <= maxOctave) ||
		from+float64(len(counts))/2 > maxOctave {
		return nil
	}
	s := &Sizes{Below: int(below), From: from, Counts: make([]int, len(counts))}
	for k, c := range counts {
		n, ok := c.(float64)
		if !ok || !(n >= 0 && n <= maxCount) {
			return nil
		}
		s.Counts[k] = int(n)
	}
	return s
}
