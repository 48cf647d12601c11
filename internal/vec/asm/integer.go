package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels here need no care about zeros, infinities or NaN: multiplication and square root do the
// right thing by themselves.

// withSign writes a kernel that sets dst = body(|x|) | x&sign, computing in w on elements from g.
func withSign(g group, w format, name, args, doc string, body func(v reg.VecVirtual) reg.VecVirtual, prepare ...func()) {
	var sign reg.VecVirtual
	g.write(elementwise{
		name: name, args: args + fmt.Sprintf(", sign uint%d", 8*w.size), doc: name + " sets dst = " + doc + " | x&sign.",
		prepare: func() {
			sign = w.broadcast("sign")
			for _, p := range prepare {
				p()
			}
		},
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
// float32. For a few of them see smallPower and middlePower.
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

// smallPower multiplies in float32, for k ≤ 7: k−1 times 2⁻²⁴ at most, since squaring doubles the error of
// its argument and adds one of its own.
func smallPower() {
	signed32("powSmall32AVX2", ", steps uint64", "|x|ᵏ, for the k ≤ 7 given by steps,", 4, single.raise, nil)
}

// middlePower multiplies in float32 for 8 ≤ k ≤ 12, where that alone would take too many roundings.
func middlePower() {
	var m middle
	signed32("powMiddle32AVX2", ", steps uint64, half float32, odd uint64", middleDoc, 2,
		func(v ...reg.VecVirtual) []reg.VecVirtual { return m.raise(v...) },
		func() { m = middleOf() })
}

const middleDoc = "|x|ᵏ, for k = 2·half + odd between 8 and 12, and half−1 given by steps,"

// middle is the k-th power, k = 2j + odd, as h^(j−1)·(h + j·l)·x^odd with x² = h + l: what the square lost weighs j
// times, and is put back. That leaves j−2 roundings of the power, one of the sum and one or two of the products:
// j + odd times 2⁻²⁴, 3.6e-7 for k = 11 and 12. What l² would add is 2⁻⁴⁴.
type middle struct {
	half reg.VecVirtual
	odd  reg.Register
}

func middleOf() middle { return middle{single.broadcast("half"), Load(Param("odd"), GP64())} }

func (m middle) raise(v ...reg.VecVirtual) []reg.VecVirtual {
	h, sum := make([]reg.VecVirtual, len(v)), make([]reg.VecVirtual, len(v))
	for i, x := range v {
		h[i], sum[i] = YMM(), YMM()
		VMULPS(x, x, h[i])
		VMINPS(f32(math.MaxFloat32), h[i], sum[i]) // beyond, l is positive, and the sum infinite as it should be
		VFMSUB231PS(x, x, sum[i])
		VFMADD213PS(h[i], m.half, sum[i])
	}
	p := single.raise(h...)
	even := fmt.Sprint("even", raises)
	for i := range v {
		VMULPS(sum[i], p[i], p[i])
	}
	TESTQ(m.odd, m.odd)
	JZ(LabelRef(even))
	for i, x := range v {
		VMULPS(x, p[i], p[i])
	}
	Label(even)
	return p
}

// signed32 writes a kernel that sets dst = body(|x|) | x&sign, count registers at a time, then one, then what is left:
// for a body whose control flow would cost more than its arithmetic.
func signed32(name, args, doc string, count int, body func(v ...reg.VecVirtual) []reg.VecVirtual, prepare func()) {
	kernel(name, "func(dst, x []float32"+args+", sign uint32)", name+" sets dst = "+doc+" | x&sign.")
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	sign := single.broadcast("sign")
	if prepare != nil {
		prepare()
	}
	for _, c := range []int{count, 1} {
		this, next := fmt.Sprint("loop", c), "loop1"
		if c == 1 {
			next = "rest"
		}
		Label(this)
		CMPQ(n, U32(8*c))
		JL(LabelRef(next))
		v := make([]reg.VecVirtual, c)
		for i := range v {
			v[i] = YMM()
			VMOVUPS(bits32(sign32-1), v[i])
			VANDPS(single.at(x, 8*i), v[i], v[i])
		}
		for i, p := range body(v...) {
			s := YMM()
			VANDPS(single.at(x, 8*i), sign, s)
			VORPS(s, p, p)
			VMOVUPS(p, single.at(dst, 8*i))
		}
		ADDQ(U32(32*c), x)
		ADDQ(U32(32*c), dst)
		SUBQ(U32(8*c), n)
		JMP(LabelRef(this))
	}
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	v, s := YMM(), YMM()
	eights.loadSome(x, n, 1, v)
	VANDPS(v, sign, s)
	VANDPS(bits32(sign32-1), v, v)
	p := body(v)[0]
	VORPS(s, p, p)
	eights.storeSome(p, dst, n)
	Label("done")
	VZEROUPPER()
	RET()
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
