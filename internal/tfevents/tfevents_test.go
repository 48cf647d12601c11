package tfevents

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// The golden file: the version, then acc = 0 and loss = ½ at step 300, then a histogram, all 1.5 s after 1970. The
// checksums come from a bitwise CRC-32C apart from this code; a37f4b22 also opens every file that TensorFlow writes.
const (
	versionData = "\x09" + "\x00\x00\x00\x00\x00\x00\xf8\x3f" + // wall_time = 1.5
		"\x1a\x0d" + "brain.Event:2" // file_version
	versionRecord = "\x18\x00\x00\x00\x00\x00\x00\x00" + "\xa3\x7f\x4b\x22" + versionData + "\x2a\x28\x64\x6c"

	scalarsData = "\x09" + "\x00\x00\x00\x00\x00\x00\xf8\x3f" + // wall_time = 1.5
		"\x10\xac\x02" + // step = 300 = 2·128 + 44
		"\x2a\x19" + // summary, 12 + 13 bytes
		"\x0a\x0a" + "\x0a\x03acc" + "\x15\x00\x00\x00\x00" + // value: tag, simple_value
		"\x0a\x0b" + "\x0a\x04loss" + "\x15\x00\x00\x00\x3f"
	scalarsRecord = "\x27\x00\x00\x00\x00\x00\x00\x00" + "\xbb\xe1\xb1\x46" + scalarsData + "\x54\x3f\xd4\x85"

	golden = versionRecord + scalarsRecord + histogramRecord

	// One number in (0, 1] and two in (1, 2], whose sum is 3.5 and whose squares' is 5.25; the least, 0, is left out as
	// proto3 does.
	histogramData = "\x09" + "\x00\x00\x00\x00\x00\x00\xf8\x3f" + "\x10\xac\x02" +
		"\x2a\x4f" + // summary, 79 bytes
		"\x0a\x4d" + "\x0a\x01w" + "\x2a\x48" + // value: tag, histo of 72 bytes
		"\x11" + "\x00\x00\x00\x00\x00\x00\x00\x40" + // max = 2
		"\x19" + "\x00\x00\x00\x00\x00\x00\x08\x40" + // num = 3
		"\x21" + "\x00\x00\x00\x00\x00\x00\x0c\x40" + // sum = 3.5
		"\x29" + "\x00\x00\x00\x00\x00\x00\x15\x40" + // sum_squares = 5.25
		"\x32\x10" + "\x00\x00\x00\x00\x00\x00\xf0\x3f" + "\x00\x00\x00\x00\x00\x00\x00\x40" + // bucket_limit, packed
		"\x3a\x10" + "\x00\x00\x00\x00\x00\x00\xf0\x3f" + "\x00\x00\x00\x00\x00\x00\x00\x40" // bucket, packed
	histogramRecord = "\x5d\x00\x00\x00\x00\x00\x00\x00" + "\x61\x5b\xbb\xb9" + histogramData + "\xb8\x41\x15\x66"
)

var goldenWall = time.Unix(1, 5e8)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestWriterWritesTheBytesOfTheFormat(t *testing.T) {
	var b bytes.Buffer
	w := newWriter(nopCloser{&b})
	if err := errors.Join(w.version(goldenWall), w.Scalars(300, goldenWall, map[string]float64{"loss": 0.5, "acc": 0}),
		w.Histogram(300, goldenWall, "w", Histogram{Max: 2, Sum: 3.5, SumSquares: 5.25, Limits: []float64{1, 2},
			Counts: []float64{1, 2}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != golden {
		t.Errorf("got\n%q, want\n%q", got, golden)
	}
}

func TestMaskedChecksums(t *testing.T) {
	// The check value of CRC-32C is e3069283; rotated right by 15 it is 2507c60d, plus a282ead8.
	if got := masked([]byte("123456789")); got != 0xc78ab0e5 {
		t.Errorf("masked CRC of 123456789 is %08x, want c78ab0e5", got)
	}
	if got := masked(nil); got != 0xa282ead8 {
		t.Errorf("masked CRC of nothing is %08x, want a282ead8", got)
	}
}

func TestAFileOnDiskComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "a")
	w, err := Create(dir, ".train")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if name := files[0].Name(); !regexp.MustCompile(`^events\.out\.tfevents\.\d{10}\..+\.train$`).MatchString(name) {
		t.Errorf("the file is named %s", name)
	}
	values := map[string]float64{"a": math.Inf(1), "b": 0.1, "c": -1e300}
	if err := errors.Join(w.Scalars(-1, goldenWall, values), w.Scalars(5, goldenWall, nil), w.Flush()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, files[0].Name())) // while it is still being written
	if err != nil {
		t.Fatal(err)
	}
	got, err := lines(file)
	if want := "-1 1.5 \"a\" +Inf\n-1 1.5 \"b\" 0.1\n-1 1.5 \"c\" -Inf\n"; got != want || err != nil { // as float32
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesOfOneSecondDoNotCollide(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		w, err := Create(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("three files are %v, %v", files, err)
	}
}

func TestWhatTensorBoardCannotReadIsRefused(t *testing.T) {
	if _, err := Create(t.TempDir(), "/../x"); err == nil {
		t.Error("a suffix with a path separator passed")
	}
	var b bytes.Buffer
	w := newWriter(nopCloser{&b})
	if err := w.Scalars(1, goldenWall, map[string]float64{"\xff": 1}); err == nil {
		t.Error("a tag that is not UTF-8 passed")
	}
	for name, h := range map[string]Histogram{"none": {}, "more limits": {Limits: []float64{1, 2}, Counts: []float64{1}},
		"falling limits": {Limits: []float64{2, 1}, Counts: []float64{1, 1}}} {
		if err := w.Histogram(1, goldenWall, "h", h); err == nil {
			t.Errorf("a histogram passed: %s", name)
		}
	}
	if err := w.Histogram(1, goldenWall, "\xff", Histogram{Limits: []float64{1}, Counts: []float64{1}}); err == nil {
		t.Error("a tag that is not UTF-8 passed")
	}
	if err := w.Close(); err != nil || b.Len() > 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}
