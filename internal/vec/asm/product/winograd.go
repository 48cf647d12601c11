package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Winograd's convolutions F(m×m, 3×3) with m = 2 and 4: m×m results from t×t inputs, t = m+2, by t² multiplications,
//
//	y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A.
//
// All five transforms here are a small matrix from the left and its transpose from the right. A register holds neighbouring channels, and
// an element of the square is such a register: in memory found by a list of offsets, or in planes a fixed distance apart.

// linear multiplies a column by a small matrix. It may overwrite x.
type linear struct {
	in, out   int
	constants []float64
	apply     func(w width, c map[float64]reg.VecVirtual, x []reg.VecVirtual) []reg.VecVirtual
}

func sum(w width, a, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VADDPS(b, a, y)
	return y
}

func difference(w width, a, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VSUBPS(b, a, y)
	return y
}

func product(w width, a, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VMULPS(b, a, y)
	return y
}

// plus returns a + c·b, minus a − c·b, both without touching a.
func plus(w width, a, c, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VMOVAPS(a, y)
	VFMADD231PS(c, b, y)
	return y
}

func minus(w width, a, c, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VMOVAPS(a, y)
	VFNMADD231PS(c, b, y)
	return y
}

type vectors = []reg.VecVirtual
type numbers = map[float64]reg.VecVirtual

var winograd = map[int]map[string]linear{
	2: {
		"input": {4, 4, nil, func(w width, _ numbers, x vectors) vectors {
			return vectors{difference(w, x[0], x[2]), sum(w, x[1], x[2]), difference(w, x[2], x[1]), difference(w, x[1], x[3])}
		}},
		"output": {4, 2, nil, func(w width, _ numbers, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			VADDPS(x[0], s, s)
			VSUBPS(x[3], d, d)
			return vectors{s, d}
		}},
		"outputGradient": {2, 4, nil, func(w width, _ numbers, x vectors) vectors {
			minus := w.vec()
			w.zero(minus)
			VSUBPS(x[1], minus, minus)
			return vectors{x[0], sum(w, x[0], x[1]), difference(w, x[0], x[1]), minus}
		}},
		"kernel": {3, 4, []float64{0.5}, func(w width, c numbers, x vectors) vectors {
			e := sum(w, x[0], x[2])
			VMULPS(c[0.5], e, e)
			return vectors{x[0], plus(w, e, c[0.5], x[1]), minus(w, e, c[0.5], x[1]), x[2]}
		}},
		"kernelGradient": {4, 3, []float64{0.5}, func(w width, c numbers, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			VMULPS(c[0.5], d, d)
			return vectors{plus(w, x[0], c[0.5], s), d, plus(w, x[3], c[0.5], s)}
		}},
	},
	4: {
		"input": {6, 6, []float64{4, 5, 2}, func(w width, c numbers, x vectors) vectors {
			y0 := minus(w, x[4], c[5], x[2])
			VFMADD231PS(c[4], x[0], y0)
			VFMADD231PS(c[4], x[1], x[5])
			VFNMADD231PS(c[5], x[3], x[5])
			a, b := minus(w, x[4], c[4], x[2]), minus(w, x[3], c[4], x[1])
			y1, y2 := sum(w, a, b), difference(w, a, b)
			VSUBPS(x[2], x[4], x[4])
			VSUBPS(x[1], x[3], x[3])
			return vectors{y0, y1, y2, plus(w, x[4], c[2], x[3]), minus(w, x[4], c[2], x[3]), x[5]}
		}},
		"output": {6, 4, []float64{2, 4, 8}, func(w width, c numbers, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			s2, d2 := sum(w, x[3], x[4]), difference(w, x[3], x[4])
			VADDPS(s, x[0], x[0])
			VADDPS(s2, x[0], x[0])
			VADDPS(d, x[5], x[5])
			VFMADD231PS(c[8], d2, x[5])
			VFMADD231PS(c[2], d2, d)
			VFMADD231PS(c[4], s2, s)
			return vectors{x[0], d, s, x[5]}
		}},
		"outputGradient": {4, 6, []float64{2, 4, 8}, func(w width, c numbers, x vectors) vectors {
			e, o := sum(w, x[0], x[2]), sum(w, x[1], x[3])
			y1, y2 := sum(w, e, o), difference(w, e, o)
			e2, o2 := plus(w, x[0], c[4], x[2]), product(w, x[1], c[2])
			VFMADD231PS(c[8], x[3], o2)
			return vectors{x[0], y1, y2, sum(w, e2, o2), difference(w, e2, o2), x[3]}
		}},
		"kernel": {3, 6, []float64{1. / 4, 1. / 6, 1. / 12, 1. / 24}, func(w width, c numbers, x vectors) vectors {
			u0 := product(w, x[0], c[1./4])
			a := sum(w, x[0], x[2])
			VMULPS(c[1./6], a, a)
			y1 := w.vec() // −a − x₁/6
			w.zero(y1)
			VSUBPS(a, y1, y1)
			y2 := plus(w, y1, c[1./6], x[1])
			VFNMADD231PS(c[1./6], x[1], y1)
			b := product(w, x[0], c[1./24])
			VFMADD231PS(c[1./6], x[2], b)
			return vectors{u0, y1, y2, plus(w, b, c[1./12], x[1]), minus(w, b, c[1./12], x[1]), x[2]}
		}},
		"kernelGradient": {6, 3, []float64{1. / 4, 1. / 6, 1. / 12, 1. / 24}, func(w width, c numbers, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[2], x[1])
			s2, d2 := sum(w, x[3], x[4]), difference(w, x[3], x[4])
			VMULPS(c[1./6], d, d)
			VFMADD231PS(c[1./12], d2, d)
			VMULPS(c[1./4], x[0], x[0])
			VFNMADD231PS(c[1./6], s, x[0])
			VFMADD231PS(c[1./24], s2, x[0])
			VFNMADD231PS(c[1./6], s, x[5])
			VFMADD231PS(c[1./6], s2, x[5])
			return vectors{x[0], d, x[5]}
		}},
	},
}

var storedFloats = map[float64]Mem{}

// broadcast loads constants, one register each.
func (w width) broadcast(values []float64) numbers {
	c := numbers{}
	for _, v := range values {
		m, ok := storedFloats[v]
		if !ok {
			m = GLOBL(fmt.Sprintf("f%08x", math.Float32bits(float32(v))), attr.RODATA|attr.NOPTR)
			DATA(0, U32(math.Float32bits(float32(v)))) // a float 4 would be written as the integer
			storedFloats[v] = m
		}
		c[v] = w.vec()
		VBROADCASTSS(m, c[v])
	}
	return c
}

// square is where the elements of a square lie for the vector under way.
type square interface {
	// each calls f with the address of element (i, j) for the given ones in turn.
	each(elements [][2]int, f func(n int, m Mem))
}

// planes lie a fixed distance apart: bytes between elements of side·i + j.
type planes struct {
	base, distance reg.Register
	side           int
}

func (p planes) each(elements [][2]int, f func(n int, m Mem)) {
	at, step := GP64(), GP64()
	for n, e := range elements {
		index := p.side*e[0] + e[1]
		switch {
		case n == 0:
			MOVQ(p.distance, step)
			IMUL3Q(Imm(uint64(index)), step, at)
			ADDQ(p.base, at)
		default:
			delta := index - p.side*elements[n-1][0] - elements[n-1][1]
			if n == 1 && delta > 1 {
				IMUL3Q(Imm(uint64(delta)), p.distance, step)
			}
			ADDQ(step, at)
		}
		f(n, Mem{Base: at})
	}
}

// list has addresses in memory, to which the vector's offset in bytes is added.
type list struct {
	addresses Mem
	offset    reg.Register
	side      int
}

func (l list) each(elements [][2]int, f func(n int, m Mem)) {
	at := GP64()
	for n, e := range elements {
		MOVQ(l.addresses.Offset(8*(l.side*e[0]+e[1])), at)
		f(n, Mem{Base: at, Index: l.offset, Scale: 1})
	}
}

// addresses makes a list from the offsets in a parameter; negative ones become the start of another slice.
func addresses(offsets, base, outside string, count int) Mem {
	m := AllocLocal(8 * count)
	from, b, z, at := Load(Param(offsets).Base(), GP64()), Load(Param(base).Base(), GP64()), Load(Param(outside).Base(), GP64()), GP64()
	for i := range count {
		found(Mem{Base: from, Disp: 4 * i}, b, z, at)
		MOVQ(at, m.Offset(8*i))
	}
	return m
}

func line(i, n int, column bool) [][2]int {
	e := make([][2]int, n)
	for j := range e {
		e[j] = [2]int{i, j}
		if column {
			e[j] = [2]int{j, i}
		}
	}
	return e
}

// both applies f to the rows, then to the columns of a square. What is between goes to a place of its own.
func both(f linear, w width, c numbers, from, between, to square, mask *columns) {
	load := func(m Mem, v reg.VecVirtual) {
		if mask != nil {
			mask.load(m, 0, v)
			return
		}
		VMOVUPS(m, v)
	}
	store := func(v reg.VecVirtual, m Mem) {
		if mask != nil {
			mask.store(v, 0, m)
			return
		}
		VMOVUPS(v, m)
	}
	pass := func(column bool, lines int, from, to square) {
		for i := range lines {
			x := w.vecs(f.in)
			from.each(line(i, f.in, column), func(n int, m Mem) { load(m, x[n]) })
			y := f.apply(w, c, x)
			to.each(line(i, f.out, column), func(n int, m Mem) { store(y[n], m) })
		}
	}
	pass(false, f.in, from, between)
	pass(true, f.out, between, to)
}

// loop runs body for whole vectors and once, with a mask, for what is left.
func (w width) loop(left reg.GPVirtual, body func(mask *columns)) {
	Label("whole")
	SUBQ(Imm(uint64(w.lanes)), left)
	JL(LabelRef("part"))
	body(nil)
	JMP(LabelRef("whole"))
	Label("part")
	ADDQ(Imm(uint64(w.lanes)), left)
	JZ(LabelRef("done"))
	c := w.loadColumns(left, 1)
	body(&c)
	Label("done")
	VZEROUPPER()
	RET()
}

// spread writes a transform from a list to planes.
func (w width) spread(m int, what string) {
	f := winograd[m][what]
	name := fmt.Sprintf("%s%d%s", what, m, w.name)
	kernel(name, "func(dst, src, zero []float32, from []int32, plane, channels, group, skip int)",
		fmt.Sprintf("%s transforms the square of src at the offsets from, a negative one being zeros, into %d planes of dst; after each group of channels it skips some floats.", name, f.out*f.out))
	c := w.broadcast(f.constants)
	l := list{addresses("from", "src", "zero", f.in*f.in), GP64(), f.in}
	p := planes{Load(Param("dst").Base(), GP64()), Load(Param("plane"), GP64()), f.out}
	SHLQ(Imm(2), p.distance)
	SHLQ(Imm(2), param("skip"))
	left, inGroup := GP64(), GP64()
	Load(Param("channels"), left)
	Load(Param("group"), inGroup)
	XORQ(l.offset, l.offset)
	w.loop(left, func(mask *columns) {
		both(f, w, c, l, p, p, mask)
		if mask != nil {
			return
		}
		ADDQ(Imm(uint64(4*w.lanes)), l.offset)
		ADDQ(Imm(uint64(4*w.lanes)), p.base)
		SUBQ(Imm(uint64(w.lanes)), inGroup)
		JNZ(LabelRef("whole"))
		ADDQ(param("skip"), p.base)
		MOVQ(param("group"), inGroup)
	})
}

// collect writes a transform from planes, which it spoils, to a list.
func (w width) collect(m int, what string) {
	f := winograd[m][what]
	name := fmt.Sprintf("%s%d%s", what, m, w.name)
	kernel(name, "func(dst, spill, src []float32, place []int32, plane, channels int)",
		fmt.Sprintf("%s transforms %d planes of src, which it spoils, into the square of dst at the offsets place, a negative one being spill.", name, f.in*f.in))
	c := w.broadcast(f.constants)
	l := list{addresses("place", "dst", "spill", f.out*f.out), GP64(), f.out}
	p := planes{Load(Param("src").Base(), GP64()), Load(Param("plane"), GP64()), f.in}
	SHLQ(Imm(2), p.distance)
	left := GP64()
	Load(Param("channels"), left)
	XORQ(l.offset, l.offset)
	w.loop(left, func(mask *columns) {
		both(f, w, c, p, p, l, mask)
		ADDQ(Imm(uint64(4*w.lanes)), l.offset)
		ADDQ(Imm(uint64(4*w.lanes)), p.base)
	})
}

// convert writes a transform from planes to planes. What is between goes to the larger of the two.
func (w width) convert(m int, what string) {
	f := winograd[m][what]
	name := fmt.Sprintf("%s%d%s", what, m, w.name)
	spoils := ""
	if f.in > f.out {
		spoils = ", which it spoils,"
	}
	kernel(name, "func(dst, src []float32, to, from, count int)",
		fmt.Sprintf("%s transforms %d planes of count floats in src%s into %d in dst; to and from are the distances.", name, f.in*f.in, spoils, f.out*f.out))
	c := w.broadcast(f.constants)
	src := planes{Load(Param("src").Base(), GP64()), Load(Param("from"), GP64()), f.in}
	dst := planes{Load(Param("dst").Base(), GP64()), Load(Param("to"), GP64()), f.out}
	SHLQ(Imm(2), src.distance)
	SHLQ(Imm(2), dst.distance)
	between := dst
	if f.in > f.out {
		between = src
	}
	left := GP64()
	Load(Param("count"), left)
	w.loop(left, func(mask *columns) {
		both(f, w, c, src, between, dst, mask)
		ADDQ(Imm(uint64(4*w.lanes)), src.base)
		ADDQ(Imm(uint64(4*w.lanes)), dst.base)
	})
}
