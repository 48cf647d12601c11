package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanewise is a kernel name(dst, inputs..., scalars...) on float32 whose body is a few instructions, so that
// loads, stores and the loop around them are what it costs: four registers at a time, then one, then
// what is left.
type lanewise struct {
	name, doc string
	inputs    string // names of slices, separated by spaces
	scalars   string // names of float32 arguments
	body      func(v, s []reg.VecVirtual) reg.VecVirtual
}

func (l lanewise) write() {
	inputs, scalars := strings.Fields(l.inputs), strings.Fields(l.scalars)
	signature := "func(dst, " + strings.Join(inputs, ", ") + " []float32"
	if len(scalars) > 0 {
		signature += ", " + strings.Join(scalars, ", ") + " float32"
	}
	name := l.name + "AVX2"
	kernel(name, signature+")", name+" sets dst = "+l.doc+".")
	dst := Load(Param("dst").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	in := make([]reg.Register, len(inputs))
	for i, x := range inputs {
		in[i] = Load(Param(x).Base(), GP64())
	}
	s := make([]reg.VecVirtual, len(scalars))
	for i, x := range scalars {
		s[i] = single.broadcast(x)
	}
	registers := func(count int) {
		for i := range count {
			v := make([]reg.VecVirtual, len(in))
			for j, x := range in {
				v[j] = YMM()
				VMOVUPS(single.at(x, 8*i), v[j])
			}
			VMOVUPS(l.body(v, s), single.at(dst, 8*i))
		}
		for _, x := range append(in, dst) {
			ADDQ(U32(32*count), x)
		}
	}

	Label("loop4")
	CMPQ(n, Imm(32))
	JL(LabelRef("loop1"))
	registers(4)
	SUBQ(Imm(32), n)
	JMP(LabelRef("loop4"))

	Label("loop1")
	CMPQ(n, Imm(8))
	JL(LabelRef("rest"))
	registers(1)
	SUBQ(Imm(8), n)
	JMP(LabelRef("loop1"))

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	v := make([]reg.VecVirtual, len(in))
	for j, x := range in {
		v[j] = YMM()
		eights.loadSome(x, n, 1, v[j])
	}
	eights.storeSome(l.body(v, s), dst, n)
	Label("done")
	VZEROUPPER()
	RET()
}

// binary returns the body of one instruction that takes (b, a, out).
func binary(instruction func(...Op)) func(a, b reg.VecVirtual) reg.VecVirtual {
	return func(a, b reg.VecVirtual) reg.VecVirtual {
		out := YMM()
		instruction(b, a, out)
		return out
	}
}

// maximum returns the larger lanes, NaN where either is one, and +0 for zeros of different sign. The
// instruction returns its second operand where one is NaN or both are zero: taken in both orders, the results have
// a bit in common where they are the same, or zeros of which one is positive.
func maximum(a, b reg.VecVirtual) reg.VecVirtual {
	r, t, nan := YMM(), YMM(), YMM()
	VMAXPS(b, a, r)
	VMAXPS(a, b, t)
	VCMPPS(Imm(unordered), b, a, nan)
	VANDPS(t, r, r)
	VORPS(nan, r, r)
	return r
}

// minimum returns the smaller lanes, NaN where either is one, and −0 for zeros of different sign.
func minimum(a, b reg.VecVirtual) reg.VecVirtual {
	r, t, nan := YMM(), YMM(), YMM()
	VMINPS(b, a, r)
	VMINPS(a, b, t)
	VCMPPS(Imm(unordered), b, a, nan)
	VORPS(t, r, r)
	VORPS(nan, r, r)
	return r
}

// comparison returns the mask of the lanes where a is so related to b.
func comparison(predicate uint64) func(a, b reg.VecVirtual) reg.VecVirtual {
	return func(a, b reg.VecVirtual) reg.VecVirtual {
		out := YMM()
		VCMPPS(Imm(predicate), b, a, out)
		return out
	}
}

// blend returns a where the mask is set, and b elsewhere.
func blend(mask, a, b reg.VecVirtual) reg.VecVirtual {
	out := YMM()
	VBLENDVPS(mask, a, b, out)
	return out
}

// fused returns a·b + c, rounded once.
func fused(a, b, c reg.VecVirtual) reg.VecVirtual {
	out := YMM()
	VMOVAPS(c, out)
	VFMADD231PS(a, b, out)
	return out
}

func rounded(mode uint64) func(v reg.VecVirtual) reg.VecVirtual {
	return func(v reg.VecVirtual) reg.VecVirtual {
		VROUNDPS(Imm(mode), v, v)
		return v
	}
}

// with returns the body of one instruction with a constant.
func with(instruction func(...Op), bits uint32) func(v reg.VecVirtual) reg.VecVirtual {
	return func(v reg.VecVirtual) reg.VecVirtual {
		instruction(bits32(bits), v, v)
		return v
	}
}

func each32() {
	for _, k := range []struct {
		name, doc string
		body      func(a, b reg.VecVirtual) reg.VecVirtual
	}{
		{"add32", "a + b", binary(VADDPS)},
		{"sub32", "a − b", binary(VSUBPS)},
		{"mul32", "a·b", binary(VMULPS)},
		{"div32", "a/b", binary(VDIVPS)},
		{"max32", "max(a, b)", maximum},
		{"min32", "min(a, b)", minimum},
		{"equal32", "the mask of a = b", comparison(equal)},
		{"notEqual32", "the mask of a ≠ b", comparison(notEqual)},
		{"less32", "the mask of a < b", comparison(less)},
		{"lessEqual32", "the mask of a ≤ b", comparison(atMost)},
		{"andMask32", "a & b", binary(VANDPS)},
		{"orMask32", "a | b", binary(VORPS)},
		{"xorMask32", "a ^ b", binary(VXORPS)},
	} {
		lanewise{k.name, k.doc, "a b", "", func(v, _ []reg.VecVirtual) reg.VecVirtual { return k.body(v[0], v[1]) }}.write()
	}
	for _, k := range []struct {
		name, doc string
		body      func(a, s reg.VecVirtual) reg.VecVirtual
	}{
		{"scale32", "s·a", binary(VMULPS)},
		{"addScalar32", "a + s", binary(VADDPS)},
		{"subFromScalar32", "s − a", func(a, s reg.VecVirtual) reg.VecVirtual { return binary(VSUBPS)(s, a) }},
		{"divScalar32", "a/s", binary(VDIVPS)},
		{"scalarDiv32", "s/a", func(a, s reg.VecVirtual) reg.VecVirtual { return binary(VDIVPS)(s, a) }},
		{"maxScalar32", "max(a, s)", maximum},
		{"minScalar32", "min(a, s)", minimum},
		{"equalScalar32", "the mask of a = s", comparison(equal)},
		{"notEqualScalar32", "the mask of a ≠ s", comparison(notEqual)},
		{"lessScalar32", "the mask of a < s", comparison(less)},
		{"lessEqualScalar32", "the mask of a ≤ s", comparison(atMost)},
		{"greaterScalar32", "the mask of a > s", comparison(greater)},
		{"greaterEqualScalar32", "the mask of a ≥ s", comparison(atLeast)},
	} {
		lanewise{k.name, k.doc, "a", "s", func(v, s []reg.VecVirtual) reg.VecVirtual { return k.body(v[0], s[0]) }}.write()
	}
	const sign = 1 << 31
	for _, k := range []struct {
		name, doc string
		body      func(v reg.VecVirtual) reg.VecVirtual
	}{
		{"neg32", "−a", with(VXORPS, sign)},
		{"abs32", "|a|", with(VANDPS, sign-1)},
		{"notMask32", "^a", with(VXORPS, 1<<32-1)},
		{"sign32", "the sign of a, where zeros and NaN stay what they are", func(v reg.VecVirtual) reg.VecVirtual {
			zero, one := YMM(), YMM()
			VXORPS(zero, zero, zero)
			VCMPPS(Imm(lessOrGreater), zero, v, zero)
			VANDPS(bits32(sign), v, one)
			VORPS(f32(1), one, one)
			return blend(zero, one, v)
		}},
		{"plainSqrt32", "√a", func(v reg.VecVirtual) reg.VecVirtual {
			VSQRTPS(v, v)
			return v
		}},
		{"rsqrt32", "1/√a", func(v reg.VecVirtual) reg.VecVirtual {
			one := YMM()
			VSQRTPS(v, v)
			VMOVUPS(f32(1), one)
			VDIVPS(v, one, v)
			return v
		}},
		{"round32", "a rounded to integers, halves to even ones", rounded(8)},
		{"floor32", "⌊a⌋", rounded(9)},
		{"ceil32", "⌈a⌉", rounded(10)},
	} {
		lanewise{k.name, k.doc, "a", "", func(v, _ []reg.VecVirtual) reg.VecVirtual { return k.body(v[0]) }}.write()
	}
	for _, l := range []lanewise{
		{"select32", "a where the mask is set, b elsewhere", "mask a b", "",
			func(v, _ []reg.VecVirtual) reg.VecVirtual { return blend(v[0], v[1], v[2]) }},
		{"selectVectorScalar32", "a where the mask is set, s elsewhere", "mask a", "s",
			func(v, s []reg.VecVirtual) reg.VecVirtual { return blend(v[0], v[1], s[0]) }},
		{"selectScalarVector32", "s where the mask is set, b elsewhere", "mask b", "s",
			func(v, s []reg.VecVirtual) reg.VecVirtual { return blend(v[0], s[0], v[1]) }},
		{"selectScalars32", "s where the mask is set, t elsewhere", "mask", "s t",
			func(v, s []reg.VecVirtual) reg.VecVirtual { return blend(v[0], s[0], s[1]) }},
		{"mulAdd32", "a·b + c", "a b c", "",
			func(v, _ []reg.VecVirtual) reg.VecVirtual { return fused(v[0], v[1], v[2]) }},
		{"mulScalarAdd32", "s·a + c", "a c", "s",
			func(v, s []reg.VecVirtual) reg.VecVirtual { return fused(v[0], s[0], v[1]) }},
		{"mulAddScalar32", "s·a + t", "a", "s t",
			func(v, s []reg.VecVirtual) reg.VecVirtual { return fused(v[0], s[0], s[1]) }},
	} {
		l.write()
	}
}
