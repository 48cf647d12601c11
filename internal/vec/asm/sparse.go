package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Entries are fetched one by one, two to a register: a hardware gather takes longer on the machines
// this was measured on, and rows are often too short to fill one.

// sparseRow is a row under way: idx and val point at the next entry, left says how many there are.
type sparseRow struct {
	format
	idx, val, left reg.GPVirtual
}

// column loads the column of entry i.
func (r sparseRow) column(i int) reg.GPVirtual {
	c := GP64()
	MOVL(Mem{Base: r.idx, Disp: 4 * i}, c.As32())
	return c
}

// columns loads those of the entries i and i+1 at once. Every entry takes a load of x or y, and a store in
// axpy; addresses, of which three can be formed in a cycle, are what these loops wait for.
func (r sparseRow) columns(i int) (c, d reg.GPVirtual) {
	c, d = GP64(), GP64()
	MOVQ(Mem{Base: r.idx, Disp: 4 * i}, d)
	MOVL(d.As32(), c.As32())
	SHRQ(Imm(32), d)
	return c, d
}

func (r sparseRow) advance(n uint64) {
	ADDQ(Imm(4*n), r.idx)
	ADDQ(Imm(uint64(r.size)*n), r.val)
}

// entry returns the address of x[c].
func (w format) entry(x reg.Register, c reg.GPVirtual) Mem {
	return Mem{Base: x, Index: c, Scale: uint8(w.size)}
}

// dot returns Σ val·x[idx] over the row and leaves idx and val behind it.
func (r sparseRow) dot(x reg.Register) reg.VecVirtual {
	sum, sum2 := XMM(), XMM()
	VXORPD(sum, sum, sum)
	VXORPD(sum2, sum2, sum2)
	pair := func(i int, sum reg.VecVirtual) {
		c, d := r.columns(i)
		v := XMM()
		r.moveOne(r.entry(x, c), v)
		if r.size == 8 {
			VMOVHPD(r.entry(x, d), v, v)
			VFMADD231PD(r.at(r.val, i), v, sum)
			return
		}
		VINSERTPS(Imm(1<<4), r.entry(x, d), v, v)
		values := XMM()
		VMOVSD(r.at(r.val, i), values)
		VFMADD231PS(values, v, sum)
	}

	SUBQ(Imm(4), r.left)
	JL(LabelRef("pair"))
	Label("four")
	pair(0, sum)
	pair(2, sum2)
	r.advance(4)
	SUBQ(Imm(4), r.left)
	JGE(LabelRef("four"))

	Label("pair") // left is now −4 … −1 for 0 … 3 entries
	TESTQ(U32(2), r.left)
	JZ(LabelRef("odd"))
	pair(0, sum)
	r.advance(2)
	Label("odd")
	TESTQ(U32(1), r.left)
	JZ(LabelRef("row"))
	v := XMM()
	r.moveOne(r.entry(x, r.column(0)), v)
	r.fma231One(r.at(r.val, 0), v, sum2)
	r.advance(1)

	Label("row")
	r.add(sum2, sum, sum)
	total := XMM()
	r.pairTotal(sum, total)
	return total
}

// axpy adds a·val to y[idx] over the row, entry by entry, and leaves idx and val behind it.
func (r sparseRow) axpy(a reg.VecVirtual, y reg.Register) {
	add := func(value Op, c reg.GPVirtual) {
		v := XMM()
		r.moveOne(r.entry(y, c), v)
		r.fma231One(value, a, v)
		r.moveOne(v, r.entry(y, c))
	}
	pair := func(i int) {
		c, d := r.columns(i)
		first, second := XMM(), XMM()
		if r.size == 8 {
			VMOVUPD(r.at(r.val, i), first)
			VUNPCKHPD(first, first, second)
		} else {
			VMOVSD(r.at(r.val, i), first)
			VMOVSHDUP(first, second)
		}
		add(first, c)
		add(second, d)
	}

	SUBQ(Imm(4), r.left)
	JL(LabelRef("rest"))
	Label("four")
	pair(0)
	pair(2)
	r.advance(4)
	SUBQ(Imm(4), r.left)
	JGE(LabelRef("four"))

	Label("rest")
	TESTQ(U32(2), r.left)
	JZ(LabelRef("odd"))
	pair(0)
	r.advance(2)
	Label("odd")
	TESTQ(U32(1), r.left)
	JZ(LabelRef("row"))
	add(r.at(r.val, 0), r.column(0))
	r.advance(1)
	Label("row")
}

func loadRow(w format) sparseRow {
	r := sparseRow{w, GP64(), GP64(), GP64()}
	Load(Param("idx").Base(), r.idx)
	Load(Param("val").Base(), r.val)
	return r
}

func sparseDot(w format) {
	name := "sparseDot" + w.suffix + "AVX2"
	kernel(name, fmt.Sprintf("func(val []%[1]s, idx []int32, x []%[1]s) %[1]s", w.element), name+
		" returns Σ val[k]·x[idx[k]].")
	r := loadRow(w)
	Load(Param("val").Len(), r.left)
	x := Load(Param("x").Base(), GP64())
	sum := r.dot(x)
	Store(sum, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func sparseAxpy(w format) {
	name := "sparseAxpy" + w.suffix + "AVX2"
	kernel(name, fmt.Sprintf("func(a %[1]s, val []%[1]s, idx []int32, y []%[1]s)", w.element), name+
		" adds a·val[k] to y[idx[k]].")
	r := loadRow(w)
	Load(Param("val").Len(), r.left)
	y := Load(Param("y").Base(), GP64())
	a := XMM()
	Load(Param("a"), a)
	r.axpy(a, y)
	VZEROUPPER()
	RET()
}

// rows loops over the rows of a CSR block: body runs with left set for each.
func (r sparseRow) rows(count reg.Register, body func()) {
	ptr := Load(Param("ptr").Base(), GP64())
	start, end := GP64(), GP64()
	MOVLQSX(Mem{Base: ptr}, start)
	LEAQ(Mem{Base: r.idx, Index: start, Scale: 4}, r.idx)
	LEAQ(Mem{Base: r.val, Index: start, Scale: 8}, r.val)
	TESTQ(count, count)
	JZ(LabelRef("done"))

	Label("next")
	MOVLQSX(Mem{Base: ptr, Disp: 4}, end)
	ADDQ(Imm(4), ptr)
	MOVQ(end, r.left)
	SUBQ(start, r.left)
	MOVQ(end, start)
	body()
	DECQ(count)
	JNZ(LabelRef("next"))

	Label("done")
	VZEROUPPER()
	RET()
}

func mulCSR() {
	kernel("mulCSRAVX2", "func(dst []float64, ptr, idx []int32, val, x []float64)",
		"mulCSRAVX2 sets dst[i] = Σ val[k]·x[idx[k]] over the entries of row i.")
	r := loadRow(double)
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	count := Load(Param("dst").Len(), GP64())
	r.rows(count, func() {
		VMOVSD(r.dot(x), r.at(dst, 0))
		ADDQ(Imm(8), dst)
	})
}

func addMulTCSR() {
	kernel("addMulTCSRAVX2", "func(y []float64, ptr, idx []int32, val, c []float64)",
		"addMulTCSRAVX2 adds c[i]·val[k] to y[idx[k]] for the entries of each row i.")
	r := loadRow(double)
	y := Load(Param("y").Base(), GP64())
	c := Load(Param("c").Base(), GP64())
	count := Load(Param("c").Len(), GP64())
	r.rows(count, func() {
		a := XMM()
		VMOVSD(r.at(c, 0), a)
		ADDQ(Imm(8), c)
		r.axpy(a, y)
	})
}
