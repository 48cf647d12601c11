//go:build !purego

package vec

import "unsafe"

//go:noescape
func prefetchLines(p unsafe.Pointer, n int)

// prefetchMost is how many lines of a row are asked for: from there on the hardware has seen where the row leads.
const prefetchMost = 24

// Prefetch asks for a part of a row that is to be used soon: the hardware foresees a walk through memory, but not one
// that leaves rows out.
func Prefetch[T float64 | float32 | int32](x []T) {
	if len(x) > 0 {
		prefetchLines(unsafe.Pointer(&x[0]), min(len(x)*int(unsafe.Sizeof(x[0]))/64+1, prefetchMost))
	}
}
