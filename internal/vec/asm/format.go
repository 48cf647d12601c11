package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format is a floating-point width: its layout, and its instructions for the kernels that exist in both
// widths. Operands are in the order of the assembler, destination last.
type format struct {
	suffix   string // of kernel names
	element  string // Go type
	size     int    // bytes per element
	mantissa uint64 // bits stored
	bias     uint64 // of the exponent
	most     float64
	constant func(float64) Mem
	bits     func(uint64) Mem

	move, add, sub, mul, div, min, max func(...Op)
	fma213                             func(...Op) // (a, b, c): c = b·c + a
	fma231                             func(...Op) // (a, b, c): c = a·b + c
	fnma231                            func(...Op) // (a, b, c): c = −a·b + c
	intAdd, shiftLeft, shiftRight      func(...Op)
	compare                            func(...Op)
	and, or                            func(...Op)
	signs                              func(a, b Op) // one bit per lane
	sqrt                               func(...Op)
	moveOne, addOne, fma231One         func(...Op) // on the lowest lane
}

var double = format{
	"", "float64", 8, 52, 1023, math.MaxFloat64, f64, bits64,
	VMOVUPD, VADDPD, VSUBPD, VMULPD, VDIVPD, VMINPD, VMAXPD,
	VFMADD213PD, VFMADD231PD, VFNMADD231PD,
	VPADDQ, VPSLLQ, VPSRLQ, VCMPPD, VANDPD, VORPD, VMOVMSKPD, VSQRTPD,
	VMOVSD, VADDSD, VFMADD231SD,
}

var single = format{
	"32", "float32", 4, 23, 127, math.MaxFloat32, f32, func(b uint64) Mem { return bits32(uint32(b)) },
	VMOVUPS, VADDPS, VSUBPS, VMULPS, VDIVPS, VMINPS, VMAXPS,
	VFMADD213PS, VFMADD231PS, VFNMADD231PS,
	VPADDD, VPSLLD, VPSRLD, VCMPPS, VANDPS, VORPS, VMOVMSKPS, VSQRTPS,
	VMOVSS, VADDSS, VFMADD231SS,
}

func (w format) lanes() int { return 32 / w.size }

// smallest is the smallest positive normal number.
func (w format) smallest() float64 { return math.Ldexp(1, 1-int(w.bias)) }

// bitsOf returns the bits of v in this format.
func (w format) bitsOf(v float64) uint64 {
	if w.size == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// signBit is the top bit of a lane.
func (w format) signBit() uint64 { return 1 << (8*w.size - 1) }

// rounder is 1.5·2^mantissa: adding it to a v of at most a quarter of its size leaves v rounded to an
// integer, in two's complement, in the low bits of the sum.
func (w format) rounder() float64 { return math.Ldexp(1.5, int(w.mantissa)) }

// Comparison predicates, all quiet. A NaN compares false, save in notEqual and unordered.
const (
	equal         = 0x00
	unordered     = 0x03
	notEqual      = 0x04
	lessOrGreater = 0x0c
	less          = 0x11
	atMost        = 0x12
	atLeast       = 0x1d
	greater       = 0x1e
)

// within returns the mask of the lanes in [low, high].
func (w format) within(v reg.VecVirtual, low, high float64) reg.VecVirtual {
	a, b := YMM(), YMM()
	w.compare(Imm(atLeast), w.constant(low), v, a)
	w.compare(Imm(atMost), w.constant(high), v, b)
	w.and(a, b, a)
	return a
}

// stopUnless jumps to stop unless every lane of the mask is set.
func (w format) stopUnless(mask reg.VecVirtual) {
	lanes := GP32()
	w.signs(mask, lanes)
	CMPL(lanes, U32(1<<w.lanes()-1))
	JNE(LabelRef("stop"))
}

// broadcast64 returns four lanes of a float64 or uint64 argument.
func broadcast64(name string) reg.VecVirtual {
	v := YMM()
	VBROADCASTSD(argument(name), v)
	return v
}

// broadcast returns lanes of an argument as wide as the format.
func (w format) broadcast(name string) reg.VecVirtual {
	if w.size == 8 {
		return broadcast64(name)
	}
	v := YMM()
	VBROADCASTSS(argument(name), v)
	return v
}

func argument(name string) Mem {
	a, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}
