//go:build !amd64 || purego

package vec

func add32(dst, a, b []float32) { add32Go(dst, a, b) }

func sub32(dst, a, b []float32) { sub32Go(dst, a, b) }

func mul32(dst, a, b []float32) { mul32Go(dst, a, b) }

func div32(dst, a, b []float32) { div32Go(dst, a, b) }

func max32(dst, a, b []float32) { max32Go(dst, a, b) }

func min32(dst, a, b []float32) { min32Go(dst, a, b) }

func addScalar32(dst, a []float32, s float32) { addScalar32Go(dst, a, s) }

func subFromScalar32(dst, a []float32, s float32) { subFromScalar32Go(dst, a, s) }

func divScalar32(dst, a []float32, s float32) { divScalar32Go(dst, a, s) }

func scalarDiv32(dst, a []float32, s float32) { scalarDiv32Go(dst, a, s) }

func maxScalar32(dst, a []float32, s float32) { maxScalar32Go(dst, a, s) }

func minScalar32(dst, a []float32, s float32) { minScalar32Go(dst, a, s) }

func neg32(dst, a []float32) { neg32Go(dst, a) }

func abs32(dst, a []float32) { abs32Go(dst, a) }

func sign32(dst, a []float32) { sign32Go(dst, a) }

func plainSqrt32(dst, a []float32) { plainSqrt32Go(dst, a) }

func rsqrt32(dst, a []float32) { rsqrt32Go(dst, a) }

func floor32(dst, a []float32) { floor32Go(dst, a) }

func ceil32(dst, a []float32) { ceil32Go(dst, a) }

func round32(dst, a []float32) { round32Go(dst, a) }

func equal32(dst, a, b []float32) { equal32Go(dst, a, b) }

func notEqual32(dst, a, b []float32) { notEqual32Go(dst, a, b) }

func less32(dst, a, b []float32) { less32Go(dst, a, b) }

func lessEqual32(dst, a, b []float32) { lessEqual32Go(dst, a, b) }

func equalScalar32(dst, a []float32, s float32) { equalScalar32Go(dst, a, s) }

func notEqualScalar32(dst, a []float32, s float32) { notEqualScalar32Go(dst, a, s) }

func lessScalar32(dst, a []float32, s float32) { lessScalar32Go(dst, a, s) }

func lessEqualScalar32(dst, a []float32, s float32) { lessEqualScalar32Go(dst, a, s) }

func greaterScalar32(dst, a []float32, s float32) { greaterScalar32Go(dst, a, s) }

func greaterEqualScalar32(dst, a []float32, s float32) { greaterEqualScalar32Go(dst, a, s) }

func andMask32(dst, a, b []float32) { andMask32Go(dst, a, b) }

func orMask32(dst, a, b []float32) { orMask32Go(dst, a, b) }

func xorMask32(dst, a, b []float32) { xorMask32Go(dst, a, b) }

func notMask32(dst, a []float32) { notMask32Go(dst, a) }

func select32(dst, mask, a, b []float32) { select32Go(dst, mask, a, b) }

func selectVectorScalar32(dst, mask, a []float32, s float32) { selectVectorScalar32Go(dst, mask, a, s) }

func selectScalarVector32(dst, mask, b []float32, s float32) { selectScalarVector32Go(dst, mask, b, s) }

func selectScalars32(dst, mask []float32, s, t float32) { selectScalars32Go(dst, mask, s, t) }

func mulAdd32(dst, a, b, c []float32) { mulAdd32Go(dst, a, b, c) }

func mulScalarAdd32(dst, a, c []float32, s float32) { mulScalarAdd32Go(dst, a, c, s) }

func mulAddScalar32(dst, a []float32, s, t float32) { mulAddScalar32Go(dst, a, s, t) }

func expm132(dst, x []float32) { expm132Go(dst, x) }

func tanh32(dst, x []float32) { tanh32Go(dst, x) }

func erf32(dst, x []float32) { erf32Go(dst, x) }

func logistic32(dst, x []float32) { logistic32Go(dst, x) }

func sum32(x []float32) float32 { return sum32Go(x) }

func maxOf32(x []float32) float32 { return maxOf32Go(x) }

func minOf32(x []float32) float32 { return minOf32Go(x) }

func sumRows32(dst, x []float32, rows int) { sumRows32Go(dst, x, rows) }

func log1p32(dst, x []float32) { log1p32Go(dst, x) }

func fromBytes32(dst []float32, src []uint8) { fromBytes32Go(dst, src) }

func fromInt32s(dst []float32, src []int32) { fromInt32sGo(dst, src) }

func toInt32s(dst []int32, src []float32) { toInt32sGo(dst, src) }

func fromBFloat16(dst []float32, src []uint16) { fromBFloat16Go(dst, src) }

func toBFloat16(dst []uint16, src []float32) { toBFloat16Go(dst, src) }

func fromFloat64s32(dst []float32, src []float64) { fromFloat64s32Go(dst, src) }

func toFloat64s(dst []float64, src []float32) { toFloat64sGo(dst, src) }

func maskFromBools(dst []float32, src []bool) { maskFromBoolsGo(dst, src) }

func boolsFromMask(dst []bool, src []float32) { boolsFromMaskGo(dst, src) }

func keep32(dst, w, change, z []float32) { keep32Go(dst, w, change, z) }
