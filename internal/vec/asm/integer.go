package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels here need no care about zeros, infinities or NaN: multiplication and square root do the
// right thing by themselves.

// withSign writes a kernel that sets dst = body(|x|) | x&sign, computing in w on elements from g.
func withSign(g group, w format, name, args, doc string, body func(v reg.VecVirtual) reg.VecVirtual) {
	var sign reg.VecVirtual
	g.write(elementwise{
		name: name, args: args + fmt.Sprintf(", sign uint%d", 8*w.size), doc: name + " sets dst = " + doc + " | x&sign.",
		prepare: func() { sign = w.broadcast("sign") },
		body: func(x reg.VecVirtual) reg.VecVirtual {
			s, v := YMM(), YMM()
			w.and(sign, x, s)
			w.and(w.bits(w.signBit()-1), x, v)
			v = body(v)
			w.or(s, v, v)
			return v
		},
	})
}

func integerPower() {
	withSign(fours, double, "powIntAVX2", ", steps uint64", "|x|ᵏ, for the k given by steps,", func(v reg.VecVirtual) reg.VecVirtual {
		return double.raise(v)[0]
	})
}

// integerPower32 multiplies in float64, two registers of four: the roundings of 63 multiplications would show in
// float32. For a few of them see smallPower.
func integerPower32() {
	withSign(eights, single, "powInt32AVX2", ", steps uint64", "|x|ᵏ, for the k given by steps,", func(v reg.VecVirtual) reg.VecVirtual {
		low, high := YMM(), YMM()
		VEXTRACTF128(Imm(1), v, high.AsX())
		VCVTPS2PD(v.AsX(), low)
		VCVTPS2PD(high.AsX(), high)
		p := double.raise(low, high)
		VCVTPD2PSY(p[0], low.AsX())
		VCVTPD2PSY(p[1], high.AsX())
		VINSERTF128(Imm(1), high.AsX(), low, low)
		return low
	})
}

// smallPower multiplies in float32, for the few multiplications of a cube or a fourth power.
func smallPower() {
	withSign(eights, single, "powSmall32AVX2", ", steps uint64", "|x|ᵏ, for the k given by steps,", func(v reg.VecVirtual) reg.VecVirtual {
		return single.raise(v)[0]
	})
}

// tenthPower is ((x²)²·x)², as raise has it but without its branches: 10 is 1/(p−1) for p = 1.1, the usual
// choice for sparse weights.
func tenthPower() {
	withSign(fours, double, "tenthPowerAVX2", "", "x¹⁰", func(v reg.VecVirtual) reg.VecVirtual {
		p := YMM()
		VMULPD(v, v, p)
		VMULPD(p, p, p)
		VMULPD(v, p, p)
		VMULPD(p, p, p)
		return p
	})
}

func square(w format) {
	withSign(lanesOf(w), w, "square"+w.suffix+"AVX2", "", "x²", func(v reg.VecVirtual) reg.VecVirtual {
		w.mul(v, v, v)
		return v
	})
}

func squareRoot(w format) {
	withSign(lanesOf(w), w, "sqrt"+w.suffix+"AVX2", "", "√|x|", func(v reg.VecVirtual) reg.VecVirtual {
		w.sqrt(v, v)
		return v
	})
	withSign(lanesOf(w), w, "sqrtCube"+w.suffix+"AVX2", "", "|x|·√|x|", func(v reg.VecVirtual) reg.VecVirtual {
		r := YMM()
		w.sqrt(v, r)
		w.mul(r, v, v)
		return v
	})
}
