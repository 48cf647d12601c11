package render

import (
	"math"

	"gonum.org/v1/plot/font"
)

// Thin chooses about n points of a curve such that it looks the same: of each of n/4 pieces of the x axis the first,
// the last, the lowest and the highest. So a spike of one point among a million stays. It returns their indices,
// ascending. x ascends; log says that the axis is logarithmic. Points that are not finite break a curve: the first of
// each gap is kept.
func Thin(x, y []float64, n int, log bool) []int {
	if len(x) <= n {
		keep := make([]int, len(x))
		for k := range keep {
			keep[k] = k
		}
		return keep
	}
	at := func(v float64) float64 { return v }
	lo, hi := x[0], x[len(x)-1]
	if log {
		lo = math.Inf(1)
		for _, v := range x {
			if v > 0 {
				lo = min(lo, v)
			}
		}
		at = func(v float64) float64 { return math.Log(max(v, lo)) }
	}
	a, b := at(lo), at(hi)
	pieces := max(1, n/4)
	piece := func(v float64) int {
		k := int(float64(pieces) * (at(v) - a) / (b - a))
		return max(0, min(pieces-1, k))
	}
	if !(a < b) || math.IsInf(b-a, 0) {
		piece = func(float64) int { return 0 }
	}
	var keep []int
	for i := 0; i < len(x); {
		p := piece(x[i])
		first, last, low, high, gap := i, i, -1, -1, -1
		for ; i < len(x) && piece(x[i]) == p; i++ {
			last = i
			switch v := y[i]; {
			case v-v != 0:
				if gap < 0 {
					gap = i
				}
			default:
				if low < 0 || v < y[low] {
					low = i
				}
				if high < 0 || v > y[high] {
					high = i
				}
			}
		}
		keep = appendSorted(keep, first, low, high, gap, last)
	}
	return keep
}

// appendSorted appends a few indices in ascending order, each once, without −1.
func appendSorted(dst []int, few ...int) []int {
	for i := range few { // five numbers: insertion
		for k := i; k > 0 && few[k] < few[k-1]; k-- {
			few[k], few[k-1] = few[k-1], few[k]
		}
	}
	for _, v := range few {
		if v >= 0 && (len(dst) == 0 || dst[len(dst)-1] != v) {
			dst = append(dst, v)
		}
	}
	return dst
}

// Showable replaces characters that the figures' font lacks, in a text that comes from outside, and cuts it at 80
// letters.
func Showable(s string) string {
	face := font.DefaultCache.Lookup(sans, 10).Face
	var out []rune
	for _, r := range s {
		if i, err := face.GlyphIndex(nil, r); err != nil || i == 0 || r < ' ' {
			r = '?'
		}
		if out = append(out, r); len(out) == 80 {
			break
		}
	}
	return string(out)
}
