package matrix

import "github.com/bregman-ml/bregman/internal/vec"

// block is some rows in CSR form: row r has columns idx[ptr[r]:ptr[r+1]] and as many values, in val or, of 32 bits, in
// val32.
type block struct {
	ptr   []int32
	idx   []int32
	val   []float64
	val32 []float32
}

// mul sets dst to the products of the rows from the given one on with x.
func (k *block) mul(dst []float64, from int, x []float64) {
	ptr := k.ptr[from : from+len(dst)+1]
	if k.val32 == nil {
		vec.MulCSR(dst, ptr, k.idx, k.val, x)
		return
	}
	for r := range dst {
		dst[r] = vec.SparseDotMixed(k.val32[ptr[r]:ptr[r+1]], k.idx[ptr[r]:ptr[r+1]], x)
	}
}

// addMulT adds the rows from the given one on, times c, to dst.
func (k *block) addMulT(dst []float64, from int, c []float64) {
	ptr := k.ptr[from : from+len(c)+1]
	if k.val32 == nil {
		vec.AddMulTCSR(dst, ptr, k.idx, k.val, c)
		return
	}
	for r, v := range c {
		vec.SparseAxpyMixed(v, k.val32[ptr[r]:ptr[r+1]], k.idx[ptr[r]:ptr[r+1]], dst)
	}
}

// cursor finds rows, quickly where they ascend.
type cursor struct {
	m      *CSR
	k      *block // of the last row
	lo, hi int    // the rows of that block
}

func (m *CSR) cursor() cursor { return cursor{m: m, hi: -1} }

// find returns where the entries of row i are in the block k.
func (c *cursor) find(i int) (lo, hi int32) {
	if i < c.lo || i >= c.hi {
		b, _ := c.m.first.find(i)
		c.k, c.lo, c.hi = &c.m.blocks[b], c.m.first[b], c.m.first[b+1]
	}
	return c.k.ptr[i-c.lo], c.k.ptr[i-c.lo+1]
}

// dot returns ⟨A[i], x⟩.
func (c *cursor) dot(i int, x []float64) float64 {
	lo, hi := c.find(i)
	if c.k.val32 == nil {
		return vec.SparseDot(c.k.val[lo:hi], c.k.idx[lo:hi], x)
	}
	return vec.SparseDotMixed(c.k.val32[lo:hi], c.k.idx[lo:hi], x)
}

// axpy adds a·A[i] to y.
func (c *cursor) axpy(a float64, i int, y []float64) {
	lo, hi := c.find(i)
	if c.k.val32 == nil {
		vec.SparseAxpy(a, c.k.val[lo:hi], c.k.idx[lo:hi], y)
		return
	}
	vec.SparseAxpyMixed(a, c.k.val32[lo:hi], c.k.idx[lo:hi], y)
}

// prefetch asks for row i.
func (c *cursor) prefetch(i int) {
	lo, hi := c.find(i)
	vec.Prefetch(c.k.idx[lo:hi])
	if c.k.val32 == nil {
		vec.Prefetch(c.k.val[lo:hi])
	} else {
		vec.Prefetch(c.k.val32[lo:hi])
	}
}
