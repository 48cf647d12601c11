package dataset

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/npy"
	"github.com/bregman-ml/bregman/matrix"
)

// howSparse says how to write a sparse matrix with its labels, as scipy.sparse.save_npz has no place for them.
const howSparse = `numpy.savez(file, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, format="csr", y=y)`

// isSparseArchive reports whether an archive is what scipy.sparse.save_npz writes.
func isSparseArchive(z *npy.Archive) bool { return !z.Has("X") && z.Has("data") && z.Has("shape") }

// entries are those of a sparse matrix, in the order of the file.
type entries struct {
	n, d       int
	rows, cols []int32
	values     []float64
}

// readSparse reads what scipy.sparse.save_npz writes: a matrix in format csr, csc or coo.
func readSparse(z *npy.Archive, file string, opt Options) (*matrix.CSR, error) {
	format, err := sparseFormat(z, file)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"csr", "csc", "coo"}, format) {
		return nil, &Error{Name: file, Msg: fmt.Sprintf("a sparse matrix in format %s: save X.tocsr()", quoted(format))}
	}
	var e entries
	if e.n, e.d, err = sparseShape(z, file); err != nil {
		return nil, err
	}
	if e.values, err = vectorOf(z, file, "data"); err != nil {
		return nil, err
	}
	switch format {
	case "csr":
		e.rows, err = runs(z, file, e.n, len(e.values))
		if err == nil {
			e.cols, err = places(z, file, "indices", e.d, len(e.values))
		}
	case "csc":
		e.cols, err = runs(z, file, e.d, len(e.values))
		if err == nil {
			e.rows, err = places(z, file, "indices", e.n, len(e.values))
		}
	case "coo":
		e.rows, err = places(z, file, "row", e.n, len(e.values))
		if err == nil {
			e.cols, err = places(z, file, "col", e.d, len(e.values))
		}
	}
	if err != nil {
		return nil, err
	}
	// Rows without entries cost room that the file does not show.
	if most := 1<<20 + 64*len(e.values); e.n > most {
		return nil, &Error{Name: file, Msg: fmt.Sprintf("shape (%d, %d) with %d entries: too many empty examples: is it "+
			"transposed?", e.n, e.d, len(e.values))}
	}
	return e.matrix(file, opt)
}

// sparseFormat returns the format of a sparse matrix. It is csr if the file does not say.
func sparseFormat(z *npy.Archive, file string) (string, error) {
	if !z.Has("format") {
		return "csr", nil
	}
	r, err := z.Open("format")
	if err != nil {
		return "", damaged(file, err)
	}
	defer r.Close()
	text, err := npy.Text(bufio.NewReader(unpack{r, file}))
	if errors.Is(err, npy.ErrHeader) || errors.Is(err, npy.ErrStructured) {
		return "", &Error{Name: file, Msg: fmt.Sprintf("array format: %v: save with %s", err, howSparse), err: err}
	}
	if err != nil {
		return "", failed(file, 0, err)
	}
	return text, nil
}

// sparseShape returns the numbers of examples and features.
func sparseShape(z *npy.Archive, file string) (n, d int, err error) {
	shape, err := vectorOf(z, file, "shape")
	if err != nil {
		return 0, 0, err
	}
	whole := func(v float64) bool { return v >= 0 && v <= math.MaxInt32-1 && v == math.Trunc(v) }
	if len(shape) != 2 || !whole(shape[0]) || !whole(shape[1]) {
		return 0, 0, &Error{Name: file, Msg: fmt.Sprintf("array shape: %s: want two whole numbers below 2147483647, "+
			"examples and features", listed(shape))}
	}
	switch n, d = int(shape[0]), int(shape[1]); {
	case n == 0:
		return 0, 0, &Error{Name: file, Msg: noExamples}
	case d == 0:
		return 0, 0, &Error{Name: file, Msg: noFeatures}
	}
	return n, d, nil
}

// vectorOf reads an array of the archive.
func vectorOf(z *npy.Archive, file, name string) (v []float64, err error) {
	err = member(z, file, name, func(a *array) (err error) {
		v, err = a.vector()
		return err
	})
	return v, err
}

// places reads rows or columns, one for each of the entries.
func places(z *npy.Archive, file, name string, below, entries int) ([]int32, error) {
	v, err := vectorOf(z, file, name)
	if err != nil {
		return nil, err
	}
	if len(v) != entries {
		return nil, &Error{Name: file, Msg: fmt.Sprintf("array %s has %d numbers, but data has %d: save the matrix again",
			name, len(v), entries)}
	}
	at := make([]int32, len(v))
	for i, x := range v {
		if !(x >= 0 && x < float64(below)) || x != math.Trunc(x) {
			return nil, &Error{Name: file, Msg: fmt.Sprintf("array %s: %s[%d] is %v, want a whole number from 0 to %d", name,
				name, i, x, below-1)}
		}
		at[i] = int32(x)
	}
	return at, nil
}

// runs reads indptr, where each of k rows or columns begins, and returns to which each entry belongs.
func runs(z *npy.Archive, file string, k, entries int) ([]int32, error) {
	v, err := vectorOf(z, file, "indptr")
	if err != nil {
		return nil, err
	}
	if len(v) != k+1 || v[0] != 0 || v[k] != float64(entries) {
		return nil, &Error{Name: file, Msg: fmt.Sprintf("array indptr does not fit: want %d numbers from 0 to %d, the "+
			"entries: save the matrix again", k+1, entries)}
	}
	at := make([]int32, 0, entries)
	for i, end := range v[1:] {
		if end < v[i] || end > float64(entries) || end != math.Trunc(end) {
			return nil, &Error{Name: file, Msg: fmt.Sprintf("array indptr: indptr[%d] is %v after %v: want whole numbers in "+
				"ascending order", i+1, end, v[i])}
		}
		for len(at) < int(end) {
			at = append(at, int32(i))
		}
	}
	return at, nil
}

// matrix sorts the entries into rows. Entries of one place are added up, as scipy does.
func (e *entries) matrix(file string, opt Options) (*matrix.CSR, error) {
	begin := make([]int, e.n+1)
	for _, i := range e.rows {
		begin[i+1]++
	}
	for i := range e.n {
		begin[i+1] += begin[i]
	}
	order := make([]int, len(e.rows)) // by row, and in the order of the file within one
	next := slices.Clone(begin[:e.n])
	for k, i := range e.rows {
		order[next[i]] = k
		next[i]++
	}
	b := matrix.Builder{Float32: opt.Float32}
	for i := range e.n {
		row := order[begin[i]:begin[i+1]]
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(e.cols[a], e.cols[b]) })
		for k := 0; k < len(row); {
			col, sum := e.cols[row[k]], 0.0
			for first := k; k < len(row) && e.cols[row[k]] == col; k++ {
				if sum += e.values[row[k]]; k == first {
					sum = e.values[row[k]] // −0 stays
				}
			}
			if sum-sum != 0 {
				return nil, &Error{Name: file, Msg: fmt.Sprintf("the entries at [%d, %d] add up to %v, which is not finite: scale "+
					"the data", i, col, sum)}
			}
			b.Add(col, sum)
		}
		if opt.Bias {
			b.AddLast(1)
		}
		b.EndRow()
	}
	if opt.Bias {
		return b.BuildLast(max(opt.Cols, e.d+1)), nil
	}
	return b.Build(max(opt.Cols, e.d)), nil
}
