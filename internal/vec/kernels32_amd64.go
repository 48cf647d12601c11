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

func powInts32(dst, x []float32, steps uint64, sign uint32) {
	if accelerated {
		if steps == stepsOfThree || steps == stepsOfFour {
			powSmall32AVX2(dst, x, steps, sign)
			return
		}
		powInt32AVX2(dst, x, steps, sign)
		return
	}
	powInt32Go(dst, x, steps, sign)
}

// stepsOfThree and stepsOfFour are stepsOf(3) and stepsOf(4). Their two or three roundings in float32 are 1.8e-7 of
// the result at most.
const (
	stepsOfThree = 0b11 << 62
	stepsOfFour  = 0b001 << 61
)

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

func roots32(dst, x []float32, y float64, steps uint64, sign uint32) {
	if !accelerated {
		pow32Go(dst, x, y, absBits, uint64(sign)<<32)
		return
	}
	k := int(math.Round(1 / y))
	times := (24 + k - 1) / k // 2^(k·times) makes denormals normal
	up, down := float32(math.Ldexp(1, k*times)), float32(math.Ldexp(1, -times))
	for {
		n := root32AVX2(dst, x, steps, float32(y), up, down, sign)
		if n == len(x) {
			return
		}
		m := min(n+lanes32, len(x))
		for i := n; i < m; i++ {
			if root32AVX2(dst[i:i+1], x[i:i+1], steps, float32(y), up, down, sign) == 0 {
				pow32Go(dst[i:i+1], x[i:i+1], y, absBits, uint64(sign)<<32)
			}
		}
		dst, x = dst[m:], x[m:]
	}
}

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
