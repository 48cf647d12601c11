package matrix

import (
	"sync"

	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/vec"
)

// parallelEntries is how many entries a product takes part in before it is split over the cores: about 0.1 ms of work,
// a hundred times what waking a worker costs.
const parallelEntries = 1 << 17

// team is the cores at work on a product, one product at a time. Nothing is locked or shared in the inner loops: a part
// of A·x writes rows of its own, and a part of Aᵀ·c adds into a vector of its own. How many parts there are does not
// depend on the number of cores, and their sums are added in order: every machine gets the same bits.
type team struct {
	mu   sync.Mutex
	pool *pool.Pool

	// the product under way
	m     rowsOf
	dst   []float64
	src   []float64
	rows  []int // nil: all
	parts int
	sums  [][]float64 // what the parts after the first add into

	c     []float64 // of a product both ways, whose s is src and whose x is other
	other []float64
	weigh func(lo, hi int)

	mul, addMulT, both, squares, reduce func(worker, task int)
}

// rowsOf is a matrix as the team sees it.
type rowsOf interface {
	Matrix
	// cut returns the first row of part k of so many with about equally many entries.
	cut(k, parts int) int
	// mulRange sets dst[i−lo] = ⟨A[i], x⟩, and addMulTRange adds Σ c[i−lo]·A[i] to dst, for lo ≤ i < hi.
	mulRange(dst []float64, lo, hi int, x []float64)
	addMulTRange(dst []float64, lo, hi int, c []float64)
	mulRows(dst []float64, rows []int, x []float64)
	addMulTRows(dst []float64, rows []int, c []float64)
	// mulAddT is MulAddT for lo ≤ k < hi.
	mulAddT(dst []float64, rows []int, lo, hi int, s, c, x []float64, weigh func(lo, hi int))
}

var cores = sync.OnceValue(func() *team {
	t := &team{pool: pool.Shared()}
	t.mul = func(_, k int) {
		lo, hi := t.part(k)
		if t.rows == nil {
			t.m.mulRange(t.dst[lo:hi], lo, hi, t.src)
		} else {
			t.m.mulRows(t.dst[lo:hi], t.rows[lo:hi], t.src)
		}
	}
	t.addMulT = func(_, k int) {
		dst := t.sum(k)
		lo, hi := t.part(k)
		if t.rows == nil {
			t.m.addMulTRange(dst, lo, hi, t.src[lo:hi])
		} else {
			t.m.addMulTRows(dst, t.rows[lo:hi], t.src[lo:hi])
		}
	}
	t.both = func(_, k int) {
		dst := t.sum(k)
		lo, hi := t.part(k)
		t.m.mulAddT(dst, t.rows, lo, hi, t.src, t.c, t.other, t.weigh)
	}
	t.squares = func(_, k int) {
		dst := t.sum(k)
		lo, hi := t.part(k)
		addSquares(dst, t.m, lo, hi, t.src)
	}
	t.reduce = func(_, k int) {
		d := len(t.dst)
		lo, hi := k*d/t.parts, (k+1)*d/t.parts
		for _, s := range t.sums[:t.parts-1] {
			vec.Axpy(1, s[lo:hi], t.dst[lo:hi])
		}
	}
	return t
})

// sum is where part k adds up: the first into dst itself, the others beside it.
func (t *team) sum(k int) []float64 {
	if k == 0 {
		return t.dst
	}
	clear(t.sums[k-1])
	return t.sums[k-1]
}

// part returns the rows of part k, as places in rows where that is not nil.
func (t *team) part(k int) (lo, hi int) {
	if t.rows != nil {
		n := len(t.rows)
		return k * n / t.parts, (k + 1) * n / t.parts
	}
	return t.m.cut(k, t.parts), t.m.cut(k+1, t.parts)
}

// alone says whether a product over so many rows is too small to be shared.
func alone(m Matrix, rows int) bool {
	n, _ := m.Dims()
	return float64(m.NNZ())*float64(rows) < parallelEntries*float64(n)
}

// mulParts and maxSums are the parts of A·x and the most parts of Aᵀ·c: more than cores, so that one that is held up
// does not hold up the others.
const (
	mulParts = 64
	maxSums  = 16
)

// multiply is A·x on all cores.
func (t *team) multiply(m rowsOf, dst []float64, rows []int, x []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m, t.dst, t.rows, t.src, t.parts = m, dst, rows, x, mulParts
	t.pool.Each(t.parts, t.mul)
	t.m, t.dst, t.rows, t.src = nil, nil, nil, nil
}

// multiplyT adds Aᵀ·c on all cores.
func (t *team) multiplyT(m rowsOf, dst []float64, rows []int, c []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m, t.dst, t.rows, t.src = m, dst, rows, c
	t.divide()
	t.pool.Each(t.parts, t.addMulT)
	t.addUp()
	t.m, t.dst, t.rows, t.src = nil, nil, nil, nil
}

// multiplyBoth is MulAddT on all cores.
func (t *team) multiplyBoth(m rowsOf, dst []float64, rows []int, s, c, x []float64, weigh func(lo, hi int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m, t.dst, t.rows, t.src, t.c, t.other, t.weigh = m, dst, rows, s, c, x, weigh
	t.divide()
	t.pool.Each(t.parts, t.both)
	t.addUp()
	t.m, t.dst, t.rows, t.src, t.c, t.other, t.weigh = nil, nil, nil, nil, nil, nil, nil
}

// squaresT is AddSquaresT on all cores.
func (t *team) squaresT(m rowsOf, dst, c []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m, t.dst, t.src = m, dst, c
	t.divide()
	t.pool.Each(t.parts, t.squares)
	t.addUp()
	t.m, t.dst, t.src = nil, nil, nil
}

// addUp adds the sums of the parts, in their order: here where that is little work, as waiting for the others costs
// too.
func (t *team) addUp() {
	if t.parts*len(t.dst) < 16*parallelEntries {
		for _, s := range t.sums[:t.parts-1] {
			vec.Axpy(1, s, t.dst)
		}
		return
	}
	t.pool.Each(t.parts, t.reduce)
}

// divide decides on the parts, and makes their sums. A part has at least eight entries for
// each of the sums it makes: those are then little work, and little memory beside the matrix.
func (t *team) divide() {
	t.parts = min(max(t.m.NNZ()/(8*len(t.dst)), 2), maxSums)
	t.makeSums()
}

// makeSums gives all parts but the first a vector to add into.
func (t *team) makeSums() {
	for len(t.sums) < t.parts-1 {
		t.sums = append(t.sums, nil)
	}
	for k := range t.parts - 1 {
		if cap(t.sums[k]) < len(t.dst) {
			t.sums[k] = make([]float64, len(t.dst))
		}
		t.sums[k] = t.sums[k][:len(t.dst)]
	}
}

// bothRows is how many rows mulAddT takes at a time: few enough to be in the cache for the second product.
const bothRows = 32
