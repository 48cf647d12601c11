package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// width is a vector width: how many float32 a register holds.
type width struct {
	lanes int
	name  string
	vec   func() reg.VecVirtual
	full  bool // all lanes are always there
}

var (
	zmm = width{16, "AVX512", func() reg.VecVirtual { return ZMM() }, false}
	ymm = width{8, "AVX2", func() reg.VecVirtual { return YMM() }, false}

	// half is ymm where there are thirty-two of them.
	half = width{8, "AVX512", func() reg.VecVirtual { return YMM() }, false}

	// whole is ymm without masks, which take many cycles per store on some machines that have nothing better.
	whole = width{8, "FullAVX2", func() reg.VecVirtual { return YMM() }, true}
)

// masked says whether there are mask registers.
func (w width) masked() bool { return w.name == "AVX512" }

// vecs returns n registers.
func (w width) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = w.vec()
	}
	return v
}

// zero clears a register.
func (w width) zero(v reg.VecVirtual) {
	if w.masked() {
		VPXORD(v, v, v)
		return
	}
	VXORPS(v, v, v)
}

// columns are the lanes of so many registers that lie inside the matrix: the first of them, as counted by a parameter.
type columns struct {
	width
	masks []reg.Register
}

// loadColumns makes the masks for vecs registers from the number of columns.
func (w width) loadColumns(count reg.Register, vecs int) columns {
	c := columns{w, make([]reg.Register, vecs)}
	if w.full {
		return c
	}
	if w.masked() {
		bits := GP64()
		MOVQ(I32(-1), bits)
		BZHIQ(count, bits, bits)
		for v := range vecs {
			k := K()
			KMOVW(bits.As32(), k)
			c.masks[v] = k
			SHRQ(Imm(uint64(w.lanes)), bits)
		}
		return c
	}
	// Eight lanes of the table from lane 8−n on have the first n set.
	table, n, none, all := GP64(), GP64(), GP64(), GP64()
	XORQ(none, none)
	MOVQ(U32(8), all)
	for v := range vecs {
		MOVQ(count, n)
		SUBQ(Imm(uint64(8*v)), n)
		CMOVQLT(none, n)
		CMPQ(n, all)
		CMOVQGT(all, n)
		NEGQ(n)
		LEAQ(slidingMask().Offset(32), table)
		m := YMM()
		VMOVUPS(Mem{Base: table, Index: n, Scale: 4}, m)
		c.masks[v] = m
	}
	return c
}

// load reads register v of a row.
func (c columns) load(m Mem, v int, dst reg.VecVirtual) {
	if c.full {
		VMOVUPS(m, dst)
		return
	}
	if c.masked() {
		VMOVUPS_Z(m, c.masks[v], dst)
		return
	}
	VMASKMOVPS(m, c.masks[v], dst)
}

// store writes register v of a row.
func (c columns) store(src reg.VecVirtual, v int, m Mem) {
	if c.full {
		VMOVUPS(src, m)
		return
	}
	if c.masked() {
		VMOVUPS(src, c.masks[v], m)
		return
	}
	VMASKMOVPS(src, c.masks[v], m)
}

var maskTable *Mem

func slidingMask() Mem {
	if maskTable == nil {
		m := GLOBL("lanes", attr.RODATA|attr.NOPTR)
		for i := range 16 {
			w := uint32(0xffffffff)
			if i >= 8 {
				w = 0
			}
			DATA(4*i, U32(w))
		}
		maskTable = &m
	}
	return *maskTable
}

// shape is that of a tile of the result, held in registers: rows × vecs registers.
type shape struct {
	rows, vecs int
	width
}

func (s shape) columns() int { return s.vecs * s.lanes }

func (s shape) kernelName(what string) string {
	return fmt.Sprintf("%s%dx%d%s", what, s.rows, s.columns(), s.name)
}

// accumulators returns cleared registers for the tile.
func (s shape) accumulators() [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, s.rows)
	for i := range acc {
		acc[i] = s.width.vecs(s.vecs)
		for _, v := range acc[i] {
			s.zero(v)
		}
	}
	return acc
}

// step adds the outer product of one element of each row with columns of b.
func (s shape) step(acc [][]reg.VecVirtual, b Mem, row func(i int) Mem) {
	bs := s.width.vecs(s.vecs)
	for v := range bs {
		VMOVUPS(b.Offset(4*s.lanes*v), bs[v])
	}
	for i := range acc {
		if s.vecs == 1 && s.lanes == 16 {
			VFMADD231PS_BCST(row(i), bs[0], acc[i][0])
			continue
		}
		x := s.vec()
		VBROADCASTSS(row(i), x)
		for v := range bs {
			VFMADD231PS(bs[v], x, acc[i][v])
		}
	}
}

// finish adds the tile to the result or puts it there: rows and columns as the parameters say; at gives the address
// of row i, which may need work.
func (s shape) finish(acc [][]reg.VecVirtual, at func(i int) Mem) {
	rows, count := Load(Param("rows"), GP64()), Load(Param("columns"), GP64())
	each := func(label string, f func(i, v int, m Mem)) {
		for i := range acc {
			m := at(i)
			for v := range acc[i] {
				f(i, v, m.Offset(4*s.lanes*v))
			}
			if i < len(acc)-1 {
				CMPQ(rows, Imm(uint64(i+1)))
				JLE(LabelRef(label))
			}
		}
		Label(label)
	}
	end := func() {
		VZEROUPPER()
		RET()
	}
	add := GP32()
	Load(Param("add"), add.As8())
	CMPQ(count, Imm(uint64(s.columns())))
	JL(LabelRef("narrow"))

	// All columns: no masks, which cost several cycles per store on some machines.
	TESTB(add.As8(), add.As8())
	JZ(LabelRef("put"))
	each("put", func(i, v int, m Mem) { VADDPS(m, acc[i][v], acc[i][v]) })
	each("done", func(i, v int, m Mem) { VMOVUPS(acc[i][v], m) })
	end()

	Label("narrow")
	c := s.loadColumns(count, s.vecs)
	TESTB(add.As8(), add.As8())
	JZ(LabelRef("putNarrow"))
	old := s.vec()
	each("putNarrow", func(i, v int, m Mem) {
		c.load(m, v, old)
		VADDPS(old, acc[i][v], acc[i][v])
	})
	each("doneNarrow", func(i, v int, m Mem) { c.store(acc[i][v], v, m) })
	end()
}

// param is the parameter's place in memory, for loops that have no register left.
func param(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

func paramBase(name string) Mem {
	b, err := Param(name).Base().Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}
