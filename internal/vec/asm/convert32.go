package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// conversion is a kernel name(dst, src) for a multiple of eight elements of sizes to and from; body
// converts eight. What is left is for Go.
func conversion(name, doc, dstType string, to int, srcType string, from int, body func(src, dst func(offset int) Mem)) {
	name += "AVX2"
	kernel(name, fmt.Sprintf("func(dst []%s, src []%s)", dstType, srcType), name+" "+doc+
		", for a multiple of eight elements.")
	dst := Load(Param("dst").Base(), GP64())
	src := Load(Param("src").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	registers := func(count int) {
		for i := range count {
			body(func(o int) Mem { return Mem{Base: src, Disp: 8*from*i + o} },
				func(o int) Mem { return Mem{Base: dst, Disp: 8*to*i + o} })
		}
		ADDQ(U32(8*from*count), src)
		ADDQ(U32(8*to*count), dst)
	}
	Label("loop4")
	CMPQ(n, Imm(32))
	JL(LabelRef("loop1"))
	registers(4)
	SUBQ(Imm(32), n)
	JMP(LabelRef("loop4"))
	Label("loop1")
	CMPQ(n, Imm(8))
	JL(LabelRef("done"))
	registers(1)
	SUBQ(Imm(8), n)
	JMP(LabelRef("loop1"))
	Label("done")
	VZEROUPPER()
	RET()
}

// simple is a conversion of eight elements through one register.
func simple(load func(src Mem, v reg.VecVirtual), store func(v reg.VecVirtual, dst Mem)) func(src, dst func(int) Mem) {
	return func(src, dst func(int) Mem) {
		v := YMM()
		load(src(0), v)
		store(v, dst(0))
	}
}

func conversions32() {
	whole := func(v reg.VecVirtual, dst Mem) { VMOVUPS(v, dst) }
	conversion("fromBytes32", "converts bytes to float32", "float32", 4, "uint8", 1,
		simple(func(src Mem, v reg.VecVirtual) {
			VPMOVZXBD(src, v)
			VCVTDQ2PS(v, v)
		}, whole))
	conversion("fromInt32s", "converts int32 to float32", "float32", 4, "int32", 4,
		simple(func(src Mem, v reg.VecVirtual) {
			VCVTDQ2PS(src, v)
		}, whole))
	conversion("toInt32s", "converts float32 to int32, towards zero", "int32", 4, "float32", 4,
		simple(func(src Mem, v reg.VecVirtual) {
			VCVTTPS2DQ(src, v)
		}, whole))
	conversion("fromBFloat16", "converts bfloat16 to float32", "float32", 4, "uint16", 2,
		simple(func(src Mem, v reg.VecVirtual) {
			VPMOVZXWD(src, v)
			VPSLLD(Imm(16), v, v)
		}, whole))
	// Adding just under half of the bits to be dropped, and one more where the last bit kept is odd, carries
	// into that bit where rounding to even does. A NaN keeps its top bits and is made a quiet one.
	conversion("toBFloat16", "rounds float32 to bfloat16", "uint16", 2, "float32", 4,
		simple(func(src Mem, v reg.VecVirtual) {
			x, odd, nan := YMM(), YMM(), YMM()
			VMOVUPS(src, x)
			VCMPPS(Imm(unordered), x, x, nan)
			VPSRLD(Imm(16), x, odd)
			VPAND(bits32(1), odd, odd)
			VPADDD(bits32(0x7fff), x, v)
			VPADDD(odd, v, v)
			VPOR(bits32(1<<22), x, x)
			VBLENDVPS(nan, x, v, v)
			VPSRLD(Imm(16), v, v)
		}, func(v reg.VecVirtual, dst Mem) {
			high := XMM()
			VEXTRACTI128(Imm(1), v, high)
			VPACKUSDW(high, v.AsX(), high)
			VMOVDQU(high, dst)
		}))
	conversion("fromFloat64s32", "rounds float64 to float32", "float32", 4, "float64", 8, func(src, dst func(int) Mem) {
		low, high := XMM(), XMM()
		VCVTPD2PSY(src(0), low)
		VCVTPD2PSY(src(32), high)
		VMOVUPS(low, dst(0))
		VMOVUPS(high, dst(16))
	})
	conversion("toFloat64s", "converts float32 to float64", "float64", 8, "float32", 4, func(src, dst func(int) Mem) {
		low, high := YMM(), YMM()
		VCVTPS2PD(src(0), low)
		VCVTPS2PD(src(16), high)
		VMOVUPD(low, dst(0))
		VMOVUPD(high, dst(32))
	})
	// A bool is a byte, 0 or 1.
	conversion("maskFromBools", "makes a mask of bools", "float32", 4, "bool", 1, simple(func(src Mem, v reg.VecVirtual) {
		zero := YMM()
		VPXOR(zero, zero, zero)
		VPMOVZXBD(src, v)
		VPSUBD(v, zero, v)
	}, whole))
	conversion("boolsFromMask", "makes bools of a mask", "bool", 1, "float32", 4, simple(func(src Mem, v reg.VecVirtual) {
		VMOVDQU(src, v)
	}, func(v reg.VecVirtual, dst Mem) {
		x := XMM()
		VEXTRACTI128(Imm(1), v, x)
		VPACKSSDW(x, v.AsX(), x)
		VPACKSSWB(x, x, x)
		VPAND(bits32(0x01010101), x, x)
		VMOVQ(x, dst)
	}))
}
