package main

import (
	"fmt"
	"math"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels here need no care about zeros, infinities or NaN: multiplication and square root do the
// right thing by themselves.

// withSign writes a kernel that sets dst = body(|x|) | x&sign, computing in w on elements from g.
func withSign(g group, w format, name, args, doc string, body func(v reg.VecVirtual) reg.VecVirtual) {
	var sign reg.VecVirtual
	g.write(elementwise{
		name: name, args: args + fmt.Sprintf(", sign uint%d", 8*w.size), doc: name + " sets dst = " + doc + " | x&sign.",
		prepare: func() { sign = w.broadcast("sign") },
		body: func(x reg.VecVirtual) reg.VecVirtual {
			s, v := YMM(), YMM()
			w.and(sign, x, s)
			w.and(w.bits(w.signBit()-1), x, v)
			v = body(v)
			w.or(s, v, v)
			return v
		},
	})
}

func integerPower() {
	withSign(fours, double, "powIntAVX2", ", steps uint64", "|x|ᵏ, for the k given by steps,",
		func(v reg.VecVirtual) reg.VecVirtual {
			return double.raise(v)[0]
		})
}

// integerPower32 multiplies in float64, two registers of four: the roundings of 63 multiplications would show in
// float32. For a few of them see fewPower.
func integerPower32() {
	withSign(eights, single, "powInt32AVX2", ", steps uint64", "|x|ᵏ, for the k given by steps,",
		func(v reg.VecVirtual) reg.VecVirtual {
			low, high := YMM(), YMM()
			VEXTRACTF128(Imm(1), v, high.AsX())
			VCVTPS2PD(v.AsX(), low)
			VCVTPS2PD(high.AsX(), high)
			p := double.raise(low, high)
			VCVTPD2PSY(p[0], low.AsX())
			VCVTPD2PSY(p[1], high.AsX())
			VINSERTF128(Imm(1), high.AsX(), low, low)
			return low
		})
}

// fewPower multiplies in float32, for 3 ≤ k ≤ 12.
func fewPower() {
	var f few
	signed32("powFew32AVX2", ", k int", "|x|ᵏ, 3 ≤ k ≤ 12,", 4, f.raise, func() { f.k = Load(Param("k"), GP64()) })
}

// few is the k-th power of some multiplications in float32, for an argument k from leastFew to mostFew, with an error
// of six times 2⁻²⁴ at most.
//
// A product adds the errors of its factors, and one of its own: by squaring and multiplying as raise does, the k-th
// power has k−1 roundings. Beyond seven, what the first square loses is put back: x² = h + l, where l is exact, and (h
// + l)ʲ = h^(j−1)·(h + j·l), up to (l/h)² ≤ 2⁻⁴⁸ times j². Denormal powers are made by denormalPower.
type few struct{ k reg.Register }

const leastFew, mostPlain, mostFew = 3, 7, 12

// raise returns the k-th powers of v.
func (f *few) raise(v ...reg.VecVirtual) []reg.VecVirtual {
	raises++
	label := func(what string, k int) string { return fmt.Sprint(what, k, "of", raises) }
	var choose func(low, high int)
	choose = func(low, high int) {
		if low == high {
			JMP(LabelRef(label("power", low)))
			return
		}
		middle := (low + high) / 2
		CMPQ(f.k, Imm(uint64(middle)))
		JG(LabelRef(label("above", middle)))
		choose(low, middle)
		Label(label("above", middle))
		choose(middle+1, high)
	}
	choose(leastFew, mostFew)
	out := make([]reg.VecVirtual, len(v))
	for i := range out {
		out[i] = YMM()
	}
	for k := leastFew; k <= mostFew; k++ {
		Label(label("power", k))
		if k > mostPlain {
			anyDenormal(k, v, label("denormal", k))
		}
		multiplications(k, v, out)
		JMP(LabelRef(label("raised", 0)))
		if k > mostPlain {
			Label(label("denormal", k))
			for i := range v {
				denormalPower(k, v[i], out[i])
			}
			JMP(LabelRef(label("raised", 0)))
		}
	}
	Label(label("raised", 0))
	return out
}

// multiplications sets p = vᵏ.
func multiplications(k int, v, p []reg.VecVirtual) {
	if k <= mostPlain {
		for i, x := range v {
			power(k, x, p[i])
		}
		return
	}
	// h^(j−1)·x^odd has j−2+odd, the sum one, and their product one more: six at most. The sum takes as long as the
	// power beside it. Beyond the largest number l is positive, and the sum infinite as it should be.
	half := k / 2
	h, sum := make([]reg.VecVirtual, len(v)), make([]reg.VecVirtual, len(v))
	for i, x := range v {
		h[i], sum[i] = YMM(), YMM()
		VMULPS(x, x, h[i])
		VMINPS(f32(math.MaxFloat32), h[i], sum[i])
		VFMSUB231PS(x, x, sum[i])
		VFMADD132PS(f32(float64(half)), h[i], sum[i])
	}
	for i := range v {
		power(half-1, h[i], p[i])
		if k%2 == 1 {
			VMULPS(v[i], p[i], p[i])
		}
		VMULPS(sum[i], p[i], p[i])
	}
}

// leastNormal is the smallest number whose k-th power is normal, whatever its roundings.
func leastNormal(k int) uint32 {
	return math.Float32bits(float32(math.Exp2(-126/float64(k)) * (1 + 1e-6)))
}

// anyDenormal jumps to label if a power of v is zero or denormal. In p-GD with p near 1 those are the weights on
// their way to zero or away from it; a multiplication with a denormal result takes some thirty cycles.
func anyDenormal(k int, v []reg.VecVirtual, label string) {
	least, lanes := v[0], GP32()
	if len(v) > 1 {
		least = YMM()
		VPMINSD(v[0], v[1], least)
		for _, x := range v[2:] {
			VPMINSD(x, least, least)
		}
	}
	normal := YMM()
	VPCMPGTD(bits32(leastNormal(k)-1), least, normal)
	VMOVMSKPS(normal, lanes)
	CMPL(lanes, U32(255))
	JNE(LabelRef(label))
}

// denormalPower sets p = vᵏ, by way of (2ᶜv)ᵏ where vᵏ is below the normal numbers: times 2¹⁴⁹⁻ᶜᵏ and rounded to an
// integer it is the bits of the result.
func denormalPower(k int, v, p reg.VecVirtual) {
	c := (149 + k - 1) / k
	normal, x, t := YMM(), YMM(), YMM()
	VPCMPGTD(bits32(leastNormal(k)-1), v, normal)
	VMULPS(f32(math.Ldexp(1, c)), v, x)
	VBLENDVPS(normal, v, x, x)
	multiplications(k, []reg.VecVirtual{x}, []reg.VecVirtual{p})
	VMULPS(f32(math.Ldexp(1, 149-c*k)), p, t)
	VCVTPS2DQ(t, t)
	VBLENDVPS(normal, p, t, p)
}

// power sets p = xᵏ, k ≥ 2, as raise does, with k−1 roundings.
func power(k int, x, p reg.VecVirtual) {
	first := bits.Len(uint(k)) - 2
	for digit := first; digit >= 0; digit-- {
		if digit == first {
			VMULPS(x, x, p)
		} else {
			VMULPS(p, p, p)
		}
		if k>>digit&1 == 1 {
			VMULPS(x, p, p)
		}
	}
}

// signed32 writes a kernel that sets dst = body(|x|) | x&sign, count registers at a time, then one, then what is left:
// for a body whose control flow would cost more than its arithmetic.
func signed32(name, args, doc string, count int, body func(v ...reg.VecVirtual) []reg.VecVirtual, prepare func()) {
	kernel(name, "func(dst, x []float32"+args+", sign uint32)", name+" sets dst = "+doc+" | x&sign.")
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	sign := single.broadcast("sign")
	prepare()
	for _, c := range []int{count, 1} {
		this, next := fmt.Sprint("loop", c), "loop1"
		if c == 1 {
			next = "rest"
		}
		Label(this)
		CMPQ(n, U32(8*c))
		JL(LabelRef(next))
		v := make([]reg.VecVirtual, c)
		for i := range v {
			v[i] = YMM()
			VMOVUPS(bits32(sign32-1), v[i])
			VANDPS(single.at(x, 8*i), v[i], v[i])
		}
		for i, p := range body(v...) {
			s := YMM()
			VANDPS(single.at(x, 8*i), sign, s)
			VORPS(s, p, p)
			VMOVUPS(p, single.at(dst, 8*i))
		}
		ADDQ(U32(32*c), x)
		ADDQ(U32(32*c), dst)
		SUBQ(U32(8*c), n)
		JMP(LabelRef(this))
	}
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	v, s := YMM(), YMM()
	eights.loadSome(x, n, 1, v)
	VANDPS(v, sign, s)
	VANDPS(bits32(sign32-1), v, v)
	p := body(v)[0]
	VORPS(s, p, p)
	eights.storeSome(p, dst, n)
	Label("done")
	VZEROUPPER()
	RET()
}

// tenthPower is ((x²)²·x)², as raise has it but without its branches: 10 is 1/(p−1) for p = 1.1, the usual
// choice for sparse weights.
func tenthPower() {
	withSign(fours, double, "tenthPowerAVX2", "", "x¹⁰", func(v reg.VecVirtual) reg.VecVirtual {
		p := YMM()
		VMULPD(v, v, p)
		VMULPD(p, p, p)
		VMULPD(v, p, p)
		VMULPD(p, p, p)
		return p
	})
}

func square(w format) {
	withSign(lanesOf(w), w, "square"+w.suffix+"AVX2", "", "x²", func(v reg.VecVirtual) reg.VecVirtual {
		w.mul(v, v, v)
		return v
	})
}

func squareRoot(w format) {
	withSign(lanesOf(w), w, "sqrt"+w.suffix+"AVX2", "", "√|x|", func(v reg.VecVirtual) reg.VecVirtual {
		w.sqrt(v, v)
		return v
	})
	withSign(lanesOf(w), w, "sqrtCube"+w.suffix+"AVX2", "", "|x|·√|x|", func(v reg.VecVirtual) reg.VecVirtual {
		r := YMM()
		w.sqrt(v, r)
		w.mul(r, v, v)
		return v
	})
}
