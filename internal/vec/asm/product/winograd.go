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
// All five transforms here are a small matrix from the left and its transpose from the right. A register holds
// neighbouring channels, and an element of the square is such a register: in memory found by a list of offsets, or in
// planes a fixed distance apart.

// linear multiplies a column by a small matrix. It may overwrite x.
type linear struct {
	in, out int
	apply   func(w width, x vectors) vectors
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

func product(w width, a reg.VecVirtual, b Op) reg.VecVirtual {
	y := w.vec()
	VMULPS(b, a, y)
	return y
}

// plus returns a + c·b, minus a − c·b, both without touching a.
func plus(w width, a reg.VecVirtual, c Op, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VMOVAPS(a, y)
	VFMADD231PS(c, b, y)
	return y
}

func minus(w width, a reg.VecVirtual, c Op, b reg.VecVirtual) reg.VecVirtual {
	y := w.vec()
	VMOVAPS(a, y)
	VFNMADD231PS(c, b, y)
	return y
}

type vectors = []reg.VecVirtual

var winograd = map[int]map[string]linear{
	2: {
		"input": {4, 4, func(w width, x vectors) vectors {
			return vectors{difference(w, x[0], x[2]), sum(w, x[1], x[2]), difference(w, x[2], x[1]), difference(w, x[1], x[3])}
		}},
		"output": {4, 2, func(w width, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			VADDPS(x[0], s, s)
			VSUBPS(x[3], d, d)
			return vectors{s, d}
		}},
		"outputGradient": {2, 4, func(w width, x vectors) vectors {
			minus := w.vec()
			w.zero(minus)
			VSUBPS(x[1], minus, minus)
			return vectors{x[0], sum(w, x[0], x[1]), difference(w, x[0], x[1]), minus}
		}},
		"kernel": {3, 4, func(w width, x vectors) vectors {
			e := sum(w, x[0], x[2])
			VMULPS(w.number(0.5), e, e)
			return vectors{x[0], plus(w, e, w.number(0.5), x[1]), minus(w, e, w.number(0.5), x[1]), x[2]}
		}},
		"kernelGradient": {4, 3, func(w width, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			VMULPS(w.number(0.5), d, d)
			return vectors{plus(w, x[0], w.number(0.5), s), d, plus(w, x[3], w.number(0.5), s)}
		}},
	},
	4: {
		"input": {6, 6, func(w width, x vectors) vectors {
			y0 := minus(w, x[4], w.number(a2+b2), x[2])
			VFMADD231PS(w.number(a2*b2), x[0], y0)
			VFMADD231PS(w.number(a2*b2), x[1], x[5])
			VFNMADD231PS(w.number(a2+b2), x[3], x[5])
			even, odd := minus(w, x[4], w.number(b2), x[2]), minus(w, x[3], w.number(b2), x[1])
			y1, y2 := plus(w, even, w.number(a1), odd), minus(w, even, w.number(a1), odd)
			VFNMADD231PS(w.number(a2), x[2], x[4])
			VFNMADD231PS(w.number(a2), x[1], x[3])
			return vectors{y0, y1, y2, plus(w, x[4], w.number(b1), x[3]), minus(w, x[4], w.number(b1), x[3]), x[5]}
		}},
		"output": {6, 4, func(w width, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			s2, d2 := sum(w, x[3], x[4]), difference(w, x[3], x[4])
			VADDPS(s, x[0], x[0])
			VADDPS(s2, x[0], x[0])
			VFMADD231PS(w.number(a1*a2), d, x[5])
			VFMADD231PS(w.number(b1*b2), d2, x[5])
			VMULPS(w.number(a1), d, d)
			VFMADD231PS(w.number(b1), d2, d)
			VMULPS(w.number(a2), s, s)
			VFMADD231PS(w.number(b2), s2, s)
			return vectors{x[0], d, s, x[5]}
		}},
		"outputGradient": {4, 6, func(w width, x vectors) vectors {
			even, odd := plus(w, x[0], w.number(a2), x[2]), product(w, x[1], w.number(a1))
			VFMADD231PS(w.number(a1*a2), x[3], odd)
			even2, odd2 := plus(w, x[0], w.number(b2), x[2]), product(w, x[1], w.number(b1))
			VFMADD231PS(w.number(b1*b2), x[3], odd2)
			return vectors{x[0], sum(w, even, odd), difference(w, even, odd), sum(w, even2, odd2), difference(w, even2, odd2),
				x[3]}
		}},
		"kernel": {3, 6, func(w width, x vectors) vectors {
			even, even2 := product(w, x[0], w.number(aScale)), product(w, x[0], w.number(bScale))
			VFMADD231PS(w.number(aScale*a2), x[2], even)
			VFMADD231PS(w.number(bScale*b2), x[2], even2)
			return vectors{
				product(w, x[0], w.number(1/(a2*b2))),
				plus(w, even, w.number(aScale*a1), x[1]), minus(w, even, w.number(aScale*a1), x[1]),
				plus(w, even2, w.number(bScale*b1), x[1]), minus(w, even2, w.number(bScale*b1), x[1]),
				x[2],
			}
		}},
		"kernelGradient": {6, 3, func(w width, x vectors) vectors {
			s, d := sum(w, x[1], x[2]), difference(w, x[1], x[2])
			s2, d2 := sum(w, x[3], x[4]), difference(w, x[3], x[4])
			VMULPS(w.number(aScale*a1), d, d)
			VFMADD231PS(w.number(bScale*b1), d2, d)
			VMULPS(w.number(1/(a2*b2)), x[0], x[0])
			VFMADD231PS(w.number(aScale), s, x[0])
			VFMADD231PS(w.number(bScale), s2, x[0])
			VFMADD231PS(w.number(aScale*a2), s, x[5])
			VFMADD231PS(w.number(bScale*b2), s2, x[5])
			return vectors{x[0], d, x[5]}
		}},
	},
}

// F(4×4, 3×3) is interpolation in the points 0, ±a, ±b and ∞. With ±3/4 and ±3/2 its rounding errors are a fifth of
// those with the usual ±1 and ±2, and about those of the plain sum; the numbers below are exact but for the scales.
const (
	a1, a2 = 0.75, a1 * a1
	b1, b2 = 1.5, b1 * b1
	aScale = 1 / (2 * a2 * (a2 - b2))
	bScale = 1 / (2 * b2 * (b2 - a2))
)

var storedFloats = map[float64]Mem{}

// number returns a constant, stored once per lane: as an operand in memory it costs no register.
func (w width) number(v float64) Mem {
	m, ok := storedFloats[v]
	if !ok {
		b := math.Float32bits(float32(v))
		m = GLOBL(fmt.Sprintf("f%08x", b), attr.RODATA|attr.NOPTR)
		for i := range zmm.lanes {
			DATA(4*i, U32(b))
		}
		storedFloats[v] = m
	}
	return m
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

// nearby is a square of registers in memory that stays in the cache.
type nearby struct {
	base        reg.Register
	side, bytes int
}

func (b nearby) each(elements [][2]int, f func(n int, m Mem)) {
	for n, e := range elements {
		f(n, Mem{Base: b.base, Disp: b.bytes * (b.side*e[0] + e[1])})
	}
}

// list has addresses in memory, to which the vector's offset in bytes is added.
type list struct {
	addresses Mem
	offset    reg.Register
	side      int
	ahead     reg.Register // the same vector of the pixel that is next on the right
	fresh     int          // the first column whose such pixels are not in this square
}

func (l list) each(elements [][2]int, f func(n int, m Mem)) {
	at := GP64()
	for n, e := range elements {
		MOVQ(l.addresses.Offset(8*(l.side*e[0]+e[1])), at)
		f(n, Mem{Base: at, Index: l.offset, Scale: 1})
		if l.ahead != nil && e[1] >= l.fresh {
			PREFETCHT0(Mem{Base: at, Index: l.ahead, Scale: 1})
		}
	}
}

// look makes a list fetch the square on the right into the cache, so many floats away: images come from far.
func (l *list) look(distance reg.Register, fresh int) {
	l.fresh, l.ahead = fresh, distance
	SHLQ(Imm(2), distance)
	ADDQ(l.offset, distance)
}

// advance goes to the next vector.
func (l *list) advance(bytes int) {
	ADDQ(Imm(uint64(bytes)), l.offset)
	ADDQ(Imm(uint64(bytes)), l.ahead)
}

// addresses makes a list from the offsets in a parameter; negative ones become the start of another slice.
func addresses(offsets, base, outside string, count int) Mem {
	m := AllocLocal(8 * count)
	from, b, z, at := Load(Param(offsets).Base(), GP64()), Load(Param(base).Base(), GP64()),
		Load(Param(outside).Base(), GP64()), GP64()
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
func both(f linear, w width, from, between, to square, mask *columns) {
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
			y := f.apply(w, x)
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
	kernel(name, "func(dst, src, zero, buffer []float32, from []int32, plane, channels, group, skip, ahead int)",
		fmt.Sprintf("%s transforms the square of src at the offsets from, a negative one being zeros, into %d planes of "+
			"dst; after each group of channels it skips some floats. It fetches what lies ahead floats further.", name,
			f.out*f.out))
	l := list{addresses: addresses("from", "src", "zero", f.in*f.in), offset: GP64(), side: f.in}
	p := planes{Load(Param("dst").Base(), GP64()), Load(Param("plane"), GP64()), f.out}
	SHLQ(Imm(2), p.distance)
	SHLQ(Imm(2), param("skip"))
	left, inGroup := GP64(), GP64()
	Load(Param("channels"), left)
	Load(Param("group"), inGroup)
	XORQ(l.offset, l.offset)
	l.look(Load(Param("ahead"), GP64()), f.in-m)
	between := nearby{Load(Param("buffer").Base(), GP64()), f.out, 4 * w.lanes} // the planes are far away from each other
	w.loop(left, func(mask *columns) {
		both(f, w, l, between, p, mask)
		if mask != nil {
			return
		}
		l.advance(4 * w.lanes)
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
	kernel(name, "func(dst, spill, src []float32, place []int32, plane, channels, ahead int)",
		fmt.Sprintf("%s transforms %d planes of src, which it spoils, into the square of dst at the offsets place, a "+
			"negative one being spill. It fetches what lies ahead floats further.", name, f.in*f.in))
	l := list{addresses: addresses("place", "dst", "spill", f.out*f.out), offset: GP64(), side: f.out}
	p := planes{Load(Param("src").Base(), GP64()), Load(Param("plane"), GP64()), f.in}
	SHLQ(Imm(2), p.distance)
	left := GP64()
	Load(Param("channels"), left)
	XORQ(l.offset, l.offset)
	l.look(Load(Param("ahead"), GP64()), 0)
	w.loop(left, func(mask *columns) {
		both(f, w, p, p, l, mask)
		l.advance(4 * w.lanes)
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
		fmt.Sprintf("%s transforms %d planes of count floats in src%s into %d in dst; to and from are the distances.", name,
			f.in*f.in, spoils, f.out*f.out))
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
		both(f, w, src, between, dst, mask)
		ADDQ(Imm(uint64(4*w.lanes)), src.base)
		ADDQ(Imm(uint64(4*w.lanes)), dst.base)
	})
}
