package vec

import "math"

func fromBytes32Go(dst []float32, src []uint8) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

func fromInt32sGo(dst []float32, src []int32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

func toInt32sGo(dst []int32, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = math.MinInt32
		if v >= -0x1p31 && v < 0x1p31 {
			dst[i] = int32(v)
		}
	}
}

func fromBFloat16Go(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = math.Float32frombits(uint32(v) << 16)
	}
}

// toBFloat16Go adds just under half of what is dropped, and one more where the last bit kept is odd: this carries
// into that bit where rounding to even does.
func toBFloat16Go(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		b := math.Float32bits(v)
		if v != v {
			dst[i] = uint16(b>>16) | 1<<6
			continue
		}
		dst[i] = uint16((b + 0x7fff + b>>16&1) >> 16)
	}
}

func fromFloat64s32Go(dst []float32, src []float64) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

func toFloat64sGo(dst []float64, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float64(v)
	}
}
