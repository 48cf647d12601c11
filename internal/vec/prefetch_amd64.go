//go:build !purego

package vec

import "unsafe"

//go:noescape
func prefetchLines(p unsafe.Pointer, n int)

// prefetchMost is how many lines of a row are asked for: from there on the hardware has seen where the row leads.
const prefetchMost = 24

// Prefetch asks for a row that is to be used soon: the hardware foresees a walk through memory, but not one that
// leaves rows out.
func Prefetch(val []float64, idx []int32) {
	if len(val) == 0 || len(idx) == 0 {
		return
	}
	prefetchLines(unsafe.Pointer(&val[0]), min(len(val)/8+1, prefetchMost))
	prefetchLines(unsafe.Pointer(&idx[0]), min(len(idx)/16+1, prefetchMost))
}
