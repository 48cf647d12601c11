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
	// MulAddT sets s[k] = ⟨A[rows[k]], x⟩, calls weigh, which sets c[lo:hi] from s[lo:hi], and adds Σ c[k]·A[rows[k]]
	// to dst: both products in one pass over the rows, all of them where rows is nil. weigh is called for every k once,
	// on several cores.
	MulAddT(dst []float64, rows []int, s, c, x []float64, weigh func(lo, hi int))
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

// each calls f for the rows from lo to hi block by block: in block b those from … to, the first of them the at-th of
// all.
func (s starts) each(lo, hi int, f func(b, from, to, at int)) {
	if lo >= hi {
		return
	}
	b, from := s.find(lo)
	for at := lo; at < hi; b++ {
		to := min(s[b+1], hi) - s[b]
		if to > from {
			f(b, from, to, at-lo)
		}
		at, from = s[b+1], 0
	}
}

// cut returns the row where part k of so many begins, if each has about as many entries; size is the entries of a
// block, whose rows count as equally long.
func (s starts) cut(k, parts int, size func(b int) int) int {
	var total int
	for b := range len(s) - 1 {
		total += size(b)
	}
	want := total / parts * k
	if k == parts {
		return s.rows()
	}
	for b := range len(s) - 1 {
		n := size(b)
		if want < n {
			return s[b] + int(float64(want)/float64(n)*float64(s[b+1]-s[b]))
		}
		want -= n
	}
	return s.rows()
}
