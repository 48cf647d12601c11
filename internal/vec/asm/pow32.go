package main

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pow32 is pow64 for float32, computed in float64, where one part is enough for everything: log₂ m = s·R(s²)
// with five coefficients is right to 1e-11, and 2ʳ with seven to 3e-9. Denormal inputs are normal float64, and
// the last conversion makes denormals, zeros and infinities of the results.
//
// It stops at infinities, NaN, and negative bases.
func pow32() {
	c := chebyshev(func(z *big.Float) *big.Float { return quo(atanhTail(z, 0), ln2) }, 0, zMax, 5)
	q := chebyshev(func(r *big.Float) *big.Float { return expTail(mul(r, ln2), 0) }, -0.5, 0.5, 7)

	var y, atZero, abs, sign reg.VecVirtual
	widened.write(elementwise{
		name: "pow32AVX2", args: ", y, atZero float64, abs, sign uint64",
		doc:  "pow32AVX2 is powAVX2 for float32; abs and sign are bits of float64.",
		fill: 1, stops: true,
		prepare: func() {
			y, atZero = broadcast64("y"), broadcast64("atZero")
			abs, sign = broadcast64("abs"), broadcast64("sign")
		},
		body: func(x reg.VecVirtual) reg.VecVirtual {
			b := baseOf(x, abs, sign, 0x1p-149, math.MaxFloat32)
			k, m := double.exponent(b.v)
			s, u, z := YMM(), YMM(), YMM()
			VSUBPD(f64(1), m, s)
			VADDPD(f64(1), m, u)
			VDIVPD(u, s, s)
			VMULPD(s, s, z)
			l := double.poly(z, c)
			VFMADD213PD(k, s, l)
			VMULPD(y, l, l)
			VMINPD(f64(200), l, l) // beyond the exponents of float32
			VMAXPD(f64(-200), l, l)
			bits, n := YMM(), YMM()
			VADDPD(f64(double.rounder()), l, bits)
			VSUBPD(f64(double.rounder()), bits, n)
			VSUBPD(n, l, l)
			p := double.poly(l, q)
			VPSLLQ(Imm(52), bits, bits)
			VPADDQ(bits, p, p)
			return b.finish(p, atZero)
		},
	})
}
