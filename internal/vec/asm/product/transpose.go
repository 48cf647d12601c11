package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose turns squares of eight by eight: pairs of rows are interleaved, then pairs of pairs, then halves.
func transpose() {
	kernel("transpose8AVX2", "func(dst, src []float32, to, from, squares int)",
		"transpose8AVX2 sets dst[k·to+j] = src[j·from+k] for j < 8 and k < 8·squares.")
	dst, src := Load(Param("dst").Base(), GP64()), Load(Param("src").Base(), GP64())
	to, from := Load(Param("to"), GP64()), Load(Param("from"), GP64())
	squares := Load(Param("squares"), GP64())
	SHLQ(Imm(2), to)
	SHLQ(Imm(2), from)
	from3, src4 := GP64(), GP64()
	LEAQ(Mem{Base: from, Index: from, Scale: 2}, from3)
	LEAQ(Mem{Base: src, Index: from, Scale: 4}, src4)

	Label("square")
	r := ymm.vecs(8)
	for i := range r {
		base := src
		if i >= 4 {
			base = src4
		}
		m := Mem{Base: base}
		switch i % 4 {
		case 1, 2:
			m.Index, m.Scale = from, uint8(i%4)
		case 3:
			m.Index, m.Scale = from3, 1
		}
		VMOVUPS(m, r[i])
	}
	t := make([]reg.VecVirtual, 8)
	for i := 0; i < 8; i += 2 {
		t[i], t[i+1] = YMM(), YMM()
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	q := make([]reg.VecVirtual, 8)
	for h := 0; h < 8; h += 4 {
		for i := range 2 {
			q[h+2*i], q[h+2*i+1] = YMM(), YMM()
			VSHUFPS(Imm(0x44), t[h+2+i], t[h+i], q[h+2*i])
			VSHUFPS(Imm(0xee), t[h+2+i], t[h+i], q[h+2*i+1])
		}
	}
	for half := range 2 {
		for i := range 4 {
			o := YMM()
			VPERM2F128(Imm(uint64(0x20+0x11*half)), q[4+i], q[i], o)
			VMOVUPS(o, Mem{Base: dst})
			ADDQ(to, dst)
		}
	}
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), src4)
	DECQ(squares)
	JNZ(LabelRef("square"))
	VZEROUPPER()
	RET()
}
