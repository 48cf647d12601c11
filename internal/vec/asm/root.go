package main

import (
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// root64 is the k-th root, 3 ≤ k ≤ 16, by a rough power and one step of high order.
//
// The guess g = 2^(log₂x/k) takes polynomials good to 3e-5 and 4e-6. With p = gᵏ and e = (x−p)/p, |e| < 1e-4,
// the root is g·(1+e)^(1/k), and the binomial series up to e³ leaves (1e-4)⁴. Any error of g itself is
// made good by e. The k−1 roundings of p weigh 1/k in the result: about one ulp in all.
//
// The caller gives 1/k, the next two binomial coefficients and the multiplications for gᵏ (see raise).
// It stops at lanes that are not zero or between 2⁻¹⁰²¹ and 2¹⁰²³, where p is a normal number.
func root64() {
	logarithm, power := rootPolys()
	var inverse, second, third, abs, sign, atZero reg.VecVirtual
	fours.write(elementwise{
		name: "rootAVX2", args: ", steps uint64, inverse, second, third float64, abs, sign uint64",
		doc:  "rootAVX2 sets dst = (x&abs)^(1/k) | x&sign, for the k given by steps and the binomial coefficients of 1/k, and returns how many it did.",
		fill: 1, stops: true,
		prepare: func() {
			inverse, second, third = broadcast64("inverse"), broadcast64("second"), broadcast64("third")
			abs, sign = broadcast64("abs"), broadcast64("sign")
			atZero = YMM()
			VXORPD(atZero, atZero, atZero)
		},
		body: func(x reg.VecVirtual) reg.VecVirtual {
			b := baseOf(x, abs, sign, 0x1p-1021, 0x1p1023)
			k, f := double.exponent(b.v)
			VSUBPD(f64(1), f, f)
			l := double.poly(f, logarithm)
			VFMADD213PD(k, f, l)
			bits, n := YMM(), YMM() // n + r = l/k
			VMOVUPD(f64(double.rounder()), bits)
			VFMADD231PD(inverse, l, bits)
			VSUBPD(f64(double.rounder()), bits, n)
			VFMSUB213PD(n, inverse, l)
			g := double.poly(l, power)
			VPSLLQ(Imm(52), bits, bits)
			VPADDQ(bits, g, g)

			p := double.raise(g)[0]
			e := YMM()
			VSUBPD(p, b.v, e)
			VDIVPD(p, e, e)
			c := YMM()
			VMOVAPD(third, c)
			VFMADD213PD(second, e, c)
			VFMADD213PD(inverse, e, c)
			VMULPD(e, c, c)
			VFMADD213PD(g, g, c)
			return b.finish(c, atZero)
		},
	})
}

// root32 is root64 in float32: there e² is below half an ulp, so that the first term of the series will do. The
// k−1 roundings of p weigh 1/k in the result, which is within 2⁻²³ of the root.
//
// Roots of small weights are common, and some of them denormal: what is below 2⁻¹⁰⁰ is multiplied by up,
// a power of 2ᵏ of at least 2²⁴, and its root by down. It stops at lanes that are larger than 2¹²⁷, or NaN.
func root32() {
	logarithm, power := rootPolys()
	var inverse, up, down, sign reg.VecVirtual
	eights.write(elementwise{
		name: "root32AVX2", args: ", steps uint64, inverse, up, down float32, sign uint32",
		doc:  "root32AVX2 sets dst = |x|^(1/k) | x&sign, for the k given by steps and its inverse, with a power up of 2ᵏ, 2²⁴ or more, and the inverse down of its root; it returns how many it did.",
		fill: 1, stops: true,
		prepare: func() {
			inverse, up, down = single.broadcast("inverse"), single.broadcast("up"), single.broadcast("down")
			sign = single.broadcast("sign")
		},
		body: func(x reg.VecVirtual) reg.VecVirtual {
			v, keep, zero, small := YMM(), YMM(), YMM(), YMM()
			VANDPS(sign, x, keep)
			VANDPS(bits32(sign32-1), x, v)
			VCMPPS(Imm(atMost), f32(0x1p127), v, zero)
			single.stopUnless(zero)
			VXORPS(zero, zero, zero)
			VCMPPS(Imm(equal), v, zero, zero)
			VCMPPS(Imm(less), f32(0x1p-100), v, small)
			t := YMM()
			VMULPS(up, v, t)
			VBLENDVPS(small, t, v, v)
			VANDPS(f32(1), zero, t)
			VORPS(t, v, v)

			k, f := single.exponent(v)
			VSUBPS(f32(1), f, f)
			l := single.poly(f, logarithm)
			VFMADD213PS(k, f, l)
			bits, n := YMM(), YMM() // n + r = l/k
			VMOVUPS(f32(single.rounder()), bits)
			VFMADD231PS(inverse, l, bits)
			VSUBPS(f32(single.rounder()), bits, n)
			VFMSUB213PS(n, inverse, l)
			g := single.poly(l, power)
			VPSLLD(Imm(23), bits, bits)
			VPADDD(bits, g, g)

			p, e := single.raise(g)[0], YMM()
			VSUBPS(p, v, e)
			VDIVPS(p, e, e)
			VMULPS(inverse, e, e)
			VFMADD213PS(g, g, e)
			VMULPS(down, e, t)
			VBLENDVPS(small, t, e, e)
			VANDNPS(e, zero, e)
			VORPS(keep, e, e)
			return e
		},
	})
}

// rootPolys returns the coefficients of log₂(1+f)/f and 2ʳ for a first guess.
func rootPolys() (logarithm, power []float64) {
	logarithm = chebyshev(func(f *big.Float) *big.Float {
		s := quo(f, add(number(2), f))
		return quo(atanhTail(mul(s, s), 0), mul(ln2, add(number(2), f)))
	}, -0.2929, 0.4143, 5)
	power = chebyshev(func(r *big.Float) *big.Float { return expTail(mul(r, ln2), 0) }, -0.5, 0.5, 5)
	return logarithm, power
}

// raise returns gᵏ of each g by squaring, and multiplying with g where k has a one, from the top: intermediate
// powers lie between g and the result. The argument steps holds the binary digits of k after
// the leading one, then a one that marks the end, in its top bits.
func (w format) raise(g ...reg.VecVirtual) []reg.VecVirtual {
	p, steps := make([]reg.VecVirtual, len(g)), GP64()
	for i := range g {
		p[i] = YMM()
		w.move(g[i], p[i])
	}
	Load(Param("steps"), steps)
	Label("raise")
	SHLQ(Imm(1), steps)
	JZ(LabelRef("raised"))
	for i := range g {
		w.mul(p[i], p[i], p[i])
	}
	JCC(LabelRef("raise"))
	for i := range g {
		w.mul(g[i], p[i], p[i])
	}
	JMP(LabelRef("raise"))
	Label("raised")
	return p
}
