package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Constants are stored once per lane: a 32-byte memory operand of an arithmetic instruction
// costs nothing beside the load, and leaves the sixteen registers to the data.
var stored = map[string]Mem{}

// bits64 returns four lanes of the given 64 bits.
func bits64(b uint64) Mem {
	name := fmt.Sprintf("w%016x", b)
	m, ok := stored[name]
	if !ok {
		m = GLOBL(name, attr.RODATA|attr.NOPTR)
		for i := range 4 {
			DATA(8*i, U64(b))
		}
		stored[name] = m
	}
	return m
}

// f64 returns four lanes of v.
func f64(v float64) Mem { return bits64(math.Float64bits(v)) }

// bits32 returns eight lanes of the given 32 bits.
func bits32(b uint32) Mem {
	name := fmt.Sprintf("s%08x", b)
	m, ok := stored[name]
	if !ok {
		m = GLOBL(name, attr.RODATA|attr.NOPTR)
		for i := range 8 {
			DATA(4*i, U32(b))
		}
		stored[name] = m
	}
	return m
}

// f32 returns eight lanes of v.
func f32(v float64) Mem { return bits32(math.Float32bits(float32(v))) }

// slidingMask is four words of ones, then four of zeros: four lanes read from word 4−k on
// have the first k lanes set.
func slidingMask() Mem {
	m, ok := stored["mask"]
	if !ok {
		m = GLOBL("mask", attr.RODATA|attr.NOPTR)
		for i := range 8 {
			w := uint64(math.MaxUint64)
			if i >= 4 {
				w = 0
			}
			DATA(8*i, U64(w))
		}
		stored["mask"] = m
	}
	return m
}
