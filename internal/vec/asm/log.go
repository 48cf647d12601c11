package main

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// zMax bounds s² for s = (m−1)/(m+1) and m in [√½, √2]: s = (√2−1)² at most.
var zMax = math.Pow(math.Sqrt2-1, 4) * (1 + 1e-9)

// logarithm is ln x = k·ln2 + ln m with m = x/2ᵏ in [√½, √2).
//
// With f = m−1 (exact) and s = f/(2+f), ln m = 2·atanh(s) = 2s + s³R(s²). Since 2s = f − s·f and
// s·f = f²/2 − s·f²/2, it is f − (f²/2 − s·(f²/2 + s²R)), where the leading term is exact and what is
// subtracted is small: the error is little more than that of the last addition.
// R is 2/3 + 2z/5 + …, and on z = s² ≤ 0.0295 seven coefficients leave 5e-18 of ln m, three 3e-9.
//
// It stops at lanes that are not positive, normal and finite.
func logarithm(w format, n int) {
	ln2High, ln2Low := w.split(ln2)
	c := chebyshev(func(z *big.Float) *big.Float { return atanhTail(z, 1) }, 0, zMax, n)

	lanesOf(w).write(elementwise{
		name: "log" + w.suffix + "AVX2",
		doc:  "log" + w.suffix + "AVX2 sets dst = ln x and returns how many it did.",
		fill: 1, stops: true,
		body: func(v reg.VecVirtual) reg.VecVirtual {
			w.stopUnless(w.within(v, w.smallest(), w.most))
			k, m := w.exponent(v)
			f, u, s := YMM(), YMM(), YMM()
			w.sub(w.constant(1), m, f)
			w.add(w.constant(1), m, u)
			w.div(u, f, s)
			z, h := YMM(), YMM()
			w.mul(s, s, z)
			w.mul(w.constant(0.5), f, h)
			w.mul(f, h, h)
			p := w.poly(z, c)
			w.fma213(h, z, p) // f²/2 + z·R
			t := YMM()
			w.mul(w.constant(ln2Low), k, t)
			w.fma231(p, s, t)
			w.sub(t, h, h)
			w.sub(h, f, f)
			w.fma231(w.constant(ln2High), k, f)
			return f
		},
	})
}

// exponent returns k and m in [√½, √2) with v = m·2ᵏ, for positive normal v.
//
// Subtracting the bits of √½ from those of v carries into the exponent field where the mantissa is
// small, so that the field is k and what is below it, plus √½, is m. A bias keeps the field positive:
// put under the exponent of 2^mantissa it is an integer in floating point.
func (w format) exponent(v reg.VecVirtual) (k, m reg.VecVirtual) {
	root := w.bitsOf(math.Sqrt2 / 2)
	unit := math.Ldexp(1, int(w.mantissa))
	m, k = YMM(), YMM()
	w.move(w.bits(w.bias<<w.mantissa-root), m)
	w.intAdd(v, m, m)
	w.shiftRight(Imm(w.mantissa), m, k)
	w.or(w.constant(unit), k, k)
	w.sub(w.constant(unit+float64(w.bias)), k, k)
	w.and(w.bits(1<<w.mantissa-1), m, m)
	w.intAdd(w.bits(root), m, m)
	return k, m
}
