package vec

// A mask is a float32 vector whose elements have all bits set, or none: what a vector comparison
// makes, and a selection takes. Comparisons with NaN are false, save that it is unequal to everything.

// Equal32 sets dst to the mask of a = b.
func Equal32(dst, a, b []float32) { equal32(dst[:len(a)], a, b[:len(a)]) }

// NotEqual32 sets dst to the mask of a ≠ b, which holds where either is NaN.
func NotEqual32(dst, a, b []float32) { notEqual32(dst[:len(a)], a, b[:len(a)]) }

// Less32 sets dst to the mask of a < b.
func Less32(dst, a, b []float32) { less32(dst[:len(a)], a, b[:len(a)]) }

// LessEqual32 sets dst to the mask of a ≤ b.
func LessEqual32(dst, a, b []float32) { lessEqual32(dst[:len(a)], a, b[:len(a)]) }

// EqualScalar32 sets dst to the mask of a = s.
func EqualScalar32(dst, a []float32, s float32) { equalScalar32(dst[:len(a)], a, s) }

// NotEqualScalar32 sets dst to the mask of a ≠ s, which holds where either is NaN.
func NotEqualScalar32(dst, a []float32, s float32) { notEqualScalar32(dst[:len(a)], a, s) }

// LessScalar32 sets dst to the mask of a < s.
func LessScalar32(dst, a []float32, s float32) { lessScalar32(dst[:len(a)], a, s) }

// LessEqualScalar32 sets dst to the mask of a ≤ s.
func LessEqualScalar32(dst, a []float32, s float32) { lessEqualScalar32(dst[:len(a)], a, s) }

// GreaterScalar32 sets dst to the mask of a > s.
func GreaterScalar32(dst, a []float32, s float32) { greaterScalar32(dst[:len(a)], a, s) }

// GreaterEqualScalar32 sets dst to the mask of a ≥ s.
func GreaterEqualScalar32(dst, a []float32, s float32) { greaterEqualScalar32(dst[:len(a)], a, s) }

// AndMask32 sets dst = a & b, bit by bit.
func AndMask32(dst, a, b []float32) { andMask32(dst[:len(a)], a, b[:len(a)]) }

// OrMask32 sets dst = a | b, bit by bit.
func OrMask32(dst, a, b []float32) { orMask32(dst[:len(a)], a, b[:len(a)]) }

// XorMask32 sets dst = a ^ b, bit by bit.
func XorMask32(dst, a, b []float32) { xorMask32(dst[:len(a)], a, b[:len(a)]) }

// NotMask32 sets dst = ^a, bit by bit.
func NotMask32(dst, a []float32) { notMask32(dst[:len(a)], a) }

// Select32 sets dst to a where the mask is set, and to b elsewhere.
func Select32(dst, mask, a, b []float32) {
	select32(dst[:len(mask)], mask, a[:len(mask)], b[:len(mask)])
}

// SelectVectorScalar32 sets dst to a where the mask is set, and to s elsewhere.
func SelectVectorScalar32(dst, mask, a []float32, s float32) {
	selectVectorScalar32(dst[:len(mask)], mask, a[:len(mask)], s)
}

// SelectScalarVector32 sets dst to s where the mask is set, and to b elsewhere.
func SelectScalarVector32(dst, mask []float32, s float32, b []float32) {
	selectScalarVector32(dst[:len(mask)], mask, b[:len(mask)], s)
}

// SelectScalars32 sets dst to s where the mask is set, and to t elsewhere.
func SelectScalars32(dst, mask []float32, s, t float32) {
	selectScalars32(dst[:len(mask)], mask, s, t)
}

// MaskFromBools sets dst to the mask of src.
func MaskFromBools(dst []float32, src []bool) { maskFromBools(dst[:len(src)], src) }

// BoolsFromMask sets dst to what mask says.
func BoolsFromMask(dst []bool, mask []float32) { boolsFromMask(dst[:len(mask)], mask) }
