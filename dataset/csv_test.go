package dataset

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

func TestCSVForgivesWhatPeopleWrite(t *testing.T) {
	for name, data := range map[string]string{
		"CRLF":             "a,b,c,label\r\n0.5,0,-2,1\r\n0,1e-3,0,-1\r\n",
		"no final newline": "a,b,c,label\n0.5,0,-2,1\n0,1e-3,0,-1",
		"blank lines":      "\n\na,b,c,label\n\n0.5,0,-2,1\n  \n0,1e-3,0,-1\n\n",
		"blanks":           " a, b ,c,label \n 0.5,\t0 ,-2, +1\n0 , 1e-3,0,-1 \n",
		"quotes":           "\"a\",\"b\", \"c\" ,label\n\"0.5\", \"0\" ,\" -2 \",1\n0,1e-3,\"0\",\"-1\"\n",
		"byte order mark":  "\ufeffa,b,c,label\n0.5,0,-2,1\n0,1e-3,0,-1\n",
		"semicolons":       "a;b;c;label\n0.5;0;-2;1\n0;1e-3;0;-1\n",
		"tabs":             "a\tb\tc\tlabel\n0.5\t0\t -2\t1\n0\t1e-3\t0\t-1\n",
		"label not last":   "a,Label,b,c\n0.5,1,0,-2\n0,-1,1e-3,0\n",
		"no column label":  "a,b,c,y\n0.5,0,-2,1\n0,1e-3,0,-1\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := mustRead(t, data, "data.csv", Options{})
			wantSet(t, s, smallX, smallY)
			if _, ok := s.X.(*matrix.Dense); !ok {
				t.Errorf("X is a %T", s.X)
			}
			if want := []string{"a", "b", "c"}; !slices.Equal(s.Features, want) {
				t.Errorf("Features = %q, want %q", s.Features, want)
			}
		})
	}
}

func TestCSVTakesTheLabelColumnAskedFor(t *testing.T) {
	s := mustRead(t, "y,x,label\n1,2,3\n4,5,6\n", "a.csv", Options{Label: "y"})
	wantSet(t, s, [][]float64{{2, 3}, {5, 6}}, []float64{1, 4})
	if want := []string{"x", "label"}; !slices.Equal(s.Features, want) {
		t.Errorf("Features = %q, want %q", s.Features, want)
	}
	s = mustRead(t, "0,1,2\n1,2,3\n", "a.csv", Options{Label: "0"}) // numbers as names, but meant so
	wantSet(t, s, [][]float64{{2, 3}}, []float64{1})
}

func TestCSVNamesMayHoldSeparatorsAndQuotes(t *testing.T) {
	s := mustRead(t, `"a, b","say ""x""",c`+"\n1,2,3\n", "a.csv", Options{})
	if want := []string{"a, b", `say "x"`}; !slices.Equal(s.Features, want) {
		t.Errorf("Features = %q, want %q", s.Features, want)
	}
}

func TestCSVErrorsSayWhereAndWhatToDo(t *testing.T) {
	many := make([]string, 30)
	for i := range many {
		many[i] = "c" + strconv.Itoa(i)
	}
	for _, c := range []struct{ data, label, want string }{
		{"a,b,y\n1,2,3\n1,2\n", "", ":3: 2 fields, but the header has 3: every line needs one field a column"},
		{"a,b,y\n1,2,3,4\n", "", ":2: 4 fields, but the header has 3: every line needs one field a column"},
		{"a,b,y\n1,x\n", "", ":2: 2 fields, but the header has 3: every line needs one field a column"},
		{"a,b,y\n1,2,\"3\n", "", `:2:5: field 3 ("y"): a quote that does not end: close it`},
		{"a,b,y\n\"1,5\",2,3\n", "", `:2:1: field 1 ("a"): "1,5" is not a number: write decimals with a point, such as ` +
			`0.5, and thousands without a sign`},
		{"a,b,y\n1,,3\n", "",
			`:2:3: field 2 ("b"): 1 missing value in column b: --missing mean fills them in, --missing drop ` +
				`leaves out 1 of 1 example`},
		{"a,b,y\n1,2,inf\n", "", `:2:5: field 3 ("y"): label: inf is not finite: fill in missing values or drop the example`},
		{"a,b,y\n-1e999,2,3\n", "", `:2:1: field 1 ("a"): "-1e999" is too large for a 64-bit float: scale the data`},
		{"a;b;y\n0,5;1;2\n", "", `:2:1: field 1 ("a"): "0,5" is not a number: write decimals with a point, such as 0.5, ` +
			`and thousands without a sign`},
		{"a,b,y\n1,\"2\"3,4\n", "", `:2:6: field 2 ("b"): text after a closing quote: double the quotes inside a field`},
		{"a,b,y\n", "", ": no examples: there is a header and nothing below it"},
		{"a,b,y", "", ": no examples: there is a header and nothing below it"},
		{"a,b,y\n1,2,3\n", "class", `:1: no column "class" for the label: choose one of "a", "b", "y"`},
		{strings.Join(many, ",") + "\n", "class",
			`:1: no column "class" for the label: choose one of "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "c14", "c15", "c16", "c17", "c18", "c19", … (30 in all)`},
		{"label,a,label\n1,2,3\n", "", `:1: fields 1 and 3 are both called "label": rename one`},
		{"1,2,3\n4,5,6\n", "", ":1: the first line is all numbers: put a line with the names of the columns before it, " +
			"or say --no-header"},
		{"label\n1\n", "", ":1: only one column: a CSV has features and a label, parted by commas, semicolons or tabs"},
		{"a,\"b,y\n1,2,3\n", "", ":1:3: field 2: a quote that does not end: close it"},
		{"a,\"b\"c,y\n1,2,3\n", "", ":1:6: field 2: text after a closing quote: double the quotes inside a name"},
	} {
		wantError(t, c.data, "a.csv", Options{Label: c.label}, "a.csv"+c.want)
	}
}

func TestCSVOfManyBlocksAndLongLinesIsWhole(t *testing.T) {
	const n, d = 300, 2000 // 4.6 MiB of values: several blocks
	var b strings.Builder
	for j := range d {
		b.WriteString("column" + strings.Repeat("x", 200) + strconv.Itoa(j) + ",") // a header longer than the window
	}
	b.WriteString("label\n")
	for i := range n {
		for j := range d {
			b.WriteString(strconv.Itoa(i*j) + ",")
		}
		b.WriteString(strconv.Itoa(i) + "\n")
	}
	s := mustRead(t, b.String(), "a.csv", Options{})
	if rows, cols := s.X.Dims(); rows != n || cols != d || len(s.Features) != d {
		t.Fatalf("%d × %d with %d names", rows, cols, len(s.Features))
	}
	for i := range n {
		_, val := s.X.Row(i)
		for j, v := range val {
			if v != float64(i*j) {
				t.Fatalf("X[%d, %d] = %v", i, j, v)
			}
		}
		if s.Y[i] != float64(i) {
			t.Fatalf("Y[%d] = %v", i, s.Y[i])
		}
	}
}
