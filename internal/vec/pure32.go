package vec

import "math"

// The float32 twins compute in float64 and round once.

func exp32Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}

func log32Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(math.Log(float64(v)))
	}
}

// pow32Go sets dst = (x&abs)ʸ | x&sign, where abs and sign are bits of float64.
func pow32Go(dst, x []float32, y float64, abs, sign uint64) {
	dst = dst[:len(x)]
	for i, v := range x {
		b := math.Float64bits(float64(v))
		r := pow(math.Float64frombits(b&abs), y)
		dst[i] = float32(math.Float64frombits(math.Float64bits(r) | b&sign))
	}
}

func powInt32Go(dst, x []float32, steps uint64, sign uint32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = with32(float32(powInt(math.Abs(float64(v)), steps)), v, sign)
	}
}

// with32 returns a with the bits sign of v.
func with32(a, v float32, sign uint32) float32 {
	return math.Float32frombits(math.Float32bits(a) | math.Float32bits(v)&sign)
}

func square32Go(dst, x []float32, sign uint32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = with32(v*v, v, sign)
	}
}

func sqrt32Go(dst, x []float32, sign uint32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = with32(float32(math.Sqrt(math.Abs(float64(v)))), v, sign)
	}
}

func sqrtCube32Go(dst, x []float32, sign uint32) {
	dst = dst[:len(x)]
	for i, v := range x {
		a := math.Abs(float64(v))
		dst[i] = with32(float32(a*math.Sqrt(a)), v, sign)
	}
}

func expm132Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(math.Expm1(float64(v)))
	}
}

func log1p32Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(math.Log1p(float64(v)))
	}
}

func tanh32Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

func erf32Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(math.Erf(float64(v)))
	}
}

func logistic32Go(dst, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}
