//go:build !purego

package vec

import "math"

// lanes32 is lanes for the kernels that take float32 as they are.
const lanes32 = 8

func dot32(x, y []float32) float32 {
	if accelerated {
		return dot32AVX2(x, y)
	}
	return dotGo(x, y)
}

func axpy32(a float32, x, y []float32) {
	if accelerated {
		axpy32AVX2(a, x, y)
		return
	}
	axpyGo(a, x, y)
}

func scale32(dst []float32, a float32, x []float32) {
	if accelerated {
		scale32AVX2(dst, x, a)
		return
	}
	scaleGo(dst, a, x)
}

func exp32(dst, x []float32) {
	if accelerated {
		exp32AVX2(dst, x)
		return
	}
	exp32Go(dst, x)
}

func sparseDot32(val []float32, idx []int32, x []float32) float32 {
	if accelerated {
		return sparseDot32AVX2(val, idx, x)
	}
	return sparseDotGo(val, idx, x)
}

func sparseAxpy32(a float32, val []float32, idx []int32, y []float32) {
	if accelerated {
		sparseAxpy32AVX2(a, val, idx, y)
		return
	}
	sparseAxpyGo(a, val, idx, y)
}

func squares32(dst, x []float32, sign uint32) {
	if accelerated {
		square32AVX2(dst, x, sign)
		return
	}
	square32Go(dst, x, sign)
}

func sqrts32(dst, x []float32, sign uint32) {
	if accelerated {
		sqrt32AVX2(dst, x, sign)
		return
	}
	sqrt32Go(dst, x, sign)
}

func sqrtCubes32(dst, x []float32, sign uint32) {
	if accelerated {
		sqrtCube32AVX2(dst, x, sign)
		return
	}
	sqrtCube32Go(dst, x, sign)
}

func powInts32(dst, x []float32, k int, steps uint64, sign uint32) {
	switch {
	case !accelerated:
		powInt32Go(dst, x, steps, sign)
	case k <= mostFew:
		powFew32AVX2(dst, x, k, sign)
	default:
		powInt32AVX2(dst, x, steps, sign)
	}
}

// mostFew is the largest power that is multiplied in float32, with six roundings of 2⁻²⁴ at most, 3.6e-7 of the result.
// Larger ones are multiplied in float64.
const mostFew = 12

// mirrorSteps32 takes the step in one pass where it has a kernel for the two powers, and says whether it has.
func mirrorSteps32(dst, w, g []float32, rate float32, a, b Power) bool {
	if !accelerated {
		return false
	}
	switch {
	case a.plan == same && b.plan == same:
		stepSame32AVX2(dst, w, g, rate)
	case a.plan == square && b.plan == squareRoot:
		stepSquare32AVX2(dst, w, g, rate)
	case a.plan == squareRoot && b.plan == square:
		stepSquareRoot32AVX2(dst, w, g, rate)
	case a.plan == integer && b.plan == root && a.y <= mostFew && b.y == 1/a.y:
		stepFew32AVX2(dst, w, g, rate, int(a.y))
	case a.plan == root && b.plan == integer && b.y <= mostFew && a.y == 1/b.y:
		stepFewRoot32AVX2(dst, w, g, rate, int(b.y))
	default:
		return false
	}
	return true
}

func log32(dst, x []float32) {
	if !accelerated {
		log32Go(dst, x)
		return
	}
	for {
		n := log32AVX2(dst, x)
		if n == len(x) {
			return
		}
		m := min(n+lanes32, len(x))
		for i := n; i < m; i++ {
			if log32AVX2(dst[i:i+1], x[i:i+1]) == 0 {
				log32Go(dst[i:i+1], x[i:i+1])
			}
		}
		dst, x = dst[m:], x[m:]
	}
}

func roots32(dst, x []float32, y float64, sign uint32) {
	if accelerated {
		root32AVX2(dst, x, rootOf(y), sign)
		return
	}
	pow32Go(dst, x, y, absBits, uint64(sign)<<32)
}

// rootOf returns the k of y = 1/k.
func rootOf(y float64) int { return int(math.Round(1 / y)) }

func pows32(dst, x []float32, y float64, abs, sign uint64) {
	if !accelerated || !(math.Abs(y) <= maxExponent) {
		pow32Go(dst, x, y, abs, sign)
		return
	}
	for {
		n := pow32AVX2(dst, x, y, zeroTo(y), abs, sign)
		if n == len(x) {
			return
		}
		m := min(n+lanes, len(x))
		for i := n; i < m; i++ {
			if pow32AVX2(dst[i:i+1], x[i:i+1], y, zeroTo(y), abs, sign) == 0 {
				pow32Go(dst[i:i+1], x[i:i+1], y, abs, sign)
			}
		}
		dst, x = dst[m:], x[m:]
	}
}
