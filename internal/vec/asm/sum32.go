package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reduction is a kernel that joins the elements of x: four registers are kept, to which as many
// are joined at a time; single registers and what is left go to the first.
func reduction(name, doc string, empty float64, join func(a, b reg.VecVirtual) reg.VecVirtual) {
	kernel(name, "func(x []float32) float32", name+" returns "+doc+".")
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	acc := make([]reg.VecVirtual, 4)
	for i := range acc {
		acc[i] = YMM()
		VMOVUPS(f32(empty), acc[i])
	}
	registers := func(count int) {
		for i := range count {
			v := YMM()
			VMOVUPS(single.at(x, 8*i), v)
			VMOVAPS(join(acc[i], v), acc[i])
		}
		ADDQ(U32(32*count), x)
	}

	Label("loop4")
	CMPQ(n, Imm(32))
	JL(LabelRef("loop1"))
	registers(4)
	SUBQ(Imm(32), n)
	JMP(LabelRef("loop4"))

	Label("loop1")
	CMPQ(n, Imm(8))
	JL(LabelRef("rest"))
	registers(1)
	SUBQ(Imm(8), n)
	JMP(LabelRef("loop1"))

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("join"))
	v := YMM()
	eights.loadSome(x, n, empty, v)
	VMOVAPS(join(acc[0], v), acc[0])

	Label("join")
	r := join(join(acc[0], acc[1]), join(acc[2], acc[3]))
	t := YMM()
	VEXTRACTF128(Imm(1), r, t.AsX())
	r = join(r, t)
	VPERMILPD(Imm(1), r, t)
	r = join(r, t)
	VMOVSHDUP(r, t)
	r = join(r, t)
	Store(r.AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// sumRows32 adds up rows of len(dst) columns, a multiple of eight, in two sums: that of the even rows and that of the
// odd ones. Four registers of columns at a time make eight independent sums, which hides the latency of
// an addition.
func sumRows32() {
	kernel("sumRows32AVX2", "func(dst, x []float32, rows int)",
		"sumRows32AVX2 sets dst to the sum of the rows of x, for a multiple of eight columns.")
	dst := Load(Param("dst").Base(), GP64())
	columns := Load(Param("dst").Len(), GP64())
	x := Load(Param("x").Base(), GP64())
	rows := Load(Param("rows"), GP64())
	stride := GP64()
	MOVQ(columns, stride)
	SHLQ(Imm(2), stride)

	pass := func(suffix string, count int) {
		p, left := GP64(), GP64()
		MOVQ(x, p)
		MOVQ(rows, left)
		even, odd := accumulators(count), accumulators(count)
		add := func(acc []reg.VecVirtual) {
			for i := range acc {
				VADDPS(single.at(p, 8*i), acc[i], acc[i])
			}
			ADDQ(stride, p)
		}
		Label("pairs" + suffix)
		CMPQ(left, Imm(2))
		JL(LabelRef("last" + suffix))
		add(even)
		add(odd)
		SUBQ(Imm(2), left)
		JMP(LabelRef("pairs" + suffix))
		Label("last" + suffix)
		TESTQ(left, left)
		JZ(LabelRef("store" + suffix))
		add(even)
		Label("store" + suffix)
		for i := range even {
			VADDPS(odd[i], even[i], even[i])
			VMOVUPS(even[i], single.at(dst, 8*i))
		}
		ADDQ(U32(32*count), dst)
		ADDQ(U32(32*count), x)
		SUBQ(U32(8*count), columns)
	}
	Label("four")
	CMPQ(columns, Imm(32))
	JL(LabelRef("one"))
	pass("4", 4)
	JMP(LabelRef("four"))
	Label("one")
	TESTQ(columns, columns)
	JZ(LabelRef("done"))
	pass("1", 1)
	JMP(LabelRef("one"))
	Label("done")
	VZEROUPPER()
	RET()
}

func sums32() {
	reduction("sum32AVX2", "Σ xᵢ", 0, binary(VADDPS))
	reduction("maxOf32AVX2", "the largest of x", negativeInfinity, maximum)
	reduction("minOf32AVX2", "the smallest of x", -negativeInfinity, minimum)
	sumRows32()
}
