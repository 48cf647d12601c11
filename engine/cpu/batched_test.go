package cpu_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/engine"
)

// A product for each element of a batch, with either side transposed, is that of three loops in float64. Tolerance:
// sums of 9 products of numbers below 5, each rounded once or twice to 24 bits.
func TestProductsOfABatch(t *testing.T) {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		t.Fatal(err)
	}
	const batch, m, k, n = 5, 7, 9, 4
	rng := rand.New(rand.NewPCG(3, 4))
	normal := func(size int) []float32 {
		out := make([]float32, size)
		for i := range out {
			out[i] = float32(rng.NormFloat64())
		}
		return out
	}
	a, b := normal(batch*m*k), normal(batch*k*n)
	for _, c := range []struct {
		equation string
		a, b     []int
		at       func(q, i, j, l int) (int, int)
	}{
		{"bik,bkj->bij", []int{batch, m, k}, []int{batch, k, n},
			func(q, i, j, l int) (int, int) { return (q*m+i)*k + l, (q*k+l)*n + j }},
		{"bki,bkj->bij", []int{batch, k, m}, []int{batch, k, n},
			func(q, i, j, l int) (int, int) { return (q*k+l)*m + i, (q*k+l)*n + j }},
		{"bik,bjk->bij", []int{batch, m, k}, []int{batch, n, k},
			func(q, i, j, l int) (int, int) { return (q*m+i)*k + l, (q*n+j)*k + l }},
		{"bki,bjk->bij", []int{batch, k, m}, []int{batch, n, k},
			func(q, i, j, l int) (int, int) { return (q*k+l)*m + i, (q*n+j)*k + l }},
	} {
		exec := MustNewExec(e.Backend, func(x, y *Node) *Node { return Einsum(c.equation, x, y) })
		got := tensors.MustCopyFlatData[float32](exec.MustCall(tensors.FromFlatDataAndDimensions(a, c.a...),
			tensors.FromFlatDataAndDimensions(b, c.b...))[0])
		for q := range batch {
			for i := range m {
				for j := range n {
					want := 0.0
					for l := range k {
						x, y := c.at(q, i, j, l)
						want += float64(a[x]) * float64(b[y])
					}
					if v := float64(got[(q*m+i)*n+j]); math.Abs(v-want) > 2e-5 {
						t.Fatalf("%s: element %d, row %d, column %d is %v, want %v", c.equation, q, i, j, v, want)
					}
				}
			}
		}
	}
}
