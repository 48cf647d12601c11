package vec

// Dot32 returns Σ xᵢyᵢ, added up in float32.
func Dot32(x, y []float32) float32 { return dot32(x, y[:len(x)]) }

// Axpy32 adds a·x to y.
func Axpy32(a float32, x, y []float32) { axpy32(a, x, y[:len(x)]) }

// Scale32 sets dst = a·x.
func Scale32(dst []float32, a float32, x []float32) { scale32(dst[:len(x)], a, x) }

// Exp32 sets dst = eˣ, to 2 ulp.
func Exp32(dst, x []float32) { exp32(dst[:len(x)], x) }

// Log32 sets dst = ln x, to 2 ulp, with the special cases of math.Log.
func Log32(dst, x []float32) { log32(dst[:len(x)], x) }

// Expm132 sets dst = eˣ − 1, to 2 ulp.
func Expm132(dst, x []float32) { expm132(dst[:len(x)], x) }

// Log1p32 sets dst = ln(1+x), to 2 ulp, with the special cases of math.Log1p.
func Log1p32(dst, x []float32) { log1p32(dst[:len(x)], x) }

// Tanh32 sets dst = tanh x, to 3 ulp.
func Tanh32(dst, x []float32) { tanh32(dst[:len(x)], x) }

// Erf32 sets dst = erf x, to 3 ulp.
func Erf32(dst, x []float32) { erf32(dst[:len(x)], x) }

// Logistic32 sets dst = 1/(1 + e⁻ˣ), to 3 ulp.
func Logistic32(dst, x []float32) { logistic32(dst[:len(x)], x) }

// SparseDot32 returns Σ val[k]·x[idx[k]], added up in float32. It trusts idx.
func SparseDot32(val []float32, idx []int32, x []float32) float32 {
	return sparseDot32(val, idx[:len(val)], x)
}

// SparseAxpy32 adds a·val[k] to y[idx[k]], for each k in order. It trusts idx.
func SparseAxpy32(a float32, val []float32, idx []int32, y []float32) {
	sparseAxpy32(a, val, idx[:len(val)], y)
}
