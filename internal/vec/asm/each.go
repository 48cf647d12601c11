package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elementwise is a kernel name(dst, x, args...) that applies body to as many lanes at a time as a group
// of elements has. It returns the number of elements done if it stops, that is if body may jump to "stop".
type elementwise struct {
	name, args, doc string
	fill            float64 // for unused lanes: in the domain of body
	stops           bool
	prepare         func() // loads the arguments
	body            func(v reg.VecVirtual) reg.VecVirtual
}

// group is how a kernel gets at elements: count of them at a time, whole or the first n < count.
type group struct {
	element     string
	size, count int
	load        func(x Mem, v reg.VecVirtual)
	store       func(v reg.VecVirtual, dst Mem)
	loadSome    func(x, n reg.Register, fill float64, v reg.VecVirtual)
	storeSome   func(v reg.VecVirtual, dst, n reg.Register)
}

// write writes the kernel. The last elements, too few for a group, go through the same body: the
// code stays small, and a slice of any length costs one pass over the body per group.
func (g group) write(e elementwise) {
	result := ""
	if e.stops {
		result = " (done int)"
	}
	kernel(e.name, fmt.Sprintf("func(dst, x []%s%s)%s", g.element, e.args, result), e.doc)
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	if e.prepare != nil {
		e.prepare()
	}
	v := YMM()

	TESTQ(n, n)
	JZ(LabelRef("done"))

	Label("loop")
	CMPQ(n, Imm(uint64(g.count)))
	JL(LabelRef("some"))
	g.load(Mem{Base: x}, v)

	Label("compute")
	out := e.body(v)
	CMPQ(n, Imm(uint64(g.count)))
	JL(LabelRef("storesome"))
	g.store(out, Mem{Base: dst})
	ADDQ(Imm(uint64(g.size*g.count)), x)
	ADDQ(Imm(uint64(g.size*g.count)), dst)
	SUBQ(Imm(uint64(g.count)), n)
	JNZ(LabelRef("loop"))
	JMP(LabelRef("done"))

	Label("some")
	g.loadSome(x, n, e.fill, v)
	JMP(LabelRef("compute"))

	Label("storesome")
	g.storeSome(out, dst, n)
	if e.stops {
		XORQ(n, n)
	}

	Label("done")
	if e.stops {
		Label("stop")
		done, err := Return("done").Resolve()
		if err != nil {
			panic(err)
		}
		all := Load(Param("x").Len(), GP64())
		SUBQ(n, all)
		MOVQ(all, done.Addr)
	}
	VZEROUPPER()
	RET()
}

// fours is four float64. One to three of them are loaded one by one: two in the low half, the odd
// one in the high half. This is quicker than a masked store, and can take values from stores still
// under way, as they are when the caller has just written a short vector.
var fours = group{
	"float64", 8, 4,
	func(x Mem, v reg.VecVirtual) { VMOVUPD(x, v) },
	func(v reg.VecVirtual, dst Mem) { VMOVUPD(v, dst) },
	func(x, n reg.Register, fill float64, v reg.VecVirtual) {
		low, high := XMM(), XMM()
		VMOVUPD(f64(fill), low)
		VMOVUPD(f64(fill), high)
		TESTQ(U32(2), n)
		JZ(LabelRef("loadodd"))
		VMOVSD(Mem{Base: x}, low)
		VMOVHPD(Mem{Base: x, Disp: 8}, low, low)
		Label("loadodd")
		TESTQ(U32(1), n)
		JZ(LabelRef("loaded"))
		VMOVLPD(Mem{Base: x, Index: n, Scale: 8, Disp: -8}, high, high)
		Label("loaded")
		VINSERTF128(Imm(1), high, low.AsY(), v)
	},
	func(v reg.VecVirtual, dst, n reg.Register) {
		TESTQ(U32(2), n)
		JZ(LabelRef("storeodd"))
		VMOVUPD(v.AsX(), Mem{Base: dst})
		Label("storeodd")
		TESTQ(U32(1), n)
		JZ(LabelRef("stored"))
		high := XMM()
		VEXTRACTF128(Imm(1), v, high)
		VMOVSD(high, Mem{Base: dst, Index: n, Scale: 8, Disp: -8})
		Label("stored")
	},
}

// eights is eight float32. Fewer are loaded with a mask, and stored four, two and one at a time.
var eights = group{
	"float32", 4, 8,
	func(x Mem, v reg.VecVirtual) { VMOVUPS(x, v) },
	func(v reg.VecVirtual, dst Mem) { VMOVUPS(v, dst) },
	func(x, n reg.Register, fill float64, v reg.VecVirtual) {
		table, offset := GP64(), GP64()
		LEAQ(slidingMask(), table)
		MOVQ(n, offset)
		NEGQ(offset)
		mask := YMM()
		VMOVUPS(Mem{Base: table, Index: offset, Scale: 4, Disp: 32}, mask)
		VMASKMOVPS(Mem{Base: x}, mask, v)
		other := YMM()
		VMOVUPS(f32(fill), other)
		VBLENDVPS(mask, v, other, v)
	},
	func(v reg.VecVirtual, dst, n reg.Register) {
		to, x := GP64(), XMM()
		MOVQ(dst, to)
		VMOVAPS(v.AsX(), x)
		TESTQ(U32(4), n)
		JZ(LabelRef("storetwo"))
		VMOVUPS(x, Mem{Base: to})
		ADDQ(Imm(16), to)
		VEXTRACTF128(Imm(1), v, x)
		Label("storetwo")
		TESTQ(U32(2), n)
		JZ(LabelRef("storeodd"))
		VMOVSD(x, Mem{Base: to})
		ADDQ(Imm(8), to)
		VPERMILPD(Imm(1), x, x)
		Label("storeodd")
		TESTQ(U32(1), n)
		JZ(LabelRef("stored"))
		VMOVSS(x, Mem{Base: to})
		Label("stored")
	},
}

// widened is four float32, computed as float64.
var widened = group{
	"float32", 4, 4,
	func(x Mem, v reg.VecVirtual) { VCVTPS2PD(x, v) },
	func(v reg.VecVirtual, dst Mem) {
		x := XMM()
		VCVTPD2PSY(v, x)
		VMOVUPS(x, dst)
	},
	func(x, n reg.Register, fill float64, v reg.VecVirtual) {
		some := XMM()
		VMOVUPS(f32(fill), some)
		TESTQ(U32(2), n)
		JZ(LabelRef("loadodd"))
		VMOVLPS(Mem{Base: x}, some, some)
		Label("loadodd")
		TESTQ(U32(1), n)
		JZ(LabelRef("loaded"))
		VPINSRD(Imm(2), Mem{Base: x, Index: n, Scale: 4, Disp: -4}, some, some)
		Label("loaded")
		VCVTPS2PD(some, v)
	},
	func(v reg.VecVirtual, dst, n reg.Register) {
		x := XMM()
		VCVTPD2PSY(v, x)
		TESTQ(U32(2), n)
		JZ(LabelRef("storeodd"))
		VMOVSD(x, Mem{Base: dst})
		Label("storeodd")
		TESTQ(U32(1), n)
		JZ(LabelRef("stored"))
		VPEXTRD(Imm(2), x, Mem{Base: dst, Index: n, Scale: 4, Disp: -4})
		Label("stored")
	},
}

// lanesOf returns the group of elements of w that fill a register.
func lanesOf(w format) group {
	if w.size == 4 {
		return eights
	}
	return fours
}
