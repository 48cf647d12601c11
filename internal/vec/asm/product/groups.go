package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mostTaps is how many taps groups can remember the addresses of.
const mostTaps = 9

// groups is gather for several groups of channels, each as wide as the tile: the sums are short then, and finding the
// rows for each would take as long as adding them up.
func (s shape) groups() {
	name := s.kernelName("groups")
	kernel(name, "func(c, a, zero, b []float32, place, from []int32, stride, taps, depth, rows, groups, panel int)",
		name+" does what "+s.kernelName("gather")+" does for each group: depth floats further in a, a tile's width in c, "+
			"panel floats in b. There are 1 to 9 taps.")
	addresses := AllocLocal(8 * s.rows * mostTaps)
	left, at, from := Load(Param("taps"), GP64()), GP64(), Load(Param("from").Base(), GP64())
	a, zero, pixel := Load(Param("a").Base(), GP64()), Load(Param("zero").Base(), GP64()), GP64()
	SHLQ(Imm(2), param("stride"))
	LEAQ(addresses, at)
	Label("find")
	for i := range s.rows {
		found(Mem{Base: from, Disp: 4 * i}, a, zero, pixel)
		MOVQ(pixel, Mem{Base: at, Disp: 8 * i})
	}
	ADDQ(param("stride"), from)
	ADDQ(Imm(uint64(8*s.rows)), at)
	DECQ(left)
	JNZ(LabelRef("find"))
	MOVQ(at, paramBase("from"))

	// From here on at goes through the addresses; k counts from the group's first channel to its last.
	b, k := GP64(), GP64()
	row := make([]reg.GPVirtual, s.rows)
	for i := range row {
		row[i] = GP64()
	}
	SHLQ(Imm(2), param("panel"))
	end := param("stride") // which is used no more: the frame of a function that does not split the stack is small
	MOVQ(I32(0), end)

	Label("group")
	acc := s.accumulators()
	MOVQ(paramBase("b"), b)
	LEAQ(addresses, at)
	MOVQ(end, k)
	ADDQ(param("depth"), k)
	MOVQ(k, end)

	Label("tap")
	for i := range row {
		MOVQ(Mem{Base: at, Disp: 8 * i}, row[i])
	}
	MOVQ(end, k)
	SUBQ(param("depth"), k)
	Label("fours")
	ADDQ(Imm(4), k)
	CMPQ(k, end)
	JG(LabelRef("rest"))
	for u := range 4 {
		s.step(acc, Mem{Base: b, Disp: 4 * u * s.columns()},
			func(i int) Mem { return Mem{Base: row[i], Index: k, Scale: 4, Disp: 4 * (u - 4)} })
	}
	ADDQ(U32(uint32(16*s.columns())), b)
	JMP(LabelRef("fours"))
	Label("rest")
	SUBQ(Imm(4), k)
	Label("single")
	CMPQ(k, end)
	JGE(LabelRef("next"))
	s.step(acc, Mem{Base: b}, func(i int) Mem { return Mem{Base: row[i], Index: k, Scale: 4} })
	ADDQ(U32(uint32(4*s.columns())), b)
	INCQ(k)
	JMP(LabelRef("single"))
	Label("next")
	ADDQ(Imm(uint64(8*s.rows)), at)
	CMPQ(at, paramBase("from"))
	JL(LabelRef("tap"))

	c, place, rows, to := Load(Param("c").Base(), GP64()), Load(Param("place").Base(), GP64()),
		Load(Param("rows"), GP64()), GP64()
	for i := range acc {
		MOVLQSX(Mem{Base: place, Disp: 4 * i}, to)
		LEAQ(Mem{Base: c, Index: to, Scale: 4}, to)
		for v := range acc[i] {
			VMOVUPS(acc[i][v], Mem{Base: to, Disp: 4 * s.lanes * v})
		}
		if i < len(acc)-1 {
			CMPQ(rows, Imm(uint64(i+1)))
			JLE(LabelRef("stored"))
		}
	}
	Label("stored")
	ADDQ(Imm(uint64(4*s.columns())), c)
	MOVQ(c, paramBase("c"))
	MOVQ(param("panel"), k)
	ADDQ(k, paramBase("b"))
	DECQ(param("groups"))
	JNZ(LabelRef("group"))
	VZEROUPPER()
	RET()
}
