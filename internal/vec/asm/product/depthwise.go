package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where each channel has its own kernel there is no product of matrices: a register holds neighbouring channels of a
// pixel. The kernel of those channels stays in registers while the pixels go by.

// channelVecs is how many registers of channels are done at once: two where the registers allow it, since finding a
// pixel takes as long as using it.
func (w width) channelVecs() int { return w.lanes / 8 }

// found loads an offset and makes it an address; negative offsets are the row of zeros.
func found(offset Mem, base, zero, at reg.Register) {
	MOVLQSX(offset, at)
	TESTQ(at, at)
	LEAQ(Mem{Base: base, Index: at, Scale: 4}, at)
	CMOVQLT(zero, at)
}

// fma adds x·m to acc in the lanes that are channels.
func (c columns) fma(m Mem, v int, x, acc reg.VecVirtual) {
	if c.full {
		VFMADD231PS(m, x, acc)
		return
	}
	if c.masked() {
		VFMADD231PS(m, x, c.masks[v], acc)
		return
	}
	part := c.vec()
	VMASKMOVPS(m, c.masks[v], part)
	VFMADD231PS(part, x, acc)
}

func (w width) depthwise(taps int) {
	name := fmt.Sprintf("depthwise%d%s", taps, w.name)
	kernel(name, "func(y, x, zero, w []float32, place, from, tap []int32, pixels, channels int, add bool)",
		fmt.Sprintf("%s sets or adds to y[place[p]+c] the sum of x[from[%d·p+t]+c]·w[tap[t]+c] over the taps t, for at "+
			"most %d channels; negative offsets are rows of zeros.", name, taps, w.channelVecs()*w.lanes))
	vecs := w.channelVecs()
	zero, at := Load(Param("zero").Base(), GP64()), GP64()
	c := w.loadColumns(Load(Param("channels"), GP64()), vecs)
	weights := make([][]reg.VecVirtual, taps)
	base, tap := Load(Param("w").Base(), GP64()), Load(Param("tap").Base(), GP64())
	for t := range weights {
		found(Mem{Base: tap, Disp: 4 * t}, base, zero, at)
		weights[t] = w.vecs(vecs)
		for v := range weights[t] {
			c.load(Mem{Base: at, Disp: 4 * w.lanes * v}, v, weights[t][v])
		}
	}
	y, x := Load(Param("y").Base(), GP64()), Load(Param("x").Base(), GP64())
	place, from := Load(Param("place").Base(), GP64()), Load(Param("from").Base(), GP64())
	left := Load(Param("pixels"), GP64())
	add := GP32()
	Load(Param("add"), add.As8())
	to := GP64()

	Label("pixel")
	MOVLQSX(Mem{Base: place}, to)
	LEAQ(Mem{Base: y, Index: to, Scale: 4}, to)
	sum := w.vecs(vecs)
	for _, s := range sum {
		w.zero(s)
	}
	TESTB(add.As8(), add.As8())
	JZ(LabelRef("taps"))
	for v, s := range sum {
		c.load(Mem{Base: to, Disp: 4 * w.lanes * v}, v, s)
	}
	Label("taps")
	for t := range weights {
		found(Mem{Base: from, Disp: 4 * t}, x, zero, at)
		for v, s := range sum {
			c.fma(Mem{Base: at, Disp: 4 * w.lanes * v}, v, weights[t][v], s)
		}
	}
	for v, s := range sum {
		c.store(s, v, Mem{Base: to, Disp: 4 * w.lanes * v})
	}
	ADDQ(Imm(4), place)
	ADDQ(Imm(uint64(4*taps)), from)
	DECQ(left)
	JNZ(LabelRef("pixel"))
	VZEROUPPER()
	RET()
}

func (w width) depthwiseGradient(taps int) {
	name := fmt.Sprintf("depthwiseGradient%d%s", taps, w.name)
	kernel(name, "func(dw, x, zero, dy []float32, place, from []int32, stride, pixels, channels, rows int, add bool)",
		fmt.Sprintf("%s sets or adds to dw[t·stride+c] the sum of x[from[%d·p+t]+c]·dy[place[p]+c] over the pixels p, "+
			"for t < rows and at most %d channels; negative offsets are rows of zeros.", name, taps, w.channelVecs()*w.lanes))
	vecs := w.channelVecs()
	zero, at := Load(Param("zero").Base(), GP64()), GP64()
	c := w.loadColumns(Load(Param("channels"), GP64()), vecs)
	sum := make([][]reg.VecVirtual, taps)
	for t := range sum {
		sum[t] = w.vecs(vecs)
		for _, s := range sum[t] {
			w.zero(s)
		}
	}
	dy, x := Load(Param("dy").Base(), GP64()), Load(Param("x").Base(), GP64())
	place, from := Load(Param("place").Base(), GP64()), Load(Param("from").Base(), GP64())
	left := Load(Param("pixels"), GP64())

	Label("pixel")
	MOVLQSX(Mem{Base: place}, at)
	LEAQ(Mem{Base: dy, Index: at, Scale: 4}, at)
	g := w.vecs(vecs)
	for v := range g {
		c.load(Mem{Base: at, Disp: 4 * w.lanes * v}, v, g[v])
	}
	for t := range sum {
		found(Mem{Base: from, Disp: 4 * t}, x, zero, at)
		for v, s := range sum[t] {
			c.fma(Mem{Base: at, Disp: 4 * w.lanes * v}, v, g[v], s)
		}
	}
	ADDQ(Imm(4), place)
	ADDQ(Imm(uint64(4*taps)), from)
	DECQ(left)
	JNZ(LabelRef("pixel"))

	dw, stride := Load(Param("dw").Base(), GP64()), Load(Param("stride"), GP64())
	rows := Load(Param("rows"), GP64())
	SHLQ(Imm(2), stride)
	add := GP32()
	Load(Param("add"), add.As8())
	for t := range sum {
		TESTB(add.As8(), add.As8())
		put := fmt.Sprintf("put%d", t)
		JZ(LabelRef(put))
		for v, s := range sum[t] {
			c.load(Mem{Base: dw, Disp: 4 * w.lanes * v}, v, g[v])
			VADDPS(g[v], s, s)
		}
		Label(put)
		for v, s := range sum[t] {
			c.store(s, v, Mem{Base: dw, Disp: 4 * w.lanes * v})
		}
		if t < len(sum)-1 {
			CMPQ(rows, Imm(uint64(t+1)))
			JLE(LabelRef("done"))
		}
		ADDQ(stride, dw)
	}
	Label("done")
	VZEROUPPER()
	RET()
}
