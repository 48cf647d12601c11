package matrix

import (
	"fmt"
	"slices"
)

// CSR is a sparse matrix in blocks of rows. Columns are 32-bit and ascend within a row; values have 64 bits, or 32.
type CSR struct {
	cols   int
	nnz    int
	blocks []block
	first  starts
}

var _ Matrix = (*CSR)(nil)

// Dims returns the number of rows and columns.
func (m *CSR) Dims() (n, d int) { return m.first.rows(), m.cols }

// NNZ returns the number of stored entries.
func (m *CSR) NNZ() int { return m.nnz }

// Mul sets dst = A·x, on all cores where the matrix is large.
func (m *CSR) Mul(dst, x []float64) {
	x = x[:m.cols] // the kernels do not check columns one by one
	if m.nnz < parallelEntries {
		for b := range m.blocks {
			m.blocks[b].mul(dst[m.first[b]:m.first[b+1]], 0, x)
		}
		return
	}
	cores().multiply(m, dst, nil, x)
}

// AddMulT adds Aᵀ·c to dst, on all cores where the matrix is large.
func (m *CSR) AddMulT(dst, c []float64) {
	dst = dst[:m.cols]
	if m.nnz < parallelEntries {
		for b := range m.blocks {
			m.blocks[b].addMulT(dst, 0, c[m.first[b]:m.first[b+1]])
		}
		return
	}
	cores().multiplyT(m, dst, nil, c)
}

// MulRows sets dst[k] = ⟨A[rows[k]], x⟩.
func (m *CSR) MulRows(dst []float64, rows []int, x []float64) {
	x = x[:m.cols]
	if alone(m, len(rows)) {
		m.mulRows(dst, rows, x)
		return
	}
	cores().multiply(m, dst, rows, x)
}

// AddMulTRows adds Σ c[k]·A[rows[k]] to dst.
func (m *CSR) AddMulTRows(dst []float64, rows []int, c []float64) {
	dst = dst[:m.cols]
	if alone(m, len(rows)) {
		m.addMulTRows(dst, rows, c)
		return
	}
	cores().multiplyT(m, dst, rows, c)
}

// MulAddT is both products in one pass.
func (m *CSR) MulAddT(dst []float64, rows []int, s, c, x []float64, weigh func(lo, hi int)) {
	dst, x = dst[:m.cols], x[:m.cols]
	n := len(rows)
	if rows == nil {
		n = m.first.rows()
	}
	if alone(m, n) {
		m.mulAddT(dst, rows, 0, n, s, c, x, weigh)
		return
	}
	cores().multiplyBoth(m, dst, rows, s, c, x, weigh)
}

func (m *CSR) mulAddT(dst []float64, rows []int, lo, hi int, s, c, x []float64, weigh func(lo, hi int)) {
	at, ahead, again := m.cursor(), m.cursor(), m.cursor()
	row := func(k int) int {
		if rows == nil {
			return k
		}
		return rows[k]
	}
	for ; lo < hi; lo += bothRows {
		to := min(lo+bothRows, hi)
		for k := lo; k < to; k++ {
			if rows != nil && k+prefetchRows < hi {
				ahead.prefetch(rows[k+prefetchRows])
			}
			s[k] = at.dot(row(k), x)
		}
		weigh(lo, to)
		for k := lo; k < to; k++ {
			if c[k] != 0 {
				again.axpy(c[k], row(k), dst)
			}
		}
	}
}

func (m *CSR) cut(k, parts int) int {
	return m.first.cut(k, parts, func(b int) int { return len(m.blocks[b].idx) })
}

func (m *CSR) mulRange(dst []float64, lo, hi int, x []float64) {
	m.first.each(lo, hi, func(b, from, to, at int) {
		m.blocks[b].mul(dst[at:at+to-from], from, x)
	})
}

func (m *CSR) addMulTRange(dst []float64, lo, hi int, c []float64) {
	m.first.each(lo, hi, func(b, from, to, at int) {
		m.blocks[b].addMulT(dst, from, c[at:at+to-from])
	})
}

func (m *CSR) mulRows(dst []float64, rows []int, x []float64) {
	at, ahead := m.cursor(), m.cursor()
	for k, i := range rows {
		if k+prefetchRows < len(rows) {
			ahead.prefetch(rows[k+prefetchRows])
		}
		dst[k] = at.dot(i, x)
	}
}

func (m *CSR) addMulTRows(dst []float64, rows []int, c []float64) {
	at, ahead := m.cursor(), m.cursor()
	for k, i := range rows {
		if k+prefetchRows < len(rows) {
			ahead.prefetch(rows[k+prefetchRows])
		}
		at.axpy(c[k], i, dst)
	}
}

// prefetchRows is how many rows ahead are asked for.
const prefetchRows = 3

// Row returns the columns and values of row i; 32-bit values are copied.
func (m *CSR) Row(i int) (idx []int32, val []float64) { return m.rowInto(nil, i) }

// rowInto is Row with room for a copy.
func (m *CSR) rowInto(buf []float64, i int) (idx []int32, val []float64) {
	b, r := m.first.find(i)
	k := &m.blocks[b]
	lo, hi := k.ptr[r], k.ptr[r+1]
	if k.val32 == nil {
		return k.idx[lo:hi], k.val[lo:hi]
	}
	for _, v := range k.val32[lo:hi] {
		buf = append(buf, float64(v))
	}
	return k.idx[lo:hi], buf
}

// blockEntries is how many entries a builder puts into a block before it starts the next:
// 768 KiB of columns and values, so that the unused end of the last one is small beside real data.
const blockEntries = 1 << 16

// Builder makes a CSR matrix entry by entry. The zero value is ready to use.
type Builder struct {
	Float32 bool // keep values in 32 bits: set it before the first entry

	blocks []block
	first  starts
	cur    block
	cols   int // largest column seen + 1
}

// Add appends an entry to the current row. Columns ascend within a row: Add panics where they do not.
func (b *Builder) Add(col int32, v float64) {
	c := &b.cur
	if c.ptr == nil {
		c.ptr = append(c.ptr, 0)
	}
	if n := len(c.idx); n > int(c.ptr[len(c.ptr)-1]) && c.idx[n-1] >= col || col < 0 {
		panic(fmt.Sprintf("matrix: column %d out of order", col))
	}
	if len(c.idx) == cap(c.idx) {
		b.grow()
		c = &b.cur
	}
	c.idx = append(c.idx, col)
	if b.Float32 {
		c.val32 = append(c.val32, float32(v))
	} else {
		c.val = append(c.val, v)
	}
	b.cols = max(b.cols, int(col)+1)
}

// grow makes room for one more entry. Small blocks double; a full block is closed at the end of its last
// whole row, and the row under way moves to a new block.
func (b *Builder) grow() {
	c := &b.cur
	start := int(c.ptr[len(c.ptr)-1])
	if len(c.idx) < blockEntries || start == 0 { // small, or one row longer than a block
		n := max(64, len(c.idx))
		if len(c.idx) < blockEntries {
			n = min(n, blockEntries-len(c.idx))
		}
		c.idx = grown(c.idx, n)
		if b.Float32 {
			c.val32 = grown(c.val32, n)
		} else {
			c.val = grown(c.val, n)
		}
		return
	}
	row := len(c.idx) - start
	room := max(blockEntries, 2*row)
	next := block{ptr: append(make([]int32, 0, cap(c.ptr)), 0), idx: append(make([]int32, 0, room), c.idx[start:]...)}
	if c.idx = c.idx[:start]; b.Float32 {
		next.val32 = append(make([]float32, 0, room), c.val32[start:]...)
		c.val32 = c.val32[:start]
	} else {
		next.val = append(make([]float64, 0, room), c.val[start:]...)
		c.val = c.val[:start]
	}
	b.close()
	b.cur = next
}

// grown returns s with room for n more; append would round the room up to a size of its own.
func grown[T any](s []T, n int) []T { return append(make([]T, 0, len(s)+n), s...) }

// EndRow closes the current row, which may be empty.
func (b *Builder) EndRow() {
	if b.cur.ptr == nil {
		b.cur.ptr = append(b.cur.ptr, 0)
	}
	b.cur.ptr = append(b.cur.ptr, int32(len(b.cur.idx)))
}

// Cols returns the number of columns seen so far: the largest plus one.
func (b *Builder) Cols() int { return b.cols }

func (b *Builder) close() {
	if len(b.first) == 0 {
		b.first = starts{0}
	}
	if rows := len(b.cur.ptr) - 1; rows > 0 {
		b.cur.ptr = slices.Clip(b.cur.ptr)
		b.blocks = append(b.blocks, b.cur)
		b.first = append(b.first, b.first.rows()+rows)
	}
	b.cur = block{}
}

// Reserve makes room for so many rows and entries in one block. The builder must be empty.
func (b *Builder) Reserve(rows, entries int) {
	b.cur = block{ptr: append(make([]int32, 0, rows+1), 0), idx: make([]int32, 0, entries)}
	if b.Float32 {
		b.cur.val32 = make([]float32, 0, entries)
	} else {
		b.cur.val = make([]float64, 0, entries)
	}
}

// Append moves the rows of another builder, whose last row must have been ended, behind those of b.
func (b *Builder) Append(other *Builder) {
	b.close()
	other.close()
	for _, k := range other.blocks {
		if waste := cap(k.idx) - len(k.idx); waste > 256 && waste > cap(k.idx)/16 {
			k.idx, k.val, k.val32 = slices.Clone(k.idx), slices.Clone(k.val), slices.Clone(k.val32)
		}
		b.blocks = append(b.blocks, k)
		b.first = append(b.first, b.first.rows()+len(k.ptr)-1)
	}
	b.cols = max(b.cols, other.cols)
	*other = Builder{}
}

// Build returns the matrix, with at least the given number of columns, and resets the builder.
// A row that was not ended is dropped.
func (b *Builder) Build(cols int) *CSR {
	if p := b.cur.ptr; len(p) > 0 {
		end := p[len(p)-1]
		if b.cur.idx = b.cur.idx[:end]; b.Float32 {
			b.cur.val32 = b.cur.val32[:end]
		} else {
			b.cur.val = b.cur.val[:end]
		}
	}
	b.close()
	m := &CSR{cols: max(cols, b.cols), blocks: b.blocks, first: b.first}
	for _, k := range m.blocks {
		m.nnz += len(k.idx)
	}
	*b = Builder{}
	return m
}
