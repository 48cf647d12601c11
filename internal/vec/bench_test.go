package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// benchElements reports nanoseconds per element of f over vectors of several lengths, for the Go twin and
// the assembly, and of the scalar function of package math beside them.
func benchElements(b *testing.B, scalar func(float64) float64, f func(dst, x []float64)) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 15, 100, 1000} {
		x, dst := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = math.Exp(r.NormFloat64())
		}
		perElement := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
		}
		if scalar != nil {
			b.Run(fmt.Sprintf("math/%d", n), func(b *testing.B) {
				for b.Loop() {
					for i, v := range x {
						dst[i] = scalar(v)
					}
				}
				perElement(b)
			})
		}
		benchBoth(b, n, func(b *testing.B) {
			for b.Loop() {
				f(dst, x)
			}
			perElement(b)
		})
	}
}

// benchBoth runs f with the Go twin and the assembly.
func benchBoth(b *testing.B, n int, f func(b *testing.B)) {
	defer func(was bool) { accelerated = was }(accelerated)
	accelerated = false
	b.Run(fmt.Sprintf("go/%d", n), f)
	if accelerated = hasAVX2; accelerated {
		b.Run(fmt.Sprintf("avx2/%d", n), f)
	}
}

func BenchmarkExp(b *testing.B) { benchElements(b, math.Exp, Exp) }

func BenchmarkLog(b *testing.B) { benchElements(b, math.Log, Log) }

func BenchmarkPower(b *testing.B) {
	for _, y := range []float64{2, 10, 0.5, 1.5, 1.0 / 5, 1.0 / 9, 0.3, 2.7} {
		p := PowerOf(y)
		b.Run(fmt.Sprintf("%.3g", y), func(b *testing.B) {
			benchElements(b, func(v float64) float64 { return math.Pow(v, y) }, p.Signed)
		})
	}
}

func BenchmarkIn32Bits(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1000
	x, y, z, dst := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(math.Exp(r.NormFloat64()))
		y[i] = float32(r.NormFloat64())
		z[i] = float32(r.NormFloat64())
	}
	mask, bools := make([]float32, n), make([]bool, n)
	LessScalar32(mask, y, 0)
	bytes, ints, halves, doubles := make([]uint8, n), make([]int32, n), make([]uint16, n), make([]float64, n)

	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			benchBoth(b, n, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		})
	}
	for _, k := range exactKernels32 {
		first := x
		if k.mask {
			first = mask
		}
		run(k.name, func() { k.f(dst, first, y, z) })
	}
	for _, k := range curves32 {
		run(k.name, func() { k.f(dst, x, y, z) })
	}
	for _, exponent := range []float64{0.5, 1.5, 2, 3, 5, 9, 10, 0.1, 0.2, 1.0 / 9, 0.3} {
		p := PowerOf32(exponent)
		run(fmt.Sprintf("Signed%.3g", exponent), func() { p.Signed(dst, y) })
	}
	for _, k := range []struct {
		name string
		f    func()
	}{
		{"Dot32", func() { dst[0] = Dot32(x, y) }},
		{"Axpy32", func() { Axpy32(1e-9, x, dst) }},
		{"Sum32", func() { dst[0] = Sum32(x) }},
		{"MaxOf32", func() { dst[0] = MaxOf32(x) }},
		{"MinOf32", func() { dst[0] = MinOf32(x) }},
		{"AddRows32of5", func() { AddRows32(dst[:5], x) }},
		{"AddRows32of10", func() { AddRows32(dst[:10], x) }},
		{"AddRows32of16", func() { AddRows32(dst[:16], x[:992]) }},
		{"AddRows32of64", func() { AddRows32(dst[:64], x[:960]) }},
		{"AddRows32of500", func() { AddRows32(dst[:500], x) }},
		{"FromBytes32", func() { FromBytes32(dst, bytes) }},
		{"FromInt32s", func() { FromInt32s(dst, ints) }},
		{"ToInt32s", func() { ToInt32s(ints, y) }},
		{"FromBFloat16", func() { FromBFloat16(dst, halves) }},
		{"ToBFloat16", func() { ToBFloat16(halves, y) }},
		{"FromFloat64s32", func() { FromFloat64s32(dst, doubles) }},
		{"ToFloat64s", func() { ToFloat64s(doubles, y) }},
		{"MaskFromBools", func() { MaskFromBools(dst, bools) }},
		{"BoolsFromMask", func() { BoolsFromMask(bools, mask) }},
	} {
		run(k.name, k.f)
	}
}

// The step of p-GD, w ← spow(spow(w, p−1) − η·g, 1/(p−1)), with its two powers made anew each time.
func BenchmarkMirrorStep32(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1000
	w, g := make([]float32, n), make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64())
		g[i] = float32(r.NormFloat64())
	}
	for _, p := range []float64{1.1, 1.5, 2, 3, 6, 10} {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			benchBoth(b, n, func(b *testing.B) {
				for b.Loop() {
					PowerOf32(p-1).Signed(w, w)
					Axpy32(-1e-9, g, w)
					PowerOf32(1/(p-1)).Signed(w, w)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		})
	}
}

func BenchmarkPowerOf32(b *testing.B) {
	y := 0.1
	for b.Loop() {
		PowerOf32(y)
	}
}

func BenchmarkDot(b *testing.B) {
	var sum float64
	benchElements(b, nil, func(dst, x []float64) { sum += Dot(dst, x) })
	runtime.KeepAlive(sum)
}

func BenchmarkAxpy(b *testing.B) {
	benchElements(b, nil, func(dst, x []float64) { Axpy(1e-9, x, dst) })
}

func BenchmarkScale(b *testing.B) {
	benchElements(b, nil, func(dst, x []float64) { Scale(dst, 0.5, x) })
}

// randomCSR returns rows rows of about perRow ascending columns below d.
func randomCSR(r *rand.Rand, rows, perRow, d int) (ptr, idx []int32, val []float64) {
	ptr = []int32{0}
	for range rows {
		for c := range d {
			if r.IntN(d) < perRow {
				idx = append(idx, int32(c))
				val = append(val, r.NormFloat64())
			}
		}
		ptr = append(ptr, int32(len(idx)))
	}
	return ptr, idx, val
}

func normal(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func BenchmarkCSR15x100(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, d = 15, 100
	ptr, idx, val := randomCSR(r, rows, 10, d)
	c, x := normal(r, rows), normal(r, d)
	b.Run("Mul", func(b *testing.B) {
		benchBoth(b, d, func(b *testing.B) {
			for b.Loop() {
				MulCSR(c, ptr, idx, val, x)
			}
		})
	})
	clear(c)
	b.Run("AddMulT", func(b *testing.B) {
		benchBoth(b, d, func(b *testing.B) {
			for b.Loop() {
				AddMulTCSR(x, ptr, idx, val, c)
			}
		})
	})
}

func BenchmarkDense15(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows = 15
	for _, d := range []int{1, 2, 3, 4, 5, 8, 100} {
		a, c, x := normal(r, rows*d), normal(r, rows), normal(r, d)
		b.Run(fmt.Sprint("Mul", d), func(b *testing.B) {
			benchBoth(b, d, func(b *testing.B) {
				for b.Loop() {
					MulDense(c, a, x)
				}
			})
		})
		clear(c)
		b.Run(fmt.Sprint("AddMulT", d), func(b *testing.B) {
			benchBoth(b, d, func(b *testing.B) {
				for b.Loop() {
					AddMulTDense(x, a, c)
				}
			})
		})
	}
}
