package vec

import "math"

// Power is a real exponent with the way to raise to it: the one place that decides whether an exponent is
// a copy, some multiplications, a root, or a general power.
//
// The error is below 1e-14 of the result where |y·ln x| ≤ 40, and grows with that product beyond;
// overflow and underflow are those of math.Pow. Zeros, infinities and NaN are treated as math.Pow does.
// The zero value is the exponent 0.
type Power struct {
	y     float64
	plan  plan
	steps uint64 // the multiplications of an integer power, or of the inverse of a root
}

// PowerOf returns the power with exponent y. A y that differs by a few roundings from a small integer, from
// one over such an integer or from 3/2 is taken for it: that is what is left of it in 1/(p−1).
func PowerOf(y float64) Power { return exactly(nearby(y)) }

// exactly returns the power with exponent y.
func exactly(y float64) Power {
	p := Power{y: y}
	var k int
	p.plan, k = planOf(y)
	if k > 0 {
		p.steps = stepsOf(uint(k))
	}
	return p
}

// Exponent returns the exponent in use: y, or the integer, root or half that y was taken for.
func (p Power) Exponent() float64 { return p.y }

// Abs sets dst = |x|^y.
func (p Power) Abs(dst, x []float64) { p.raise(dst[:len(x)], x, 0) }

// Signed sets dst = sign(x)·|x|^y. Zeros keep their sign, also where 0^y is infinite; NaN stays NaN.
func (p Power) Signed(dst, x []float64) { p.raise(dst[:len(x)], x, signBit) }

const (
	signBit = 1 << 63
	absBits = signBit - 1
	allBits = 1<<64 - 1
)

// raise sets dst = |x|^y with the bits sign of x.
func (p Power) raise(dst, x []float64, sign uint64) {
	switch p.plan {
	case one:
		for i, v := range x {
			if v == v || sign == 0 {
				v = math.Float64frombits(math.Float64bits(1) | math.Float64bits(v)&sign)
			}
			dst[i] = v
		}
	case same:
		if sign != 0 {
			copy(dst, x)
			return
		}
		for i, v := range x {
			dst[i] = math.Float64frombits(math.Float64bits(v) & (absBits | sign))
		}
	case square:
		squares(dst, x, sign)
	case integer:
		powInts(dst, x, p.steps, sign)
	case squareRoot:
		sqrts(dst, x, sign)
	case squareRootCubed:
		sqrtCubes(dst, x, sign)
	case root:
		roots(dst, x, p.y, p.steps, sign)
	default:
		pows(dst, x, p.y, absBits, sign)
	}
}

// Pow sets dst = xʸ as math.Pow does, for every x and y, with an error below 1e-14 of the result where
// |y·ln x| ≤ 40. For one exponent and many vectors a Power is quicker.
func Pow(dst, x []float64, y float64) {
	dst = dst[:len(x)]
	if !isInteger(y) {
		pows(dst, x, y, allBits, 0) // a negative base has no real power
		return
	}
	exactly(y).raise(dst, x, oddSign(y))
}

// isInteger says whether y is an integer, and small enough to be odd.
func isInteger(y float64) bool { return y == math.Trunc(y) && math.Abs(y) < 1<<53 }

// oddSign returns the bits a negative base leaves in its power with the integer y.
func oddSign(y float64) uint64 {
	if math.Mod(y, 2) != 0 {
		return signBit
	}
	return 0
}
