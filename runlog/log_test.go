package runlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

func read(t testing.TB, l *Log, text string) {
	t.Helper()
	if err := l.Read(strings.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
}

func TestALogGrowsWithItsFile(t *testing.T) {
	var l Log
	text := ""
	for k := range 100 {
		text += fmt.Sprintf("{\"step\":%d,\"loss\":%g}\n", k, 1/float64(k+1))
		if read(t, &l, text+`{"step":`); l.Len() != k+1 || l.Offset != int64(len(text)) {
			t.Fatalf("%d points, offset %d after %d lines", l.Len(), l.Offset, k+1)
		}
	}
	c := l.Curves[0]
	if x, at := c.Over(); x != "step" || at[99] != 99 || c.Column("loss")[99] != 0.01 || len(l.Curves) != 1 {
		t.Errorf("%s %v, loss %v", x, at, c.Column("loss"))
	}
	rows := l.Since(0, 1000)
	if half := l.Since(rows[49].End, 10); len(half) != 10 || half[0].Index != 50 {
		t.Errorf("after half of the file: %v", half)
	}
	if l.Since(l.Offset, 10) != nil {
		t.Error("there is nothing after the end")
	}
}

// If the line is JSON, the quick reader must find the numbers that encoding/json finds. (It also accepts 01 and 1.,
// which do no harm.)
func FuzzLines(f *testing.F) {
	for _, s := range []string{`{"step":1,"loss":-0.5e-3}`, `{"a":1,}`, `{"a":01}`, `{"a":1e999}`, `{"a":+1}`,
		`{"a":1,"a":2}`, `{}`, `{"a":.5}`, `{"a":1e}`, `{"a":"x","b":[1]}`, `{"a":-}`,
		`{"p":3,"points":[{"step":1}]}`, "{\"a\x01\":1}", `null`,
		`{"epoch":1,"sizes":{"below":0,"from":-3.5,"counts":[1,2]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var quick point
		var m map[string]any
		if quick.scan(bytes.TrimSpace(line)) && utf8.Valid(line) && json.Unmarshal(line, &m) == nil {
			last := map[string]float64{}
			for k, name := range quick.names {
				last[name] = quick.values[k]
			}
			for name, v := range last {
				if m[name] != v {
					t.Fatalf("%q: %q is %v, want %v", line, name, v, m[name])
				}
			}
		}
		var l Log
		data := append(append([]byte{}, line...), '\n')
		if err := l.Read(bytes.NewReader(data), int64(len(data))); err != nil || l.Offset != int64(len(data)) {
			t.Fatalf("offset %d of %d, %v", l.Offset, len(data), err)
		}
	})
}

func TestBadLinesAreCountedAndPassedOver(t *testing.T) {
	var l Log
	read(t, &l, "{\"step\":1,\"loss\":3}\nrubbish\n{\"step\":2,\"loss\":NaN}\n[1]\n"+strings.Repeat("x", 10<<20)+
		"\n{\"step\":3,\"loss\":1}\n")
	if l.Bad != 4 || !strings.Contains(l.Why, "line 2 is not a JSON object") {
		t.Errorf("%d bad, %s", l.Bad, l.Why)
	}
	if loss := l.Curves[0].Column("loss"); len(loss) != 2 || loss[1] != 1 {
		t.Errorf("loss %v", loss)
	}
}

func TestCurvesAreToldApartByTheirLabels(t *testing.T) {
	var l Log
	read(t, &l, `{"experiment":"figure1","p":3,"points":[{"step":0,"loss":1},{"step":1,"loss":0.5,"gap":2}]}
{"class":7,"step":0,"loss":9}
{"p":1.5,"b":2,"loss":4}
`)
	if len(l.Curves) != 3 || l.Curves[0].Name != "figure1, p = 3" || l.Curves[1].Name != "class 7" ||
		l.Curves[2].P != 1.5 {
		t.Fatalf("%+v", l.Curves)
	}
	if gap := l.Curves[0].Column("gap"); len(gap) != 2 || !math.IsNaN(gap[0]) || gap[1] != 2 {
		t.Errorf("gap %v", gap)
	}
}

func TestACurveThatBeginsAgainTakesThePlaceOfTheOld(t *testing.T) {
	var l Log
	read(t, &l, `{"step":0,"loss":9}
{"step":5,"loss":8}
{"step":5,"loss":8}
{"step":0,"loss":3}
{"step":1,"loss":2}
{"class":7,"step":0,"loss":1}
{"cv":{"p":3,"fold":1,"accuracy":0.5}}
`)
	if len(l.Curves) != 4 || !l.Curves[0].Old || l.Curves[0].Rows != 3 || l.Curves[1].Old ||
		l.Curves[1].Column("loss")[1] != 2 || l.Curves[2].Old {
		t.Errorf("%+v", l.Curves)
	}
	if c := l.Curves[3]; c.Name != "fold 2, p = 3" || c.P != 3 || c.At("accuracy", 0) != 0.5 {
		t.Errorf("%+v", c)
	}
}

func TestHistogramsOfALineBelongToItsPoint(t *testing.T) {
	var l Log
	read(t, &l, `{"epoch":1,"loss":2,"sizes":{"below":3,"from":-2,"counts":[1,0,5]}}
{"epoch":2,"loss":1}
{"epoch":3,"loss":1,"sizes":{"below":0,"from":-1.5,"counts":[9]}}
{"epoch":4,"sizes":{"below":-1,"from":0,"counts":[1]}}
{"epoch":5,"sizes":{"below":1,"from":1e9,"counts":[1]}}
{"epoch":6,"sizes":{"below":1,"from":0,"counts":["x"]}}
{"epoch":7,"sizes":[1]}
{"epoch":8,"sizes":{"below":1,"from":0,"counts":[1e300]}}
`)
	c := l.Curves[0]
	if l.Bad != 0 || c.Rows != 8 || len(c.Sizes) != 2 {
		t.Fatalf("%d bad, %d points, %d histograms", l.Bad, c.Rows, len(c.Sizes))
	}
	if a := c.Sizes[0]; a.Index != 0 || a.Total() != 9 || a.Edge(0) != 0.25 || a.Edge(2) != 0.5 {
		t.Errorf("%+v", a)
	}
	if b := c.Sizes[1]; b.Index != 2 || b.Total() != 9 {
		t.Errorf("%+v", b)
	}
}

func TestAHostileFileDoesNotFillTheMemory(t *testing.T) {
	var l Log
	var b strings.Builder
	for k := range 5000 {
		fmt.Fprintf(&b, "{\"class\":%d,\"name%d\":1,\"%s\":1}\n", k, k, strings.Repeat("n", 200))
	}
	for k := range 5000 {
		fmt.Fprintf(&b, "{\"name%d\":1}\n", k)
	}
	line := `{"epoch":1,"sizes":{"below":1,"from":-150,"counts":[1` + strings.Repeat(",1", maxBins-1) + "]}}\n"
	for range maxCounts/maxBins + 100 {
		b.WriteString(line)
	}
	if read(t, &l, b.String()); len(l.Curves) > maxCurves {
		t.Errorf("%d curves", len(l.Curves))
	}
	if l.counts > maxCounts+maxBins {
		t.Errorf("%d numbers of histograms", l.counts)
	}
	for _, c := range l.Curves {
		if len(c.Names) > maxColumns {
			t.Errorf("%d columns", len(c.Names))
		}
	}
}

func TestAFolderIsNotLeft(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "runs", "a")
	os.MkdirAll(filepath.Join(dir, "tables"), 0o777)
	os.WriteFile(filepath.Join(root, "secret"), []byte("s"), 0o666)
	os.WriteFile(filepath.Join(root, "runs", "beside"), []byte("s"), 0o666)
	os.WriteFile(filepath.Join(dir, "tables", "ok"), []byte("fine"), 0o666)
	os.Symlink("../../secret", filepath.Join(dir, "link"))
	os.Symlink(filepath.Join(root, "secret"), filepath.Join(dir, "absolute"))
	os.Symlink("../..", filepath.Join(dir, "up"))
	os.Symlink("tables/ok", filepath.Join(dir, "inside"))
	os.Symlink("../beside", filepath.Join(dir, "beside"))
	f, err := OpenFolder(filepath.Join(root, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sub, err := f.Sub("a")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for _, name := range []string{"link", "absolute", "up/secret", "up", "../beside", "..", "beside", "/etc/passwd",
		"tables/../../beside", "", ".", "tables", `..\..\secret`, "a\x00b"} {
		if data, err := sub.ReadFile(name, 100); err == nil {
			t.Errorf("%q gave %q", name, data)
		}
	}
	for _, name := range []string{"tables/ok", "inside"} {
		if data, err := sub.ReadFile(name, 100); err != nil || string(data) != "fine" {
			t.Errorf("%q: %q, %v", name, data, err)
		}
	}
	if _, err := f.Sub("a/up"); err == nil {
		t.Error("a link to the parent was opened as a run")
	}
	if runtime.GOOS == "linux" {
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		// and does not wait
		if _, err := sub.ReadFile("pipe", 100); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe: %v", err)
		}
	}
}

func TestWhoLooksWhetherARunIsBusyDoesNotStopIt(t *testing.T) {
	r := create(t)
	f, err := OpenFolder(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if runtime.GOOS == "linux" && !f.Busy() {
		t.Error("a run that is being written is not busy")
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && f.Busy() {
		t.Error("a finished run is busy")
	}
}

func TestNumbersFindTheirColumnInAnyOrder(t *testing.T) {
	var l Log
	read(t, &l, `{"step":1,"loss":5,"gap":7}`+"\n"+`{"gap":8,"step":2}`+"\n"+`{"loss":6,"margin":9,"step":3,"loss":0}`+
		"\n"+`{"step":4,"gap":3}`+"\n")
	c := l.Curves[0]
	if got := fmt.Sprint(c.Names, c.Column("step"), c.Column("loss"), c.Column("gap"),
		c.Column("margin")); got != "[step loss gap margin] [1 2 3 4] [5 NaN 6 NaN] [7 8 NaN 3] [NaN NaN 9 NaN]" {
		t.Error(got)
	}
	// a step back, wherever it stands in the line
	if read(t, &l, strings.Repeat(" ", int(l.Offset)-1)+"\n"+`{"gap":1,"step":2}`+"\n"); len(l.Curves) != 2 || !c.Old {
		t.Errorf("%d curves", len(l.Curves))
	}
}

func BenchmarkLog(b *testing.B) {
	var text strings.Builder
	for k := range 100_000 {
		fmt.Fprintf(&text, `{"step":%d,"loss":%g,"margin":0.43189468605727,"norm":%g,"gap":0.0956596881348}`+"\n", k,
			1/float64(k+1), math.Sqrt(float64(k)))
	}
	r := strings.NewReader(text.String())
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		var l Log
		if err := l.Read(r, int64(text.Len())); err != nil || l.Len() != 100_000 {
			b.Fatal(err)
		}
	}
}
