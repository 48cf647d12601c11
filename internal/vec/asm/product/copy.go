package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// copyRows copies rows of so many floats. Rows are short, and calling memmove for each takes longer than the copy; they
// are often a power of two apart, which the machine does not foresee, hence the fetch ahead.
func copyRows(columns int) {
	name := fmt.Sprintf("copy%dAVX2", columns)
	kernel(name, "func(dst, src []float32, to, from, rows int)",
		fmt.Sprintf("%s sets dst[k·to+j] = src[k·from+j] for k < rows and j < %d.", name, columns))
	dst, src, rows := Load(Param("dst").Base(), GP64()), Load(Param("src").Base(), GP64()), Load(Param("rows"), GP64())
	to, from, ahead := Load(Param("to"), GP64()), Load(Param("from"), GP64()), GP64()
	SHLQ(Imm(2), to)
	SHLQ(Imm(2), from)
	MOVQ(from, ahead)
	SHLQ(Imm(4), ahead)
	Label("row")
	for j := 0; j < columns; j += 8 {
		v := YMM()
		VMOVUPS(Mem{Base: src, Disp: 4 * j}, v)
		if j%16 == 0 {
			PREFETCHT0(Mem{Base: src, Index: ahead, Scale: 1, Disp: 4 * j})
		}
		VMOVUPS(v, Mem{Base: dst, Disp: 4 * j})
	}
	ADDQ(from, src)
	ADDQ(to, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
