package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// accumulators returns n registers set to zero. A multiply-add takes four cycles, and two can start in
// each, but every one of a dot product also needs two loads: four sums are enough to hide the latency.
func accumulators(n int) []reg.VecVirtual {
	acc := make([]reg.VecVirtual, n)
	for i := range acc {
		acc[i] = YMM()
		VXORPD(acc[i], acc[i], acc[i])
	}
	return acc
}

// at returns the address of element i of the slice that starts at p.
func (w format) at(p reg.Register, i int) Mem { return Mem{Base: p, Disp: w.size * i} }

// strides runs body for four registers of x and y at a time, then for one register, then one, for the
// elements left. Between registers and elements it runs join.
func (w format) strides(x, y, n reg.Register, registers func(count int), join, element func()) {
	for _, count := range []int{4, 1} {
		this, next := fmt.Sprintf("loop%d", count), "loop1"
		if count == 1 {
			next = "rest"
		}
		step := uint64(count * w.lanes())
		Label(this)
		CMPQ(n, Imm(step))
		JL(LabelRef(next))
		registers(count)
		ADDQ(U32(32*count), x)
		ADDQ(U32(32*count), y)
		SUBQ(Imm(step), n)
		JMP(LabelRef(this))
	}
	Label("rest")
	join()
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("loop")
	element()
	ADDQ(Imm(uint64(w.size)), x)
	ADDQ(Imm(uint64(w.size)), y)
	DECQ(n)
	JNZ(LabelRef("loop"))
	Label("done")
}

func dot(w format) {
	name := "dot" + w.suffix + "AVX2"
	kernel(name, fmt.Sprintf("func(x, y []%[1]s) %[1]s", w.element), name+" returns Σ xᵢyᵢ over the length of x.")
	x := Load(Param("x").Base(), GP64())
	y := Load(Param("y").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	acc := accumulators(4)
	sum := XMM()
	w.strides(x, y, n, func(count int) {
		for i := range count {
			v := YMM()
			w.move(w.at(x, i*w.lanes()), v)
			w.fma231(w.at(y, i*w.lanes()), v, acc[i])
		}
	}, func() {
		w.add(acc[1], acc[0], acc[0])
		w.add(acc[3], acc[2], acc[2])
		w.add(acc[2], acc[0], acc[0])
		w.total(acc[0], sum)
	}, func() {
		v := XMM()
		w.moveOne(w.at(x, 0), v)
		w.fma231One(w.at(y, 0), v, sum)
	})
	Store(sum, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// total sets sum to the sum of the lanes of v.
func (w format) total(v, sum reg.VecVirtual) {
	half := XMM()
	VEXTRACTF128(Imm(1), v, half)
	w.add(half, v.AsX(), half)
	if w.size == 4 {
		quarter := XMM()
		VPERMILPD(Imm(1), half, quarter)
		VADDPS(quarter, half, half)
	}
	w.pairTotal(half, sum)
}

// pairTotal sets sum to the sum of the two lowest lanes of v.
func (w format) pairTotal(v, sum reg.VecVirtual) {
	if w.size == 4 {
		VMOVSHDUP(v, sum)
	} else {
		VPERMILPD(Imm(1), v, sum)
	}
	w.addOne(v, sum, sum)
}

func axpy(w format) {
	name := "axpy" + w.suffix + "AVX2"
	kernel(name, fmt.Sprintf("func(a %[1]s, x, y []%[1]s)", w.element), name+" adds a·x to y over the length of x.")
	a := w.broadcast("a")
	x := Load(Param("x").Base(), GP64())
	y := Load(Param("y").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	w.strides(x, y, n, func(count int) {
		for i := range count {
			v := YMM()
			w.move(w.at(y, i*w.lanes()), v)
			w.fma231(w.at(x, i*w.lanes()), a, v)
			w.move(v, w.at(y, i*w.lanes()))
		}
	}, func() {}, func() {
		v := XMM()
		w.moveOne(w.at(y, 0), v)
		w.fma231One(w.at(x, 0), a.AsX(), v)
		w.moveOne(v, w.at(y, 0))
	})
	VZEROUPPER()
	RET()
}

func scale(w format) {
	var a reg.VecVirtual
	lanesOf(w).write(elementwise{
		name:    "scale" + w.suffix + "AVX2",
		args:    ", a " + w.element,
		doc:     "scale" + w.suffix + "AVX2 sets dst = a·x.",
		prepare: func() { a = w.broadcast("a") },
		body: func(v reg.VecVirtual) reg.VecVirtual {
			w.mul(a, v, v)
			return v
		},
	})
}
