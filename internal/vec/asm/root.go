package main

import (
	"fmt"
	"math"
	"math/big"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// root64 is the k-th root, 3 ≤ k ≤ 16, by a rough power and one step of high order.
//
// The guess g = 2^(log₂x/k) takes polynomials good to 3e-5 and 4e-6. With p = gᵏ and e = (x−p)/p, |e| < 1e-4,
// the root is g·(1+e)^(1/k), and the binomial series up to e³ leaves (1e-4)⁴. Any error of g itself is
// made good by e. The k−1 roundings of p weigh 1/k in the result: about one ulp in all.
//
// The caller gives 1/k, the next two binomial coefficients and the multiplications for gᵏ (see raise).
// It stops at lanes that are not zero or between 2⁻¹⁰²¹ and 2¹⁰²³, where p is a normal number.
func root64() {
	logarithm, power := rootPolys()
	var inverse, second, third, abs, sign, atZero reg.VecVirtual
	fours.write(elementwise{
		name: "rootAVX2", args: ", steps uint64, inverse, second, third float64, abs, sign uint64",
		doc: "rootAVX2 sets dst = (x&abs)^(1/k) | x&sign, for the k given by steps and the binomial coefficients of " +
			"1/k, and returns how many it did.",
		fill: 1, stops: true,
		prepare: func() {
			inverse, second, third = broadcast64("inverse"), broadcast64("second"), broadcast64("third")
			abs, sign = broadcast64("abs"), broadcast64("sign")
			atZero = YMM()
			VXORPD(atZero, atZero, atZero)
		},
		body: func(x reg.VecVirtual) reg.VecVirtual {
			b := baseOf(x, abs, sign, 0x1p-1021, 0x1p1023)
			k, f := double.exponent(b.v)
			VSUBPD(f64(1), f, f)
			l := double.poly(f, logarithm)
			VFMADD213PD(k, f, l)
			bits, n := YMM(), YMM() // n + r = l/k
			VMOVUPD(f64(double.rounder()), bits)
			VFMADD231PD(inverse, l, bits)
			VSUBPD(f64(double.rounder()), bits, n)
			VFMSUB213PD(n, inverse, l)
			g := double.poly(l, power)
			VPSLLQ(Imm(52), bits, bits)
			VPADDQ(bits, g, g)

			p := double.raise(g)[0]
			e := YMM()
			VSUBPD(p, b.v, e)
			VDIVPD(p, e, e)
			c := YMM()
			VMOVAPD(third, c)
			VFMADD213PD(second, e, c)
			VFMADD213PD(inverse, e, c)
			VMULPD(e, c, c)
			VFMADD213PD(g, g, c)
			return b.finish(c, atZero)
		},
	})
}

// root32 is the k-th root in float32, 3 ≤ k ≤ 16, without a division or an iteration: x = 2^E·m/2¹²⁷ with E = k·q + r,
// and the root is 2^q · 2^((r−127)/k) · m^(1/k), the second factor from a table.
//
// m^(1/k) = 1 + f·Q(f), f = m−1 in [0, 1), where Q has eight coefficients: what they leave is 2e-8 for k = 3 and less
// for the others. The table is right to half a unit 2⁻²⁴, and the last addition rounds to half a unit of the last
// place; f·Q is a quarter at most, and its roundings add 2⁻²⁵ or so. Over all mantissas, the error is 1.2e-7 of the
// root and 1.46 ulp at most (k = 3, 5, 9, 10). Where x is a power of 2ᵏ, the root is exact.
func root32() {
	var r roots
	var sign reg.VecVirtual
	eights.write(elementwise{
		name: "root32AVX2", args: ", k int, sign uint32", doc: "root32AVX2 sets dst = |x|^(1/k) | x&sign.",
		fill: 1,
		prepare: func() {
			sign = single.broadcast("sign")
			r = rootsOf("k", append(rootRows, terms(2)...)...)
		},
		body: func(x reg.VecVirtual) reg.VecVirtual {
			keep := YMM()
			VANDPS(sign, x, keep)
			out := r.of(x)
			VORPS(keep, out, out)
			return out
		},
	})
}

const rootTerms = 8

// roots is the part of the table of root32 for one k: rows of eight lanes, some of them kept in registers. The loads
// are what a root would wait for otherwise.
type roots struct {
	table reg.Register
	kept  map[int]reg.VecVirtual
	one   Op
}

// The rows, in bytes from the first.
const (
	// ⌈2¹⁶/k⌉: its product with E is q in the high half, and r in the top four bits of the low half
	rowInverse     = 32 * iota
	rowFactors     // 2^((r−127)/k), for those four bits below eight
	rowFactorsHigh // for eight and above
	rowLift        // k·n − 149, n = ⌈149/k⌉
	rowLower       // n, in the place of the exponent
	rowTerms
	rowEnd = rowTerms + 32*rootTerms
)

// rootRows are the rows of the factors, and terms those of the first n coefficients.
var rootRows = []int{rowInverse, rowFactors, rowFactorsHigh}

func terms(n int) (rows []int) {
	for j := range n {
		rows = append(rows, rowTerms+32*j)
	}
	return rows
}

const leastRoot, mostRoot = 3, 16

// rootsOf returns the table for the k in an argument, with these rows in registers, and one more for 1.
func rootsOf(name string, keep ...int) roots {
	t, k := GP64(), Load(Param(name), GP64())
	LEAQ(rootTable(), t)
	IMUL3Q(U32(rowEnd), k, k)
	ADDQ(k, t)
	SUBQ(U32(leastRoot*rowEnd), t)
	r := roots{t, map[int]reg.VecVirtual{}, f32(1)}
	for _, offset := range keep {
		v := YMM()
		VMOVUPS(r.at(offset), v)
		r.kept[offset] = v
	}
	if len(keep) > 0 {
		one := YMM()
		VMOVUPS(f32(1), one)
		r.one = one
	}
	return r
}

func (r roots) term(j int) Op { return r.at(rowTerms + 32*j) }

func (r roots) at(offset int) Op {
	if v, ok := r.kept[offset]; ok {
		return v
	}
	return Mem{Base: r.table, Disp: offset}
}

// of returns |x|^(1/k) for any x, which it overwrites. Small weights are common, zeros and denormals among them.
func (r roots) of(x reg.VecVirtual) reg.VecVirtual {
	out, e, normal, lanes := YMM(), YMM(), YMM(), GP32()
	VPADDD(x, x, e) // without the sign: the exponent is the top byte
	VPADDD(bits32(0x81000000), e, normal)
	VPCMPGTD(bits32(0x81ffffff), normal, normal) // false where the top byte is 0 or 255
	VMOVMSKPS(normal, lanes)
	CMPL(lanes, U32(255))
	JNE(LabelRef("unusual"))
	VPSRLD(Imm(24), e, e)
	r.times(r.factor(e), x, out)
	JMP(LabelRef("rooted"))

	// Denormals are n·2⁻¹⁴⁹, and the conversion of n is normal. Infinities and NaN are their own roots.
	Label("unusual")
	v, n, t := x, YMM(), YMM()
	VANDPS(bits32(sign32-1), x, v)
	VPCMPGTD(bits32(0x7fffff), v, normal)
	VCVTDQ2PS(v, n)
	VBLENDVPS(normal, v, n, n)
	VPSRLD(Imm(23), n, e)
	VPANDN(r.at(rowLift), normal, t)
	VPADDD(t, e, e)
	factor := r.factor(e)
	VPANDN(r.at(rowLower), normal, t)
	VPSUBD(t, factor, factor)
	r.times(factor, n, out)
	mask := YMM()
	VXORPS(mask, mask, mask)
	VPCMPEQD(mask, v, mask)
	VPANDN(out, mask, out)
	VPCMPGTD(bits32(0x7f7fffff), v, mask)
	VBLENDVPS(mask, v, out, out)
	Label("rooted")
	return out
}

// factor returns 2^((e−127)/k), and overwrites e.
func (r roots) factor(e reg.VecVirtual) reg.VecVirtual {
	q, index, factor := YMM(), YMM(), YMM()
	VPMULHUW(r.at(rowInverse), e, q)
	VPMULLW(r.at(rowInverse), e, e)
	VPSRLD(Imm(12), e, index)
	VPERMPS(r.at(rowFactors), index, factor)
	VPERMPS(r.at(rowFactorsHigh), index, index)
	VPSLLD(Imm(16), e, e)
	VBLENDVPS(e, index, factor, factor)
	VPSLLD(Imm(23), q, q)
	VPADDD(q, factor, factor)
	return factor
}

// times sets out = factor·m^(1/k), for the mantissa m of v. The polynomial is two, of f², for the even and odd
// coefficients.
func (r roots) times(factor, v, out reg.VecVirtual) {
	f, square, odd := YMM(), YMM(), YMM()
	VPAND(bits32(1<<23-1), v, f)
	VPOR(r.one, f, f)
	VSUBPS(r.one, f, f)
	VMULPS(f, f, square)
	VMOVUPS(r.term(rootTerms-1), odd)
	VMOVUPS(r.term(rootTerms-2), out)
	for j := rootTerms - 3; j > 0; j -= 2 {
		VFMADD213PS(r.term(j), square, odd)
		VFMADD213PS(r.term(j-1), square, out)
	}
	VFMADD231PS(odd, f, out)
	VMULPS(factor, f, f)
	VFMADD213PS(factor, f, out)
}

// rootTable is the table for all k.
func rootTable() Mem {
	m, ok := stored["roots"]
	if ok {
		return m
	}
	m = GLOBL("roots", attr.RODATA|attr.NOPTR)
	at := 0
	row := func(word func(lane int) uint32) {
		for i := range 8 {
			DATA(at, U32(word(i)))
			at += 4
		}
	}
	same := func(word uint32) { row(func(int) uint32 { return word }) }
	for k := leastRoot; k <= mostRoot; k++ {
		inverse := (1<<16 + k - 1) / k
		var factors [16]float64
		for e := range 300 { // of a float32, or lifted
			q, r := e*inverse>>16, e*inverse>>12&15
			f := math.Exp2(float64(e%k-127) / float64(k))
			if q != e/k || factors[r] != 0 && factors[r] != f {
				panic("exponents do not divide")
			}
			factors[r] = f
		}
		same(uint32(inverse))
		for _, half := range [][]float64{factors[:8], factors[8:]} {
			row(func(i int) uint32 { return math.Float32bits(float32(half[i])) })
		}
		n := (149 + k - 1) / k
		same(uint32(k*n - 149))
		same(uint32(n) << 23)
		for _, c := range rootTermsOf(k) {
			same(math.Float32bits(float32(c)))
		}
	}
	stored["roots"] = m
	return m
}

// rootTermsOf returns the coefficients of ((1+f)^(1/k) − 1)/f.
func rootTermsOf(k int) []float64 {
	return chebyshev(func(f *big.Float) *big.Float {
		s := quo(f, add(number(2), f))
		logarithm := mul(s, atanhTail(mul(s, s), 0))
		y := quo(logarithm, number(float64(k)))
		return quo(mul(y, expTail(y, 1)), f)
	}, 0, 1, rootTerms)
}

// rootPolys returns the coefficients of log₂(1+f)/f and 2ʳ for a first guess.
func rootPolys() (logarithm, power []float64) {
	logarithm = chebyshev(func(f *big.Float) *big.Float {
		s := quo(f, add(number(2), f))
		return quo(atanhTail(mul(s, s), 0), mul(ln2, add(number(2), f)))
	}, -0.2929, 0.4143, 5)
	power = chebyshev(func(r *big.Float) *big.Float { return expTail(mul(r, ln2), 0) }, -0.5, 0.5, 5)
	return logarithm, power
}

// raises counts the calls of raise, for its labels.
var raises int

// raise returns gᵏ of each g by squaring, and multiplying with g where k has a one, from the top: intermediate
// powers lie between g and the result. The argument steps holds the binary digits of k after
// the leading one, then a one that marks the end, in its top bits.
func (w format) raise(g ...reg.VecVirtual) []reg.VecVirtual {
	raises++
	raise, raised := fmt.Sprint("raise", raises), fmt.Sprint("raised", raises)
	p, steps := make([]reg.VecVirtual, len(g)), GP64()
	for i := range g {
		p[i] = YMM()
		w.move(g[i], p[i])
	}
	Load(Param("steps"), steps)
	Label(raise)
	SHLQ(Imm(1), steps)
	JZ(LabelRef(raised))
	for i := range g {
		w.mul(p[i], p[i], p[i])
	}
	JCC(LabelRef(raise))
	for i := range g {
		w.mul(g[i], p[i], p[i])
	}
	JMP(LabelRef(raise))
	Label(raised)
	return p
}
