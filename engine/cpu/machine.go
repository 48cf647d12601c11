package cpu

import (
	"unsafe"

	"github.com/bregman-ml/bregman/internal/vec"
)

// blockLen is how many elements a fused program takes at a time: a register is 4 KB, and a handful stay in the first
// cache.
const blockLen = 1024

// register bytes: float64 and int64 need 8 a lane.
const registerBytes = blockLen * 8

// machine is a worker's registers. A register is a place for a block: scratch memory, or a window into a tensor.
// Masks are float32 lanes of all ones or all zeros.
type machine struct {
	ptr []unsafe.Pointer
}

func lanes[T any](m *machine, r, n int) []T { return unsafe.Slice((*T)(m.ptr[r]), n) }

func (m *machine) f(r, n int) []float32 { return unsafe.Slice((*float32)(m.ptr[r]), n) }

// instr is one instruction of a fused program. What it does is in one of the functions; s and t are uniform operands:
// scalars that are read when a program starts.
type instr struct {
	unary   func(dst, a []float32)
	binary  func(dst, a, b []float32)
	scalar  func(dst, a []float32, s float32)
	any     func(m *machine, in *instr, n int) // other types
	special special

	dst  int
	args []int // registers read
	s, t int   // uniforms
	pred int   // of a choice: the uniform predicate
	node *node
}

// special marks instructions with a shape of their own.
type special uint8

const (
	plain        special = iota
	selectVV             // mask, a, b
	selectVS             // mask, a, uniform
	selectSV             // mask, uniform, b
	selectSS             // mask, uniform, uniform
	signedPower          // sign(a)|a|^uniform
	powerOfAbs           // |a|^uniform
	powerGeneral         // a^uniform
	choose               // a or b, by a uniform predicate
	copyLanes            // dst = a
	mirrorStep           // p-GD's step of a with gradient b; uniforms: rate, p − 1, 1/(p − 1)
)

// uniforms are a run's scalars.
type uniforms struct {
	f    []float32
	wide []float64 // the same, not rounded: exponents
	pow  []vec.Power32
}

func (in *instr) run(m *machine, u *uniforms, n int) {
	switch {
	case in.binary != nil:
		in.binary(m.f(in.dst, n), m.f(in.args[0], n), m.f(in.args[1], n))
		return
	case in.scalar != nil:
		in.scalar(m.f(in.dst, n), m.f(in.args[0], n), u.f[in.s])
		return
	case in.unary != nil:
		in.unary(m.f(in.dst, n), m.f(in.args[0], n))
		return
	case in.any != nil:
		in.any(m, in, n)
		return
	}
	dst := m.f(in.dst, n)
	switch in.special {
	case mirrorStep:
		vec.MirrorStep32(dst, m.f(in.args[0], n), m.f(in.args[1], n), u.f[in.s], u.pow[in.t], u.pow[in.pred])
	case selectVV:
		vec.Select32(dst, m.f(in.args[0], n), m.f(in.args[1], n), m.f(in.args[2], n))
	case selectVS:
		vec.SelectVectorScalar32(dst, m.f(in.args[0], n), m.f(in.args[1], n), u.f[in.s])
	case selectSV:
		vec.SelectScalarVector32(dst, m.f(in.args[0], n), u.f[in.s], m.f(in.args[1], n))
	case selectSS:
		vec.SelectScalars32(dst, m.f(in.args[0], n), u.f[in.s], u.f[in.t])
	case signedPower:
		u.pow[in.s].Signed(dst, m.f(in.args[0], n))
	case powerOfAbs:
		u.pow[in.s].Abs(dst, m.f(in.args[0], n))
	case powerGeneral:
		vec.Pow32(dst, m.f(in.args[0], n), u.wide[in.s])
	case choose:
		from := m.f(in.args[1-int(u.f[in.pred])], n)
		if n > 0 && &from[0] != &dst[0] {
			copy(dst, from)
		}
	case copyLanes:
		copy(dst, m.f(in.args[0], n))
	}
}
