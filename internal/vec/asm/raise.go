package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func raise() {
	kernel("raiseAVX2", "func(dst, x []float64, a float64)",
		"raiseAVX2 sets dst to the larger of dst and |a·x|; len(x) is a multiple of 4.")
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	a := broadcast64("a")
	absolute := absoluteBits()
	Label("loop")
	SUBQ(Imm(4), n)
	JL(LabelRef("done"))
	v := YMM()
	VMULPD(Mem{Base: x}, a, v)
	VANDPD(absolute, v, v)
	VMAXPD(Mem{Base: dst}, v, v)
	VMOVUPD(v, Mem{Base: dst})
	ADDQ(Imm(32), x)
	ADDQ(Imm(32), dst)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

func multiply() {
	kernel("mulAVX2", "func(dst, x, y []float64)", "mulAVX2 sets dst = x∘y; len(x) is a multiple of 4.")
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	y := Load(Param("y").Base(), GP64())
	Label("loop")
	SUBQ(Imm(4), n)
	JL(LabelRef("done"))
	v := YMM()
	VMOVUPD(Mem{Base: x}, v)
	VMULPD(Mem{Base: y}, v, v)
	VMOVUPD(v, Mem{Base: dst})
	ADDQ(Imm(32), x)
	ADDQ(Imm(32), y)
	ADDQ(Imm(32), dst)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
