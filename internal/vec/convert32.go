package vec

// FromBytes32 sets dst to the numbers src.
func FromBytes32(dst []float32, src []uint8) { fromBytes32(dst[:len(src)], src) }

// FromInt32s sets dst to the float32 nearest to src.
func FromInt32s(dst []float32, src []int32) { fromInt32s(dst[:len(src)], src) }

// ToInt32s sets dst = src without its fraction. What is not an int32 then, NaN among it, becomes −2³¹.
func ToInt32s(dst []int32, src []float32) { toInt32s(dst[:len(src)], src) }

// FromBFloat16 sets dst to src, the upper halves of float32.
func FromBFloat16(dst []float32, src []uint16) { fromBFloat16(dst[:len(src)], src) }

// ToBFloat16 sets dst to src rounded to the upper halves of float32, to even ones if halfway. NaN stays NaN.
func ToBFloat16(dst []uint16, src []float32) { toBFloat16(dst[:len(src)], src) }

// FromFloat64s32 sets dst to the float32 nearest to src.
func FromFloat64s32(dst []float32, src []float64) { fromFloat64s32(dst[:len(src)], src) }

// ToFloat64s sets dst = src.
func ToFloat64s(dst []float64, src []float32) { toFloat64s(dst[:len(src)], src) }
