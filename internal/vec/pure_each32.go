package vec

import "math"

func add32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = x + b[i]
	}
}

func sub32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = x - b[i]
	}
}

func mul32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = x * b[i]
	}
}

func div32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = x / b[i]
	}
}

func max32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = max(x, b[i])
	}
}

func min32Go(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		dst[i] = min(x, b[i])
	}
}

func addScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = x + s
	}
}

func subFromScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = s - x
	}
}

func divScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = x / s
	}
}

func scalarDiv32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = s / x
	}
}

func maxScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = max(x, s)
	}
}

func minScalar32Go(dst, a []float32, s float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = min(x, s)
	}
}

func neg32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = -x
	}
}

func abs32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = float32(math.Abs(float64(x)))
	}
}

func sign32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = signOf(x)
	}
}

func plainSqrt32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = float32(math.Sqrt(float64(x)))
	}
}

func rsqrt32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = 1 / float32(math.Sqrt(float64(x)))
	}
}

func floor32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = float32(math.Floor(float64(x)))
	}
}

func ceil32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = float32(math.Ceil(float64(x)))
	}
}

func round32Go(dst, a []float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = float32(math.RoundToEven(float64(x)))
	}
}

func signOf(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// fma32 returns a·b + c, rounded once. The product is exact in float64. The sum is rounded to odd there,
// that is, to the neighbour with an odd last bit if it is not exact, so that the rounding to float32 sees on
// which side of a halfway point it is.
func fma32(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	t := s - p
	lost := (p - (s - t)) + (q - t)
	if bits := math.Float64bits(s); bits&1 == 0 && lost != 0 && lost == lost && !math.IsInf(s, 0) {
		if (lost > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

func mulAdd32Go(dst, a, b, c []float32) {
	dst, b, c = dst[:len(a)], b[:len(a)], c[:len(a)]
	for i, x := range a {
		dst[i] = fma32(x, b[i], c[i])
	}
}

func mulScalarAdd32Go(dst, a, c []float32, s float32) {
	dst, c = dst[:len(a)], c[:len(a)]
	for i, x := range a {
		dst[i] = fma32(x, s, c[i])
	}
}

func mulAddScalar32Go(dst, a []float32, s, t float32) {
	dst = dst[:len(a)]
	for i, x := range a {
		dst[i] = fma32(x, s, t)
	}
}

func keep32Go(dst, w, change, z []float32) {
	dst, w, change = dst[:len(z)], w[:len(z)], change[:len(z)]
	for i, v := range z {
		if change[i] == 0 {
			v = w[i]
		}
		dst[i] = v
	}
}
