//go:build !amd64 || purego

package vec

// Without assembly every kernel is its Go twin.
const hasAVX2 = false

var accelerated = hasAVX2

func dot(x, y []float64) float64 { return dotGo(x, y) }

func axpy(a float64, x, y []float64) { axpyGo(a, x, y) }

func scale(dst []float64, a float64, x []float64) { scaleGo(dst, a, x) }

func exp(dst, x []float64) { expGo(dst, x) }

func log(dst, x []float64) { logGo(dst, x) }

func sparseDot(val []float64, idx []int32, x []float64) float64 { return sparseDotGo(val, idx, x) }

func sparseAxpy(a float64, val []float64, idx []int32, y []float64) { sparseAxpyGo(a, val, idx, y) }

func mulCSR(dst []float64, ptr, idx []int32, val, x []float64) { mulCSRGo(dst, ptr, idx, val, x) }

func addMulTCSR(y []float64, ptr, idx []int32, val, c []float64) { addMulTCSRGo(y, ptr, idx, val, c) }

func mulDense(dst, a, x []float64) { mulDenseGo(dst, a, x) }

func addMulTDense(y, a, c []float64) { addMulTDenseGo(y, a, c) }

func squares(dst, x []float64, sign uint64) { squareGo(dst, x, sign) }

func powInts(dst, x []float64, steps, sign uint64) { powIntGo(dst, x, steps, sign) }

func sqrts(dst, x []float64, sign uint64) { sqrtGo(dst, x, sign) }

func sqrtCubes(dst, x []float64, sign uint64) { sqrtCubeGo(dst, x, sign) }

func roots(dst, x []float64, y float64, _, sign uint64) { powGo(dst, x, y, absBits, sign) }

func pows(dst, x []float64, y float64, abs, sign uint64) { powGo(dst, x, y, abs, sign) }

func dot2(out, x, y []float64) int { return 0 }

func axpy2(hi, lo, size []float64, a float64, x []float64) int { return 0 }

func gram(out *[GramRows * GramColumns]float64, a, b []float64, stride, columns int, wide bool) {
	gramGo(out, a, b, stride, columns)
}

func raise(dst []float64, a float64, x []float64) int { return 0 }

func mul(dst, x, y []float64) int { return 0 }
