package main

import (
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exponential is eˣ = 2ᵏ·eʳ with k = round(x/ln 2) and |r| ≤ ln2/2.
//
// eʳ = 1 + r + r²q(r). The q with ten coefficients is within 1.7e-17 of eʳ, well below half an ulp of a float64
// (1.1e-16), and that with five within 1e-8, below half an ulp of a float32 (6e-8). The rounding of r + r²q
// adds less than half an ulp.
//
// x is first limited to [low, high], outside which the answer is 0 or +Inf all the same; the operand
// order lets a NaN through.
func exponential(w format, low, high float64, n int) {
	q := expPoly(n)

	lanesOf(w).write(elementwise{
		name: "exp" + w.suffix + "AVX2",
		doc:  "exp" + w.suffix + "AVX2 sets dst = eˣ.",
		body: func(v reg.VecVirtual) reg.VecVirtual {
			r, bits := w.reduce(v, low, high)
			p := w.expm1Of(r, q)
			w.add(w.constant(1), p, p)
			return w.scale2(p, bits)
		},
	})
}

// expPoly returns the n coefficients of q in eʳ = 1 + r + r²q(r).
func expPoly(n int) []float64 {
	const half = math.Ln2/2 + 1e-6
	return chebyshev(func(r *big.Float) *big.Float { return expTail(r, 2) }, -half, half, n)
}

// reduce returns r with x = k·ln2 + r and k in the low bits of bits, for x limited to [low, high].
func (w format) reduce(v reg.VecVirtual, low, high float64) (r, bits reg.VecVirtual) {
	inverse, _ := quo(number(1), ln2).Float64()
	ln2High, ln2Low := w.split(ln2)
	x, limit := YMM(), YMM()
	w.move(w.constant(high), x)
	w.min(v, x, x)
	w.move(w.constant(low), limit)
	w.max(x, limit, x)

	bits, k := YMM(), YMM()
	w.move(w.constant(inverse), bits)
	w.fma213(w.constant(w.rounder()), x, bits)
	w.sub(w.constant(w.rounder()), bits, k)
	w.fnma231(w.constant(ln2High), k, x) // x − k·ln2, with ln2 in two parts
	w.fnma231(w.constant(ln2Low), k, x)
	return x, bits
}

// expm1Of returns eʳ − 1 = r + r²q(r).
func (w format) expm1Of(r reg.VecVirtual, q []float64) reg.VecVirtual {
	p := w.poly(r, q)
	square := YMM()
	w.mul(r, r, square)
	w.fma213(r, square, p)
	return p
}

// scale2 returns p·2ᵏ for the integer k in the low bits of bits, in two steps: 2ᵏ itself need not be
// a number of the format when the result is one, or is denormal. Only the last step rounds.
func (w format) scale2(p, bits reg.VecVirtual) reg.VecVirtual {
	half, rest := YMM(), YMM()
	VPSRAD(Imm(1), bits, half)
	VPSUBD(half, bits, rest)
	w.shiftLeft(Imm(w.mantissa), half, half)
	w.intAdd(w.constant(1), half, half)
	w.shiftLeft(Imm(w.mantissa), rest, rest)
	w.intAdd(w.constant(1), rest, rest)
	w.mul(half, p, p)
	w.mul(rest, p, p)
	return p
}
