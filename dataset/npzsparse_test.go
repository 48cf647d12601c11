package dataset

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

// The files were written by NumPy 1.24 and SciPy 1.10:
//
//	X = sp.csr_matrix(np.array([[0, 1.5, 0, -2], [0, 0, 0, 0], [3, 0, .25, 0]]))
//	for f in ["csr", "csc", "coo"]: sp.save_npz("scipy-%s.npz" % f, X.asformat(f))
//	sp.save_npz("scipy-bsr.npz", X.tobsr())
//	np.savez("scipy-y.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, format="csr", y=[1, -1, 1])
func TestSparseMatricesOfSciPyAreRead(t *testing.T) {
	want := [][]float64{{0, 1.5, 0, -2}, {0, 0, 0, 0}, {3, 0, 0.25, 0}}
	for _, file := range []string{"scipy-csr.npz", "scipy-csc.npz", "scipy-coo.npz"} {
		s := mustOpen(t, "testdata/"+file, Options{Unlabeled: true})
		wantSet(t, s, want, []float64{0, 0, 0})
		if x, ok := s.X.(*matrix.CSR); !ok || x.NNZ() != 4 || !s.Unlabeled {
			t.Errorf("%s: %T, %+v", file, s.X, s)
		}
		_, err := Open(t.Context(), "testdata/"+file, Options{})
		if err == nil || err.Error() != "testdata/"+file+": no array y: scipy.sparse.save_npz saves no labels: save with "+
			howSparse {
			t.Errorf("%s without labels: %v", file, err)
		}
	}
	for _, unlabeled := range []bool{false, true} {
		s := mustOpen(t, "testdata/scipy-y.npz", Options{Unlabeled: unlabeled})
		wantSet(t, s, want, []float64{1, -1, 1})
	}
	s := mustOpen(t, "testdata/scipy-y.npz", Options{Bias: true, Cols: 7})
	wantSet(t, s, [][]float64{{0, 1.5, 0, -2, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 1}, {3, 0, 0.25, 0, 0, 0, 1}},
		[]float64{1, -1, 1})
	_, err := Open(t.Context(), "testdata/scipy-bsr.npz", Options{})
	if err == nil || err.Error() != `testdata/scipy-bsr.npz: a sparse matrix in format "bsr": save X.tocsr()` {
		t.Errorf("bsr: %v", err)
	}
}

// half.npy is np.array([[1, -0.0, 6.1e-5, 5.96e-8], [65504, 1/3, -2, 0]], np.float16), written by NumPy 1.24.
func TestHalfPrecisionIsRead(t *testing.T) {
	wantSet(t, mustOpen(t, "testdata/half.npy", Options{Unlabeled: true}), [][]float64{
		{1, math.Copysign(0, -1), 6.097555160522461e-05, 5.960464477539063e-08}, // the last is subnormal
		{65504, 0.333251953125, -2, 0}}, []float64{0, 0})
	for bits, want := range map[uint16]string{0x7c00: "+Inf", 0xfc00: "-Inf", 0x7e00: "NaN"} {
		_, err := ReadFrom(strings.NewReader(npyFile("<f2", false, "(1, 2)", []uint16{bits, 0})), "a.npy", Options{})
		if err == nil || !strings.Contains(err.Error(), "is "+want+", not finite") {
			t.Errorf("%x: %v", bits, err)
		}
	}
}

// sparse packs the arrays of a sparse matrix; those that are nil are left out.
func sparse(format string, shape []int64, data []float64, indices, indptr []int32, y []float64) string {
	dims := func(n int) string { return "(" + number(float64(n)) + ",)" }
	files := []entry{{"format.npy", npyOf(1, "{'descr': '|S3', 'fortran_order': False, 'shape': (), }", format)},
		{"shape.npy", npyFile("<i8", false, dims(len(shape)), shape)},
		{"data.npy", npyFile("<f8", false, dims(len(data)), data)}, {"y.npy", npyFile("<f8", false, dims(len(y)), y)}}
	names := []string{"indices.npy", "indptr.npy"}
	if format == "coo" {
		names = []string{"col.npy", "row.npy"}
	}
	for k, v := range [][]int32{indices, indptr} {
		if v != nil {
			files = append(files, entry{names[k], npyFile("<i4", false, dims(len(v)), v)})
		}
	}
	return npz(files...)
}

func TestEntriesOfOnePlaceAddUpInAnyOrder(t *testing.T) {
	x, y := [][]float64{{1, 0, 5}, {0, 7, 0}}, []float64{1, 2}
	for _, data := range []string{
		sparse("csr", []int64{2, 3}, []float64{2, 1, 3, 7}, []int32{2, 0, 2, 1}, []int32{0, 3, 4}, y),
		sparse("csc", []int64{2, 3}, []float64{1, 7, 2, 3}, []int32{0, 1, 0, 0}, []int32{0, 1, 2, 4}, y),
		sparse("coo", []int64{2, 3}, []float64{7, 2, 3, 1}, []int32{1, 2, 2, 0}, []int32{1, 0, 0, 0}, y),
	} {
		wantSet(t, mustRead(t, data, "a.npz", Options{}), x, y)
	}
}

func TestDamagedSparseMatricesSayWhatIsWrong(t *testing.T) {
	two, y := []float64{1, 2}, []float64{1, -1}
	for _, c := range []struct{ data, want string }{
		{sparse("csr", []int64{2, 3}, two, []int32{0, 3}, []int32{0, 1, 2}, y),
			"array indices: indices[1] is 3, want a whole number from 0 to 2"},
		{sparse("csr", []int64{2, 3}, two, []int32{0}, []int32{0, 1, 2}, y),
			"array indices has 1 numbers, but data has 2: save the matrix again"},
		{sparse("csr", []int64{2, 3}, two, []int32{0, 1}, []int32{0, 2}, y),
			"array indptr does not fit: want 3 numbers from 0 to 2, the entries: save the matrix again"},
		{sparse("csr", []int64{3, 3}, two, []int32{0, 1}, []int32{0, 2, 1, 2}, y),
			"array indptr: indptr[2] is 1 after 2: want whole numbers in ascending order"},
		{sparse("csr", []int64{2}, two, []int32{0, 1}, []int32{0, 1, 2}, y),
			"array shape: 2: want two whole numbers below 2147483647, examples and features"},
		{sparse("csr", []int64{2, 3}, two, []int32{0, 1}, nil, y),
			`no array indptr: save with numpy.savez(file, X=…, y=…); the file has "data", "format", "indices", "shape", "y"`},
		{sparse("csr", []int64{0, 3}, nil, []int32{}, []int32{0}, nil), "no examples: the file holds no data"},
		{sparse("csr", []int64{2, 3}, two, []int32{0, 1}, []int32{0, 1, 2}, []float64{1}),
			"X has 2 examples but y has 1 labels: save arrays of equal length"},
		{sparse("coo", []int64{1 << 30, 3}, two, []int32{0, 1}, []int32{0, 1}, y),
			"shape (1073741824, 3) with 2 entries: too many empty examples: is it transposed?"},
		{sparse("coo", []int64{2, 3}, []float64{1e308, 1e308}, []int32{0, 0}, []int32{1, 1}, y),
			"the entries at [1, 0] add up to +Inf, which is not finite: scale the data"},
	} {
		wantError(t, c.data, "a.npz", Options{}, "a.npz: "+c.want)
	}
}
