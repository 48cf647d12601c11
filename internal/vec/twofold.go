package vec

import "math"

// Dot2 returns Σ xᵢyᵢ as hi + lo, in twice the precision of float64, and size = Σ |xᵢyᵢ| (Ogita, Rump & Oishi 2005).
func Dot2(x, y []float64) (hi, lo, size float64) {
	y = y[:len(x)]
	var out [24]float64
	n := dot2(out[:], x, y)
	for _, half := range [][]float64{out[:12], out[12:]} {
		for k := range 4 {
			hi, lo = addTwo(hi, lo, half[k])
			lo += half[4+k]
			size += half[8+k]
		}
	}
	for i := n; i < len(x); i++ {
		p := x[i] * y[i]
		hi, lo = addTwo(hi, lo, p)
		lo += math.FMA(x[i], y[i], -p)
		size += math.Abs(p)
	}
	return hi, lo, size
}

// Axpy2 adds a·x to hi + lo in twice the precision of float64, and |a·x| to size.
func Axpy2(hi, lo, size []float64, a float64, x []float64) {
	hi, lo, size = hi[:len(x)], lo[:len(x)], size[:len(x)]
	for i := axpy2(hi, lo, size, a, x); i < len(x); i++ {
		p := a * x[i]
		hi[i], lo[i] = addTwo(hi[i], lo[i], p)
		lo[i] += math.FMA(a, x[i], -p)
		size[i] += math.Abs(p)
	}
}

// addTwo adds p to hi + lo (Knuth's TwoSum).
func addTwo(hi, lo, p float64) (float64, float64) {
	t := hi + p
	z := t - hi
	return t, lo + ((hi - (t - z)) + (p - z))
}

// Raise sets dst to the larger of dst and |a·x|, for numbers.
func Raise(dst []float64, a float64, x []float64) {
	dst = dst[:len(x)]
	for i := raise(dst, a, x); i < len(x); i++ {
		if v := math.Abs(a * x[i]); v > dst[i] {
			dst[i] = v
		}
	}
}

// Mul sets dst = x∘y, element by element, of the length of x.
func Mul(dst, x, y []float64) {
	dst, y = dst[:len(x)], y[:len(x)]
	for i := mul(dst, x, y); i < len(x); i++ {
		dst[i] = x[i] * y[i]
	}
}

// GramRows and GramColumns are the rows that Gram multiplies at a time.
const (
	GramRows    = 3
	GramColumns = 4
)

// Gram sets out[4i+j] to the product of row i of three with row j of four. The rows start stride apart in a and b, and
// count up to the given number of columns, a multiple of 8. If wide, it may take eight columns at a time, which makes
// the sums in another order.
func Gram(out *[GramRows * GramColumns]float64, a, b []float64, stride, columns int, wide bool) {
	_, _ = a[:2*stride+columns], b[:3*stride+columns]
	if columns%8 != 0 {
		panic("vec: Gram of columns that are not a multiple of 8")
	}
	gram(out, a, b, stride, columns, wide)
}

func gramGo(out *[GramRows * GramColumns]float64, a, b []float64, stride, columns int) {
	for i := range GramRows {
		for j := range GramColumns {
			out[GramColumns*i+j] = dotGo(a[i*stride:i*stride+columns], b[j*stride:j*stride+columns])
		}
	}
}
