package vec

import "math"

// The Go twins: the reference for the assembly, and all there is on other machines.

type element interface{ float32 | float64 }

func dotGo[T element](x, y []T) T {
	y = y[:len(x)]
	var s T
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

func axpyGo[T element](a T, x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func scaleGo[T element](dst []T, a T, x []T) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = a * v
	}
}

func expGo(dst, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = exponential(v)
	}
}

// exponential is math.Exp, save that the largest finite results are right too: the assembly
// behind math.Exp overflows a little early. x−1 is exact there.
func exponential(x float64) float64 {
	if x > 709 {
		return math.Exp(x-1) * math.E
	}
	return math.Exp(x)
}

func logGo(dst, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = logarithm(v)
	}
}

// logarithm is math.Log, save that denormal x are brought up to normal ones: the assembly
// behind math.Log takes their exponent for that of a normal number.
func logarithm(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func sparseDotGo[T element](val []T, idx []int32, x []T) T {
	idx = idx[:len(val)]
	var s T
	for k, v := range val {
		s += v * x[idx[k]]
	}
	return s
}

func sparseAxpyGo[T element](a T, val []T, idx []int32, y []T) {
	idx = idx[:len(val)]
	for k, v := range val {
		y[idx[k]] += a * v
	}
}

func mulCSRGo(dst []float64, ptr, idx []int32, val, x []float64) {
	ptr = ptr[:len(dst)+1]
	for i := range dst {
		a, b := ptr[i], ptr[i+1]
		dst[i] = sparseDotGo(val[a:b], idx[a:b], x)
	}
}

func addMulTCSRGo(y []float64, ptr, idx []int32, val, c []float64) {
	ptr = ptr[:len(c)+1]
	for i, ci := range c {
		a, b := ptr[i], ptr[i+1]
		sparseAxpyGo(ci, val[a:b], idx[a:b], y)
	}
}

func mulDenseGo(dst, a, x []float64) {
	d := len(x)
	for i := range dst {
		dst[i] = dotGo(x, a[i*d:(i+1)*d])
	}
}

func addMulTDenseGo(y, a, c []float64) {
	d := len(y)
	for i, ci := range c {
		axpyGo(ci, a[i*d:(i+1)*d], y)
	}
}
