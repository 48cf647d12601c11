package matrix

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// explicit is the matrix of all pairs with its zeros, written from the definition.
func explicit(a naive, class []int, classes int) naive {
	var out naive
	for i, x := range a {
		for k := range classes {
			if k == class[i] {
				continue
			}
			row := make([]float64, classes*len(x))
			for j, v := range x {
				row[class[i]*len(x)+j], row[k*len(x)+j] = v, -v
			}
			out = append(out, row)
		}
	}
	return out
}

// Products with pairs, whole, in part and in both directions, are those with the rows written out.
func TestProductsWithPairsAgreeWithPlainLoops(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n, d, classes := 1+rng.IntN(12), 1+rng.IntN(6), 2+rng.IntN(4)
		a, class := make(naive, n), make([]int, n)
		for i := range a {
			class[i] = rng.IntN(classes)
			for range d {
				a[i] = append(a[i], float64(rng.IntN(5)-2)) // whole numbers: sums are exact in any order
			}
		}
		plain := explicit(a, class, classes)
		for _, x := range a.both(d, rng) {
			m := NewPairs(x, class, classes)
			if rows, cols := m.Dims(); rows != len(plain) || cols != classes*d {
				t.Fatalf("%d × %d, want %d × %d", rows, cols, len(plain), classes*d)
			}
			var some []int
			for r := range plain {
				if rng.IntN(2) == 0 {
					some = append(some, r)
				}
			}
			checkProducts(t, m, plain, nil, rng)
			checkProducts(t, m, plain, some, rng)
			var part naive
			for _, r := range some {
				part = append(part, plain[r])
			}
			if len(some) > 0 {
				checkProducts(t, Select(m, some), part, nil, rng)
			}
		}
	}
}

// Large ones are shared between cores, in one pass over the examples.
func TestLargeProductsWithPairsAgreeWithPlainLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	const n, d, classes = 1400, 100, 3
	a, class := make(naive, n), make([]int, n)
	for i := range a {
		class[i] = rng.IntN(classes)
		for range d {
			a[i] = append(a[i], float64(rng.IntN(4)+1))
		}
	}
	for _, x := range a.both(d, rng) {
		m := NewPairs(x, class, classes)
		if m.large() == nil {
			t.Fatal("not large")
		}
		checkProducts(t, m, explicit(a, class, classes), nil, rng)
	}
}

func checkProducts(t *testing.T, m Matrix, plain naive, rows []int, rng *rand.Rand) {
	t.Helper()
	part := plain
	if rows != nil {
		part = nil
		for _, r := range rows {
			part = append(part, plain[r])
		}
	}
	_, d := m.Dims()
	w, c := make([]float64, d), make([]float64, len(part))
	for j := range w {
		w[j] = float64(rng.IntN(9) - 4)
	}
	for i := range c {
		c[i] = float64(rng.IntN(9) - 4)
	}
	want, back := part.mul(w), make([]float64, d)
	part.addMulT(back, c)
	got, got2, gotBack, gotBack2 := make([]float64, len(part)), make([]float64, len(part)), make([]float64, d),
		make([]float64, d)
	if rows == nil {
		m.Mul(got, w)
		m.AddMulT(gotBack, c)
	} else {
		m.MulRows(got, rows, w)
		m.AddMulTRows(gotBack, rows, c)
	}
	weights := make([]float64, len(part))
	m.MulAddT(gotBack2, rows, got2, weights, w, func(lo, hi int) { copy(weights[lo:hi], c[lo:hi]) })
	if !slices.Equal(got, want) || !slices.Equal(got2, want) {
		t.Errorf("A·w = %v and %v, want %v", got, got2, want)
	}
	if !slices.Equal(gotBack, back) || !slices.Equal(gotBack2, back) {
		t.Errorf("Aᵀ·c = %v and %v, want %v", gotBack, gotBack2, back)
	}
	Rows(m, func(i int, idx []int32, val []float64) {
		if rows != nil {
			return
		}
		row := make([]float64, d)
		for e, j := range idx {
			row[j] = val[e]
		}
		if idx != nil && (!slices.Equal(row, plain[i]) || !slices.IsSorted(idx)) {
			t.Errorf("row %d is %v, want %v", i, row, plain[i])
		}
	})
}
