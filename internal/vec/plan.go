package vec

import (
	"math"
	"math/bits"
)

// plan is a way to raise to an exponent.
type plan uint8

const (
	one             plan = iota // y = 0
	same                        // y = 1
	square                      // y = 2
	integer                     // y = 3, 4, …, maxInteger: multiplications
	squareRoot                  // y = 1/2
	squareRootCubed             // y = 3/2
	root                        // y = 1/3, 1/4, …, 1/maxRoot: a guess and a correction
	general                     // y·log x and its exponential
)

const (
	maxInteger = 64 // 63 roundings at most: 7e-15
	maxRoot    = 16
)

// maxExponent is the largest |y| that cannot overflow when multiplied with a logarithm.
const maxExponent = 0x1p1000

// planOf returns the plan for y, and k where y is the integer k or the root 1/k.
func planOf(y float64) (p plan, k int) {
	switch {
	case y == 0:
		return one, 0
	case y == 1:
		return same, 0
	case y == 2:
		return square, 0
	case y == 0.5:
		return squareRoot, 0
	case y == 1.5:
		return squareRootCubed, 0
	case y > 2 && y <= maxInteger && y == math.Trunc(y):
		return integer, int(y)
	case y >= 1.0/maxRoot && y < 0.4:
		if k := math.Round(1 / y); y == 1/k {
			return root, int(k)
		}
	}
	return general, 0
}

// nearby returns the exponent with a plan of its own that y stands for, or y.
//
// Exponents are mostly written as a p in another formula, and arrive here as y = 1/(p−1): 1/(1.1−1) is
// 9.999999999999991. Rounding p to a float64 changes it by 2⁻⁵³p at most, hence p−1 by the fraction
// 2⁻⁵³p/(p−1) = 2⁻⁵³(1+y), since p = 1 + 1/y; the subtraction and the division add 2⁻⁵³ each.
// Where p itself was computed from its conjugate q = p/(p−1), the same holds for q, whose exponent
// is 1/y. So y is off by the fraction 2⁻⁵³(5 + y + 1/y) or so; a factor of two is for one more rounding.
func nearby(y float64) float64 {
	candidates := [...]float64{math.Round(y), 1 / math.Round(1/y), 1.5}
	for _, c := range candidates {
		if p, _ := planOf(c); p != general && math.Abs(y-c) <= 0x1p-52*(5+c+1/c)*c {
			return c
		}
	}
	return y
}

// stepsOf returns the multiplications for a k-th power: the binary digits of k after the leading one, from
// the top bit down, and a one that marks their end. Each digit is a squaring, followed by a
// multiplication where it is one.
func stepsOf(k uint) uint64 {
	digits := bits.Len(k) - 1
	rest := uint64(k) - 1<<digits
	return (rest<<1 | 1) << (63 - digits)
}
