package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

// fuzzReader reads whatever comes.
func fuzzReader(f *testing.F, read reader) {
	f.Fuzz(func(t *testing.T, data []byte, bias bool, cols uint8) {
		promises(t, read, data, Options{Bias: bias, Cols: int(cols)})
	})
}

// promises checks what a reader promises for any input: an *Error, or a set that is sound.
func promises(t *testing.T, read reader, data []byte, opt Options) {
	s, err := read(bytes.NewReader(data), "fuzz", opt)
	if err != nil {
		e, ok := err.(*Error)
		if !ok || e.Name != "fuzz" || e.Msg == "" || bytes.ContainsAny([]byte(e.Error()), "\n\r") {
			t.Fatalf("%#v is not one line about the file", err)
		}
		return
	}
	sound(t, s, opt)
	if _, d := s.X.Dims(); d > 1<<16 {
		return // to compare every row with its zeros would take too long
	}
	var w bytes.Buffer
	if err := WriteSVM(&w, s); err != nil {
		t.Fatal(err)
	}
	text := w.String()
	back, err := readSVM(&w, "back", Options{})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if !sameRows(rowsOf(s), rowsOf(back)) || !slices.EqualFunc(s.Y, back.Y, sameBits) {
		t.Fatalf("%v %v was written as %q and read as %v %v", rowsOf(s), s.Y, text, rowsOf(back), back.Y)
	}
}

func isSparse(s *Set) bool {
	_, ok := s.X.(*matrix.CSR)
	return ok
}

func sound(t *testing.T, s *Set, opt Options) {
	n, d := s.X.Dims()
	if n == 0 || d == 0 || len(s.Y) != n || isSparse(s) && d < opt.Cols || s.Features != nil && len(s.Features) != d {
		t.Fatalf("%d × %d with %d labels and %d names", n, d, len(s.Y), len(s.Features))
	}
	for i := range n {
		idx, val := s.X.Row(i)
		for k, v := range append(val[:len(val):len(val)], s.Y[i]) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("row %d, value %d: %v", i, k, v)
			}
		}
		for k, j := range idx {
			if j < 0 || int(j) >= d || k > 0 && j <= idx[k-1] {
				t.Fatalf("row %d has columns %v of %d", i, idx, d)
			}
		}
		if opt.Bias && (val[len(val)-1] != 1 || idx != nil && int(idx[len(idx)-1]) != d-1) {
			t.Fatalf("row %d ends in %v, not in a bias", i, val[len(val)-1])
		}
	}
}

// parsed is a reader of text, whatever the size of its window.
type parsed func(*text, string, Options) (*Set, error)

func (p parsed) through(size int) reader {
	return func(r io.Reader, name string, opt Options) (*Set, error) { return p(newText(r, size), name, opt) }
}

// anyWindow reads text through windows of all sizes from a few bytes up, which must make no difference.
func anyWindow(t *testing.T, parse parsed, data []byte, opt Options) {
	promises(t, parse.through(window), data, opt)
	s, err := parse.through(window)(bytes.NewReader(data), "fuzz", opt)
	small, smallErr := parse.through(4+len(data)%29)(bytes.NewReader(data), "fuzz", opt)
	if err != nil || smallErr != nil {
		if fmt.Sprint(err) != fmt.Sprint(smallErr) {
			t.Fatalf("%v, but through a small window %v", err, smallErr)
		}
		return
	}
	var a, b bytes.Buffer
	if err := errors.Join(WriteSVM(&a, s), WriteSVM(&b, small)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Fatalf("%q, but through a small window %q", a.String(), b.String())
	}
}

// shifted checks that text read as counted from 0 has every entry one column after where it is as counted from 1.
func shifted(t *testing.T, data []byte) {
	one, err := readSVM(bytes.NewReader(data), "fuzz", Options{})
	zero, zeroErr := readSVM(bytes.NewReader(data), "fuzz", Options{ZeroBased: true})
	switch {
	case err != nil && zeroErr != nil:
		return
	case err != nil && !errors.Is(err, ErrZeroIndex):
		t.Fatalf("counted from 0 it is read, counted from 1: %v", err)
	case err != nil:
		return
	}
	_, d := one.X.Dims()
	switch {
	case zeroErr != nil && d < math.MaxInt32:
		t.Fatalf("counted from 1 it is read, counted from 0: %v", zeroErr)
	case zeroErr != nil:
		return
	}
	n, d0 := zero.X.Dims()
	if d0 != d+1 || !slices.EqualFunc(one.Y, zero.Y, sameBits) {
		t.Fatalf("%d columns counted from 1, %d from 0; labels %v and %v", d, d0, one.Y, zero.Y)
	}
	for i := range n {
		a, x := one.X.Row(i)
		b, z := zero.X.Row(i)
		if !slices.EqualFunc(a, b, func(j, k int32) bool { return j+1 == k }) || !slices.EqualFunc(x, z, sameBits) {
			t.Fatalf("row %d: %v %v counted from 1, %v %v from 0", i, a, x, b, z)
		}
	}
}

func FuzzSVM(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, bias bool, cols uint8) {
		for _, zero := range []bool{false, true} {
			anyWindow(t, parseSVM, data, Options{Bias: bias, Cols: int(cols), ZeroBased: zero})
		}
		shifted(t, data)
	})
}

func FuzzCSV(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, bias bool, cols uint8) {
		anyWindow(t, parseCSV, data, Options{Bias: bias, Cols: int(cols)})
	})
}

// FuzzTable reads tables of texts with all options, and each again like itself.
func FuzzTable(f *testing.F) {
	for _, data := range []string{people, smallCSV, ",a,y\n0,x,1\n1,,0\n", "a;b\n\"x;\"\"y\";no\n-0;yes\n0.0;yes\n",
		"y,x,y\n1,a,2\n", "a,b,\n1,x,2\n", "1,2\n3,\n", "a,b,a,label\n1,x,2,u\n3,y,?,v\n", "a\tb\n\xff\t1\n\tNA\n",
		"a,b\n\"x\ny\",1\nz,0\n"} {
		for k := range uint8(6) {
			f.Add([]byte(data), k*41, "", "")
		}
	}
	f.Add([]byte(people), uint8(1), "sex", "age")
	f.Add([]byte(people), uint8(2), "1", "5")
	f.Fuzz(func(t *testing.T, data []byte, how uint8, label, drop string) {
		opt := Options{Bias: how&1 > 0, NoHeader: how&2 > 0, Unlabeled: how&4 > 0, Label: label,
			Missing: []Missing{"", MissingMean, MissingDrop}[how/8%3]}
		if drop != "" {
			opt.Drop = []string{drop}
		}
		if how&64 > 0 {
			opt.Columns, opt.Drop = opt.Drop, nil
		}
		anyWindow(t, parseCSV, data, opt)
		s, err := readCSV(bytes.NewReader(data), "fuzz", opt)
		if err != nil {
			return
		}
		if err := s.Encoding.Check(); err != nil {
			t.Fatalf("%+v: %v", s.Encoding, err)
		}
		_, d := s.X.Dims()
		if names := s.Encoding.Features(); !slices.Equal(s.Features, names) && (!opt.Bias || len(names) != d-1) {
			t.Fatalf("%q, and by the encoding %q", s.Features, names)
		}
		if s.Label == "" && !s.Unlabeled {
			return // a column without a name is known by its number, which may be the name of another
		}
		if slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "missing values and") }) {
			return // a line without a label may hold what no feature can be
		}
		// With Unlabeled a table is read like another without its labels.
		opt.Unlabeled = false
		again(t, s, string(data), opt)
	})
}

func FuzzNPY(f *testing.F) { fuzzReader(f, readNPY) }
func FuzzNPZ(f *testing.F) { fuzzReader(f, readNPZ) }

// FuzzNPZArrays gets past the archive's checksums, which stop nearly every change FuzzNPZ makes.
func FuzzNPZArrays(f *testing.F) {
	f.Fuzz(func(t *testing.T, x, y []byte) {
		promises(t, readNPZ, []byte(npz(entry{"X.npy", string(x)}, entry{"y.npy", string(y)})), Options{})
	})
}

// FuzzNPZSparse gets past the checksums of archives of sparse matrices.
func FuzzNPZSparse(f *testing.F) {
	shape := npyFile("<i8", false, "(2,)", []int64{2, 3})
	f.Add("csr", shape, npyFile("<f8", false, "(2,)", []float64{1, 2}), npyFile("<i4", false, "(2,)", []int32{2, 0}),
		npyFile("<i4", false, "(3,)", []int32{0, 1, 2}), true)
	f.Add("coo", shape, npyFile("<f8", false, "(2,)", []float64{1, 2}), npyFile("<i4", false, "(2,)", []int32{1, 1}),
		npyFile("<i4", false, "(2,)", []int32{2, 2}), false)
	f.Fuzz(func(t *testing.T, format, shape, data, indices, indptr string, bias bool) {
		text := npyOf(1, fmt.Sprintf("{'descr': '|S%d', 'fortran_order': False, 'shape': (), }", len(format)), format)
		promises(t, readNPZ, []byte(npz(entry{"format.npy", text}, entry{"shape.npy", shape}, entry{"data.npy", data},
			entry{"indices.npy", indices}, entry{"indptr.npy", indptr}, entry{"col.npy", indices}, entry{"row.npy", indptr})),
			Options{Bias: bias, Unlabeled: true})
	})
}

func FuzzParseFloat(f *testing.F) { f.Fuzz(sameAsStrconv) }
