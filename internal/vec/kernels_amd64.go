//go:build !purego

package vec

import (
	"math"

	"golang.org/x/sys/cpu"
)

//go:generate go -C asm run . -out ../vec_amd64.s -stubs ../stubs_amd64.go -pkg vec

// accelerated says whether the assembly is used. Tests switch it.
var accelerated = hasAVX2

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// lanes is how many elements a kernel takes at a time. Where one stops, it is called for each element of that
// group alone, and Go does those it does not take: what becomes of an element does not depend
// on its neighbours.
const lanes = 4

func dot(x, y []float64) float64 {
	if accelerated {
		return dotAVX2(x, y)
	}
	return dotGo(x, y)
}

func axpy(a float64, x, y []float64) {
	if accelerated {
		axpyAVX2(a, x, y)
		return
	}
	axpyGo(a, x, y)
}

func scale(dst []float64, a float64, x []float64) {
	if accelerated {
		scaleAVX2(dst, x, a)
		return
	}
	scaleGo(dst, a, x)
}

func exp(dst, x []float64) {
	if accelerated {
		expAVX2(dst, x)
		return
	}
	expGo(dst, x)
}

func log(dst, x []float64) {
	if !accelerated {
		logGo(dst, x)
		return
	}
	for {
		n := logAVX2(dst, x)
		if n == len(x) {
			return
		}
		m := min(n+lanes, len(x))
		for i := n; i < m; i++ {
			if logAVX2(dst[i:i+1], x[i:i+1]) == 0 {
				logGo(dst[i:i+1], x[i:i+1])
			}
		}
		dst, x = dst[m:], x[m:]
	}
}

func sparseDot(val []float64, idx []int32, x []float64) float64 {
	if accelerated {
		return sparseDotAVX2(val, idx, x)
	}
	return sparseDotGo(val, idx, x)
}

func sparseAxpy(a float64, val []float64, idx []int32, y []float64) {
	if accelerated {
		sparseAxpyAVX2(a, val, idx, y)
		return
	}
	sparseAxpyGo(a, val, idx, y)
}

func mulCSR(dst []float64, ptr, idx []int32, val, x []float64) {
	if accelerated {
		mulCSRAVX2(dst, ptr, idx, val, x)
		return
	}
	mulCSRGo(dst, ptr, idx, val, x)
}

func addMulTCSR(y []float64, ptr, idx []int32, val, c []float64) {
	if accelerated {
		addMulTCSRAVX2(y, ptr, idx, val, c)
		return
	}
	addMulTCSRGo(y, ptr, idx, val, c)
}

func mulDense(dst, a, x []float64) {
	if accelerated {
		mulDenseAVX2(dst, a, x)
		return
	}
	mulDenseGo(dst, a, x)
}

func addMulTDense(y, a, c []float64) {
	if accelerated {
		addMulTDenseAVX2(y, a, c)
		return
	}
	addMulTDenseGo(y, a, c)
}

func squares(dst, x []float64, sign uint64) {
	if accelerated {
		squareAVX2(dst, x, sign)
		return
	}
	squareGo(dst, x, sign)
}

func powInts(dst, x []float64, steps, sign uint64) {
	if accelerated {
		if steps == stepsOfTen {
			tenthPowerAVX2(dst, x, sign)
			return
		}
		powIntAVX2(dst, x, steps, sign)
		return
	}
	powIntGo(dst, x, steps, sign)
}

// stepsOfTen is stepsOf(10): 10 is 1010 in binary.
const stepsOfTen = 0b0101 << 60

func sqrts(dst, x []float64, sign uint64) {
	if accelerated {
		sqrtAVX2(dst, x, sign)
		return
	}
	sqrtGo(dst, x, sign)
}

func sqrtCubes(dst, x []float64, sign uint64) {
	if accelerated {
		sqrtCubeAVX2(dst, x, sign)
		return
	}
	sqrtCubeGo(dst, x, sign)
}

func roots(dst, x []float64, y float64, steps, sign uint64) {
	if !accelerated {
		powGo(dst, x, y, absBits, sign)
		return
	}
	second := y * (y - 1) / 2 // binomial coefficients of (1+e)^y
	third := second * (y - 2) / 3
	for {
		n := rootAVX2(dst, x, steps, y, second, third, absBits, sign)
		if n == len(x) {
			return
		}
		m := min(n+lanes, len(x))
		for i := n; i < m; i++ {
			if rootAVX2(dst[i:i+1], x[i:i+1], steps, y, second, third, absBits, sign) == 0 {
				powGo(dst[i:i+1], x[i:i+1], y, absBits, sign)
			}
		}
		dst, x = dst[m:], x[m:]
	}
}

func pows(dst, x []float64, y float64, abs, sign uint64) {
	if !accelerated || !(math.Abs(y) <= maxExponent) {
		powGo(dst, x, y, abs, sign)
		return
	}
	for {
		n := powAVX2(dst, x, y, zeroTo(y), abs, sign)
		if n == len(x) {
			return
		}
		m := min(n+lanes, len(x))
		for i := n; i < m; i++ {
			if powAVX2(dst[i:i+1], x[i:i+1], y, zeroTo(y), abs, sign) == 0 {
				powGo(dst[i:i+1], x[i:i+1], y, abs, sign)
			}
		}
		dst, x = dst[m:], x[m:]
	}
}

// zeroTo returns 0ʸ for y ≠ 0.
func zeroTo(y float64) float64 {
	if y < 0 {
		return math.Inf(1)
	}
	return 0
}

// dot2 is Dot2 of the first elements, as four parts each of hi, lo and size, twice; it returns how many it took.
func dot2(out, x, y []float64) int {
	if !accelerated {
		return 0
	}
	n := len(x) &^ 7
	dot2AVX2(out, x[:n], y)
	return n
}

// axpy2 is Axpy2 of the first elements; it returns how many it took.
func axpy2(hi, lo, size []float64, a float64, x []float64) int {
	if !accelerated {
		return 0
	}
	n := len(x) &^ 3
	axpy2AVX2(hi, lo, size, a, x[:n])
	return n
}

func gram(out *[GramRows * GramColumns]float64, a, b []float64, stride, columns int, wide bool) {
	switch {
	case wide && accelerated && hasAVX512:
		gramAVX512(out[:], a, b, stride, columns)
	case accelerated:
		gramAVX2(out[:], a, b, stride, columns)
	default:
		gramGo(out, a, b, stride, columns)
	}
}

// hasAVX512 says whether gram takes eight columns at a time.
var hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL

// raise is Raise of the first elements; it returns how many it took.
func raise(dst []float64, a float64, x []float64) int {
	if !accelerated {
		return 0
	}
	n := len(x) &^ 3
	raiseAVX2(dst, x[:n], a)
	return n
}

// mul is Mul of the first elements; it returns how many it took.
func mul(dst, x, y []float64) int {
	if !accelerated {
		return 0
	}
	n := len(x) &^ 3
	mulAVX2(dst, x[:n], y)
	return n
}
