//go:build !purego

package vec

func add32(dst, a, b []float32) {
	if accelerated {
		add32AVX2(dst, a, b)
		return
	}
	add32Go(dst, a, b)
}

func sub32(dst, a, b []float32) {
	if accelerated {
		sub32AVX2(dst, a, b)
		return
	}
	sub32Go(dst, a, b)
}

func mul32(dst, a, b []float32) {
	if accelerated {
		mul32AVX2(dst, a, b)
		return
	}
	mul32Go(dst, a, b)
}

func div32(dst, a, b []float32) {
	if accelerated {
		div32AVX2(dst, a, b)
		return
	}
	div32Go(dst, a, b)
}

func max32(dst, a, b []float32) {
	if accelerated {
		max32AVX2(dst, a, b)
		return
	}
	max32Go(dst, a, b)
}

func min32(dst, a, b []float32) {
	if accelerated {
		min32AVX2(dst, a, b)
		return
	}
	min32Go(dst, a, b)
}

func addScalar32(dst, a []float32, s float32) {
	if accelerated {
		addScalar32AVX2(dst, a, s)
		return
	}
	addScalar32Go(dst, a, s)
}

func subFromScalar32(dst, a []float32, s float32) {
	if accelerated {
		subFromScalar32AVX2(dst, a, s)
		return
	}
	subFromScalar32Go(dst, a, s)
}

func divScalar32(dst, a []float32, s float32) {
	if accelerated {
		divScalar32AVX2(dst, a, s)
		return
	}
	divScalar32Go(dst, a, s)
}

func scalarDiv32(dst, a []float32, s float32) {
	if accelerated {
		scalarDiv32AVX2(dst, a, s)
		return
	}
	scalarDiv32Go(dst, a, s)
}

func maxScalar32(dst, a []float32, s float32) {
	if accelerated {
		maxScalar32AVX2(dst, a, s)
		return
	}
	maxScalar32Go(dst, a, s)
}

func minScalar32(dst, a []float32, s float32) {
	if accelerated {
		minScalar32AVX2(dst, a, s)
		return
	}
	minScalar32Go(dst, a, s)
}

func neg32(dst, a []float32) {
	if accelerated {
		neg32AVX2(dst, a)
		return
	}
	neg32Go(dst, a)
}

func abs32(dst, a []float32) {
	if accelerated {
		abs32AVX2(dst, a)
		return
	}
	abs32Go(dst, a)
}

func sign32(dst, a []float32) {
	if accelerated {
		sign32AVX2(dst, a)
		return
	}
	sign32Go(dst, a)
}

func plainSqrt32(dst, a []float32) {
	if accelerated {
		plainSqrt32AVX2(dst, a)
		return
	}
	plainSqrt32Go(dst, a)
}

func rsqrt32(dst, a []float32) {
	if accelerated {
		rsqrt32AVX2(dst, a)
		return
	}
	rsqrt32Go(dst, a)
}

func floor32(dst, a []float32) {
	if accelerated {
		floor32AVX2(dst, a)
		return
	}
	floor32Go(dst, a)
}

func ceil32(dst, a []float32) {
	if accelerated {
		ceil32AVX2(dst, a)
		return
	}
	ceil32Go(dst, a)
}

func round32(dst, a []float32) {
	if accelerated {
		round32AVX2(dst, a)
		return
	}
	round32Go(dst, a)
}

func equal32(dst, a, b []float32) {
	if accelerated {
		equal32AVX2(dst, a, b)
		return
	}
	equal32Go(dst, a, b)
}

func notEqual32(dst, a, b []float32) {
	if accelerated {
		notEqual32AVX2(dst, a, b)
		return
	}
	notEqual32Go(dst, a, b)
}

func less32(dst, a, b []float32) {
	if accelerated {
		less32AVX2(dst, a, b)
		return
	}
	less32Go(dst, a, b)
}

func lessEqual32(dst, a, b []float32) {
	if accelerated {
		lessEqual32AVX2(dst, a, b)
		return
	}
	lessEqual32Go(dst, a, b)
}

func equalScalar32(dst, a []float32, s float32) {
	if accelerated {
		equalScalar32AVX2(dst, a, s)
		return
	}
	equalScalar32Go(dst, a, s)
}

func notEqualScalar32(dst, a []float32, s float32) {
	if accelerated {
		notEqualScalar32AVX2(dst, a, s)
		return
	}
	notEqualScalar32Go(dst, a, s)
}

func lessScalar32(dst, a []float32, s float32) {
	if accelerated {
		lessScalar32AVX2(dst, a, s)
		return
	}
	lessScalar32Go(dst, a, s)
}

func lessEqualScalar32(dst, a []float32, s float32) {
	if accelerated {
		lessEqualScalar32AVX2(dst, a, s)
		return
	}
	lessEqualScalar32Go(dst, a, s)
}

func greaterScalar32(dst, a []float32, s float32) {
	if accelerated {
		greaterScalar32AVX2(dst, a, s)
		return
	}
	greaterScalar32Go(dst, a, s)
}

func greaterEqualScalar32(dst, a []float32, s float32) {
	if accelerated {
		greaterEqualScalar32AVX2(dst, a, s)
		return
	}
	greaterEqualScalar32Go(dst, a, s)
}

func andMask32(dst, a, b []float32) {
	if accelerated {
		andMask32AVX2(dst, a, b)
		return
	}
	andMask32Go(dst, a, b)
}

func orMask32(dst, a, b []float32) {
	if accelerated {
		orMask32AVX2(dst, a, b)
		return
	}
	orMask32Go(dst, a, b)
}

func xorMask32(dst, a, b []float32) {
	if accelerated {
		xorMask32AVX2(dst, a, b)
		return
	}
	xorMask32Go(dst, a, b)
}

func notMask32(dst, a []float32) {
	if accelerated {
		notMask32AVX2(dst, a)
		return
	}
	notMask32Go(dst, a)
}

func select32(dst, mask, a, b []float32) {
	if accelerated {
		select32AVX2(dst, mask, a, b)
		return
	}
	select32Go(dst, mask, a, b)
}

func selectVectorScalar32(dst, mask, a []float32, s float32) {
	if accelerated {
		selectVectorScalar32AVX2(dst, mask, a, s)
		return
	}
	selectVectorScalar32Go(dst, mask, a, s)
}

func selectScalarVector32(dst, mask, b []float32, s float32) {
	if accelerated {
		selectScalarVector32AVX2(dst, mask, b, s)
		return
	}
	selectScalarVector32Go(dst, mask, b, s)
}

func selectScalars32(dst, mask []float32, s, t float32) {
	if accelerated {
		selectScalars32AVX2(dst, mask, s, t)
		return
	}
	selectScalars32Go(dst, mask, s, t)
}

func mulAdd32(dst, a, b, c []float32) {
	if accelerated {
		mulAdd32AVX2(dst, a, b, c)
		return
	}
	mulAdd32Go(dst, a, b, c)
}

func mulScalarAdd32(dst, a, c []float32, s float32) {
	if accelerated {
		mulScalarAdd32AVX2(dst, a, c, s)
		return
	}
	mulScalarAdd32Go(dst, a, c, s)
}

func mulAddScalar32(dst, a []float32, s, t float32) {
	if accelerated {
		mulAddScalar32AVX2(dst, a, s, t)
		return
	}
	mulAddScalar32Go(dst, a, s, t)
}

func expm132(dst, x []float32) {
	if accelerated {
		expm132AVX2(dst, x)
		return
	}
	expm132Go(dst, x)
}

func tanh32(dst, x []float32) {
	if accelerated {
		tanh32AVX2(dst, x)
		return
	}
	tanh32Go(dst, x)
}

func erf32(dst, x []float32) {
	if accelerated {
		erf32AVX2(dst, x)
		return
	}
	erf32Go(dst, x)
}

func logistic32(dst, x []float32) {
	if accelerated {
		logistic32AVX2(dst, x)
		return
	}
	logistic32Go(dst, x)
}

func sum32(x []float32) float32 {
	if accelerated {
		return sum32AVX2(x)
	}
	return sum32Go(x)
}

func maxOf32(x []float32) float32 {
	if accelerated {
		return maxOf32AVX2(x)
	}
	return maxOf32Go(x)
}

func minOf32(x []float32) float32 {
	if accelerated {
		return minOf32AVX2(x)
	}
	return minOf32Go(x)
}

func sumRows32(dst, x []float32, rows int) {
	if accelerated {
		sumRows32AVX2(dst, x, rows)
		return
	}
	sumRows32Go(dst, x, rows)
}

func log1p32(dst, x []float32) {
	if !accelerated {
		log1p32Go(dst, x)
		return
	}
	for {
		n := log1p32AVX2(dst, x)
		if n == len(x) {
			return
		}
		m := min(n+lanes32, len(x))
		for i := n; i < m; i++ {
			if log1p32AVX2(dst[i:i+1], x[i:i+1]) == 0 {
				log1p32Go(dst[i:i+1], x[i:i+1])
			}
		}
		dst, x = dst[m:], x[m:]
	}
}

// The conversions in assembly take a multiple of lanes32 elements. Go does the rest; both are exact, or
// correctly rounded, and agree.

func fromBytes32(dst []float32, src []uint8) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		fromBytes32AVX2(dst[:n], src[:n])
	}
	fromBytes32Go(dst[n:], src[n:])
}

func fromInt32s(dst []float32, src []int32) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		fromInt32sAVX2(dst[:n], src[:n])
	}
	fromInt32sGo(dst[n:], src[n:])
}

func toInt32s(dst []int32, src []float32) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		toInt32sAVX2(dst[:n], src[:n])
	}
	toInt32sGo(dst[n:], src[n:])
}

func fromBFloat16(dst []float32, src []uint16) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		fromBFloat16AVX2(dst[:n], src[:n])
	}
	fromBFloat16Go(dst[n:], src[n:])
}

func toBFloat16(dst []uint16, src []float32) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		toBFloat16AVX2(dst[:n], src[:n])
	}
	toBFloat16Go(dst[n:], src[n:])
}

func fromFloat64s32(dst []float32, src []float64) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		fromFloat64s32AVX2(dst[:n], src[:n])
	}
	fromFloat64s32Go(dst[n:], src[n:])
}

func toFloat64s(dst []float64, src []float32) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		toFloat64sAVX2(dst[:n], src[:n])
	}
	toFloat64sGo(dst[n:], src[n:])
}

func maskFromBools(dst []float32, src []bool) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		maskFromBoolsAVX2(dst[:n], src[:n])
	}
	maskFromBoolsGo(dst[n:], src[n:])
}

func boolsFromMask(dst []bool, src []float32) {
	n := 0
	if accelerated {
		n = len(src) &^ (lanes32 - 1)
		boolsFromMaskAVX2(dst[:n], src[:n])
	}
	boolsFromMaskGo(dst[n:], src[n:])
}

func keep32(dst, w, change, z []float32) {
	if accelerated {
		keep32AVX2(dst, w, change, z)
		return
	}
	keep32Go(dst, w, change, z)
}
