package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// head is a file of version 1.0 without padding.
func head(descr, order, shape, values string) []byte {
	dict := "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n"
	return []byte(Magic + "\x01\x00" + string([]byte{byte(len(dict)), 0}) + dict + values)
}

// The layout is that of numpy.save: version 1.0, and values from a multiple of 64 bytes on.
func TestFilesAreLaidOutAsNumPyDoes(t *testing.T) {
	for _, c := range []struct {
		got        []byte
		dict, data string
	}{
		{Floats([]float64{1, -2}, 2), "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
			"\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0"},
		{Floats([]float64{1, -2}, 1, 2), "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }",
			"\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0"},
		{Floats(nil, 0), "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }", ""},
		{Floats([]float64{0}), "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", strings.Repeat("\x00", 8)},
		{Texts([]string{"∞", "", "ab"}), "{'descr': '<U2', 'fortran_order': False, 'shape': (3,), }",
			"\x1e\x22\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 8) + "a\x00\x00\x00b\x00\x00\x00"},
		{Texts(nil), "{'descr': '<U1', 'fortran_order': False, 'shape': (0,), }", ""},
	} {
		pad := 128 - 10 - len(c.dict) - 1
		want := Magic + "\x01\x00\x76\x00" + c.dict + strings.Repeat(" ", pad) + "\n" + c.data
		if string(c.got) != want {
			t.Errorf("%q\nwant\n%q", c.got, want)
		}
	}
}

func TestAnArchiveHoldsWhatWasAdded(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for name, file := range map[string][]byte{"x": Floats([]float64{1, 2, 3, 4}, 2, 2), `a/b\c`: Floats([]float64{5}, 1)} {
		if err := w.Add(name, file); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := OpenArchive(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got := z.Names(); !slices.Equal(got, []string{"a_b_c", "x"}) {
		t.Errorf("names %q", got)
	}
	r, err := z.Open("X")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := Open(r)
	if err != nil {
		t.Fatal(err)
	}
	v, err := a.Next(4)
	if err := errors.Join(err, a.End()); err != nil || !slices.Equal(v, []float64{1, 2, 3, 4}) ||
		a.Shape.String() != "(2, 2)" {
		t.Errorf("%v of shape %s, %v", v, a.Shape, err)
	}
	if _, err := z.Open("y"); !errors.Is(err, ErrNoArray) {
		t.Errorf("y: %v", err)
	}
}

// An archive depends on its arrays alone, not on when it was written.
func TestAnArchiveHasNoTimes(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := errors.Join(w.Add("x", Floats([]float64{1}, 1)), w.Close()); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f := z.File[0]; f.Method != zip.Deflate || f.ModifiedDate != 0 || f.ModifiedTime != 0 || len(f.Extra) > 0 {
		t.Errorf("%+v", f.FileHeader)
	}
}

func TestPlacesAreNamedAsNumPyDoes(t *testing.T) {
	shape := Shape{2, 3, 4}
	for _, c := range []struct {
		h    Header
		k    int
		want string
	}{
		{Header{Shape: shape}, 0, "[0, 0, 0]"}, {Header{Shape: shape}, 7, "[0, 1, 3]"},
		{Header{Shape: shape}, 23, "[1, 2, 3]"},
		{Header{Shape: shape, Fortran: true}, 7, "[1, 0, 1]"}, {Header{Shape: Shape{5}}, 4, "[4]"},
	} {
		if got := c.h.Index(c.k); got != c.want {
			t.Errorf("value %d of %s: %s, want %s", c.k, c.h.Shape, got, c.want)
		}
	}
}

func TestBytesAreReadUpToALimit(t *testing.T) {
	open := func(b []byte) *Array {
		a, err := Open(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if b, err := open(head("<i2", "False", "(2,)", "abcd")).Bytes(4); err != nil || string(b) != "abcd" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := open(head("<i2", "False", "(2,)", "abcd")).Bytes(3); err != ErrTooLarge {
		t.Errorf("four bytes where three are allowed: %v", err)
	}
	var short *ShortError
	if _, err := open(head("<i2", "False", "(2,)", "abc")).Bytes(4); !errors.As(err, &short) || short.Have != 1 {
		t.Errorf("three bytes of four: %v", err)
	}
	if err := open(head("|u1", "False", "()", "ab")).End(); !errors.Is(err, ErrMore) {
		t.Errorf("bytes that are left: %v", err)
	}
}

// Whatever the bytes, a header is refused in one line or describes an array whose bytes can be counted, and an
// array is read as far as the bytes go.
func FuzzArray(f *testing.F) {
	f.Add(Floats([]float64{1, math.NaN(), 3, 4, 5, 6}, 2, 3))
	f.Add(Texts([]string{"ab"}))
	f.Add(head("|u1", "True", "(2, 2)", "abcd"))
	f.Add(head(">i4", "False", "(3L,)", "abcdefghijk"))
	f.Add(head("<f8", "False", "(4611686018427387904, 4)", ""))
	f.Add(head("<f4", "False", "(100000000000000,)", "abcdefgh"))
	f.Add(head("|b1", "False", "()", "a"))
	f.Add(head("|O", "False", "(1,)", ""))
	f.Add([]byte(Magic + "\x03\x00\xff\xff\xff\xff{"))
	f.Add([]byte(Magic + "\x01\x00\x20\x00{'descr': [('a', '<f8')], 'shape'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		a, err := Open(in)
		if err != nil {
			known := errors.Is(err, ErrHeader) || errors.Is(err, ErrStructured) || errors.Is(err, ErrObjects) ||
				errors.Is(err, ErrType)
			if !known || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q is not one line about the header", err)
			}
			return
		}
		n := a.Shape.Count()
		if n < 0 || n > math.MaxInt/a.Size {
			t.Fatalf("%d values of %d bytes", n, a.Size)
		}
		left := in.Len()
		v, err := a.Next(n)
		var short *ShortError
		switch whole := n <= left/a.Size; {
		case whole && err != nil, !whole && (!errors.As(err, &short) || short.Have != left/a.Size):
			t.Fatalf("%d values of %d bytes in %d bytes: %v", n, a.Size, left, err)
		case !whole:
			return
		}
		if more := n*a.Size < left; errors.Is(a.End(), ErrMore) != more {
			t.Fatalf("%d values of %d bytes in %d bytes: not the end", n, a.Size, left)
		}
		again, err := Open(bytes.NewReader(Floats(v, a.Shape...)))
		if err != nil || !slices.Equal(again.Shape, a.Shape) {
			t.Fatalf("shape %s came back as %v (%v)", a.Shape, again, err)
		}
		w := make([]float64, n)
		if err := errors.Join(again.Fill(w), again.End()); err != nil || !slices.EqualFunc(v, w, sameBits) {
			t.Fatalf("%v came back as %v (%v)", v, w, err)
		}
	})
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// Random bytes seldom pass zip's checksums; what they do pass must be readable by name.
func FuzzArchive(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := errors.Join(w.Add("x", Floats([]float64{1}, 1)), w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := OpenArchive(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			r, err := z.Open(name)
			if errors.Is(err, ErrNoArray) {
				t.Fatalf("%q is listed and not there", name)
			}
			if err == nil {
				io.Copy(io.Discard, io.LimitReader(r, 1<<16))
				r.Close()
			}
		}
	})
}
