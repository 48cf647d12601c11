package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

const guard = 12345

// guarded is a slice of n elements at an offset in an array filled with guard values.
type guarded[T element] struct {
	array, slice []T
	offset       int
}

func newGuarded[T element](n, offset int) guarded[T] {
	a := make([]T, n+offset+9)
	for i := range a {
		a[i] = guard
	}
	return guarded[T]{a, a[offset : offset+n : offset+n], offset}
}

// intact fails if a value around the slice was overwritten.
func (g guarded[T]) intact(t *testing.T, what string) {
	t.Helper()
	for i, v := range g.array {
		if (i < g.offset || i >= g.offset+len(g.slice)) && v != guard {
			t.Fatalf("%s: value %d of a slice of %d was overwritten", what, i-g.offset, len(g.slice))
		}
	}
}

// both runs f with the Go twin, then with the assembly.
func both(f func()) {
	defer func(was bool) { accelerated = was }(accelerated)
	accelerated = false
	f()
	accelerated = true
	f()
}

// elementwise compares the twins of f on all short lengths and offsets, apart and in place.
func compareElementwise[T element](t *testing.T, what string, tolerance float64, x func() T, f func(dst, x []T)) {
	t.Helper()
	for n := 0; n <= 70; n++ {
		offset := n % 5
		in, out, place := newGuarded[T](n, offset), newGuarded[T](n, (n+3)%7), newGuarded[T](n, offset)
		for i := range in.slice {
			in.slice[i] = x()
		}
		want := make([]T, n)
		first := true
		both(func() {
			if first {
				f(want, in.slice)
				first = false
				return
			}
			f(out.slice, in.slice)
			copy(place.slice, in.slice)
			f(place.slice, place.slice)
		})
		out.intact(t, what)
		place.intact(t, what)
		in.intact(t, what)
		for i, w := range want {
			if !alike(float64(out.slice[i]), float64(w), tolerance) {
				t.Fatalf("%s: element %d of %d, %v, is %v in assembly and %v in Go", what, i, n, in.slice[i], out.slice[i], w)
			}
			if place.slice[i] != out.slice[i] {
				t.Fatalf("%s: element %d of %d is %v in place and %v apart", what, i, n, place.slice[i], out.slice[i])
			}
		}
	}
}

func TestElementwiseAssemblyAgreesWithGo(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	r := rand.New(rand.NewPCG(1, 2))
	number := func() float64 { return r.NormFloat64() * 3 }
	positive := func() float64 { return math.Exp(r.NormFloat64() * 3) }
	sparse := func() float64 { // zeros and denormals among others
		switch r.IntN(6) {
		case 0:
			return 0
		case 1:
			return -3e-310
		}
		return number()
	}
	compareElementwise(t, "Exp", 1e-15, number, Exp)
	compareElementwise(t, "Log", 1e-15, positive, Log)
	compareElementwise(t, "Scale", 0, number, func(dst, x []float64) { Scale(dst, 0.3, x) })
	for _, y := range []float64{0, 1, 2, 3, 10, 0.5, 1.5, 1.0 / 3, 0.2, 1.0 / 9, 0.3, 2.7} {
		p := PowerOf(y)
		compareElementwise(t, fmt.Sprint("Signed ", y), 1e-14, sparse, p.Signed)
		compareElementwise(t, fmt.Sprint("Abs ", y), 1e-14, number, p.Abs)
		compareElementwise(t, fmt.Sprint("Pow ", y), 1e-14, positive, func(dst, x []float64) { Pow(dst, x, y) })
	}

	number32 := func() float32 { return float32(number()) }
	positive32 := func() float32 { return float32(positive()) }
	compareElementwise(t, "Exp32", 3e-7, number32, Exp32)
	compareElementwise(t, "Log32", 3e-7, positive32, Log32)
	compareElementwise(t, "Expm132", 3e-7, number32, Expm132)
	compareElementwise(t, "Log1p32", 3e-7, positive32, Log1p32)
	compareElementwise(t, "Tanh32", 5e-7, number32, Tanh32)
	compareElementwise(t, "Logistic32", 5e-7, number32, Logistic32)
	compareElementwise(t, "Scale32", 0, number32, func(dst, x []float32) { Scale32(dst, 0.3, x) })
	for _, y := range []float64{0, 1, 2, 3, 4, 5, 9, 10, 13, 0.5, 1.5, 1.0 / 3, 0.2, 1.0 / 9, 0.1, 0.0625, 0.3, 2.7} {
		p := PowerOf32(y)
		compareElementwise(t, fmt.Sprint("Signed32 ", y), 4.2e-7, number32, p.Signed)
		compareElementwise(t, fmt.Sprint("Abs32 ", y), 4.2e-7, number32, p.Abs)
		compareElementwise(t, fmt.Sprint("Pow32 ", y), 4.2e-7, positive32, func(dst, x []float32) { Pow32(dst, x, y) })
	}
	compareElementwise(t, "Erf32", 5e-7, number32, Erf32)
}

// near says whether a and b agree up to the rounding of sums of some hundred terms of size one.
func near[T element](a, b, tolerance T) bool { return a-b <= tolerance && b-a <= tolerance }

func compareSums[T element](t *testing.T, tolerance T,
	dot func(x, y []T) T, axpy func(a T, x, y []T),
	sparseDot func(val []T, idx []int32, x []T) T, sparseAxpy func(a T, val []T, idx []int32, y []T)) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 0; n <= 150; n++ {
		x, y, z := newGuarded[T](n, n%5), newGuarded[T](n, n%7), newGuarded[T](n, n%3)
		var idx []int32
		for i := range n {
			x.slice[i], y.slice[i] = T(r.NormFloat64()), T(r.NormFloat64())
			idx = append(idx, int32(r.IntN(n)))
		}
		copy(z.slice, y.slice)
		var d, s []T
		both(func() {
			d = append(d, dot(x.slice, y.slice))
			s = append(s, sparseDot(x.slice, idx, y.slice))
		})
		if !near(d[0], d[1], tolerance) || !near(s[0], s[1], tolerance) {
			t.Fatalf("%d elements: dot %v in Go, %v in assembly; sparse dot %v and %v", n, d[0], d[1], s[0], s[1])
		}
		target := y
		both(func() {
			axpy(0.3, x.slice, target.slice)
			sparseAxpy(0.7, x.slice, idx, target.slice)
			target = z
		})
		x.intact(t, "axpy")
		y.intact(t, "axpy")
		z.intact(t, "axpy")
		for i := range n {
			if !near(y.slice[i], z.slice[i], tolerance) {
				t.Fatalf("element %d of %d is %v in Go and %v in assembly", i, n, y.slice[i], z.slice[i])
			}
		}
	}
}

func TestSumsInAssemblyAgreeWithGo(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	compareSums(t, 1e-13, Dot, Axpy, SparseDot, SparseAxpy)
	compareSums(t, 1e-4, Dot32, Axpy32, SparseDot32, SparseAxpy32)
}

func TestMatrixProductsInAssemblyAgreeWithGo(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for rows := range 20 {
		for _, d := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11, 30, 101} {
			ptr, idx, val := randomCSR(r, rows, min(d, 9), d)
			a := normal(r, rows*d)
			c, x := normal(r, rows), normal(r, d)
			for _, p := range []struct {
				name    string
				n       int
				product func(dst []float64)
			}{
				{"MulCSR", rows, func(dst []float64) { MulCSR(dst, ptr, idx, val, x) }},
				{"AddMulTCSR", d, func(dst []float64) { AddMulTCSR(dst, ptr, idx, val, c) }},
				{"MulDense", rows, func(dst []float64) { MulDense(dst, a, x) }},
				{"AddMulTDense", d, func(dst []float64) { AddMulTDense(dst, a, c) }},
			} {
				var got []guarded[float64]
				both(func() {
					dst := newGuarded[float64](p.n, d%4)
					for i := range dst.slice {
						dst.slice[i] = float64(i)
					}
					p.product(dst.slice)
					dst.intact(t, p.name)
					got = append(got, dst)
				})
				for i := range p.n {
					if !near(got[0].slice[i], got[1].slice[i], 1e-12) {
						t.Fatalf("%s %d×%d: element %d is %v in Go and %v in assembly", p.name, rows, d, i, got[0].slice[i],
							got[1].slice[i])
					}
				}
			}
		}
	}
}

// A block of a larger matrix starts at an entry other than the first.
func TestCSRRowsMayStartAnywhere(t *testing.T) {
	implementations(t, func(t *testing.T) {
		ptr, idx, val := []int32{2, 3, 5}, []int32{9, 9, 0, 1, 2}, []float64{100, 100, 1, 10, 100}
		got := make([]float64, 2)
		MulCSR(got, ptr, idx, val, []float64{1, 2, 3})
		if got[0] != 1 || got[1] != 320 {
			t.Errorf("MulCSR gives %v, want [1 320]", got)
		}
		y := make([]float64, 3)
		AddMulTCSR(y, ptr, idx, val, []float64{1, 2})
		if y[0] != 1 || y[1] != 20 || y[2] != 200 {
			t.Errorf("AddMulTCSR gives %v, want [1 20 200]", y)
		}
	})
}

func TestShortDestinationPanics(t *testing.T) {
	x, short := make([]float64, 5), make([]float64, 4)
	for name, f := range map[string]func(){
		"Exp":          func() { Exp(short, x) },
		"Log":          func() { Log(short, x) },
		"Pow":          func() { Pow(short, x, 2) },
		"Signed":       func() { PowerOf(3).Signed(short, x) },
		"Dot":          func() { Dot(x, short) },
		"Axpy":         func() { Axpy(1, x, short) },
		"Scale":        func() { Scale(short, 1, x) },
		"MulDense":     func() { MulDense(short, x, x) },
		"AddMulTDense": func() { AddMulTDense(x, short, x) },
		"SparseDot":    func() { SparseDot(x, []int32{0}, x) },
		"MulCSR":       func() { MulCSR(short, []int32{0, 1, 2, 3, 9}, []int32{0}, x, x) },
		"AddMulTCSR":   func() { AddMulTCSR(x, []int32{0, 1}, []int32{0}, x, short) },
	} {
		implementations(t, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		})
	}
}

func TestNothingAllocates(t *testing.T) {
	implementations(t, func(t *testing.T) {
		n := testing.AllocsPerRun(10, func() {
			var x, dst [49]float64 // on the stack, unless a kernel lets them escape
			var x32, dst32 [49]float32
			for i := range x {
				x[i] = float64(i) - 3
				x32[i] = float32(i) - 3
			}
			var idx [49]int32
			Exp(dst[:], x[:])
			Log(dst[:], x[:])
			Pow(dst[:], x[:], 0.3)
			for _, y := range [...]float64{0, 1, 2, 10, 0.5, 1.5, 0.2, 0.3} {
				PowerOf(y).Signed(dst[:], x[:])
				PowerOf32(y).Abs(dst32[:], x32[:])
			}
			Axpy(Dot(x[:], dst[:]), x[:], dst[:])
			Scale(dst[:], 2, x[:])
			SparseAxpy(SparseDot(x[:], idx[:], dst[:]), x[:], idx[:], dst[:])
			MulCSR(dst[:1], []int32{0, 49}, idx[:], x[:], x[:])
			AddMulTCSR(dst[:], []int32{0, 49}, idx[:], x[:], x[:1])
			MulDense(dst[:7], x[:], x[:7])
			AddMulTDense(dst[:7], x[:], x[:7])
			Exp32(dst32[:], x32[:])
			Log32(dst32[:], x32[:])
			Pow32(dst32[:], x32[:], 0.3)
			Axpy32(Dot32(x32[:], dst32[:]), x32[:], dst32[:])
			Scale32(dst32[:], 2, x32[:])
			SparseAxpy32(SparseDot32(x32[:], idx[:], dst32[:]), x32[:], idx[:], dst32[:])
			Add32(dst32[:], x32[:], x32[:])
			Rsqrt32(dst32[:], x32[:])
			LessScalar32(dst32[:], x32[:], 2)
			Select32(dst32[:], dst32[:], x32[:], x32[:])
			MulAdd32(dst32[:], dst32[:], x32[:], x32[:])
			Tanh32(dst32[:], x32[:])
			Erf32(dst32[:], x32[:])
			Logistic32(dst32[:], x32[:])
			Log1p32(dst32[:], x32[:])
			Expm132(dst32[:], x32[:])
			dst32[0] = Sum32(x32[:]) + MaxOf32(x32[:]) + MinOf32(x32[:])
			AddRows32(dst32[:1], x32[:])
			FromInt32s(dst32[:], idx[:])
			ToFloat64s(dst[:], x32[:])
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
