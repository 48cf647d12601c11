package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels here are p-GD's step in one pass over memory: z = sign(w)·|w|^a − rate·g, dst = sign(z)·|z|^b, and dst =
// w where rate·g is zero. They do what the kernels of the two powers do, instruction by instruction, so that the bits
// are the same.

// signedPower is sign(x)·power(|x|).
func signedPower(power func(v reg.VecVirtual) reg.VecVirtual) func(x reg.VecVirtual) reg.VecVirtual {
	return func(x reg.VecVirtual) reg.VecVirtual {
		s, v := YMM(), YMM()
		VANDPS(bits32(sign32), x, s)
		VANDPS(bits32(sign32-1), x, v)
		v = power(v)
		VORPS(s, v, v)
		return v
	}
}

// mirrorStep returns dst of w and g.
func mirrorStep(w, g, rate reg.VecVirtual, a, b func(x reg.VecVirtual) reg.VecVirtual) reg.VecVirtual {
	change, z, none := YMM(), YMM(), YMM()
	VMULPS(rate, g, change)
	VSUBPS(change, a(w), z)
	out := b(z)
	VXORPS(none, none, none)
	VCMPPS(Imm(equal), none, change, none)
	return blend(none, w, out)
}

func mirrorSteps() {
	same := func(x reg.VecVirtual) reg.VecVirtual { return x }
	square := signedPower(func(v reg.VecVirtual) reg.VecVirtual {
		VMULPS(v, v, v)
		return v
	})
	squareRoot := signedPower(func(v reg.VecVirtual) reg.VecVirtual {
		VSQRTPS(v, v)
		return v
	})
	for _, k := range []struct {
		name, doc string
		a, b      func(x reg.VecVirtual) reg.VecVirtual
	}{
		{"stepSame32", "the step of p = 2", same, same},
		{"stepSquare32", "the step of p = 3", square, squareRoot},
		{"stepSquareRoot32", "the step of p = 3/2", squareRoot, square},
	} {
		lanewise{k.name, k.doc, "w g", "rate", func(v, s []reg.VecVirtual) reg.VecVirtual {
			return mirrorStep(v[0], v[1], s[0], k.a, k.b)
		}}.write()
	}

	lanewise{"keep32", "w where change is zero, z elsewhere", "w change z", "",
		func(v, _ []reg.VecVirtual) reg.VecVirtual {
			none := YMM()
			VXORPS(none, none, none)
			VCMPPS(Imm(equal), none, v[1], none)
			return blend(none, v[0], v[2])
		}}.write()

	var r roots
	var f few
	root := func(x reg.VecVirtual) reg.VecVirtual {
		sign, v := YMM(), YMM()
		VANDPS(bits32(sign32), x, sign)
		VMOVAPS(x, v)
		out := r.of(v)
		VORPS(sign, out, out)
		return out
	}
	power := signedPower(func(v reg.VecVirtual) reg.VecVirtual { return f.raise(v)[0] })
	prepare := func() {
		f.k = Load(Param("k"), GP64())
		r = rootsOf("k", rootRows...)
	}
	stepwise{"stepFew32", ", k int", "the step of p = 1 + k, 3 ≤ k ≤ 12", prepare, power, root}.write()
	stepwise{"stepFewRoot32", ", k int", "the step of p = 1 + 1/k, 3 ≤ k ≤ 12", prepare, root, power}.write()
}

// stepwise is a step with powers that are long or have branches: one register at a time, and the same code for
// what is left.
type stepwise struct {
	name, args, doc string
	prepare         func()
	a, b            func(x reg.VecVirtual) reg.VecVirtual
}

func (s stepwise) write() {
	name := s.name + "AVX2"
	kernel(name, "func(dst, w, g []float32, rate float32"+s.args+")", name+" sets dst = "+s.doc+".")
	dst := Load(Param("dst").Base(), GP64())
	w := Load(Param("w").Base(), GP64())
	g := Load(Param("g").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	rate := single.broadcast("rate")
	s.prepare()
	x, y := YMM(), YMM()
	TESTQ(n, n)
	JZ(LabelRef("done"))

	Label("loop")
	CMPQ(n, Imm(8))
	JL(LabelRef("some"))
	VMOVUPS(Mem{Base: w}, x)
	VMOVUPS(Mem{Base: g}, y)
	Label("compute")
	out := mirrorStep(x, y, rate, s.a, s.b)
	CMPQ(n, Imm(8))
	JL(LabelRef("storesome"))
	VMOVUPS(out, Mem{Base: dst})
	for _, p := range []reg.Register{w, g, dst} {
		ADDQ(Imm(32), p)
	}
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	JMP(LabelRef("done"))

	Label("some")
	eights.loadSome(w, n, 1, x)
	eights.loadSome(g, n, 1, y)
	JMP(LabelRef("compute"))
	Label("storesome")
	eights.storeSome(out, dst, n)
	Label("done")
	VZEROUPPER()
	RET()
}
