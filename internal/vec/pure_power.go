package vec

import "math"

// ln2 in two parts: the first has 32 bits, so that its product with an exponent is exact.
const (
	ln2High = 2977044471.0 / (1 << 32)
	ln2Low  = math.Ln2 - ln2High
)

// logParts returns ln x, for positive finite x, as hi + lo with |lo| at most half an ulp of hi, and an
// error of about 2⁻⁶⁰ of ln x.
//
// x = 2ᵏm with m in [√½, √2), and ln m = 2·atanh(s) = 2s + 2s³(1/3 + s²/5 + …) with s = (m−1)/(m+1).
// s² ≤ 0.0295, so that thirteen terms leave 1e-20. The quotient is corrected by its remainder; the other terms
// are a hundredth of the first at most, and their rounding errors accordingly small.
func logParts(x float64) (hi, lo float64) {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	k := float64(e)
	f, u := m-1, m+1
	uLow := m - (u - 1)
	s := f / u
	rest := math.FMA(-s, uLow, math.FMA(-s, u, f)) / u
	z := s * s
	p := 0.0
	for j := 25; j >= 3; j -= 2 {
		p = p*z + 2/float64(j)
	}
	tail := 2*rest + s*z*p
	high := k * ln2High
	sum := high + 2*s // k is zero, or k·ln2 the larger one
	low := (2*s - (sum - high)) + (tail + k*ln2Low)
	hi = sum + low
	return hi, low - (hi - sum)
}

// pow returns xʸ with the special cases of math.Pow, for x that is not negative or y that is not an
// integer. math.Pow itself multiplies powers of x for the integer part of y, and its error grows with y.
func pow(x, y float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64 && math.Abs(y) <= maxExponent) {
		return math.Pow(x, y)
	}
	hi, lo := logParts(x)
	p := y * hi
	pLow := math.FMA(y, hi, -p) + y*lo
	r := exponential(p)
	if r == 0 || math.IsInf(r, 0) {
		return r
	}
	return r + r*pLow
}

// powInt returns vᵏ for k ≥ 1, multiplying as the kernel does.
func powInt(v float64, steps uint64) float64 {
	p := v
	for ; steps != 1<<63; steps <<= 1 {
		p *= p
		if steps>>63 != 0 {
			p *= v
		}
	}
	return p
}

// powGo sets dst = (x&abs)ʸ | x&sign: abs removes the sign of the base, sign keeps that of x.
func powGo(dst, x []float64, y float64, abs, sign uint64) {
	dst = dst[:len(x)]
	for i, v := range x {
		b := math.Float64bits(v)
		r := pow(math.Float64frombits(b&abs), y)
		dst[i] = math.Float64frombits(math.Float64bits(r) | b&sign)
	}
}

func powIntGo(dst, x []float64, steps, sign uint64) {
	dst = dst[:len(x)]
	for i, v := range x {
		r := powInt(math.Abs(v), steps)
		dst[i] = math.Float64frombits(math.Float64bits(r) | math.Float64bits(v)&sign)
	}
}

func squareGo(dst, x []float64, sign uint64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = math.Float64frombits(math.Float64bits(v*v) | math.Float64bits(v)&sign)
	}
}

func sqrtGo(dst, x []float64, sign uint64) {
	dst = dst[:len(x)]
	for i, v := range x {
		r := math.Sqrt(math.Abs(v))
		dst[i] = math.Float64frombits(math.Float64bits(r) | math.Float64bits(v)&sign)
	}
}

func sqrtCubeGo(dst, x []float64, sign uint64) {
	dst = dst[:len(x)]
	for i, v := range x {
		a := math.Abs(v)
		r := a * math.Sqrt(a)
		dst[i] = math.Float64frombits(math.Float64bits(r) | math.Float64bits(v)&sign)
	}
}
