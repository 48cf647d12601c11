package matrix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naive is a matrix as rows, the slow twin of both forms.
type naive [][]float64

func (a naive) mul(x []float64) []float64 {
	out := make([]float64, len(a))
	for i, r := range a {
		for j, v := range r {
			out[i] += v * x[j]
		}
	}
	return out
}

func (a naive) addMulT(dst, c []float64) {
	for i, r := range a {
		for j, v := range r {
			dst[j] += c[i] * v
		}
	}
}

// both builds the same matrix dense, in several blocks, and sparse.
func (a naive) both(d int, rng *rand.Rand) []Matrix {
	var blocks [][]float64
	for i := 0; i < len(a); {
		k := min(len(a)-i, 1+rng.IntN(4))
		var b []float64
		for _, r := range a[i : i+k] {
			b = append(b, r...)
		}
		blocks = append(blocks, b)
		i += k
	}
	var b Builder
	for _, r := range a {
		for j, v := range r {
			if v != 0 {
				b.Add(int32(j), v)
			}
		}
		b.EndRow()
	}
	return []Matrix{NewDense(d, blocks...), b.Build(d)}
}

func TestProductsAgreeWithPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 20).Draw(t, "n"), rapid.IntRange(1, 40).Draw(t, "d")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		vector := func(n int) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = float64(rng.IntN(19) - 9) // small whole numbers: every order of summation is exact
			}
			return x
		}
		a := make(naive, n)
		for i := range a {
			a[i] = vector(d)
			for j := range a[i] {
				if rng.IntN(3) == 0 {
					a[i][j] = 0
				}
			}
		}
		x, c, base := vector(d), vector(n), vector(d)
		rows := make([]int, rapid.IntRange(0, 5).Draw(t, "rows"))
		for k := range rows {
			rows[k] = rng.IntN(n)
		}
		want := a.mul(x)
		wantT := slices.Clone(base)
		a.addMulT(wantT, c)
		for _, m := range a.both(d, rng) {
			if gn, gd := m.Dims(); gn != n || gd != d {
				t.Fatalf("%T: %d × %d, want %d × %d", m, gn, gd, n, d)
			}
			got, gotT := make([]float64, n), slices.Clone(base)
			m.Mul(got, x)
			m.AddMulT(gotT, c)
			if !slices.Equal(got, want) || !slices.Equal(gotT, wantT) {
				t.Fatalf("%T: A·x = %v, want %v; Aᵀ·c = %v, want %v", m, got, want, gotT, wantT)
			}
			squares, wantSquares := slices.Clone(base), slices.Clone(base)
			AddSquaresT(squares, m, c)
			for i, r := range a {
				for j, v := range r {
					wantSquares[j] += c[i] * v * v
				}
			}
			if !slices.Equal(squares, wantSquares) {
				t.Fatalf("%T: squares %v, want %v", m, squares, wantSquares)
			}
			some, someT, wantSomeT := make([]float64, len(rows)), slices.Clone(base), slices.Clone(base)
			m.MulRows(some, rows, x)
			if len(rows) > 0 {
				cc := vector(len(rows))
				m.AddMulTRows(someT, rows, cc)
				for k, i := range rows {
					naive{a[i]}.addMulT(wantSomeT, cc[k:k+1])
				}
			}
			for k, i := range rows {
				if some[k] != want[i] {
					t.Fatalf("%T: row %d: %v, want %v", m, i, some[k], want[i])
				}
			}
			if !slices.Equal(someT, wantSomeT) {
				t.Fatalf("%T: Aᵀ·c over rows %v: %v, want %v", m, rows, someT, wantSomeT)
			}
			for i := range a {
				idx, val := m.Row(i)
				full := make([]float64, d)
				for k, v := range val {
					if idx == nil {
						full[k] = v
					} else {
						full[idx[k]] = v
					}
				}
				if !slices.Equal(full, a[i]) {
					t.Fatalf("%T: row %d is %v, want %v", m, i, full, a[i])
				}
			}
		}
	})
}

// Rows must stay whole when a block fills up in their middle, also rows longer than a block.
func TestBuilderKeepsRowsWholeAcrossBlocks(t *testing.T) {
	lengths := []int{10, blockEntries - 5, 7, 3 * blockEntries, 0, blockEntries, 1, 40000, 40000, 40000}
	var b Builder
	for i, n := range lengths {
		for j := range n {
			b.Add(int32(2*j), float64(i+1))
		}
		b.EndRow()
	}
	b.Add(0, 99) // a row that is not ended is dropped
	m := b.Build(0)
	if n, d := m.Dims(); n != len(lengths) || d != 6*blockEntries-1 {
		t.Fatalf("%d × %d", n, d)
	}
	if len(m.blocks) < 3 {
		t.Fatalf("%d blocks: the test does not cross any", len(m.blocks))
	}
	ones := make([]float64, 6*blockEntries-1)
	for j := range ones {
		ones[j] = 1
	}
	sums := make([]float64, len(lengths))
	m.Mul(sums, ones)
	for i, n := range lengths {
		idx, val := m.Row(i)
		if len(val) != n || sums[i] != float64(n*(i+1)) {
			t.Errorf("row %d has %d entries of sum %v, want %d of %d", i, len(val), sums[i], n, n*(i+1))
		}
		for k := range idx {
			if idx[k] != int32(2*k) {
				t.Fatalf("row %d: column %d is %d", i, k, idx[k])
			}
		}
	}
}

func TestBuilderRefusesColumnsOutOfOrder(t *testing.T) {
	for _, cols := range [][]int32{{3, 3}, {3, 2}, {-1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("columns %v were taken", cols)
				}
			}()
			var b Builder
			for _, c := range cols {
				b.Add(c, 1)
			}
		}()
	}
}
