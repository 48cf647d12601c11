package tfevents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// The golden file: the version, then acc = 0 and loss = ½ at step 300, both 1.5 s after 1970. The checksums come
// from a bitwise CRC-32C apart from this code; a37f4b22 also opens every file that TensorFlow writes.
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

	golden = versionRecord + scalarsRecord
)

var goldenWall = time.Unix(1, 5e8)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// lines returns what Read reports, one scalar a line.
func lines(r io.Reader) (string, error) {
	var b strings.Builder
	err := Read(r, func(step int64, wall float64, tag string, value float64) error {
		_, err := fmt.Fprintln(&b, step, wall, tag, value)
		return err
	})
	return b.String(), err
}

func TestWriterWritesTheBytesOfTheFormat(t *testing.T) {
	var b bytes.Buffer
	w := newWriter(nopCloser{&b})
	if err := errors.Join(w.version(goldenWall), w.Scalars(300, goldenWall, map[string]float64{"loss": 0.5, "acc": 0}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != golden {
		t.Errorf("got\n%q, want\n%q", got, golden)
	}
}

func TestReadReportsTheScalarsOfTheFormat(t *testing.T) {
	got, err := lines(iotest.OneByteReader(strings.NewReader(golden)))
	if want := "300 1.5 acc 0\n300 1.5 loss 0.5\n"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
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

func TestReadPassesOverARecordThatIsCutShort(t *testing.T) {
	for n := len(versionRecord); n < len(golden); n++ {
		if got, err := lines(strings.NewReader(golden[:n])); got != "" || err != nil {
			t.Errorf("%d of %d bytes: got %q, %v", n, len(golden), got, err)
		}
	}
}

func TestReadRefusesEveryFlippedByteAndSaysWhere(t *testing.T) {
	for i := range golden {
		b := []byte(golden)
		b[i] ^= 0x10
		offset := 0
		if i >= len(versionRecord) {
			offset = len(versionRecord)
		}
		_, err := lines(bytes.NewReader(b))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("record at byte %d has", offset)) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}

func TestReadRefusesRecordsThatAreNotEvents(t *testing.T) {
	for name, data := range map[string]string{
		"half a key":             "\x80",
		"field 0":                "\x00\x00",
		"a group":                "\x0b\x0c",
		"half a double":          "\x09\x00\x00\x00",
		"half a float":           "\x2a\x05\x0a\x03\x15\x00\x00",
		"endless varint":         "\x10" + strings.Repeat("\xff", 11),
		"summary longer than it": "\x2a\x7f\x0a",
	} {
		record := appendRecord([]byte(golden), []byte(data))
		got, err := lines(bytes.NewReader(record))
		if !errors.Is(err, errEvent) || !strings.Contains(err.Error(), fmt.Sprint("at byte ", len(golden))) || strings.Count(got, "\n") != 2 {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestReadPassesOverFieldsAndValuesOfOtherKinds(t *testing.T) {
	data := "\x2a\x13" + // the summary may come before the step
		"\x0a\x06" + "\x0a\x01h" + "\x2a\x01x" + // a histogram
		"\x0a\x09" + "\x4a\x00" + "\x0a\x00" + "\x15\x00\x00\x80\x3f" + // metadata, an empty tag
		"\x10\x07" + "\x32\x00" + "\x3d\x00\x00\x00\x00" + "\x38\x01"
	got, err := lines(bytes.NewReader(appendRecord(nil, []byte(data))))
	if want := "7 0  1\n"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestReadReturnsTheErrorOfItsCallerAndOfItsReader(t *testing.T) {
	stop := errors.New("stop")
	err := Read(strings.NewReader(golden), func(int64, float64, string, float64) error { return stop })
	if err != stop {
		t.Error(err)
	}
	for _, n := range []int{0, 12, len(golden)} {
		r := io.MultiReader(strings.NewReader(golden[:n]), iotest.ErrReader(os.ErrDeadlineExceeded))
		if _, err := lines(r); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestAFileOnDiskComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "a")
	w, err := Create(dir, ".train")
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(w.Path()); !regexp.MustCompile(`^events\.out\.tfevents\.\d{10}\..+\.train$`).MatchString(name) {
		t.Errorf("the file is named %s", name)
	}
	values := map[string]float64{"a": math.Inf(1), "b": 0.1, "c": -1e300}
	if err := errors.Join(w.Scalars(-1, goldenWall, values), w.Scalars(5, goldenWall, nil), w.Flush()); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(w.Path()) // while it is still being written
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := lines(file)
	if want := "-1 1.5 a +Inf\n-1 1.5 b 0.10000000149011612\n-1 1.5 c -Inf\n"; got != want || err != nil { // 0.1 as a float32
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesOfOneSecondDoNotCollide(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]bool{}
	for range 3 {
		w, err := Create(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		paths[w.Path()] = true
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) != 3 {
		t.Errorf("three files are %v", slices.Collect(maps.Keys(paths)))
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
	if err := w.Close(); err != nil || b.Len() > 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}
