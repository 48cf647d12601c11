package matrix

import (
	"fmt"

	"github.com/bregman-ml/bregman/internal/vec"
)

// Dense is a dense matrix in blocks of rows, each row-major.
type Dense struct {
	cols   int
	blocks [][]float64
	first  starts
}

var _ Matrix = (*Dense)(nil)

// NewDense wraps row-major blocks of the given number of columns, without copying them.
func NewDense(cols int, blocks ...[]float64) *Dense {
	m := &Dense{cols: cols, first: starts{0}}
	for _, b := range blocks {
		if cols == 0 || len(b)%cols != 0 {
			panic(fmt.Sprintf("matrix: a block of %d values is not whole rows of %d columns", len(b), cols))
		}
		m.blocks = append(m.blocks, b)
		m.first = append(m.first, m.first.rows()+len(b)/cols)
	}
	return m
}

// FromRows copies rows of equal length into a dense matrix of one block.
func FromRows(rows [][]float64) *Dense {
	if len(rows) == 0 {
		return NewDense(1)
	}
	d := len(rows[0])
	data := make([]float64, 0, len(rows)*d)
	for i, r := range rows {
		if len(r) != d {
			panic(fmt.Sprintf("matrix: row %d has %d values, the first has %d", i, len(r), d))
		}
		data = append(data, r...)
	}
	return NewDense(d, data)
}

// Dims returns the number of rows and columns.
func (m *Dense) Dims() (n, d int) { return m.first.rows(), m.cols }

// NNZ returns n·d.
func (m *Dense) NNZ() int { return m.first.rows() * m.cols }

// Mul sets dst = A·x, on all cores where the matrix is large.
func (m *Dense) Mul(dst, x []float64) {
	m.check(len(x))
	if m.NNZ() < parallelEntries {
		for b, a := range m.blocks {
			vec.MulDense(dst[m.first[b]:m.first[b+1]], a, x)
		}
		return
	}
	cores().multiply(m, dst, nil, x)
}

// AddMulT adds Aᵀ·c to dst, on all cores where the matrix is large.
func (m *Dense) AddMulT(dst, c []float64) {
	m.check(len(dst))
	if m.NNZ() < parallelEntries {
		for b, a := range m.blocks {
			vec.AddMulTDense(dst, a, c[m.first[b]:m.first[b+1]])
		}
		return
	}
	cores().multiplyT(m, dst, nil, c)
}

// check guards the kernels, which read the number of columns off a vector.
func (m *Dense) check(d int) {
	if d != m.cols {
		panic(fmt.Sprintf("matrix: a vector of %d for %d columns", d, m.cols))
	}
}

// MulRows sets dst[k] = ⟨A[rows[k]], x⟩.
func (m *Dense) MulRows(dst []float64, rows []int, x []float64) {
	m.check(len(x))
	if alone(m, len(rows)) {
		m.mulRows(dst, rows, x)
		return
	}
	cores().multiply(m, dst, rows, x)
}

// AddMulTRows adds Σ c[k]·A[rows[k]] to dst.
func (m *Dense) AddMulTRows(dst []float64, rows []int, c []float64) {
	m.check(len(dst))
	if alone(m, len(rows)) {
		m.addMulTRows(dst, rows, c)
		return
	}
	cores().multiplyT(m, dst, rows, c)
}

// MulAddT is both products in one pass.
func (m *Dense) MulAddT(dst []float64, rows []int, s, c, x []float64, weigh func(lo, hi int)) {
	m.check(len(x))
	m.check(len(dst))
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

func (m *Dense) mulAddT(dst []float64, rows []int, lo, hi int, s, c, x []float64, weigh func(lo, hi int)) {
	few := min(bothRows, max(1, 1<<13/m.cols)) // rows of 64 kB together
	for ; lo < hi; lo += few {
		to := min(lo+few, hi)
		if rows == nil {
			m.mulRange(s[lo:to], lo, to, x)
		} else {
			m.mulRows(s[lo:to], rows[lo:to], x)
		}
		weigh(lo, to)
		if rows == nil {
			m.addMulTRange(dst, lo, to, c[lo:to])
		} else {
			m.addMulTRows(dst, rows[lo:to], c[lo:to])
		}
	}
}

func (m *Dense) cut(k, parts int) int {
	return m.first.cut(k, parts, func(b int) int { return len(m.blocks[b]) })
}

func (m *Dense) mulRange(dst []float64, lo, hi int, x []float64) {
	m.first.each(lo, hi, func(b, from, to, at int) {
		vec.MulDense(dst[at:at+to-from], m.blocks[b][from*m.cols:to*m.cols], x)
	})
}

func (m *Dense) addMulTRange(dst []float64, lo, hi int, c []float64) {
	m.first.each(lo, hi, func(b, from, to, at int) {
		vec.AddMulTDense(dst, m.blocks[b][from*m.cols:to*m.cols], c[at:at+to-from])
	})
}

func (m *Dense) mulRows(dst []float64, rows []int, x []float64) {
	for k, i := range rows {
		_, r := m.Row(i)
		dst[k] = vec.Dot(r, x)
	}
}

func (m *Dense) addMulTRows(dst []float64, rows []int, c []float64) {
	for k, i := range rows {
		_, r := m.Row(i)
		vec.Axpy(c[k], r, dst)
	}
}

// Row returns row i; its columns are nil, meaning all.
func (m *Dense) Row(i int) (idx []int32, val []float64) {
	b, r := m.first.find(i)
	return nil, m.blocks[b][r*m.cols : (r+1)*m.cols]
}
