package vec

import "math"

// Power32 is Power for float32 vectors. The exponent stays a float64: rounding it to a float32 would cost
// 6e-8·|y·ln x| of the result. The error is below 4e-7 of the result where |y·ln x| ≤ 40.
type Power32 struct{ power Power }

// PowerOf32 returns the power with exponent y, or the exponent nearby that y stands for (see PowerOf).
func PowerOf32(y float64) Power32 { return Power32{PowerOf(y)} }

// Exponent returns the exponent in use.
func (p Power32) Exponent() float64 { return p.power.y }

// Abs sets dst = |x|^y.
func (p Power32) Abs(dst, x []float32) { p.power.raise32(dst[:len(x)], x, 0) }

// Signed sets dst = sign(x)·|x|^y. Zeros keep their sign, also where 0^y is infinite; NaN stays NaN.
func (p Power32) Signed(dst, x []float32) { p.power.raise32(dst[:len(x)], x, signBit) }

// raise32 sets dst = |x|^y with the sign of x where sign is signBit.
func (p Power) raise32(dst, x []float32, sign uint64) {
	sign32 := uint32(sign >> 32)
	switch p.plan {
	case one:
		for i, v := range x {
			if v == v || sign == 0 {
				v = math.Float32frombits(math.Float32bits(1) | math.Float32bits(v)&sign32)
			}
			dst[i] = v
		}
	case same:
		if sign == 0 {
			abs32(dst, x)
			return
		}
		copy(dst, x)
	case square:
		squares32(dst, x, sign32)
	case integer:
		powInts32(dst, x, int(p.y), p.steps, sign32)
	case squareRoot:
		sqrts32(dst, x, sign32)
	case squareRootCubed:
		sqrtCubes32(dst, x, sign32)
	case root:
		roots32(dst, x, p.y, sign32)
	default:
		pows32(dst, x, p.y, absBits, sign)
	}
}

// Pow32 sets dst = xʸ as math.Pow does, for every x and y, with an error below 4e-7 of the result where
// |y·ln x| ≤ 40.
func Pow32(dst, x []float32, y float64) {
	dst = dst[:len(x)]
	if !isInteger(y) {
		pows32(dst, x, y, allBits, 0)
		return
	}
	p := exactly(y)
	p.raise32(dst, x, oddSign(y))
}
