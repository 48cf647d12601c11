package npy

import (
	"encoding/binary"
	"math"
)

// decode turns raw values into floats. It may reorder raw.
func (h *Header) decode(dst []float64, raw []byte) {
	if h.Big {
		for i := 0; i < len(raw); i += h.Size {
			v := raw[i : i+h.Size]
			for a, b := 0, len(v)-1; a < b; a, b = a+1, b-1 {
				v[a], v[b] = v[b], v[a]
			}
		}
	}
	le := binary.LittleEndian
	switch h.Kind {
	case "f8":
		for i := range dst {
			dst[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
	case "f4":
		for i := range dst {
			dst[i] = float64(math.Float32frombits(le.Uint32(raw[4*i:])))
		}
	case "f2":
		for i := range dst {
			dst[i] = half(le.Uint16(raw[2*i:]))
		}
	case "i8":
		for i := range dst {
			dst[i] = float64(int64(le.Uint64(raw[8*i:])))
		}
	case "i4":
		for i := range dst {
			dst[i] = float64(int32(le.Uint32(raw[4*i:])))
		}
	case "i2":
		for i := range dst {
			dst[i] = float64(int16(le.Uint16(raw[2*i:])))
		}
	case "i1":
		for i := range dst {
			dst[i] = float64(int8(raw[i]))
		}
	case "u8":
		for i := range dst {
			dst[i] = float64(le.Uint64(raw[8*i:]))
		}
	case "u4":
		for i := range dst {
			dst[i] = float64(le.Uint32(raw[4*i:]))
		}
	case "u2":
		for i := range dst {
			dst[i] = float64(le.Uint16(raw[2*i:]))
		}
	case "u1":
		for i := range dst {
			dst[i] = float64(raw[i])
		}
	case "b1":
		for i := range dst {
			dst[i] = 0
			if raw[i] != 0 {
				dst[i] = 1
			}
		}
	}
}

// half is the value of an IEEE 754 half-precision number: 1 bit of sign, 5 of exponent, 10 of mantissa.
func half(b uint16) float64 {
	e, m := int(b>>10&31), float64(b&1023)
	var v float64
	switch {
	case e == 0:
		v = math.Ldexp(m, -24)
	case e < 31:
		v = math.Ldexp(1024+m, e-25)
	case m == 0:
		v = math.Inf(1)
	default:
		return math.NaN()
	}
	if b>>15 == 1 {
		return -v
	}
	return v
}
