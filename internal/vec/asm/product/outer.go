package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// outer is a tile of a sum of outer products of packed rows. The left ones lie in three nested loops, as the pixels do
// that one tap of a kernel meets in images with borders; the right ones are a fixed distance apart.
func (s shape) outer() {
	name := s.kernelName("outer")
	kernel(name, "func(c, a, b []float32, stride, images, high, wide, image, line, pixel, next, rows, columns int, "+
		"add bool)",
		name+" sets or adds to c[i·stride+j] the sum of a[n·image+y·line+x·pixel+i]·b[((n·high+y)·wide+x)·next+j].")
	acc := s.accumulators()
	a, b := Load(Param("a").Base(), GP64()), Load(Param("b").Base(), GP64())
	pixel, pixel3 := Load(Param("pixel"), GP64()), GP64()
	SHLQ(Imm(2), pixel)
	LEAQ(Mem{Base: pixel, Index: pixel, Scale: 2}, pixel3)
	next, next3 := Load(Param("next"), GP64()), GP64()
	SHLQ(Imm(2), next)
	LEAQ(Mem{Base: next, Index: next, Scale: 2}, next3)
	SHLQ(Imm(2), param("line"))
	SHLQ(Imm(2), param("image"))
	line, x, y, at := GP64(), GP64(), GP64(), GP64()
	offset := func(u int, base, step, step3 reg.Register) Mem {
		switch u {
		case 0:
			return Mem{Base: base}
		case 3:
			return Mem{Base: base, Index: step3, Scale: 1}
		}
		return Mem{Base: base, Index: step, Scale: uint8(u)}
	}

	Label("image")
	MOVQ(a, line)
	MOVQ(param("high"), y)

	Label("line")
	MOVQ(line, at)
	MOVQ(param("wide"), x)
	SUBQ(Imm(4), x)
	JL(LabelRef("rest"))

	Label("steps")
	for u := range 4 {
		s.step(acc, offset(u, b, next, next3), func(i int) Mem { return offset(u, at, pixel, pixel3).Offset(4 * i) })
	}
	LEAQ(Mem{Base: b, Index: next, Scale: 4}, b)
	LEAQ(Mem{Base: at, Index: pixel, Scale: 4}, at)
	SUBQ(Imm(4), x)
	JGE(LabelRef("steps"))

	Label("rest")
	ADDQ(Imm(4), x)
	JZ(LabelRef("next"))
	Label("single")
	s.step(acc, Mem{Base: b}, func(i int) Mem { return Mem{Base: at, Disp: 4 * i} })
	ADDQ(next, b)
	ADDQ(pixel, at)
	DECQ(x)
	JNZ(LabelRef("single"))

	Label("next")
	ADDQ(param("line"), line)
	DECQ(y)
	JNZ(LabelRef("line"))
	ADDQ(param("image"), a)
	DECQ(param("images"))
	JNZ(LabelRef("image"))

	c, stride := GP64(), Load(Param("stride"), GP64())
	SHLQ(Imm(2), stride)
	s.finish(acc, func(i int) Mem {
		if i == 0 { // finish may go through the rows twice
			MOVQ(paramBase("c"), c)
		} else {
			ADDQ(stride, c)
		}
		return Mem{Base: c}
	})
}
