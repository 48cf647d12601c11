package vec

import "math"

func maskOf(b bool) float32 {
	if b {
		return math.Float32frombits(math.MaxUint32)
	}
	return 0
}

// isSet says what an element of a mask means. The assembly looks at one bit, like this.
func isSet(m float32) bool { return math.Float32bits(m)>>31 != 0 }

func equal32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x == b[i])
	}
}

func notEqual32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x != b[i])
	}
}

func less32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x < b[i])
	}
}

func lessEqual32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x <= b[i])
	}
}

func equalScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x == s)
	}
}

func notEqualScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x != s)
	}
}

func lessScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x < s)
	}
}

func lessEqualScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x <= s)
	}
}

func greaterScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x > s)
	}
}

func greaterEqualScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = maskOf(x >= s)
	}
}

func andMask32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = math.Float32frombits(math.Float32bits(x) & math.Float32bits(b[i]))
	}
}

func orMask32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = math.Float32frombits(math.Float32bits(x) | math.Float32bits(b[i]))
	}
}

func xorMask32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = math.Float32frombits(math.Float32bits(x) ^ math.Float32bits(b[i]))
	}
}

func notMask32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = math.Float32frombits(^math.Float32bits(x))
	}
}

func select32Go(dst, mask, a, b []float32) {
	dst, a, b = dst[:len(mask)], a[:len(mask)], b[:len(mask)]
	for i, m := range mask {
		if isSet(m) {
			dst[i] = a[i]
		} else {
			dst[i] = b[i]
		}
	}
}

func selectVectorScalar32Go(dst, mask, a []float32, s float32) {
	dst, a = dst[:len(mask)], a[:len(mask)]
	for i, m := range mask {
		if isSet(m) {
			dst[i] = a[i]
		} else {
			dst[i] = s
		}
	}
}

func selectScalarVector32Go(dst, mask, b []float32, s float32) {
	dst, b = dst[:len(mask)], b[:len(mask)]
	for i, m := range mask {
		if isSet(m) {
			dst[i] = s
		} else {
			dst[i] = b[i]
		}
	}
}

func selectScalars32Go(dst, mask []float32, s, t float32) {
	dst = dst[:len(mask)]
	for i, m := range mask {
		if isSet(m) {
			dst[i] = s
		} else {
			dst[i] = t
		}
	}
}

func maskFromBoolsGo(dst []float32, src []bool) {
	dst = dst[:len(src)]
	for i, b := range src {
		dst[i] = maskOf(b)
	}
}

func boolsFromMaskGo(dst []bool, mask []float32) {
	dst = dst[:len(mask)]
	for i, m := range mask {
		dst[i] = isSet(m)
	}
}
