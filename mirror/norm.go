package mirror

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

// Norm returns ‖x‖ₚ for 1 ≤ p ≤ ∞. It overflows or underflows only where the norm itself does:
// coordinates are divided by the largest. A NaN gives NaN.
func Norm(x []float64, p float64) float64 {
	if !(p >= 1) {
		panic(fmt.Sprintf("mirror: Norm with p = %v, want p ≥ 1", p))
	}
	m := maxAbs(x)
	if math.IsInf(p, 1) || m == 0 || math.IsInf(m, 0) || math.IsNaN(m) {
		return m
	}
	return m * scaledNorm(x, m, p)
}

// Conjugate returns q with 1/p + 1/q = 1.
func Conjugate(p float64) float64 {
	if math.IsInf(p, 1) {
		return 1
	}
	if p == 1 {
		return math.Inf(1)
	}
	return p / (p - 1)
}

// maxAbs returns max|xⱼ|, 0 for no coordinates, NaN where there is one. It compares bits, which are in the order of
// absolute values with NaN last, four at a time: a third of the time of the builtin max.
func maxAbs(x []float64) float64 {
	const sign = 1 << 63
	var a, b, c, d uint64
	for ; len(x) >= 4; x = x[4:] {
		a = max(a, math.Float64bits(x[0])&^sign)
		b = max(b, math.Float64bits(x[1])&^sign)
		c = max(c, math.Float64bits(x[2])&^sign)
		d = max(d, math.Float64bits(x[3])&^sign)
	}
	for _, v := range x {
		a = max(a, math.Float64bits(v)&^sign)
	}
	return math.Float64frombits(max(a, b, c, d))
}

// scaledNorm returns ‖x/m‖ₚ for m = max|xⱼ| > 0: a value between 1 and n^(1/p).
func scaledNorm(x []float64, m, p float64) float64 {
	var buf [128]float64
	pw := vec.PowerOf(p)
	var sum float64
	for len(x) > 0 {
		n := min(len(x), len(buf))
		for i, v := range x[:n] {
			buf[i] = v / m // not v·(1/m), which overflows for denormal m
		}
		pw.Abs(buf[:n], buf[:n])
		for _, v := range buf[:n] {
			sum += v
		}
		x = x[n:]
	}
	return math.Pow(sum, 1/p)
}
