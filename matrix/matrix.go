// Package matrix holds data sets as rows: dense or compressed sparse (CSR), in blocks of rows.
//
// A reader fills one block after another and never copies a finished one; several cores can each take
// some blocks. Both forms give the two products every first-order method is made of: A·x and Aᵀ·c.
package matrix

// Matrix is an n × d matrix of examples by features.
type Matrix interface {
	// Dims returns the number of rows and columns.
	Dims() (n, d int)
	// NNZ returns the number of stored entries.
	NNZ() int
	// Mul sets dst = A·x; len(dst) = n, len(x) = d.
	Mul(dst, x []float64)
	// AddMulT adds Aᵀ·c to dst; len(dst) = d, len(c) = n.
	AddMulT(dst, c []float64)
	// MulRows sets dst[k] = ⟨A[rows[k]], x⟩.
	MulRows(dst []float64, rows []int, x []float64)
	// AddMulTRows adds Σ c[k]·A[rows[k]] to dst.
	AddMulTRows(dst []float64, rows []int, c []float64)
	// Row returns row i without a copy: its values and their columns, nil meaning all columns.
	Row(i int) (idx []int32, val []float64)
}

// starts finds rows in blocks: first[b] is the first row of block b, and the last entry is n.
type starts []int

func (s starts) rows() int {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1]
}

// find returns the block that holds row i, and i's place in it.
func (s starts) find(i int) (block, row int) {
	lo, hi := 0, len(s)-1
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if s[mid] <= i {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, i - s[lo]
}
