package vec

// The kernels here are steps of longer element-wise computations, over blocks that stay in the cache. Those without a
// bound of their own are exact or correctly rounded, bit for bit the same in Go and in assembly.

// Add32 sets dst = a + b.
func Add32(dst, a, b []float32) { add32(dst[:len(a)], a, b[:len(a)]) }

// Sub32 sets dst = a − b.
func Sub32(dst, a, b []float32) { sub32(dst[:len(a)], a, b[:len(a)]) }

// Mul32 sets dst = a·b.
func Mul32(dst, a, b []float32) { mul32(dst[:len(a)], a, b[:len(a)]) }

// Div32 sets dst = a/b.
func Div32(dst, a, b []float32) { div32(dst[:len(a)], a, b[:len(a)]) }

// Max32 sets dst = max(a, b): NaN where either is NaN, and +0 for zeros of different sign.
func Max32(dst, a, b []float32) { max32(dst[:len(a)], a, b[:len(a)]) }

// Min32 sets dst = min(a, b): NaN where either is NaN, and −0 for zeros of different sign.
func Min32(dst, a, b []float32) { min32(dst[:len(a)], a, b[:len(a)]) }

// AddScalar32 sets dst = a + s.
func AddScalar32(dst, a []float32, s float32) { addScalar32(dst[:len(a)], a, s) }

// SubFromScalar32 sets dst = s − a.
func SubFromScalar32(dst, a []float32, s float32) { subFromScalar32(dst[:len(a)], a, s) }

// DivScalar32 sets dst = a/s.
func DivScalar32(dst, a []float32, s float32) { divScalar32(dst[:len(a)], a, s) }

// ScalarDiv32 sets dst = s/a.
func ScalarDiv32(dst, a []float32, s float32) { scalarDiv32(dst[:len(a)], a, s) }

// MaxScalar32 sets dst = max(a, s), as Max32.
func MaxScalar32(dst, a []float32, s float32) { maxScalar32(dst[:len(a)], a, s) }

// MinScalar32 sets dst = min(a, s), as Min32.
func MinScalar32(dst, a []float32, s float32) { minScalar32(dst[:len(a)], a, s) }

// Neg32 sets dst = −a.
func Neg32(dst, a []float32) { neg32(dst[:len(a)], a) }

// Abs32 sets dst = |a|.
func Abs32(dst, a []float32) { abs32(dst[:len(a)], a) }

// Sign32 sets dst to the sign of a, −1 or 1. Zeros and NaN stay what they are.
func Sign32(dst, a []float32) { sign32(dst[:len(a)], a) }

// Sqrt32 sets dst = √a, correctly rounded.
func Sqrt32(dst, a []float32) { plainSqrt32(dst[:len(a)], a) }

// Rsqrt32 sets dst = 1/√a, of a root and a quotient that are correctly rounded.
func Rsqrt32(dst, a []float32) { rsqrt32(dst[:len(a)], a) }

// Floor32 sets dst = ⌊a⌋.
func Floor32(dst, a []float32) { floor32(dst[:len(a)], a) }

// Ceil32 sets dst = ⌈a⌉.
func Ceil32(dst, a []float32) { ceil32(dst[:len(a)], a) }

// Round32 sets dst to the integers nearest to a, for halves the even ones.
func Round32(dst, a []float32) { round32(dst[:len(a)], a) }

// Square32 sets dst = a².
func Square32(dst, a []float32) { mul32(dst[:len(a)], a, a) }

// MulAdd32 sets dst = a·b + c, rounded once.
func MulAdd32(dst, a, b, c []float32) { mulAdd32(dst[:len(a)], a, b[:len(a)], c[:len(a)]) }

// MulScalarAdd32 sets dst = s·a + c, rounded once.
func MulScalarAdd32(dst, a []float32, s float32, c []float32) {
	mulScalarAdd32(dst[:len(a)], a, c[:len(a)], s)
}

// MulAddScalar32 sets dst = s·a + t, rounded once.
func MulAddScalar32(dst, a []float32, s, t float32) { mulAddScalar32(dst[:len(a)], a, s, t) }
