package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const unroll = 4

// gather is a tile of a product whose left rows are found by offsets, as the pixels below a convolution's kernel are:
// one offset per tap and row.
func (s shape) gather() {
	name := s.kernelName("gather")
	kernel(name, "func(c, a, zero, b []float32, place, from []int32, stride, taps, depth, ahead, rows, columns int, "+
		"add bool)",
		name+" sets or adds to c[place[i]+j] the sum of a[from[t·stride+i]+k]·b[t][k][j] over taps t and k < depth; a "+
			"negative from is a row of zeros. It fetches what lies ahead floats further in a.")
	acc := s.accumulators()
	b := Load(Param("b").Base(), GP64())
	row := make([]reg.GPVirtual, s.rows)
	for i := range row {
		row[i] = GP64()
	}
	// The results are stored after the sums: their lines come meanwhile.
	{
		c, place, at := Load(Param("c").Base(), GP64()), Load(Param("place").Base(), GP64()), GP64()
		for i := range row {
			MOVLQSX(Mem{Base: place, Disp: 4 * i}, at)
			LEAQ(Mem{Base: c, Index: at, Scale: 4}, at)
			for line := 0; line < 4*s.columns(); line += 64 {
				PREFETCHT0(Mem{Base: at, Disp: line})
			}
		}
	}
	ahead := GP64()
	SHLQ(Imm(2), param("ahead"))
	whole := AllocLocal(8) // steps taken unroll at a time
	k := GP64()
	MOVQ(param("depth"), k)
	ANDQ(I32(-unroll), k)
	MOVQ(k, whole)
	SHLQ(Imm(2), param("stride"))
	CMPQ(param("taps"), Imm(0))
	JE(LabelRef("finish"))

	Label("tap")
	from := k
	MOVQ(paramBase("from"), from)
	// A tap that meets no row inside the image is skipped.
	outside := row[0].As32()
	MOVL(Mem{Base: from}, outside)
	for i := 1; i < s.rows; i++ {
		ANDL(Mem{Base: from, Disp: 4 * i}, outside)
	}
	JLT(LabelRef("skip"))
	for i := range row {
		MOVLQSX(Mem{Base: from, Disp: 4 * i}, row[i])
		SHLQ(Imm(2), row[i])
		ADDQ(paramBase("a"), row[i])
		CMPL(Mem{Base: from, Disp: 4 * i}, Imm(0))
		CMOVQLT(paramBase("zero"), row[i])
	}
	ADDQ(param("stride"), from)
	MOVQ(from, paramBase("from"))
	XORQ(k, k)
	CMPQ(k, whole)
	JE(LabelRef("rest"))

	MOVQ(param("ahead"), ahead)
	Label("steps")
	for i := range row {
		PREFETCHT0(Mem{Base: row[i], Index: ahead, Scale: 1})
	}
	ADDQ(Imm(4*unroll), ahead)
	for u := range unroll {
		s.step(acc, Mem{Base: b, Disp: 4 * u * s.columns()},
			func(i int) Mem { return Mem{Base: row[i], Index: k, Scale: 4, Disp: 4 * u} })
	}
	ADDQ(U32(uint32(4*unroll*s.columns())), b)
	ADDQ(Imm(unroll), k)
	CMPQ(k, whole)
	JL(LabelRef("steps"))

	Label("rest")
	CMPQ(k, param("depth"))
	JGE(LabelRef("next"))
	s.step(acc, Mem{Base: b}, func(i int) Mem { return Mem{Base: row[i], Index: k, Scale: 4} })
	ADDQ(U32(uint32(4*s.columns())), b)
	INCQ(k)
	JMP(LabelRef("rest"))

	Label("next")
	DECQ(param("taps"))
	JNZ(LabelRef("tap"))
	JMP(LabelRef("finish"))

	Label("skip")
	ADDQ(param("stride"), from)
	MOVQ(from, paramBase("from"))
	MOVQ(param("depth"), k)
	IMUL3Q(I32(4*s.columns()), k, k)
	ADDQ(k, b)
	JMP(LabelRef("next"))

	Label("finish")
	c, place, at := Load(Param("c").Base(), GP64()), Load(Param("place").Base(), GP64()), GP64()
	s.finish(acc, func(i int) Mem {
		MOVLQSX(Mem{Base: place, Disp: 4 * i}, at)
		LEAQ(Mem{Base: c, Index: at, Scale: 4}, at)
		return Mem{Base: at}
	})
}
