package main

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var negativeInfinity = math.Inf(-1)

const sign32 = 1 << 31

// expm1 returns eˣ − 1 for x limited to [low, high]: with eˣ = 2ᵏ(1+p), twice s·p + (s − ½) for s = 2ᵏ⁻¹, which
// is a number for k = 128 too. Where k = 0 it is p itself, whose relative error is small.
func expm1(x reg.VecVirtual, low, high float64, q []float64) reg.VecVirtual {
	r, bits := single.reduce(x, low, high)
	p := single.expm1Of(r, q)
	s, t := YMM(), YMM()
	VPSLLD(Imm(23), bits, s)
	VPADDD(f32(0.5), s, s)
	VSUBPS(f32(0.5), s, t)
	VFMADD213PS(t, s, p)
	VADDPS(p, p, p)
	return p
}

// curves32 are functions made of an exponential or a logarithm.
func curves32() {
	q := expPoly(5)
	eights.write(elementwise{
		name: "expm132AVX2", doc: "expm132AVX2 sets dst = eˣ − 1.",
		body: func(x reg.VecVirtual) reg.VecVirtual {
			p := expm1(x, -30, 89, q)
			// Below 2⁻²⁵ it is x, also for zeros and denormals.
			size, small := YMM(), YMM()
			VANDPS(bits32(sign32-1), x, size)
			VCMPPS(Imm(less), f32(0x1p-25), size, small)
			return blend(small, x, p)
		},
	})
	// With e = e^(2|x|) − 1, tanh |x| = e/(e+2). From 9.02 on it rounds to 1.
	eights.write(elementwise{
		name: "tanh32AVX2", doc: "tanh32AVX2 sets dst = tanh x.",
		body: func(x reg.VecVirtual) reg.VecVirtual {
			size, sign, u := YMM(), YMM(), YMM()
			VANDPS(bits32(sign32), x, sign)
			VANDPS(bits32(sign32-1), x, size)
			VADDPS(size, size, size)
			p := expm1(size, 0, 20, q)
			VADDPS(f32(2), p, u)
			VDIVPS(u, p, p)
			VORPS(sign, p, p)
			return p
		},
	})
	// With e = e^−|x|, which cannot overflow, it is 1/(1+e) or e/(1+e).
	eights.write(elementwise{
		name: "logistic32AVX2", doc: "logistic32AVX2 sets dst = 1/(1 + e⁻ˣ).",
		body: func(x reg.VecVirtual) reg.VecVirtual {
			minus, one := YMM(), YMM()
			VORPS(bits32(sign32), x, minus)
			r, bits := single.reduce(minus, -104, 0)
			e := single.expm1Of(r, q)
			VMOVUPS(f32(1), one)
			VADDPS(one, e, e)
			e = single.scale2(e, bits)
			u, positive := YMM(), YMM()
			VADDPS(one, e, u)
			VXORPS(positive, positive, positive)
			VCMPPS(Imm(atLeast), positive, x, positive)
			VBLENDVPS(positive, one, e, e)
			VDIVPS(u, e, e)
			return e
		},
	})
	// Below 1, erf x is x + x·P(x²). From there on it is 1 − e^(−x²)·R(|x|), with R = e^(x²)·erfc x, which falls slowly;
	// e^(−x²) makes its error small. From 4 on it rounds to 1.
	near := chebyshev(func(z *big.Float) *big.Float { return sub(erfOverX(z), number(1)) }, 0, 1, 8)
	const middle, reach = 2.5, 1.5
	far := chebyshev(func(u *big.Float) *big.Float { return scaledErfc(add(u, number(middle))) }, -reach, reach, 11)
	eights.write(elementwise{
		name: "erf32AVX2", doc: "erf32AVX2 sets dst = erf x.",
		body: func(x reg.VecVirtual) reg.VecVirtual {
			size, sign, small := YMM(), YMM(), YMM()
			VANDPS(bits32(sign32), x, sign)
			VANDPS(bits32(sign32-1), x, size)
			VCMPPS(Imm(less), f32(1), size, small)

			z := YMM()
			VMULPS(size, size, z)
			p := single.poly(z, near)
			VFMADD213PS(size, size, p)

			t, limit, square := YMM(), YMM(), YMM()
			VMOVUPS(f32(middle+reach), t)
			VMINPS(size, t, t) // NaN gets through
			VMOVUPS(f32(middle-reach), limit)
			VMAXPS(t, limit, t)
			VMULPS(t, t, square)
			VORPS(bits32(sign32), square, square)
			r, bits := single.reduce(square, -17, 0)
			e := single.expm1Of(r, q)
			VADDPS(f32(1), e, e)
			e = single.scale2(e, bits)
			VSUBPS(f32(middle), t, t)
			rest, one := single.poly(t, far), YMM()
			VMOVUPS(f32(1), one)
			VFNMADD231PS(rest, e, one)
			out := blend(small, p, one)
			VORPS(sign, out, out)
			return out
		},
	})
	// ln(1+x) is the logarithm of the sum u = 1 + x as logarithm has it, and c/u, where c = x − (u−1) is what the
	// sum lost. u−1 is exact below 2²⁴, and what c is above that does not matter.
	ln2High, ln2Low := single.split(ln2)
	c := chebyshev(func(z *big.Float) *big.Float { return atanhTail(z, 1) }, 0, zMax, 3)
	eights.write(elementwise{
		name: "log1p32AVX2", doc: "log1p32AVX2 sets dst = ln(1+x) and returns how many it did.",
		stops: true,
		body: func(x reg.VecVirtual) reg.VecVirtual {
			single.stopUnless(single.within(x, -1+0x1p-24, math.MaxFloat32))
			sum, lost := YMM(), YMM()
			VADDPS(f32(1), x, sum)
			VSUBPS(f32(1), sum, lost)
			VSUBPS(lost, x, lost)
			VDIVPS(sum, lost, lost)

			k, m := single.exponent(sum)
			f, u, s := YMM(), YMM(), YMM()
			VSUBPS(f32(1), m, f)
			VADDPS(f32(1), m, u)
			VDIVPS(u, f, s)
			z, h := YMM(), YMM()
			VMULPS(s, s, z)
			VMULPS(f32(0.5), f, h)
			VMULPS(f, h, h)
			p := single.poly(z, c)
			VFMADD213PS(h, z, p)
			VFMADD231PS(f32(ln2Low), k, lost)
			VFMADD231PS(p, s, lost)
			VSUBPS(lost, h, h)
			VSUBPS(h, f, f)
			VFMADD231PS(f32(ln2High), k, f)
			VANDPS(bits32(sign32), x, x) // of a zero
			VORPS(x, f, f)
			return f
		},
	})
}
