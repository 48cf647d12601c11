package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/npy"
)

// npyFile writes an array as NumPy does: version 1.0, the header padded to 64 bytes.
func npyFile(descr string, fortran bool, shape string, data any) string {
	order := "False"
	if fortran {
		order = "True"
	}
	return npyOf(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape),
		raw(descr, data))
}

func npyOf(version int, dict, data string) string {
	width := 2
	if version > 1 {
		width = 4
	}
	for (len(npy.Magic)+2+width+len(dict)+1)%64 != 0 {
		dict += " "
	}
	dict += "\n"
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(dict)))[:width]
	return npy.Magic + string([]byte{byte(version), 0}) + string(size) + dict + data
}

func raw(descr string, data any) string {
	var b bytes.Buffer
	order := binary.ByteOrder(binary.LittleEndian)
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	if err := binary.Write(&b, order, data); err != nil {
		panic(err)
	}
	return b.String()
}

type entry struct{ name, data string }

// npz packs files, the first of them without compression.
func npz(files ...entry) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, f := range files {
		method := zip.Store
		if i > 0 {
			method = zip.Deflate
		}
		e, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: method})
		if err != nil {
			panic(err)
		}
		e.Write([]byte(f.data))
	}
	w.Close()
	return b.String()
}

func TestNPYReadsEveryPlainType(t *testing.T) {
	x, y := [][]float64{{1, 0}, {2, 1}}, []float64{3, 4}
	for _, c := range []struct {
		descr string
		data  any
	}{
		{"<f8", []float64{1, 0, 3, 2, 1, 4}}, {">f8", []float64{1, 0, 3, 2, 1, 4}},
		{"<f4", []float32{1, 0, 3, 2, 1, 4}}, {">f4", []float32{1, 0, 3, 2, 1, 4}},
		{"|i1", []int8{1, 0, 3, 2, 1, 4}}, {"|u1", []uint8{1, 0, 3, 2, 1, 4}},
		{"<i2", []int16{1, 0, 3, 2, 1, 4}}, {">i2", []int16{1, 0, 3, 2, 1, 4}},
		{"<u2", []uint16{1, 0, 3, 2, 1, 4}}, {">u2", []uint16{1, 0, 3, 2, 1, 4}},
		{"<i4", []int32{1, 0, 3, 2, 1, 4}}, {">i4", []int32{1, 0, 3, 2, 1, 4}},
		{"<u4", []uint32{1, 0, 3, 2, 1, 4}}, {">u4", []uint32{1, 0, 3, 2, 1, 4}},
		{"<i8", []int64{1, 0, 3, 2, 1, 4}}, {">i8", []int64{1, 0, 3, 2, 1, 4}},
		{"<u8", []uint64{1, 0, 3, 2, 1, 4}}, {">u8", []uint64{1, 0, 3, 2, 1, 4}},
	} {
		wantSet(t, mustRead(t, npyFile(c.descr, false, "(2, 3)", c.data), "a.npy", Options{}), x, y)
	}
	wantSet(t, mustRead(t, npyFile("|b1", false, "(2, 2)", []bool{true, false, false, true}), "a.npy", Options{}),
		[][]float64{{1}, {0}}, []float64{0, 1})
}

func TestNPYReadsTheExtremesOfIntegers(t *testing.T) {
	for _, c := range []struct {
		descr string
		data  any
		x, y  float64
	}{
		{"|i1", []int8{math.MinInt8, -1}, -128, -1},
		{"<i2", []int16{math.MinInt16, -1}, -32768, -1},
		{">i4", []int32{math.MinInt32, -1}, -2147483648, -1},
		{"<i8", []int64{math.MinInt64, -1}, -0x1p63, -1},
		{"|u1", []uint8{255, 1}, 255, 1},
		{">u2", []uint16{65535, 1}, 65535, 1},
		{"<u4", []uint32{math.MaxUint32, 1}, 4294967295, 1},
		{">u8", []uint64{math.MaxUint64, 1}, 0x1p64, 1},
	} {
		wantSet(t, mustRead(t, npyFile(c.descr, false, "(1, 2)", c.data), "a.npy", Options{}), [][]float64{{c.x}},
			[]float64{c.y})
	}
}

func TestNPYReadsFortranOrder(t *testing.T) {
	wantSet(t, mustRead(t, npyFile("<f8", true, "(2, 4)", []float64{0.5, 0, 0, 1e-3, -2, 0, 1, -1}), "a.npy", Options{}),
		smallX, smallY)
}

func TestNPYReadsEveryVersionAndSpellingOfTheHeader(t *testing.T) {
	data := raw("<", []float64{1, 2})
	for _, c := range []struct {
		version int
		dict    string
	}{
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }"},
		{2, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }"},
		{3, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }"},
		{1, "{'shape':(1L,2L),'fortran_order':False,'descr':\"<f8\"}"},
		{1, " { 'shape' : ( 1 , 2 , ) , 'descr' : 'f8' , 'fortran_order' : True } "},
	} {
		wantSet(t, mustRead(t, npyOf(c.version, c.dict, data), "a.npy", Options{}), [][]float64{{1}}, []float64{2})
	}
}

func TestNPYErrorsSayWhatIsWrong(t *testing.T) {
	dict := func(descr, order, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	}
	two := raw("<", []float64{1, 2})
	again := ": save the array again with numpy.save"
	for _, c := range []struct{ data, want string }{
		{npy.Magic, "bad npy header: the file ends in it" + again},
		{smallNPY()[:9], "bad npy header: the file ends in it" + again},
		{smallNPY()[:50], "bad npy header: the file ends in it" + again},
		{npy.Magic + "\x04\x00", "bad npy header: version 4.0, want 1.0 to 3.0" + again},
		{npy.Magic + "\x02\x00\xff\xff\xff\xff", "bad npy header: it claims to be 4294967295 bytes long" + again},
		{npyOf(1, "nonsense", ""), `bad npy header: want { before "nonsense` + strings.Repeat(" ", 32) + `"…` + again},
		{npyOf(1, "{'descr': 3}", ""), `bad npy header: want a string before "3}` + strings.Repeat(" ", 38) + `"…` + again},
		{npyOf(1, dict("'|f8'", "False", "(1, 2)"), two), `bad npy header: type "|f8" has no byte order` + again},
		{npyOf(1, "{}", ""), "bad npy header: no descr" + again},
		{npyOf(1, "{'descr': '<f8', 'shape': (1, 2)}", ""), "bad npy header: no fortran_order" + again},
		{npyOf(1, "{'a': 1}", ""), `bad npy header: key "a" is none of descr, fortran_order and shape` + again},
		{npyOf(1, "{'shape': (1,), 'shape': (1,)}", ""), `bad npy header: "shape" occurs twice` + again},
		{npyOf(1, "{'shape': (-1, 2)}", ""), `bad npy header: want a length before "-1, 2)}` + strings.Repeat(" ", 33) +
			`"…` + again},
		{npyOf(1, dict("'<f8'", "Maybe", "(1, 2)"), two),
			`bad npy header: want True or False before "Maybe, 'shape': (1, 2), }` + strings.Repeat(" ", 15) + `"…` + again},
		{npyOf(1, dict("'<f8'", "False", "(1, 2)")+"x", two), `bad npy header: "x" after its end` + again},
		{npyOf(1, dict("'<f8'", "False", "(4611686018427387904, 4)"), two),
			"bad npy header: shape (4611686018427387904, 4) is larger than any file" + again},
		{npyOf(1, dict("'|O'", "False", "(1, 2)"), two),
			"an array of Python objects, which is not read: convert it with a.astype('float64') and save it again"},
		{npyOf(1, dict("'<c16'", "False", "(1, 2)"), two),
			`values of type "<c16", which is not read: convert them with a.astype('float64') and save again`},
		{npyOf(1, dict("'<U4'", "False", "(1, 2)"), two),
			`values of type "<U4", which is not read: convert them with a.astype('float64') and save again`},
		{npyOf(1, dict("[('a', '<f8')]", "False", "(1,)"), two),
			"a structured array: save the columns as one plain array, for example with " +
				"numpy.lib.recfunctions.structured_to_unstructured"},
		{npyFile("<f8", false, "(2,)", []float64{1, 2}),
			"shape (2,): want two dimensions, examples by features, with the label in the last column"},
		{npyFile("<f8", false, "()", []float64{1}),
			"shape (): want two dimensions, examples by features, with the label in the last column"},
		{npyFile("<f8", false, "(0, 2)", []float64{}), "no examples: the file holds no data"},
		{npyFile("<f8", false, "(2, 0)", []float64{}), "no features: every example has a label and nothing else"},
		{npyFile("<f8", false, "(2, 1)", []float64{1, 2}), "no features: every example has a label and nothing else"},
		{npyFile("<f8", false, "(2, 2)", []float64{1, 2, 3}),
			"cut short: shape (2, 2) promises 4 values, the file has 3: save or fetch it again"},
		{npyFile("<f8", true, "(2, 2)", []float64{1, 2, 3}),
			"cut short: shape (2, 2) promises 4 values, the file has 3: save or fetch it again"},
		{npyFile("<f8", false, "(1, 2)", []float64{1, 2, 3}),
			"more data after the array of shape (1, 2): store one array in a file, or several in an .npz"},
		{npyFile("<f8", false, "(2, 2)", []float64{1, 2, 3, math.NaN()}),
			"array[1, 1] is NaN, not finite: fill in missing values or drop the example"},
		{npyFile(">f4", true, "(2, 3)", []float32{1, 2, 3, float32(math.Inf(-1)), 5, 6}),
			"array[1, 1] is -Inf, not finite: fill in missing values or drop the example"},
	} {
		wantError(t, c.data, "a.npy", Options{}, "a.npy: "+c.want)
	}
}

func TestAShapeThatPromisesTooMuchTakesNoMemory(t *testing.T) {
	for _, shape := range []string{"(1, 100000000000000)", "(100000000000000, 3)", "(1000000, 100000000)"} {
		for _, fortran := range []bool{false, true} {
			data := npyFile("<f8", fortran, shape, make([]float64, 1000))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ReadFrom(strings.NewReader(data), "a.npy", Options{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "the file has 1000") {
				t.Errorf("%s: %v", shape, err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
				t.Errorf("%s: %d bytes allocated for 8000 of data", shape, grown)
			}
		}
	}
}

func TestNPYOfManyBlocksIsWhole(t *testing.T) {
	const n, d = 40_000, 9
	for _, fortran := range []bool{false, true} {
		v := make([]float64, n*d)
		for i := range n {
			for j := range d {
				if fortran {
					v[j*n+i] = float64(i*10 + j)
				} else {
					v[i*d+j] = float64(i*10 + j)
				}
			}
		}
		s := mustRead(t, npyFile("<f8", fortran, "(40000, 9)", v), "a.npy", Options{})
		for i := range n {
			_, val := s.X.Row(i)
			for j, v := range val {
				if v != float64(i*10+j) {
					t.Fatalf("X[%d, %d] = %v", i, j, v)
				}
			}
			if len(val) != d-1 || s.Y[i] != float64(i*10+d-1) {
				t.Fatalf("row %d has %d values and label %v", i, len(val), s.Y[i])
			}
		}
	}
}

func TestNPZFindsItsArraysInEitherCase(t *testing.T) {
	x := npyFile("<f8", false, "(2, 3)", []float64{0.5, 0, -2, 0, 1e-3, 0})
	column := npyFile("<f4", false, "(2, 1)", []float32{1, -1})
	wantSet(t, mustRead(t, npz(entry{"x.npy", x}, entry{"other.npy", ""}, entry{"Y.npy", column}), "a.npz", Options{}),
		smallX, smallY)
	wrong := npyFile("<f8", false, "(1, 1)", []float64{9})
	wantSet(t, mustRead(t, npz(entry{"x.npy", wrong}, entry{"X.npy", x}, entry{"y.npy", column}, entry{"Y.npy", wrong}),
		"a.npz", Options{}), smallX, smallY)
}

func TestNPZErrorsSayWhatIsWrong(t *testing.T) {
	x := entry{"X.npy", npyFile("<f8", false, "(2, 1)", []float64{1, 2})}
	y := entry{"y.npy", npyFile("<f8", false, "(2,)", []float64{1, 2})}
	whole := npz(x, y)
	for _, c := range []struct{ data, want string }{
		{npz(), "no array X: save with numpy.savez(file, X=…, y=…); the file has none"},
		{npz(y, entry{"a.npy", ""}), `no array X: save with numpy.savez(file, X=…, y=…); the file has "a", "y"`},
		{npz(x), `no array y: save with numpy.savez(file, X=…, y=…); the file has "X"`},
		{npz(x, entry{"y.npy", npyFile("<f8", false, "(3,)", []float64{1, 2, 3})}),
			"X has 2 examples but y has 3 labels: save arrays of equal length"},
		{npz(x, entry{"y.npy", npyFile("<f8", false, "(1, 2)", []float64{1, 2})}),
			"array y: shape (1, 2): want one label an example"},
		{npz(entry{"X.npy", npyFile("<f8", false, "(2,)", []float64{1, 2})}, y),
			"array X: shape (2,): want two dimensions, examples by features"},
		{npz(x, entry{"y.npy", npyFile("<f8", false, "(2,)", []float64{1, math.Inf(1)})}),
			"y[1] is +Inf, not finite: fill in missing values or drop the example"},
		{npz(entry{"X.npy", "junk, and some more of it"}, y),
			`array X: bad npy header: it does not start with \x93NUMPY: save the array again with numpy.save`},
		{npz(entry{"X.npy", "junk"}, y), "array X: bad npy header: the file ends in it: save the array again with " +
			"numpy.save"},
		{npz(entry{"X.npy", npyFile("|O", false, "(2, 1)", []float64{1, 2})}, y),
			"array X: an array of Python objects, which is not read: convert it with a.astype('float64') and save it again"},
		{whole[:len(whole)-30], "the npz archive is damaged (zip: not a valid zip file): save or fetch it again"},
		{strings.Replace(whole, "\xf0\x3f", "\xf1\x3f", 1),
			"the npz archive is damaged (zip: checksum error): save or fetch it again"},
	} {
		wantError(t, c.data, "a.npz", Options{}, "a.npz: "+c.want)
	}
}
