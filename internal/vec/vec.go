// Package vec holds the element-wise and reduction kernels everything numerical here is made of.
//
// dst comes first, may be the same slice as an input, and nothing allocates. All slices of one call
// have the same length unless the comment says otherwise; a shorter one panics, as in plain Go.
//
// Every kernel is there twice: in Go, which is the reference, and in assembly for amd64 with AVX2 and FMA, written
// by the program in asm and chosen at run time. The build tag purego leaves the assembly out. Both keep
// the error bounds stated; sums may differ in the order of their terms.
package vec

// Dot returns Σ xᵢyᵢ.
func Dot(x, y []float64) float64 { return dot(x, y[:len(x)]) }

// Axpy adds a·x to y.
func Axpy(a float64, x, y []float64) { axpy(a, x, y[:len(x)]) }

// Scale sets dst = a·x.
func Scale(dst []float64, a float64, x []float64) { scale(dst[:len(x)], a, x) }

// Exp sets dst = eˣ, to 2 ulp, for every x: results may be denormal, zero or infinite.
func Exp(dst, x []float64) { exp(dst[:len(x)], x) }

// Log sets dst = ln x, to 2 ulp, with the special cases of math.Log.
func Log(dst, x []float64) { log(dst[:len(x)], x) }

// The columns idx of sparse rows are trusted: they must be non-negative and less than the length of the
// dense vector they index. The caller holds the matrix and has checked it once; checking here
// would be a good part of the work.

// SparseDot returns Σ val[k]·x[idx[k]]. It trusts idx.
func SparseDot(val []float64, idx []int32, x []float64) float64 {
	return sparseDot(val, idx[:len(val)], x)
}

// SparseAxpy adds a·val[k] to y[idx[k]], for each k in order. It trusts idx.
func SparseAxpy(a float64, val []float64, idx []int32, y []float64) {
	sparseAxpy(a, val, idx[:len(val)], y)
}

// MulCSR sets dst[i] = Σ val[k]·x[idx[k]] over k in ptr[i]..ptr[i+1]; len(ptr) = len(dst)+1.
// It trusts that ptr ascends, and that 0 ≤ idx[k] < len(x).
func MulCSR(dst []float64, ptr, idx []int32, val, x []float64) {
	end := ptr[len(dst)]
	mulCSR(dst, ptr[:len(dst)+1], idx[:end], val[:end], x)
}

// AddMulTCSR adds c[i]·val[k] to y[idx[k]] for each row i and k in ptr[i]..ptr[i+1]; len(ptr) = len(c)+1.
// It trusts that ptr ascends, and that 0 ≤ idx[k] < len(y).
func AddMulTCSR(y []float64, ptr, idx []int32, val, c []float64) {
	end := ptr[len(c)]
	addMulTCSR(y, ptr[:len(c)+1], idx[:end], val[:end], c)
}

// MulDense sets dst = A·x for the row-major len(dst) × len(x) matrix a.
func MulDense(dst, a, x []float64) { mulDense(dst, a[:len(dst)*len(x)], x) }

// AddMulTDense adds Aᵀ·c to y for the row-major len(c) × len(y) matrix a.
func AddMulTDense(y, a, c []float64) { addMulTDense(y, a[:len(c)*len(y)], c) }
