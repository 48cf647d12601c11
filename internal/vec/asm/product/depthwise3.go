package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Depthwise kernels for 3×3 with a border of one, by lines: each pixel of x is loaded once for each of the three lines
// of y it belongs to, and goes into up to three pixels that are being summed.

// lines is the loop over lines of y: three lines of x for each.
type lines struct {
	width
	vecs          int
	c             columns
	x             [3]reg.GPVirtual // the pixels under way
	y, step, left reg.GPVirtual
	ahead         reg.GPVirtual // some pixels further
}

// pixelsAhead is how far ahead pixels are fetched: with many channels the next one is on another page soon, which the
// machine does not foresee.
const pixelsAhead = 8

func (w width) newLines(y string) *lines {
	l := &lines{width: w, vecs: w.channelVecs()}
	l.c = w.loadColumns(Load(Param("channels"), GP64()), l.vecs)
	l.y, l.step, l.left = GP64(), GP64(), GP64()
	Load(Param(y).Base(), l.y)
	Load(Param("step"), l.step)
	SHLQ(Imm(2), l.step)
	l.ahead = GP64()
	MOVQ(l.step, l.ahead)
	SHLQ(Imm(3), l.ahead)
	for r := range l.x {
		l.x[r] = GP64()
	}
	return l
}

// each runs body for each line, with x and y at its first pixels and left at its length.
func (l *lines) each(body func()) {
	from, base, zero := GP64(), GP64(), GP64()
	Load(Param("from").Base(), from)
	Label("line")
	Load(Param("x").Base(), base)
	Load(Param("zero").Base(), zero)
	for r := range l.x {
		found(Mem{Base: from, Disp: 4 * r}, base, zero, l.x[r])
	}
	ADDQ(Imm(12), from)
	Load(Param("wide"), l.left)
	body()
	DECQ(param("lines"))
	JNZ(LabelRef("line"))
}

// column calls f with each register of the next pixel of each line of x.
func (l *lines) column(f func(r, v int, x reg.VecVirtual)) {
	for r := range l.x {
		xs := l.width.vecs(l.vecs)
		for v, x := range xs {
			l.c.load(Mem{Base: l.x[r], Disp: 4 * l.lanes * v}, v, x)
			if r > 0 { // the first line has been here
				PREFETCHT0(Mem{Base: l.x[r], Index: l.ahead, Scale: 1, Disp: 4 * l.lanes * v})
			}
		}
		ADDQ(l.step, l.x[r])
		for v, x := range xs {
			f(r, v, x)
		}
	}
}

func (l *lines) vectors() vectors { return l.width.vecs(l.vecs) }

func (l *lines) zeros(x vectors) {
	for _, v := range x {
		l.zero(v)
	}
}

func (l *lines) copy(dst, src vectors) {
	for v := range dst {
		VMOVAPS(src[v], dst[v])
	}
}

func (l *lines) loadY(dst vectors) {
	for v := range dst {
		l.c.load(Mem{Base: l.y, Disp: 4 * l.lanes * v}, v, dst[v])
		PREFETCHT0(Mem{Base: l.y, Index: l.ahead, Scale: 1, Disp: 4 * l.lanes * v})
	}
	ADDQ(l.step, l.y)
}

func (l *lines) storeY(src vectors) {
	for v := range src {
		l.c.store(src[v], v, Mem{Base: l.y, Disp: 4 * l.lanes * v})
		PREFETCHT0(Mem{Base: l.y, Index: l.ahead, Scale: 1, Disp: 4 * l.lanes * v})
	}
	ADDQ(l.step, l.y)
}

// depthwiseLines writes y for stride one or two.
func (w width) depthwiseLines(stride int) {
	name := fmt.Sprintf("depthwiseLines%d%s", stride, w.name)
	kernel(name, "func(y, x, zero, w []float32, from []int32, tap, lines, wide, step, channels int)",
		fmt.Sprintf("%s sets lines of y, of wide pixels step apart, to the 3×3 convolution with stride %d of the lines "+
			"of x at the offsets from, three for each; the rows of w are tap apart, and it takes at most %d channels.", name,
			stride, w.channelVecs()*w.lanes))
	l := w.newLines("y")
	weights := [3][3]vectors{}
	at, tap := Load(Param("w").Base(), GP64()), Load(Param("tap"), GP64())
	SHLQ(Imm(2), tap)
	for r := range 3 {
		for k := range 3 {
			weights[r][k] = l.vectors()
			for v := range weights[r][k] {
				l.c.load(Mem{Base: at, Disp: 4 * l.lanes * v}, v, weights[r][k][v])
			}
			ADDQ(tap, at)
		}
	}
	use := func(k int, sum vectors, r, v int, x reg.VecVirtual, first bool) {
		if first && r == 0 {
			VMULPS(weights[r][k][v], x, sum[v])
			return
		}
		VFMADD231PS(weights[r][k][v], x, sum[v])
	}
	last, now, next := l.vectors(), l.vectors(), l.vectors()
	l.each(func() {
		if stride == 2 {
			l.zeros(now)
			Label("pixel")
			l.column(func(r, v int, x reg.VecVirtual) { use(1, now, r, v, x, false) })
			l.column(func(r, v int, x reg.VecVirtual) {
				use(2, now, r, v, x, false)
				use(0, next, r, v, x, true)
			})
			l.storeY(now)
			l.copy(now, next)
			DECQ(l.left)
			JNZ(LabelRef("pixel"))
			return
		}
		l.column(func(r, v int, x reg.VecVirtual) {
			use(1, now, r, v, x, true)
			use(0, next, r, v, x, true)
		})
		DECQ(l.left)
		JZ(LabelRef("end"))
		Label("pixel")
		l.copy(last, now)
		l.copy(now, next)
		l.column(func(r, v int, x reg.VecVirtual) {
			use(2, last, r, v, x, false)
			use(1, now, r, v, x, false)
			use(0, next, r, v, x, true)
		})
		l.storeY(last)
		DECQ(l.left)
		JNZ(LabelRef("pixel"))
		Label("end")
		l.storeY(now)
	})
	VZEROUPPER()
	RET()
}

// depthwiseLinesGradient writes the gradient in w for stride one or two.
func (w width) depthwiseLinesGradient(stride int) {
	name := fmt.Sprintf("depthwiseLinesGradient%d%s", stride, w.name)
	kernel(name, "func(dw, x, zero, dy []float32, from []int32, tap, lines, wide, step, channels int, add bool)",
		fmt.Sprintf("%s sets or adds to the rows of dw, tap apart, the gradient of what depthwiseLines%d%s does.", name,
			stride, w.name))
	l := w.newLines("dy")
	var sum [3][3]vectors
	for r := range 3 {
		for k := range 3 {
			sum[r][k] = l.vectors()
			l.zeros(sum[r][k])
		}
	}
	use := func(k int, g vectors, r, v int, x reg.VecVirtual) { VFMADD231PS(g[v], x, sum[r][k][v]) }
	last, now, next := l.vectors(), l.vectors(), l.vectors()
	columns := func() {
		if stride == 2 {
			l.column(func(r, v int, x reg.VecVirtual) { use(1, now, r, v, x) })
			l.column(func(r, v int, x reg.VecVirtual) {
				use(2, now, r, v, x)
				use(0, next, r, v, x)
			})
			return
		}
		l.column(func(r, v int, x reg.VecVirtual) {
			use(2, last, r, v, x)
			use(1, now, r, v, x)
			use(0, next, r, v, x)
		})
	}
	l.each(func() {
		l.zeros(last)
		l.loadY(now)
		DECQ(l.left)
		JZ(LabelRef("end"))
		Label("pixel")
		l.loadY(next)
		columns()
		l.copy(last, now)
		l.copy(now, next)
		DECQ(l.left)
		JNZ(LabelRef("pixel"))
		Label("end")
		l.zeros(next)
		columns()
	})

	at, tap, add := Load(Param("dw").Base(), GP64()), Load(Param("tap"), GP64()), GP32()
	SHLQ(Imm(2), tap)
	Load(Param("add"), add.As8())
	for i := range 9 {
		s := sum[i/3][i%3]
		put := fmt.Sprintf("put%d", i)
		TESTB(add.As8(), add.As8())
		JZ(LabelRef(put))
		for v := range s {
			l.c.load(Mem{Base: at, Disp: 4 * l.lanes * v}, v, next[v])
			VADDPS(next[v], s[v], s[v])
		}
		Label(put)
		for v := range s {
			l.c.store(s[v], v, Mem{Base: at, Disp: 4 * l.lanes * v})
		}
		ADDQ(tap, at)
	}
	VZEROUPPER()
	RET()
}

// depthwiseLinesBack writes the gradient in x for stride two. A line of x meets two lines of dy or one, an even pixel
// one pixel in each and an odd one two: in one dimension dx[2j] = w₁·dy[j] and dx[2j+1] = w₂·dy[j] + w₀·dy[j+1].
func (w width) depthwiseLinesBack() {
	name := "depthwiseLinesBack" + w.name
	kernel(name, "func(dx, dy, zero, w []float32, from, row []int32, lines, line, wide, step, channels int)",
		fmt.Sprintf("%s sets lines of dx, line apart and of 2·wide pixels step apart, from the lines of dy at the "+
			"offsets from, two for each, with the rows of w at the six offsets row, three for each; it takes at most %d "+
			"channels.", name, w.channelVecs()*w.lanes))
	vecs := w.channelVecs()
	c := w.loadColumns(Load(Param("channels"), GP64()), vecs)
	zero, at := Load(Param("zero").Base(), GP64()), GP64()
	var weights [2][3]vectors
	{
		base, row := Load(Param("w").Base(), GP64()), Load(Param("row").Base(), GP64())
		for r := range 2 {
			for k := range 3 {
				found(Mem{Base: row, Disp: 4 * (3*r + k)}, base, zero, at)
				weights[r][k] = w.vecs(vecs)
				for v := range vecs {
					c.load(Mem{Base: at, Disp: 4 * w.lanes * v}, v, weights[r][k][v])
				}
			}
		}
	}
	step := Load(Param("step"), GP64())
	SHLQ(Imm(2), step)
	SHLQ(Imm(2), param("line"))
	start, from, left := Load(Param("dx").Base(), GP64()), Load(Param("from").Base(), GP64()), GP64()
	dx := GP64()
	var y [2]reg.GPVirtual
	now, next := [2]vectors{w.vecs(vecs), w.vecs(vecs)}, [2]vectors{w.vecs(vecs), w.vecs(vecs)}
	even, odd := w.vecs(vecs), w.vecs(vecs)
	load := func(dst [2]vectors) {
		for r := range dst {
			for v := range dst[r] {
				c.load(Mem{Base: y[r], Disp: 4 * w.lanes * v}, v, dst[r][v])
			}
			ADDQ(step, y[r])
		}
	}
	store := func(src vectors) {
		for v := range src {
			c.store(src[v], v, Mem{Base: dx, Disp: 4 * w.lanes * v})
		}
		ADDQ(step, dx)
	}
	pair := func(last bool) {
		for v := range vecs {
			VMULPS(weights[0][1][v], now[0][v], even[v])
			VMULPS(weights[0][2][v], now[0][v], odd[v])
			VFMADD231PS(weights[1][1][v], now[1][v], even[v])
			VFMADD231PS(weights[1][2][v], now[1][v], odd[v])
			if !last {
				VFMADD231PS(weights[0][0][v], next[0][v], odd[v])
				VFMADD231PS(weights[1][0][v], next[1][v], odd[v])
			}
		}
		store(even)
		store(odd)
	}

	Label("line")
	base := Load(Param("dy").Base(), GP64())
	for r := range y {
		y[r] = GP64()
		found(Mem{Base: from, Disp: 4 * r}, base, zero, y[r])
	}
	ADDQ(Imm(8), from)
	MOVQ(start, dx)
	ADDQ(param("line"), start)
	load(now)
	Load(Param("wide"), left)
	DECQ(left)
	JZ(LabelRef("end"))
	Label("pair")
	load(next)
	pair(false)
	for r := range now {
		for v := range vecs {
			VMOVAPS(next[r][v], now[r][v])
		}
	}
	DECQ(left)
	JNZ(LabelRef("pair"))
	Label("end")
	pair(true)
	DECQ(param("lines"))
	JNZ(LabelRef("line"))
	VZEROUPPER()
	RET()
}
