package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Four rows are taken at once: in A·x each part of x is then loaded once for four rows, and in Aᵀc
// each part of y is loaded and stored once for four rows.

// denseRows is where four rows start: at first, first+stride, first+2·stride and fourth.
type denseRows struct{ first, stride, fourth reg.Register }

func (r denseRows) row(i int) Mem {
	switch i {
	case 0:
		return Mem{Base: r.first}
	case 3:
		return Mem{Base: r.fourth}
	}
	return Mem{Base: r.first, Index: r.stride, Scale: uint8(i)}
}

// start sets fourth from first.
func (r denseRows) start() {
	LEAQ(Mem{Base: r.first, Index: r.stride, Scale: 2}, r.fourth)
	ADDQ(r.stride, r.fourth)
}

// advance moves all rows by n columns.
func (r denseRows) advance(n uint64) {
	ADDQ(Imm(8*n), r.first)
	ADDQ(Imm(8*n), r.fourth)
}

// firstLanes returns the mask of the lanes in the first size bytes of a register.
func firstLanes(size reg.Register) reg.VecVirtual {
	table, mask := GP64(), YMM()
	LEAQ(slidingMask().Offset(32), table)
	SUBQ(size, table)
	VMOVUPD(Mem{Base: table}, mask)
	return mask
}

func mulDense() {
	kernel("mulDenseAVX2", "func(dst, a, x []float64)",
		"mulDenseAVX2 sets dst = A·x for the row-major len(dst) × len(x) matrix a.")
	dst := Load(Param("dst").Base(), GP64())
	left := Load(Param("dst").Len(), GP64())
	d := Load(Param("x").Len(), GP64())
	r := denseRows{Load(Param("a").Base(), GP64()), GP64(), GP64()}
	x, columns := GP64(), GP64()
	MOVQ(d, r.stride)
	SHLQ(Imm(3), r.stride)

	// The last, partial group of columns; partial is its size in bytes.
	partial := GP64()
	MOVQ(r.stride, partial)
	ANDQ(Imm(31), partial)
	mask := firstLanes(partial)

	Label("rows4")
	CMPQ(left, Imm(4))
	JL(LabelRef("rows1"))
	r.start()
	Load(Param("x").Base(), x)
	MOVQ(d, columns)
	acc := accumulators(4)
	part, xs := YMM(), YMM()

	Label("columns4")
	SUBQ(Imm(4), columns)
	JL(LabelRef("partial4"))
	VMOVUPD(Mem{Base: x}, xs)
	for i := range acc {
		VFMADD231PD(r.row(i), xs, acc[i])
	}
	ADDQ(Imm(32), x)
	r.advance(4)
	JMP(LabelRef("columns4"))

	Label("partial4")
	TESTQ(partial, partial)
	JZ(LabelRef("sum4"))
	VMASKMOVPD(Mem{Base: x}, mask, xs)
	for i := range acc {
		VMASKMOVPD(r.row(i), mask, part)
		VFMADD231PD(part, xs, acc[i])
	}

	Label("sum4")
	low, high := YMM(), YMM()
	VHADDPD(acc[1], acc[0], acc[0])
	VHADDPD(acc[3], acc[2], acc[2])
	VPERM2F128(Imm(0x21), acc[2], acc[0], high)
	VBLENDPD(Imm(12), acc[2], acc[0], low)
	VADDPD(high, low, low)
	VMOVUPD(low, Mem{Base: dst})
	ADDQ(Imm(32), dst)
	LEAQ(Mem{Base: r.fourth, Index: partial, Scale: 1}, r.first)
	SUBQ(Imm(4), left)
	JMP(LabelRef("rows4"))

	Label("rows1")
	TESTQ(left, left)
	JZ(LabelRef("done"))
	Load(Param("x").Base(), x)
	MOVQ(d, columns)
	one := accumulators(1)[0]
	Label("columns1")
	SUBQ(Imm(4), columns)
	JL(LabelRef("partial1"))
	VMOVUPD(Mem{Base: x}, xs)
	VFMADD231PD(Mem{Base: r.first}, xs, one)
	ADDQ(Imm(32), x)
	ADDQ(Imm(32), r.first)
	JMP(LabelRef("columns1"))
	Label("partial1")
	TESTQ(partial, partial)
	JZ(LabelRef("sum1"))
	VMASKMOVPD(Mem{Base: x}, mask, xs)
	VMASKMOVPD(Mem{Base: r.first}, mask, part)
	VFMADD231PD(part, xs, one)
	ADDQ(partial, r.first)
	Label("sum1")
	sum := XMM()
	double.total(one, sum)
	VMOVSD(sum, Mem{Base: dst})
	ADDQ(Imm(8), dst)
	DECQ(left)
	JMP(LabelRef("rows1"))

	Label("done")
	VZEROUPPER()
	RET()
}

func addMulTDense() {
	kernel("addMulTDenseAVX2", "func(y, a, c []float64)",
		"addMulTDenseAVX2 adds Aᵀ·c to y for the row-major len(c) × len(y) matrix a.")
	c := Load(Param("c").Base(), GP64())
	left := Load(Param("c").Len(), GP64())
	d := Load(Param("y").Len(), GP64())
	r := denseRows{Load(Param("a").Base(), GP64()), GP64(), GP64()}
	y, columns := GP64(), GP64()
	MOVQ(d, r.stride)
	SHLQ(Imm(3), r.stride)
	v, w := YMM(), XMM()
	CMPQ(d, Imm(4))
	JLE(LabelRef("narrow"))

	Label("rows4")
	CMPQ(left, Imm(4))
	JL(LabelRef("rows1"))
	r.start()
	Load(Param("y").Base(), y)
	MOVQ(d, columns)
	f := make([]reg.VecVirtual, 4)
	for i := range f {
		f[i] = YMM()
		VBROADCASTSD(double.at(c, i), f[i])
	}

	Label("columns4")
	SUBQ(Imm(4), columns)
	JL(LabelRef("rest4"))
	VMOVUPD(Mem{Base: y}, v)
	for i := range f {
		VFMADD231PD(r.row(i), f[i], v)
	}
	VMOVUPD(v, Mem{Base: y})
	ADDQ(Imm(32), y)
	r.advance(4)
	JMP(LabelRef("columns4"))

	Label("rest4")
	ADDQ(Imm(4), columns)
	JZ(LabelRef("end4"))
	Label("single4")
	VMOVSD(Mem{Base: y}, w)
	for i := range f {
		VFMADD231SD(r.row(i), f[i].AsX(), w)
	}
	VMOVSD(w, Mem{Base: y})
	ADDQ(Imm(8), y)
	r.advance(1)
	DECQ(columns)
	JNZ(LabelRef("single4"))

	Label("end4")
	MOVQ(r.fourth, r.first)
	ADDQ(Imm(32), c)
	SUBQ(Imm(4), left)
	JMP(LabelRef("rows4"))

	Label("rows1")
	TESTQ(left, left)
	JZ(LabelRef("done"))
	Load(Param("y").Base(), y)
	MOVQ(d, columns)
	one := YMM()
	VBROADCASTSD(double.at(c, 0), one)
	Label("columns1")
	SUBQ(Imm(4), columns)
	JL(LabelRef("rest1"))
	VMOVUPD(Mem{Base: y}, v)
	VFMADD231PD(Mem{Base: r.first}, one, v)
	VMOVUPD(v, Mem{Base: y})
	ADDQ(Imm(32), y)
	ADDQ(Imm(32), r.first)
	JMP(LabelRef("columns1"))
	Label("rest1")
	ADDQ(Imm(4), columns)
	JZ(LabelRef("end1"))
	Label("single1")
	VMOVSD(Mem{Base: y}, w)
	VFMADD231SD(Mem{Base: r.first}, one.AsX(), w)
	VMOVSD(w, Mem{Base: y})
	ADDQ(Imm(8), y)
	ADDQ(Imm(8), r.first)
	DECQ(columns)
	JNZ(LabelRef("single1"))
	Label("end1")
	ADDQ(Imm(8), c)
	DECQ(left)
	JMP(LabelRef("rows1"))

	Label("narrow")
	narrowMulTDense(r, c, left, d)

	Label("done")
	VZEROUPPER()
	RET()
}

// narrowMulTDense is addMulTDense for up to four columns, where all of Aᵀc fits a register: the rows are
// added up there, and y is touched once, at the end and by elements.
func narrowMulTDense(r denseRows, c, left, d reg.Register) {
	mask := firstLanes(r.stride)
	sum := accumulators(4)
	row, f := YMM(), YMM()
	Label("narrow4")
	CMPQ(left, Imm(4))
	JL(LabelRef("narrow1"))
	r.start()
	for i := range sum {
		VMASKMOVPD(r.row(i), mask, row)
		VBROADCASTSD(double.at(c, i), f)
		VFMADD231PD(row, f, sum[i])
	}
	LEAQ(Mem{Base: r.fourth, Index: r.stride, Scale: 1}, r.first)
	ADDQ(Imm(32), c)
	SUBQ(Imm(4), left)
	JMP(LabelRef("narrow4"))

	Label("narrow1")
	TESTQ(left, left)
	JZ(LabelRef("narrowsum"))
	VMASKMOVPD(r.row(0), mask, row)
	VBROADCASTSD(double.at(c, 0), f)
	VFMADD231PD(row, f, sum[0])
	ADDQ(r.stride, r.first)
	ADDQ(Imm(8), c)
	DECQ(left)
	JMP(LabelRef("narrow1"))

	Label("narrowsum")
	VADDPD(sum[1], sum[0], sum[0])
	VADDPD(sum[3], sum[2], sum[2])
	VADDPD(sum[2], sum[0], sum[0])
	y := Load(Param("y").Base(), GP64())
	low, t := XMM(), XMM()
	VMOVAPD(sum[0].AsX(), low)
	Label("narrowpair")
	CMPQ(d, Imm(2))
	JL(LabelRef("narrowodd"))
	VMOVSD(Mem{Base: y}, t)
	VMOVHPD(Mem{Base: y, Disp: 8}, t, t)
	VADDPD(low, t, t)
	VMOVUPD(t, Mem{Base: y})
	VEXTRACTF128(Imm(1), sum[0], low)
	ADDQ(Imm(16), y)
	SUBQ(Imm(2), d)
	JMP(LabelRef("narrowpair"))
	Label("narrowodd")
	TESTQ(d, d)
	JZ(LabelRef("done"))
	VADDSD(Mem{Base: y}, low, low)
	VMOVSD(low, Mem{Base: y})
	JMP(LabelRef("done"))
}
