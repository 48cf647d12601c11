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
	x, dst := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(math.Exp(r.NormFloat64()))
	}
	tenth, root := PowerOf32(10), PowerOf32(1.0/9)
	for _, k := range []struct {
		name string
		f    func(dst, x []float32)
	}{
		{"Exp", Exp32},
		{"Log", Log32},
		{"Pow", func(dst, x []float32) { Pow32(dst, x, 0.3) }},
		{"Tenth", tenth.Signed},
		{"NinthRoot", root.Signed},
		{"Dot", func(dst, x []float32) { dst[0] = Dot32(dst, x) }},
		{"Axpy", func(dst, x []float32) { Axpy32(1e-9, x, dst) }},
		{"Scale", func(dst, x []float32) { Scale32(dst, 0.5, x) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			benchBoth(b, n, func(b *testing.B) {
				for b.Loop() {
					k.f(dst, x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		})
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
