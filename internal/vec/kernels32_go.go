//go:build !amd64 || purego

package vec

func dot32(x, y []float32) float32 { return dotGo(x, y) }

func axpy32(a float32, x, y []float32) { axpyGo(a, x, y) }

func scale32(dst []float32, a float32, x []float32) { scaleGo(dst, a, x) }

func exp32(dst, x []float32) { exp32Go(dst, x) }

func sparseDot32(val []float32, idx []int32, x []float32) float32 { return sparseDotGo(val, idx, x) }

func sparseAxpy32(a float32, val []float32, idx []int32, y []float32) { sparseAxpyGo(a, val, idx, y) }

func squares32(dst, x []float32, sign uint32) { square32Go(dst, x, sign) }

func sqrts32(dst, x []float32, sign uint32) { sqrt32Go(dst, x, sign) }

func sqrtCubes32(dst, x []float32, sign uint32) { sqrtCube32Go(dst, x, sign) }

func powInts32(dst, x []float32, _ int, steps uint64, sign uint32) { powInt32Go(dst, x, steps, sign) }

func mirrorSteps32(_, _, _ []float32, _ float32, _, _ Power) bool { return false }

func log32(dst, x []float32) { log32Go(dst, x) }

func roots32(dst, x []float32, y float64, sign uint32) {
	pow32Go(dst, x, y, absBits, uint64(sign)<<32)
}

func pows32(dst, x []float32, y float64, abs, sign uint64) { pow32Go(dst, x, y, abs, sign) }
