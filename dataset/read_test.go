package dataset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// rowsOf writes a matrix out, zeros included.
func rowsOf(s *Set) [][]float64 {
	n, d := s.X.Dims()
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
		idx, val := s.X.Row(i)
		for k, v := range val {
			if idx != nil {
				x[i][idx[k]] = v
			} else {
				x[i][k] = v
			}
		}
	}
	return x
}

func sameRows(a, b [][]float64) bool {
	return slices.EqualFunc(a, b, func(a, b []float64) bool { return slices.EqualFunc(a, b, sameBits) })
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func mustRead(t *testing.T, data, name string, opt Options) *Set {
	t.Helper()
	s, err := ReadFrom(strings.NewReader(data), name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantSet(t *testing.T, s *Set, x [][]float64, y []float64) {
	t.Helper()
	if got := rowsOf(s); !sameRows(got, x) {
		t.Errorf("X = %v, want %v", got, x)
	}
	if !slices.Equal(s.Y, y) {
		t.Errorf("Y = %v, want %v", s.Y, y)
	}
}

// wantError reads data and compares the whole of the error's one line.
func wantError(t *testing.T, data, name string, opt Options, want string) {
	t.Helper()
	_, err := ReadFrom(strings.NewReader(data), name, opt)
	if err == nil {
		t.Fatalf("%.40q was read, want the error %q", data, want)
	}
	var e *Error
	if !errors.As(err, &e) || e.Name != name {
		t.Errorf("%#v is not an *Error of %s", err, name)
	}
	if err.Error() != want {
		t.Errorf("%.40q gives\n%s\nwant\n%s", data, err, want)
	}
}

func gz(data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, data)
	w.Close()
	return b.String()
}

const (
	smallSVM = "+1 1:0.5 3:-2\n-1 2:1e-3\n"
	smallCSV = "a,b,c,label\n0.5,0,-2,1\n0,1e-3,0,-1\n"
)

var smallX, smallY = [][]float64{{0.5, 0, -2}, {0, 1e-3, 0}}, []float64{1, -1}

func smallNPY() string {
	return npyFile("<f8", false, "(2, 4)", []float64{0.5, 0, -2, 1, 0, 1e-3, 0, -1})
}

func smallNPZ() string {
	return npz(entry{"X.npy", npyFile("<f8", false, "(2, 3)", []float64{0.5, 0, -2, 0, 1e-3, 0})},
		entry{"y.npy", npyFile("|i1", false, "(2,)", []int8{1, -1})})
}

func TestTheSameTableInEveryFormatGivesTheSameSet(t *testing.T) {
	for _, c := range []struct{ name, data string }{
		{"data.svm", smallSVM}, {"data.libsvm", smallSVM}, {"data.svmlight", smallSVM}, {"data.txt", smallSVM},
		{"data", smallSVM},
		{"data.csv", smallCSV}, {"data.txt", smallCSV}, {"data", smallCSV},
		{"data.tsv", strings.ReplaceAll(smallCSV, ",", "\t")}, {"data", strings.ReplaceAll(smallCSV, ",", ";")},
		{"data.npy", smallNPY()}, {"data.npz", smallNPZ()}, {"data", smallNPY()}, {"data.csv", smallNPZ()},
	} {
		for _, packed := range []bool{false, true} {
			data, name := c.data, c.name
			if packed {
				data, name = gz(data), name+".GZ"
			}
			t.Run(name, func(t *testing.T) {
				s := mustRead(t, data, name, Options{})
				wantSet(t, s, smallX, smallY)
				if s.Name != name {
					t.Errorf("Name = %q, want %q", s.Name, name)
				}
				sum := sha256.Sum256([]byte(data))
				if want := "sha256:" + hex.EncodeToString(sum[:]); s.Hash != want {
					t.Errorf("Hash = %s, want that of the stored bytes, %s", s.Hash, want)
				}
			})
		}
	}
}

func TestAGzippedFileNeedsNoEnding(t *testing.T) {
	wantSet(t, mustRead(t, gz(smallCSV), "data", Options{}), smallX, smallY)
	wantSet(t, mustRead(t, gz(smallSVM)+gz("-1 1:2\n"), "data.svm", Options{}),
		append(slices.Clone(smallX), []float64{2, 0, 0}), []float64{1, -1, -1})
}

func TestReadingByteByByteMakesNoDifference(t *testing.T) {
	for _, data := range []string{smallSVM, smallCSV, smallNPY(), smallNPZ(), gz(smallSVM), "\ufeff" + smallSVM, "\ufeff" +
		smallCSV} {
		s, err := ReadFrom(iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(data))), "data", Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantSet(t, s, smallX, smallY)
	}
}

func TestBiasIsTheLastColumnAndCountsInCols(t *testing.T) {
	for k, data := range []string{smallSVM, smallCSV, smallNPY(), smallNPZ()} {
		for _, c := range []struct {
			opt  Options
			want [][]float64
		}{
			{Options{Bias: true}, [][]float64{{0.5, 0, -2, 1}, {0, 1e-3, 0, 1}}},
			{Options{Cols: 2}, smallX},
			{Options{Cols: 3, Bias: true}, [][]float64{{0.5, 0, -2, 1}, {0, 1e-3, 0, 1}}},
			{Options{Cols: 5}, [][]float64{{0.5, 0, -2, 0, 0}, {0, 1e-3, 0, 0, 0}}},
			{Options{Cols: 6, Bias: true}, [][]float64{{0.5, 0, -2, 0, 0, 1}, {0, 1e-3, 0, 0, 0, 1}}},
		} {
			if k > 0 && c.opt.Cols > 4 {
				continue // a dense file says how wide it is
			}
			wantSet(t, mustRead(t, data, "data", c.opt), c.want, smallY)
		}
	}
}

func TestUnlabeledFilesAreAllFeatures(t *testing.T) {
	for _, c := range []struct {
		data string
		want [][]float64
	}{
		{"a,b\n1,2\n3,4\n", [][]float64{{1, 2}, {3, 4}}},
		{"a\n1\n3\n", [][]float64{{1}, {3}}},
		{"a,Label\n1,0\n3,0\n", [][]float64{{1}, {3}}},
	} {
		wantSet(t, mustRead(t, c.data, "x.csv", Options{Unlabeled: true}), c.want, []float64{0, 0})
	}
	s := mustRead(t, smallNPY(), "x.npy", Options{Unlabeled: true})
	if n, d := s.X.Dims(); n != 2 || d != 4 || len(s.Y) != 2 {
		t.Errorf("npy: %d × %d, %d labels", n, d, len(s.Y))
	}
}

func TestNamesFollowTheColumns(t *testing.T) {
	s := mustRead(t, smallCSV, "data.csv", Options{Bias: true})
	if want := []string{"a", "b", "c", "bias"}; !slices.Equal(s.Features, want) {
		t.Errorf("Features = %q, want %q", s.Features, want)
	}
	if s := mustRead(t, smallSVM, "data.svm", Options{Bias: true}); s.Features != nil {
		t.Errorf("Features = %q of a file without names", s.Features)
	}
}

func TestFilesThatCannotBeReadSayWhy(t *testing.T) {
	const cut = "the gzip file is cut short: fetch it again"
	whole := gz(strings.Repeat(smallSVM, 10000))
	for _, c := range []struct{ name, data, want string }{
		{"a.svm", "", "a.svm: no examples: the file holds no data"},
		{"a.csv", "", "a.csv: no examples: the file holds no data"},
		{"a", "\n \n# nothing\n", "a: no examples: the file holds no data"},
		{"a.svm", gz(""), "a.svm: no examples: the file holds no data"},
		{"a.svm", whole[:len(whole)/2], "a.svm: " + cut},
		{"a.svm", whole[:len(whole)-4], "a.svm: " + cut},
		{"a.csv", gz(smallCSV)[:30], "a.csv: " + cut},
		{"a.npy", gz(smallNPY())[:40], "a.npy: " + cut},
		{"a.npz", gz(smallNPZ())[:200], "a.npz: " + cut},
		{"a", "\x1f\x8b\x08", "a: " + cut},
		{"a", "\x1f\x8bxxxxxxxxxxxx", "a: the gzip data are damaged (gzip: invalid header): fetch the file again"},
		{"a.csv", "\xff\xfea\x00", "a.csv: cannot read: UTF-16 text: save the file as UTF-8"},
		{"a.svm.bz2", "BZh91AY", "a.svm.bz2: cannot read: compressed, but not with gzip: decompress it first"},
		{"a", "three words here\n", "a: cannot read: neither svmlight (label index:value …) nor CSV with a header: check " +
			"the file, or name it .svm or .csv"},
		{"a", "1\n-1\n", "a: no features: every example has a label and nothing else"},
		{"a.npy", "1 2:3\n", "a.npy: cannot read: not a NumPy file, whatever its name says: save it again with " +
			"numpy.save or numpy.savez"},
	} {
		wantError(t, c.data, c.name, Options{}, c.want)
	}
}

func TestAFailingReaderIsReportedWithTheLine(t *testing.T) {
	broken := errors.New("cable unplugged")
	for _, c := range []struct{ data, name, want string }{
		{smallSVM + "1 1:2", "a.svm", "a.svm:3: cannot read: cable unplugged"},
		{smallCSV + "1,2", "a.csv", "a.csv:4: cannot read: cable unplugged"},
		{smallNPY()[:130], "a.npy", "a.npy: cannot read: cable unplugged"},
		{smallNPZ()[:130], "a.npz", "a.npz: cannot read: cable unplugged"},
		{"", "a", "a: cannot read: cable unplugged"},
	} {
		_, err := ReadFrom(io.MultiReader(strings.NewReader(c.data), iotest.ErrReader(broken)), c.name, Options{})
		if err == nil || err.Error() != c.want || !errors.Is(err, broken) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestReadOpensFilesAndNamesThoseThatAreMissing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data.svm.gz")
	if err := os.WriteFile(path, []byte(gz(smallSVM)), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantSet(t, s, smallX, smallY)
	missing := filepath.Join(dir, "none.svm")
	if _, err = Read(missing, Options{}); !errors.Is(err, fs.ErrNotExist) || err.Error() != missing+
		": no such file: check the path" {
		t.Errorf("missing file: %v", err)
	}
	if _, err = Read(dir, Options{}); err == nil || err.Error() != dir+": cannot read: is a directory" {
		t.Errorf("directory: %v", err)
	}
}

func TestDashIsStandardInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte(smallSVM), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer func(old *os.File) { os.Stdin = old }(os.Stdin)
	os.Stdin = f
	s, err := Read("-", Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantSet(t, s, smallX, smallY)
	if s.Name != "stdin" {
		t.Errorf("Name = %q", s.Name)
	}
}

func TestMoreColumnsThanAnIndexCanCountAreRefused(t *testing.T) {
	wantError(t, smallSVM, "a.svm", Options{Cols: 1 << 31},
		"a.svm: 2147483648 columns wanted: at most 2147483647 are possible")
}
