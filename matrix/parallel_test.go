package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// wide makes a matrix large enough to be shared by the cores, in three forms: sparse, sparse with 32-bit values, dense.
func wide(seed uint64) map[string]Matrix {
	rng := rand.New(rand.NewPCG(seed, 3))
	const n, d = 4500, 61
	var b Builder
	narrow := Builder{Float32: true}
	data := make([]float64, n*d)
	for i := range n {
		for j := range d {
			if rng.IntN(3) > 0 && i%50 != 7 { // some rows are empty
				v := float64(float32(rng.NormFloat64()))
				b.Add(int32(j), v)
				narrow.Add(int32(j), v)
				data[i*d+j] = v
			}
		}
		b.EndRow()
		narrow.EndRow()
	}
	return map[string]Matrix{"sparse": b.Build(d), "narrow": narrow.Build(d), "dense": NewDense(d, data[:1000*d],
		data[1000*d:])}
}

// close is for sums of a few thousand products of about 1, in another order.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-11 {
			t.Fatalf("%s: %v at %d, want %v", what, got[i], i, want[i])
		}
	}
}

func TestSharedProductsAgreeWithRowsTakenOneByOne(t *testing.T) {
	for name, m := range wide(1) {
		n, d := m.Dims()
		if m.NNZ() < parallelEntries {
			t.Fatalf("%s: %d entries are not shared", name, m.NNZ())
		}
		rng := rand.New(rand.NewPCG(2, 2))
		x, c := make([]float64, d), make([]float64, n)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		var rows []int
		for i := range n {
			if i%20 != 3 {
				rows = append(rows, i)
			}
		}
		slices.Reverse(rows[100:200]) // any order will do
		squares, want := make([]float64, d), make([]float64, d)
		AddSquaresT(squares, m, c)
		addSquares(want, m, 0, n, c)
		near(t, name+": squares", squares, want)
		for _, some := range [][]int{nil, rows} {
			at := some
			if some == nil {
				for i := range n {
					at = append(at, i)
				}
			}
			product, sum := make([]float64, len(at)), make([]float64, d)
			for k, i := range at {
				idx, val := m.Row(i)
				for e, v := range val {
					j := e
					if idx != nil {
						j = int(idx[e])
					}
					product[k] += v * x[j]
					sum[j] += c[k] * v
				}
			}
			got, dst := make([]float64, len(at)), make([]float64, d)
			if some == nil {
				m.Mul(got, x)
				m.AddMulT(dst, c)
			} else {
				m.MulRows(got, some, x)
				m.AddMulTRows(dst, some, c[:len(some)])
			}
			near(t, name+" A·x", got, product)
			near(t, name+" Aᵀ·c", dst, sum)

			clear(dst)
			s, coef := make([]float64, len(at)), make([]float64, len(at))
			m.MulAddT(dst, some, s, coef, x, func(lo, hi int) {
				for k := lo; k < hi; k++ {
					coef[k] = c[k] + 0*s[k]
				}
			})
			near(t, name+" A·x of both", s, product)
			near(t, name+" Aᵀ·c of both", dst, sum)
		}
	}
}

func TestSharedProductsHaveTheSameBitsEveryTime(t *testing.T) {
	m := wide(2)["sparse"]
	n, d := m.Dims()
	c := make([]float64, n)
	for i := range c {
		c[i] = math.Sin(float64(i))
	}
	want := make([]float64, d)
	m.AddMulT(want, c)
	var wg sync.WaitGroup
	for range 8 { // also when several ask at the same time
		wg.Go(func() {
			got := make([]float64, d)
			m.AddMulT(got, c)
			if !slices.Equal(got, want) {
				t.Error("another order of sums")
			}
		})
	}
	wg.Wait()
}

func TestSelectedAndScaledRowsAreTheRows(t *testing.T) {
	for name, m := range wide(3) {
		_, d := m.Dims()
		rows := []int{4000, 7, 7, 0}
		s := Select(m, rows)
		factor := make([]float64, d)
		for j := range factor {
			factor[j] = math.Ldexp(1, j%5) // exact also in 32 bits
		}
		scaled := Select(m, rows)
		ScaleColumns(scaled, nil, factor)
		for k, i := range rows {
			idx, want := m.Row(i)
			gotIdx, got := s.Row(k)
			_, times := scaled.Row(k)
			if !slices.Equal(idx, gotIdx) || !slices.Equal(want, got) {
				t.Errorf("%s: row %d is not row %d", name, k, i)
			}
			for e, v := range want {
				j := e
				if idx != nil {
					j = int(idx[e])
				}
				if times[e] != v*factor[j] {
					t.Errorf("%s: %v, want %v", name, times[e], v*factor[j])
				}
			}
		}
		n, _ := m.Dims()
		backwards := make([]int, n) // many blocks
		for k := range backwards {
			backwards[k] = n - 1 - k
		}
		s = SelectInto(scaled, m, backwards)
		if s.NNZ() != m.NNZ() {
			t.Errorf("%s: %d entries of %d", name, s.NNZ(), m.NNZ())
		}
		Rows(s, func(k int, idx []int32, val []float64) {
			if wi, wv := m.Row(n - 1 - k); !slices.Equal(idx, wi) || !slices.Equal(val, wv) {
				t.Fatalf("%s: row %d of all rows backwards is wrong", name, k)
			}
		})
		if again := SelectInto(s, m, rows); again.NNZ() != Select(m, rows).NNZ() {
			t.Errorf("%s: some rows have %d entries with the memory of others", name, again.NNZ())
		}
		if n, _ := Select(m, nil).Dims(); n != 0 {
			t.Errorf("%s: no rows became %d", name, n)
		}
		count := 0
		Rows(m, func(i int, idx []int32, val []float64) {
			wi, wv := m.Row(i)
			if !slices.Equal(idx, wi) || !slices.Equal(val, wv) {
				t.Fatalf("%s: Rows differs in row %d", name, i)
			}
			count++
		})
		if n, _ := m.Dims(); count != n {
			t.Errorf("%s: %d rows of %d", name, count, n)
		}
	}
}

func TestBuildersJoin(t *testing.T) {
	var all, whole Builder
	for part := range 5 {
		var b Builder
		if part%2 == 0 {
			b.Reserve(4, 1000) // too much
		}
		for r := range 4 {
			for j := range r * part {
				b.Add(int32(j), float64(part*10+r))
				whole.Add(int32(j), float64(part*10+r))
			}
			b.EndRow()
			whole.EndRow()
		}
		all.Append(&b)
	}
	got, want := all.Build(3), whole.Build(3)
	n, d := want.Dims()
	if gn, gd := got.Dims(); gn != n || gd != d || got.NNZ() != want.NNZ() {
		t.Fatalf("%d × %d with %d entries, want %d × %d with %d", gn, gd, got.NNZ(), n, d, want.NNZ())
	}
	for i := range n {
		a, x := got.Row(i)
		b, y := want.Row(i)
		if !slices.Equal(a, b) || !slices.Equal(x, y) {
			t.Errorf("row %d: %v %v, want %v %v", i, a, x, b, y)
		}
	}
}
