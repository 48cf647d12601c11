package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bregman-ml/bregman/matrix"
)

func TestSVMForgivesWhatPeopleWrite(t *testing.T) {
	for name, data := range map[string]string{
		"CRLF":             "+1 1:0.5 3:-2\r\n-1 2:1e-3\r\n",
		"no final newline": "+1 1:0.5 3:-2\n-1 2:1e-3",
		"blank at the end": "+1 1:0.5 3:-2\n-1 2:1e-3 ",
		"tabs and spaces":  " \t+1\t1:0.5  3:-2\t\n\n   \n-1 \t 2:1e-3 \n\n",
		"comments":         "# head\n+1 1:0.5 3:-2# why 4:5\n   # more\n-1 2:1e-3 #end",
		"plus signs":       "+1 1:+0.5 3:-2\n-1 2:+1e-3\n",
		"number forms":     "1. 1:.5 3:-2.\n-1.0e0 2:0.1E-2\n",
		"leading zeros":    "01 001:0.5 0003:-02\n-1 2:1e-03\n",
		"query ids":        "+1 qid:7 1:0.5 3:-2\n-1 qid:8 2:1e-3\n",
		"byte order mark":  "\ufeff+1 1:0.5 3:-2\n-1 2:1e-3\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := mustRead(t, data, "data.svm", Options{})
			wantSet(t, s, smallX, smallY)
			if _, ok := s.X.(*matrix.CSR); !ok {
				t.Errorf("X is a %T", s.X)
			}
		})
	}
}

func TestSVMKeepsExamplesWithoutFeatures(t *testing.T) {
	wantSet(t, mustRead(t, "1\n-1 2:3\n1 # none\n1", "data.svm", Options{}),
		[][]float64{{0, 0}, {0, 3}, {0, 0}, {0, 0}}, []float64{1, -1, 1, 1})
	wantSet(t, mustRead(t, "1\n-1\n", "data.svm", Options{Cols: 1}), [][]float64{{0}, {0}}, []float64{1, -1})
}

func TestSVMReadsTheLargestIndex(t *testing.T) {
	s := mustRead(t, "1 2147483647:5\n", "data.svm", Options{Bias: true})
	idx, val := s.X.Row(0)
	if len(idx) != 2 || idx[0] != 1<<31-2 || idx[1] != 1<<31-1 || val[0] != 5 || val[1] != 1 {
		t.Errorf("row = %v %v", idx, val)
	}
}

func TestSVMThatCountsFromZeroIsNotShifted(t *testing.T) {
	zero := Options{ZeroBased: true}
	wantSet(t, mustRead(t, "+1 0:0.5 2:-2\n-1 1:1e-3\n", "data.svm", zero), smallX, smallY)
	wantSet(t, mustRead(t, "1 1:3\n-1 00:2\n", "data.svm", zero), [][]float64{{0, 3}, {2, 0}}, []float64{1, -1})
	// Without an entry in column 0 nothing in the file tells, so the option alone decides.
	wantSet(t, mustRead(t, "1 1:3\n-1 2:4\n", "data.svm", zero), [][]float64{{0, 3, 0}, {0, 0, 4}}, []float64{1, -1})
	wantSet(t, mustRead(t, "1 1:3\n-1 2:4\n", "data.svm", Options{}), [][]float64{{3, 0}, {0, 4}}, []float64{1, -1})
	text, _ := pieces(3) // several pieces, parsed side by side
	if n, d := mustRead(t, text, "data.svm", zero).X.Dims(); n == 0 || d != 8 {
		t.Errorf("%d × %d, want 8 columns: the largest index is 7", n, d)
	}
	for _, c := range []struct{ data, want string }{
		{"1 3:1 0:1\n", "1:7: index 0 after 3: sort the indices of a line in ascending order"},
		{"1 0:1 0:1\n", "1:7: index 0 twice in one line: keep one of them"},
		{"1 3:1 3:1\n", "1:7: index 3 twice in one line: keep one of them"},
		{"1 0:1 qid:4\n", "1:7: qid after a feature: put it right after the label"},
		{"1 -1:1\n", `1:3: index "-1": indices are whole numbers from 0`},
		{"1 :1\n", `1:3: index "": indices are whole numbers from 0`},
		{"1 2147483647:1\n", `1:3: index "2147483647": the largest index possible is 2147483646`},
	} {
		wantError(t, c.data, "a.svm", zero, "a.svm:"+c.want)
	}
}

func TestASetSaysHowItsColumnsWereCounted(t *testing.T) {
	for _, c := range []struct {
		data, name    string
		zero          bool
		indexed, from bool
	}{
		{"1 1:3\n", "a.svm", false, true, false}, {"1 1:3\n", "a.svm", true, true, true},
		{"a,label\n1,2\n", "a.csv", true, false, false},
	} {
		s := mustRead(t, c.data, c.name, Options{ZeroBased: c.zero})
		if s.Indexed != c.indexed || s.ZeroBased != c.from {
			t.Errorf("%s, zero-based %v: indexed %v, zero-based %v", c.name, c.zero, s.Indexed, s.ZeroBased)
		}
	}
}

func TestSVMErrorsSayWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"1 1:2\n-1 2:1 0:5\n", "2:8: index 0: indices start at 1: say --zero-based if the file counts columns from 0"},
		{"1 0:5\n", "1:3: index 0: indices start at 1: say --zero-based if the file counts columns from 0"},
		{"1 3:1 2:1\n", "1:7: index 2 after 3: sort the indices of a line in ascending order"},
		{"1 3:1 3:1\n", "1:7: index 3 twice in one line: keep one of them"},
		{"1 2147483648:1\n", `1:3: index "2147483648": the largest index possible is 2147483647`},
		{"1 99999999999999999999999:1\n", `1:3: index "99999999999999999999999": the largest index possible is 2147483647`},
		{"1 0000000000000000000000001:1\n", `1:3: index "0000000000000000000000001": drop the leading zeros`},
		{"1 -3:1\n", `1:3: index "-3": indices are whole numbers from 1`},
		{"1 1.5:1\n", `1:3: index "1.5": indices are whole numbers from 1`},
		{"1 :1\n", `1:3: index "": indices are whole numbers from 1`},
		{"1 1:nan\n", "1:5: nan is not finite: fill in missing values or drop the example"},
		{"1 1:-Inf\n", "1:5: -Inf is not finite: fill in missing values or drop the example"},
		{"1 1:1e999 2:3\n", `1:5: "1e999" is too large for a 64-bit float: scale the data`},
		{"1 1:0x1p3\n", `1:5: "0x1p3" is not a number: write decimals such as 0.5 or 1e-3`},
		{"1 1:0x1p9999\n", `1:5: "0x1p9999" is not a number: write decimals such as 0.5 or 1e-3`},
		{"1 1:1_000\n", `1:5: "1_000" is not a number: write decimals such as 0.5 or 1e-3`},
		{"1 1:\n", "1:5: a number is missing: fill it in or drop the example"},
		{"1 1: 2\n", "1:5: a number is missing: fill it in or drop the example"},
		{"1 1:2:3\n", `1:5: "2:3" is not a number: write decimals such as 0.5 or 1e-3`},
		{"1 1:abc", `1:5: "abc" is not a number: write decimals such as 0.5 or 1e-3`},
		{"1 2:3 abc\n", `1:7: "abc" is not an index:value pair such as 3:0.5`},
		{"1 2:3 qid:4\n", "1:7: qid after a feature: put it right after the label"},
		{"\n\nnan 1:2\n", "3:1: label: nan is not finite: fill in missing values or drop the example"},
		{"1e400 1:2\n", `1:1: label: "1e400" is too large for a 64-bit float: scale the data`},
		{"  cat 1:2\n", `1:3: label "cat": labels must be numbers: replace class names by numbers such as -1 and 1`},
		{"1,2 1:2\n", `1:1: label "1,2": labels must be numbers: replace class names by numbers such as -1 and 1`},
		{"1:2 3:4\n", `1:1: label "1:2": labels must be numbers: replace class names by numbers such as -1 and 1`},
	} {
		wantError(t, c.data, "a.svm", Options{}, "a.svm:"+c.want)
	}
	wantError(t, "1\n-1\n", "a.svm", Options{}, "a.svm: no features: every example has a label and nothing else")
	wantError(t, strings.Repeat("x", 1<<20), "a.svm", Options{},
		`a.svm:1:1: "`+strings.Repeat("x", 40)+`"… is not svmlight text: a line is a label and index:value pairs`)
}

func TestAnSVMErrorFarIntoALongLineHasItsColumn(t *testing.T) {
	long := "1" + strings.Repeat(" ", 3*window)
	wantError(t, "1 1:1\n"+long+"5:x\n", "a.svm", Options{},
		`a.svm:2:786436: "x" is not a number: write decimals such as 0.5 or 1e-3`)
}

func TestSVMLinesAndCommentsMayBeLongerThanTheWindow(t *testing.T) {
	line := svmText(1, 200_000, valueKinds[3].value) // 4 MB
	s := mustRead(t, "1 1:1 #"+strings.Repeat("c", 2*window)+"\n"+string(line)+"-1 1:2\n", "a.svm", Options{})
	if n, _ := s.X.Dims(); n != 3 || s.X.NNZ() != 200_002 || s.Y[2] != -1 {
		t.Errorf("%d examples with %d entries, labels %v", n, s.X.NNZ(), s.Y)
	}
}

// TestTokensSurviveTheEdgeOfTheWindow moves every byte of a file over the place where one read ends.
func TestTokensSurviveTheEdgeOfTheWindow(t *testing.T) {
	for shift := range len(smallSVM) + 2 {
		pad := strings.Repeat(" ", window-1-shift)
		wantSet(t, mustRead(t, pad+smallSVM, "a.svm", Options{}), smallX, smallY)
		pad = "a,b,c,label\n" + strings.Repeat("\n", window-1-shift-12)
		wantSet(t, mustRead(t, pad+smallCSV[12:], "a.csv", Options{}), smallX, smallY)
	}
}

// repeat gives the same text over and over, and looks at the heap each time it is asked.
type repeat struct {
	text  []byte
	off   int
	left  int
	peak  uint64
	probe []metrics.Sample
}

func (r *repeat) Read(b []byte) (int, error) {
	metrics.Read(r.probe)
	r.peak = max(r.peak, r.probe[0].Value.Uint64())
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.text[r.off:])
	if r.off += n; r.off == len(r.text) {
		r.off = 0
		r.left--
	}
	return n, nil
}

func TestReadingSVMTakesLittleMoreMemoryThanTheMatrix(t *testing.T) {
	r := &repeat{text: svmText(1<<20, 30, valueKinds[1].value), left: 40,
		probe: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	for _, opt := range []Options{{}, {Bias: true}} {
		r.left, r.peak = 40, 0
		debug.FreeOSMemory()
		metrics.Read(r.probe)
		before := r.probe[0].Value.Uint64()
		s, err := ReadFrom(r, "a.svm", opt)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := s.X.Dims()
		arrays := 12*s.X.NNZ() + 4*n + 8*n
		ratio := float64(r.peak-before) / float64(arrays)
		t.Logf("%d MB in the arrays, peak %.2f times that", arrays>>20, ratio)
		if ratio > 1.3 {
			t.Errorf("the heap grew to %.2f times the arrays, want at most 1.3", ratio)
		}
		sound(t, s, opt)
	}
}

func TestReadingSVMAllocatesPerBlockAndNotPerLine(t *testing.T) {
	text := svmText(4<<20, 10, valueKinds[3].value)
	lines := bytes.Count(text, []byte("\n"))
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := ReadFrom(bytes.NewReader(text), "a.svm", Options{}); err != nil {
			t.Error(err)
		}
	})
	if allocs > float64(lines)/100 {
		t.Errorf("%v allocations for %d lines", allocs, lines)
	}
}

func TestWhatWriteSVMWritesIsReadBackBitByBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := make([][]float64, 50)
	y := make([]float64, len(x))
	for i := range x {
		x[i] = make([]float64, 7)
		for j := range 6 { // the last column stays empty and must not get lost
			if rng.IntN(3) > 0 {
				x[i][j] = rng.NormFloat64() * pow10(rng.IntN(600)-300)
			}
		}
		y[i] = rng.NormFloat64()
	}
	x[0][0], x[1][1] = negZero, 5e-324
	for _, s := range []*Set{
		{Name: "dense", X: matrix.FromRows(x), Y: y},
		R100(4),
		mustRead(t, "1 1:0 5:-0\n-1\n", "zeros.svm", Options{Cols: 9}),
	} {
		var w strings.Builder
		if err := WriteSVM(&w, s); err != nil {
			t.Fatal(err)
		}
		wantSet(t, mustRead(t, w.String(), "back.svm", Options{}), rowsOf(s), s.Y)
	}
}

// pieces makes text of several pieces, each parsed by itself, and the lines it is made of.
func pieces(n int) (text string, lines int) {
	var b strings.Builder
	for b.Len() < n*pieceSize {
		b.WriteString("1 1:0.5 7:-3 # 9:9\n\n-1 2:2.25\n")
		lines += 3
	}
	return b.String(), lines
}

func TestPiecesOfAFileAreJoinedInTheirOrder(t *testing.T) {
	text, lines := pieces(5)
	s := mustRead(t, text+"1 4:8", "data.svm", Options{})
	n, d := s.X.Dims()
	if n != lines/3*2+1 || d != 7 {
		t.Fatalf("%d × %d", n, d)
	}
	for i := range n - 1 {
		idx, val := s.X.Row(i)
		if want := []int{2, 1}[i%2]; len(val) != want || s.Y[i] != float64(1-2*(i%2)) || i%2 == 1 &&
			(idx[0] != 1 || val[0] != 2.25) {
			t.Fatalf("example %d: %v, %v %v", i, s.Y[i], idx, val)
		}
	}
	if _, val := s.X.Row(n - 1); len(val) != 1 || val[0] != 8 {
		t.Errorf("the last line: %v", val)
	}
}

func TestTheFirstErrorOfManyPiecesIsReportedWithItsLine(t *testing.T) {
	text, lines := pieces(4)
	bad := text[:len(text)/2]
	bad = bad[:strings.LastIndex(bad, "\n")+1]
	at := strings.Count(bad, "\n") + 1
	for _, data := range []string{bad + "1 3:x\n" + text + "1 0:1\n", bad + "1 3:x\n"} {
		_, err := ReadFrom(strings.NewReader(data), "data.svm", Options{})
		if want := fmt.Sprintf("data.svm:%d:5:", at); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := ReadFrom(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)), "data.svm", Options{})
	if want := fmt.Sprintf("data.svm:%d: cannot read", lines+1); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestValuesMayBeKeptIn32Bits(t *testing.T) {
	text, _ := pieces(3)
	narrow := mustRead(t, text+"1 3:0.1\n", "data.svm", Options{Float32: true, Bias: true})
	n, d := narrow.X.Dims()
	idx, val := narrow.X.Row(n - 1)
	if d != 8 || len(val) != 2 || val[0] != float64(float32(0.1)) || idx[1] != 7 || val[1] != 1 {
		t.Errorf("%d columns, row %v %v", d, idx, val)
	}
}

func TestSynthesisedProblemsAreSeparableAndDependOnTheSeedAlone(t *testing.T) {
	s, err := Synth{Rows: 200, Cols: 90, Entries: 7, Seed: 3}.Make()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Synth{Rows: 200, Cols: 90, Entries: 7, Seed: 3}.Make()
	other, _ := Synth{Rows: 200, Cols: 90, Entries: 7, Seed: 4}.Make()
	var a, b, c bytes.Buffer
	for _, w := range []struct {
		b *bytes.Buffer
		s *Set
	}{{&a, s}, {&b, again}, {&c, other}} {
		if err := WriteSVM(w.b, w.s); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || bytes.Equal(a.Bytes(), c.Bytes()) {
		t.Error("the seed does not decide")
	}
	if n, d := s.X.Dims(); n != 200 || d != 90 || s.X.NNZ() != 1400 || len(s.Classes()) != 2 {
		t.Errorf("%d × %d, %d entries, classes %v", n, d, s.X.NNZ(), s.Classes())
	}
	for _, bad := range []Synth{{Rows: -1}, {Entries: 10, Cols: 9}, {Digits: 16}} {
		if _, err := bad.Make(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
