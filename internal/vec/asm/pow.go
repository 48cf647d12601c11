package main

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// base is what the power kernels make of their input lanes: v, the lanes with the bits in abs, to be
// raised; sign, the bits to be put back into the result; zero, the lanes where v = 0.
type base struct{ v, sign, zero reg.VecVirtual }

// baseOf splits x, and stops unless every lane of v is zero or in [low, high]. Zero lanes are computed as 1,
// since denormals on the way would cost hundreds of cycles, and set by finish.
func baseOf(x, abs, sign reg.VecVirtual, low, high float64) base {
	b := base{YMM(), YMM(), YMM()}
	VANDPD(sign, x, b.sign)
	VANDPD(abs, x, b.v)
	VXORPD(b.zero, b.zero, b.zero)
	VCMPPD(Imm(equal), b.v, b.zero, b.zero)
	ok := double.within(b.v, low, high)
	VORPD(b.zero, ok, ok)
	double.stopUnless(ok)
	one := ok
	VANDPD(f64(1), b.zero, one)
	VORPD(one, b.v, b.v)
	return b
}

// finish puts 0ʸ into the zero lanes of p, and the signs.
func (b base) finish(p, atZero reg.VecVirtual) reg.VecVirtual {
	VBLENDVPD(b.zero, atZero, p, p)
	VORPD(b.sign, p, p)
	return p
}

// pow64 is xʸ = 2^(y·log₂x), with log₂x in two parts.
//
// log₂ x = k + log₂ m with m in [√½, √2) as in logarithm, and log₂ m = (2/ln2)·s + s³R(s²), s = (m−1)/(m+1).
// The quotient s is kept with its remainder, and the product with 2/ln2 with its rounding error, so
// that the first term is right to about 2⁻¹⁰⁰; the second is at most a hundredth of it, hence its rounding
// errors are below 2⁻⁵⁸ of log₂ m. The sum with k goes into hi + lo without a rounding. What is left of
// the product y·(hi + lo) after taking off the nearest integer n is right to about 2⁻⁵⁸·|y·log₂x|:
// 2e-16 where |y·ln x| = 40. Then 2ʳ = 1 + r·q(r) with eleven coefficients, whose truncation is 8e-18.
//
// It stops at lanes that are not zero or positive, normal and finite. |y| ≤ 2¹⁰⁰⁰ keeps all products finite;
// those beyond the exponents of float64 are limited to ±1100, whose power is +Inf or 0.
func pow64() {
	scale := quo(number(2), ln2)
	scaleHigh, scaleLow := double.split(scale)
	c := chebyshev(func(z *big.Float) *big.Float { return quo(atanhTail(z, 1), ln2) }, 0, zMax, 7)
	q := chebyshev(func(r *big.Float) *big.Float { return mul(ln2, expTail(mul(r, ln2), 1)) }, -0.5, 0.5, 11)

	var y, atZero, abs, sign reg.VecVirtual
	fours.write(elementwise{
		name: "powAVX2", args: ", y, atZero float64, abs, sign uint64",
		doc:  "powAVX2 sets dst = (x&abs)ʸ | x&sign, with atZero for 0ʸ, and returns how many it did.",
		fill: 1, stops: true,
		prepare: func() {
			y, atZero = broadcast64("y"), broadcast64("atZero")
			abs, sign = broadcast64("abs"), broadcast64("sign")
		},
		body: func(x reg.VecVirtual) reg.VecVirtual {
			b := baseOf(x, abs, sign, 0x1p-1022, math.MaxFloat64)
			k, m := double.exponent(b.v)

			// s + rest = f/(m+1), where u + uLow = m+1.
			f, u, uLow := YMM(), YMM(), YMM()
			VSUBPD(f64(1), m, f)
			VADDPD(f64(1), m, u)
			VSUBPD(f64(1), u, uLow)
			VSUBPD(uLow, m, uLow)
			inverse, s := YMM(), YMM()
			VMOVUPD(f64(1), inverse)
			VDIVPD(u, inverse, inverse)
			VMULPD(inverse, f, s)
			rest := f
			VFNMADD231PD(u, s, rest)
			VFNMADD231PD(uLow, s, rest)
			VMULPD(inverse, rest, rest)

			// t + tLow = log₂ m.
			z, cube := YMM(), YMM()
			VMULPD(s, s, z)
			VMULPD(s, z, cube)
			tLow := double.poly(z, c)
			VMULPD(cube, tLow, tLow)
			t := YMM()
			VMULPD(f64(scaleHigh), s, t)
			VFMADD231PD(f64(scaleHigh), rest, tLow)
			VFMADD231PD(f64(scaleLow), s, tLow)
			VFMSUB132PD(f64(scaleHigh), t, s) // s·scale − t: what t lost
			VADDPD(s, tLow, tLow)

			// hi + lo = k + t + tLow; k is zero or larger than t.
			hi, lo := YMM(), YMM()
			VADDPD(t, k, hi)
			VSUBPD(k, hi, lo)
			VSUBPD(lo, t, lo)
			VADDPD(tLow, lo, lo)

			// n + r = y·(hi + lo).
			p, r := YMM(), YMM()
			VMULPD(y, hi, p)
			VFMSUB213PD(p, y, hi)
			VFMADD231PD(lo, y, hi)
			VADDPD(hi, p, r)
			VMINPD(f64(1100), r, r)
			VMAXPD(f64(-1100), r, r)
			bits, n := YMM(), YMM()
			VADDPD(f64(double.rounder()), r, bits)
			VSUBPD(f64(double.rounder()), bits, n)
			VSUBPD(n, p, r)
			VADDPD(hi, r, r)
			VMAXPD(f64(-1), r, r) // far below, where the polynomial may be −Inf; far above it is +Inf, as it should be

			e := double.poly(r, q)
			VFMADD213PD(f64(1), r, e)
			return b.finish(double.scale2(e, bits), atZero)
		},
	})
}
