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
	// log₂(1+f)/f and 2ʳ.
	logarithm := chebyshev(func(f *big.Float) *big.Float {
		s := quo(f, add(number(2), f))
		return quo(atanhTail(mul(s, s), 0), mul(ln2, add(number(2), f)))
	}, -0.2929, 0.4143, 5)
	power := chebyshev(func(r *big.Float) *big.Float { return expTail(mul(r, ln2), 0) }, -0.5, 0.5, 5)

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

			p := raise(g)
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

// raise returns gᵏ by squaring, and multiplying with g where k has a one, from the top: intermediate
// powers lie between g and the result. The argument steps holds the binary digits of k after
// the leading one, then a one that marks the end, in its top bits.
func raise(g reg.VecVirtual) reg.VecVirtual {
	p, steps := YMM(), GP64()
	VMOVAPD(g, p)
	Load(Param("steps"), steps)
	Label("raise")
	SHLQ(Imm(1), steps)
	JZ(LabelRef("raised"))
	VMULPD(p, p, p)
	JCC(LabelRef("raise"))
	VMULPD(g, p, p)
	JMP(LabelRef("raise"))
	Label("raised")
	return p
}
