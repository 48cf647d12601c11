package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addProduct adds x·y to hi + lo, and |x·y| to size. x is a register; the error of the product and that of the sum,
// which is exact by Knuth's TwoSum, go to lo.
func addProduct(x, y reg.VecVirtual, hi, lo, size, absolute reg.VecVirtual) {
	p, e, t, z, u := YMM(), YMM(), YMM(), YMM(), YMM()
	VMULPD(x, y, p)
	VMOVAPD(p, e)
	VFMSUB231PD(x, y, e) // x·y − p
	VADDPD(p, hi, t)
	VSUBPD(hi, t, z) // t − hi
	VSUBPD(z, t, u)  // t − z
	VSUBPD(u, hi, u) // hi − (t − z)
	VSUBPD(z, p, z)  // p − z
	VADDPD(z, u, u)
	VADDPD(e, u, u)
	VADDPD(u, lo, lo)
	VMOVAPD(t, hi)
	VANDPD(absolute, p, p)
	VADDPD(p, size, size)
}

// absoluteBits clears the signs of four lanes.
func absoluteBits() reg.VecVirtual {
	v := YMM()
	VPCMPEQD(v, v, v)
	VPSRLQ(Imm(1), v, v)
	return v
}

func dot2() {
	kernel("dot2AVX2", "func(out, x, y []float64)", "dot2AVX2 sets out to four parts each of hi and lo, whose sum is "+
		"Σ xᵢyᵢ in twice the precision, and of Σ |xᵢyᵢ|, twice; len(x) is a multiple of 8.")
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	y := Load(Param("y").Base(), GP64())
	acc := accumulators(6)
	absolute := absoluteBits()
	Label("loop")
	SUBQ(Imm(8), n)
	JL(LabelRef("done"))
	for k := range 2 {
		a, b := YMM(), YMM()
		VMOVUPD(Mem{Base: x, Disp: 32 * k}, a)
		VMOVUPD(Mem{Base: y, Disp: 32 * k}, b)
		addProduct(a, b, acc[3*k], acc[3*k+1], acc[3*k+2], absolute)
	}
	ADDQ(Imm(64), x)
	ADDQ(Imm(64), y)
	JMP(LabelRef("loop"))
	Label("done")
	out := Load(Param("out").Base(), GP64())
	for k, v := range acc {
		VMOVUPD(v, Mem{Base: out, Disp: 32 * k})
	}
	VZEROUPPER()
	RET()
}

func axpy2() {
	kernel("axpy2AVX2", "func(hi, lo, size []float64, a float64, x []float64)", "axpy2AVX2 adds a·x to hi + lo in twice "+
		"the precision, and |a·x| to size; len(x) is a multiple of 4.")
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	hi := Load(Param("hi").Base(), GP64())
	lo := Load(Param("lo").Base(), GP64())
	size := Load(Param("size").Base(), GP64())
	a := broadcast64("a")
	absolute := absoluteBits()
	Label("loop")
	SUBQ(Imm(4), n)
	JL(LabelRef("done"))
	v, h, l, s := YMM(), YMM(), YMM(), YMM()
	VMOVUPD(Mem{Base: x}, v)
	VMOVUPD(Mem{Base: hi}, h)
	VMOVUPD(Mem{Base: lo}, l)
	VMOVUPD(Mem{Base: size}, s)
	addProduct(v, a, h, l, s, absolute)
	VMOVUPD(h, Mem{Base: hi})
	VMOVUPD(l, Mem{Base: lo})
	VMOVUPD(s, Mem{Base: size})
	for _, p := range []reg.Register{x, hi, lo, size} {
		ADDQ(Imm(32), p)
	}
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// gram multiplies three rows with four: twelve sums hide the latency of a multiply-add, and seven loads serve twelve of
// them.
func gram(wide bool) {
	name, lanes, vector := "gramAVX2", uint64(4), YMM
	if wide {
		name, lanes, vector = "gramAVX512", 8, ZMM
	}
	kernel(name, "func(out, a, b []float64, stride, columns int)", fmt.Sprintf("%s sets out[4i+j] to the product of row "+
		"i of three in a with row j of four in b, rows being stride apart; columns is a multiple of %d.", name, lanes))
	first := Load(Param("a").Base(), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	b := denseRows{Load(Param("b").Base(), GP64()), stride, GP64()}
	b.start()
	n := Load(Param("columns"), GP64())
	acc := make([]reg.VecVirtual, 12)
	for i := range acc {
		acc[i] = vector()
		VXORPD(acc[i].AsY(), acc[i].AsY(), acc[i].AsY()) // clears the upper half, too
	}
	Label("loop")
	SUBQ(Imm(lanes), n)
	JL(LabelRef("done"))
	var rows [3]reg.VecVirtual
	for i := range rows {
		rows[i] = vector()
		at := Mem{Base: first}
		if i > 0 {
			at = Mem{Base: first, Index: stride, Scale: uint8(i)}
		}
		VMOVUPD(at, rows[i])
	}
	other := vector()
	for j := range 4 {
		VMOVUPD(b.row(j), other)
		for i := range rows {
			VFMADD231PD(other, rows[i], acc[4*i+j])
		}
	}
	ADDQ(Imm(8*lanes), first)
	b.advance(lanes)
	JMP(LabelRef("loop"))
	Label("done")
	out := Load(Param("out").Base(), GP64())
	low, high := YMM(), YMM()
	for i := range 3 {
		var s [4]reg.Register
		for j := range s {
			v := acc[4*i+j]
			if wide {
				VEXTRACTF64X4(Imm(1), v, high)
				VADDPD(high, v.AsY(), v.AsY())
			}
			s[j] = v.AsY()
		}
		VHADDPD(s[1], s[0], s[0])
		VHADDPD(s[3], s[2], s[2])
		VPERM2F128(Imm(0x21), s[2], s[0], high)
		VBLENDPD(Imm(12), s[2], s[0], low)
		VADDPD(high, low, low)
		VMOVUPD(low, Mem{Base: out, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}
