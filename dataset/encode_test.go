package dataset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// people has texts of two and of three kinds, a boolean, numbers and class names.
const people = "age,sex,port,adult,survived\n22,male,S,true,no\n38,female,C,true,yes\n2,female,Q,false,yes\n" +
	"26,female,S,true,no\n"

func TestTextsBecomeCategoriesAndClasses(t *testing.T) {
	s := mustRead(t, people, "p.csv", Options{Bias: true})
	wantSet(t, s, [][]float64{{22, 1, 0, 0, 1, 1, 1}, {38, 0, 1, 0, 0, 1, 1},
		{2, 0, 0, 1, 0, 0, 1}, {26, 0, 0, 0, 1, 1, 1}},
		[]float64{0, 1, 1, 0})
	want := []string{"age", "sex=male", "port=C", "port=Q", "port=S", "adult=true", "bias"}
	if !slices.Equal(s.Features, want) {
		t.Errorf("Features = %q, want %q", s.Features, want)
	}
	e := s.Encoding
	if !slices.Equal(e.Classes, []string{"no", "yes"}) || e.Label != "survived" || e.Plain() ||
		!slices.Equal(e.Features(), want[:6]) || e.Check() != nil {
		t.Errorf("%+v", e)
	}
	if s.ClassName(1) != "yes" || s.ClassName(2) != "2" || s.ClassName(0.5) != "0.5" {
		t.Errorf("classes are called %s, %s, %s", s.ClassName(1), s.ClassName(2), s.ClassName(0.5))
	}
	wantNotes(t, s, `labels are in column "survived", the last one (--label NAME for another)`,
		"3 text columns (sex, port, adult) became 5 features")
}

func wantNotes(t *testing.T, s *Set, want ...string) {
	t.Helper()
	if !slices.Equal(s.Notes, want) {
		t.Errorf("notes %q, want %q", s.Notes, want)
	}
}

func TestATableOfNumbersIsItselfAndPlain(t *testing.T) {
	s := mustRead(t, smallCSV, "a.csv", Options{})
	if !s.Encoding.Plain() || s.Encoding.Label != "label" || s.Unlabeled || s.Notes != nil {
		t.Errorf("%+v", s)
	}
	if s.ClassName(-1) != "-1" {
		t.Errorf("a label is called %s", s.ClassName(-1))
	}
}

func TestNumbersAmongTextsAreOneCategoryHoweverWritten(t *testing.T) {
	const head = "a,label\n"
	rows := []string{"1,x\n", "1.0,y\n", `"1e0",x` + "\n", "-0,x\n", "0,y\n", "red,y\n"}
	first := mustRead(t, head+strings.Join(rows, ""), "a.csv", Options{})
	if want := []string{"0", "1", "red"}; !slices.Equal(first.Encoding.Columns[0].Categories, want) {
		t.Fatalf("categories %q, want %q", first.Encoding.Columns[0].Categories, want)
	}
	slices.Reverse(rows)
	if s := mustRead(t, head+strings.Join(rows, ""), "a.csv", Options{}); !reflect.DeepEqual(s.Encoding, first.Encoding) {
		t.Errorf("%+v in reverse, %+v before", s.Encoding, first.Encoding)
	}
}

// randomTable is a CSV of texts, numbers and missing values, by line, and its header. Its columns never count examples.
func randomTable(rng *rand.Rand) (head string, lines []string) {
	d, n := 1+rng.IntN(5), 2+rng.IntN(40)
	words := []string{"red", "green", `"dark, blue"`, "1", "1.0", "true", " Ärger ", "sch\xf6n", `"say ""no"""`, "0.25"}
	kind := make([]int, d)
	for j := range kind {
		head += fmt.Sprintf("c%d,", j)
		kind[j] = rng.IntN(4)
	}
	for range n {
		var b strings.Builder
		for _, k := range kind {
			switch {
			case rng.IntN(8) == 0:
				b.WriteString([]string{"", "NA", "?", `"nan"`}[rng.IntN(4)])
			case k == 0:
				b.WriteString(words[rng.IntN(len(words))])
			case k == 1 && rng.IntN(10) == 0:
				b.WriteString("unknown")
			case k == 3:
				b.WriteString([]string{"yes", "no"}[rng.IntN(2)])
			default:
				b.WriteString(strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64))
			}
			b.WriteByte(',')
		}
		lines = append(lines, b.String()+[]string{"a", "b", "1"}[rng.IntN(3)])
	}
	return head + "y", lines
}

func tableOf(head string, lines []string) string {
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}

func TestTheOrderOfLinesDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 600 {
		head, lines := randomTable(rng)
		opt := Options{Missing: []Missing{MissingMean, MissingDrop}[rng.IntN(2)]}
		s, err := ReadFrom(strings.NewReader(tableOf(head, lines)), "a.csv", opt)
		order := rng.Perm(len(lines))
		mixed := make([]string, len(lines))
		for i, k := range order {
			mixed[i] = lines[k]
		}
		m, mixedErr := ReadFrom(strings.NewReader(tableOf(head, mixed)), "a.csv", opt)
		if (err == nil) != (mixedErr == nil) {
			t.Fatalf("%v, and in another order %v:\n%s", err, mixedErr, tableOf(head, lines))
		}
		if err != nil {
			continue
		}
		read++
		if !reflect.DeepEqual(s.Encoding, m.Encoding) || !slices.Equal(s.Features, m.Features) {
			t.Fatalf("%+v, and in another order %+v:\n%s", s.Encoding, m.Encoding, tableOf(head, lines))
		}
		if opt.Missing == MissingDrop {
			continue // whose rows are others
		}
		x, mx := rowsOf(s), rowsOf(m)
		for i, k := range order {
			if !slices.Equal(mx[i], x[k]) || m.Y[i] != s.Y[k] {
				t.Fatalf("%s is %v %v, and in another order %v %v", lines[k], x[k], s.Y[k], mx[i], m.Y[i])
			}
		}
	}
	if read < 300 {
		t.Errorf("%d tables were read: the test is not looking", read)
	}
}

func TestLeavingOutExamplesIsReadingWithoutTheirLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	left := 0
	for range 300 {
		head, lines := randomTable(rng)
		s, err := ReadFrom(strings.NewReader(tableOf(head, lines)), "a.csv", Options{Missing: MissingDrop})
		whole := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return slices.ContainsFunc(strings.Split(line, ","), func(f string) bool {
				return isMissing([]byte(strings.Trim(f, `"`)))
			})
		})
		w, wholeErr := ReadFrom(strings.NewReader(tableOf(head, whole)), "a.csv", Options{Missing: MissingMean})
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("%v, without the lines %v:\n%s", err, wholeErr, tableOf(head, lines))
		}
		if err != nil {
			continue
		}
		left += len(lines) - len(whole)
		s.Encoding.Missing = MissingMean
		if !reflect.DeepEqual(s.Encoding, w.Encoding) || !sameRows(rowsOf(s), rowsOf(w)) || !slices.Equal(s.Y, w.Y) {
			t.Fatalf("%+v, without the lines %+v", s, w)
		}
	}
	if left < 300 {
		t.Errorf("%d lines were left out: the test is not looking", left)
	}
}

// again reads a table like itself, by an encoding that has been in a file.
func again(t *testing.T, s *Set, data string, opt Options) {
	t.Helper()
	text, err := json.Marshal(s.Encoding)
	if err != nil {
		t.Fatal(err)
	}
	var e Encoding
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	opt.Like, opt.Label, opt.Columns, opt.Drop = &e, "", nil, nil
	back, err := readCSV(strings.NewReader(data), "a.csv", opt)
	if err != nil {
		t.Fatalf("%v, reading like %s:\n%q", err, text, data)
	}
	if !sameRows(rowsOf(s), rowsOf(back)) || !slices.EqualFunc(s.Y, back.Y, sameBits) ||
		!slices.Equal(s.Features, back.Features) || s.Label != back.Label || s.Unlabeled != back.Unlabeled {
		t.Fatalf("%v %v %q, and like itself %v %v %q:\n%q", rowsOf(s), s.Y, s.Features, rowsOf(back), back.Y, back.Features,
			data)
	}
}

func TestATableReadLikeItselfIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for k := range 400 {
		head, lines := randomTable(rng)
		opt := Options{Missing: []Missing{MissingError, MissingMean, MissingDrop}[k%3], Bias: k%2 == 0, NoHeader: k%5 == 0}
		data := tableOf(head, lines)
		if opt.NoHeader {
			data = strings.Join(lines, "\n")
		}
		s, err := ReadFrom(strings.NewReader(data), "a.csv", opt)
		if n := len(lines); err == nil && (opt.Missing != MissingDrop || len(s.Y) == n) { // else more rows come back
			again(t, s, data, opt)
		}
	}
}

func TestLikeFindsColumnsByName(t *testing.T) {
	like := mustRead(t, people, "p.csv", Options{Missing: MissingMean}).Encoding
	x := [][]float64{{2, 0, 0, 1, 0, 0}}
	for data, y := range map[string]float64{
		"junk;survived;port;sex;age;adult\n in\"f\" ;yes;Q;female;2;false\n": 1, // in any order, beside anything
		"age,sex,port,adult\n2,female,Q,false\n":                             0, // without labels
		"age,sex,port,adult,survived\n2,female,Q,false,\n":                   0, // whose labels are all empty
	} {
		s := mustRead(t, data, "q.csv", Options{Like: like, Columns: []string{"x"}, Drop: []string{"age"}, NoHeader: true})
		wantSet(t, s, x, []float64{y})
		if s.Unlabeled != (y == 0) || s.Encoding != like || (s.Label == "") != s.Unlabeled {
			t.Errorf("%q: %+v", data, s)
		}
	}
	const other = "age,sex,port,adult,survived,truth\n2,female,Q,false,what,no\n"
	s := mustRead(t, other, "q.csv", Options{Like: like, Label: "truth"})
	wantSet(t, s, x, []float64{0})
	if s.Label != "truth" || s.Unlabeled {
		t.Errorf("%+v", s)
	}
	if s = mustRead(t, other, "q.csv", Options{Like: like, Unlabeled: true}); !s.Unlabeled || s.Label != "" {
		t.Errorf("%+v", s)
	}
}

func TestLikeWithoutAHeaderGoesByPlace(t *testing.T) {
	const data = "x,yes,1,0.5\ny,no,2,0.25\nz,no,3,0.125\n"
	opt := Options{NoHeader: true, Label: "2", Drop: []string{"3"}}
	first := mustRead(t, data, "a.csv", opt)
	if want := []string{"1=x", "1=y", "1=z", "4"}; !slices.Equal(first.Features, want) || first.Encoding.Width != 4 {
		t.Fatalf("%+v", first)
	}
	like := Options{Like: first.Encoding}
	x := [][]float64{{0, 1, 0, 7}}
	wantSet(t, mustRead(t, "y,yes,what,7\n", "b.csv", like), x, []float64{1})
	short := mustRead(t, "y,what,7\n", "b.csv", like)
	wantSet(t, short, x, []float64{0})
	if !short.Unlabeled {
		t.Errorf("a table without the labels has labels: %+v", short)
	}
	wantError(t, "y,7\n", "b.csv", like,
		"b.csv:1: 2 columns, but the table of the model has 4: without a header columns are "+
			"known by their place")
}

func TestWhatLikeCannotPlaceIsFilledInOrRefused(t *testing.T) {
	like := Options{Like: mustRead(t, people, "p.csv", Options{Missing: MissingMean}).Encoding}
	s := mustRead(t, "age,sex,port,adult\n,male,X,true\n4,NA,Y,?\n", "q.csv", like)
	wantSet(t, s, [][]float64{{22, 1, 0.25, 0.25, 0.5, 1}, {4, 0.25, 0.25, 0.25, 0.5, 0.75}}, []float64{0, 0})
	wantNotes(t, s, `2 values in column port, such as "X", not seen in training: the mean of the training data stands for them`,
		"3 missing values in 3 columns (age, sex, adult) are filled in with the mean")
	drop := mustRead(t, people, "p.csv", Options{Missing: MissingDrop}).Encoding
	s = mustRead(t, "age,sex,port,adult,survived\n1,male,S,true,yes\n,male,S,true,no\n2,male,X,true,no\n",
		"q.csv", Options{Like: drop}) // every example gets its prediction
	wantSet(t, s, [][]float64{{1, 1, 0, 0, 1, 1}, {22, 1, 0, 0, 1, 1}, {2, 1, 0.25, 0.25, 0.5, 1}}, []float64{1, 0, 0})
	strict := Options{Like: mustRead(t, people, "p.csv", Options{}).Encoding}
	for _, c := range []struct {
		data string
		opt  Options
		want string
	}{
		{"age,sex,port,adult\n1,male,X,true\n", strict,
			`:2:8: field 3 ("port"): "X" is none of the categories of the model: ` +
				`"C", "Q", "S"`},
		{"age,sex,port,adult\n1,male,,true\n", strict,
			`:2:8: field 3 ("port"): 1 missing value in column port, and the model ` +
				`does not say what stands for them: fill them in, or fit it with --missing mean`},
		{"age,sex,port,adult\nold,male,S,true\n", like,
			`:2:1: field 1 ("age"): "old" is not a number: write decimals such as ` +
				`0.5 or 1e-3`},
		{"age,port\n1,S\n", like, `:1: no columns "sex", "adult", which the model needs: the file has "age", "port"`},
		{"age,sex,port,adult,survived\n1,male,S,true,maybe\n", like,
			`:2:15: field 5 ("survived"): label "maybe" is none of ` +
				`the classes of the model: "no", "yes"`},
		{"age,sex,port,adult,survived\n1,male,S,true,no\n1,male,S,true,\n", like, `:3:15: field 5 ("survived"): 1 label is ` +
			`missing: fill in labels, or leave those lines out`},
		{"1,2\n3,4\n", like,
			":1: the first line is all numbers: put a line with the names of the columns before it, or say " +
				"--no-header"},
		{people, Options{Like: like.Like, Label: "sex"},
			`:1: column "sex" is a feature of the model: name another column of ` +
				`labels with --label`},
		{people, Options{Like: &Encoding{}}, ": the model does not say how to read it: the encoding has no columns"},
	} {
		wantError(t, c.data, "q.csv", c.opt, "q.csv"+c.want)
	}
}

func TestMissingValuesAreAnErrorFilledInOrLeftOut(t *testing.T) {
	const data = "a,b,label\n1,x,1\n,y,0\n3,NA,1\nnull,y,0\n"
	wantError(t, data, "a.csv", Options{},
		`a.csv:3:1: field 1 ("a"): 3 missing values in 2 columns (a 2, b 1): --missing `+
			`mean fills them in, --missing drop leaves out 3 of 4 examples`)
	s := mustRead(t, data, "a.csv", Options{Missing: MissingMean})
	wantSet(t, s, [][]float64{{1, 0, 1, 0}, {2, 0, 0, 1}, {3, 1, 0, 0}, {2, 0, 0, 1}}, []float64{1, 0, 1, 0})
	wantNotes(t, s, "1 missing value in text column b became a category", "text column b became 3 features",
		"2 missing values in column a are filled in with the mean")
	like := mustRead(t, "b,a\n,5\nnew,6\n", "q.csv", Options{Like: s.Encoding})
	wantSet(t, like, [][]float64{{5, 1, 0, 0}, {6, 0.25, 0.25, 0.5}}, []float64{0, 0})
	one := mustRead(t, "pool,z,label\nyes,1,1\n,2,0\n,3,0\nyes,4,1\n", "a.csv", Options{Missing: MissingMean})
	wantSet(t, one, [][]float64{{1, 1}, {0, 2}, {0, 3}, {1, 4}}, []float64{1, 0, 0, 1}) // a pool, or none
	clash := mustRead(t, "a,label\nmissing,1\n,2\nx,1\n", "a.csv", Options{Missing: MissingMean})
	if got := clash.Encoding.Columns[0]; got.Absent != "(missing)" || len(got.Categories) != 3 {
		t.Errorf("%+v", got)
	}
	s = mustRead(t, data, "a.csv", Options{Missing: MissingDrop})
	wantSet(t, s, [][]float64{{1, 1}}, []float64{1})
	if !slices.Contains(s.Notes, "3 of 4 examples have missing values and are left out") {
		t.Errorf("%q", s.Notes)
	}
	for _, token := range []string{"", "NA", "n/a", "NaN", "NULL", "none", "?", "<na>", "#N/A", "-nan", `""`, `" NA "`} {
		s := mustRead(t, "a,b,label\n1,2,0\n"+token+",2,1\n3,4,1\n", "a.csv", Options{Missing: MissingMean})
		if rowsOf(s)[1][0] != 2 {
			t.Errorf("%s was read as %v", token, rowsOf(s)[1][0])
		}
	}
	s = mustRead(t, smallCSV, "a.csv", Options{Missing: MissingMean}) // complete, and yet it says what to fill in
	wantSet(t, s, smallX, smallY)
	if s.Encoding.Columns[0].Fill[0] != 0.25 || s.Notes != nil {
		t.Errorf("%+v", s)
	}
	s = mustRead(t, "a,label\n1e308,1\n1e308,1\n1.5e308,1\n", "a.csv", Options{Missing: MissingMean})
	if got := s.Encoding.Columns[0].Fill[0]; !(got > 1.16e308 && got < 1.17e308) { // 3.5e308 / 3
		t.Errorf("the mean of large numbers is %v", got)
	}
}

func TestMissingLabelsAreLeftOutOrRefused(t *testing.T) {
	const data = "a,label\n1,x\n2,\n3,y\n"
	for _, m := range []Missing{MissingError, MissingMean} {
		wantError(t, data, "a.csv", Options{Missing: m},
			`a.csv:3:3: field 2 ("label"): 1 label is missing: fill in labels, or `+
				`leave out those examples with --missing drop`)
	}
	wantSet(t, mustRead(t, data, "a.csv", Options{Missing: MissingDrop}), [][]float64{{1}, {3}}, []float64{0, 1})
}

func TestRowNumbersAreNoFeatures(t *testing.T) {
	for _, name := range []string{"", "Unnamed: 0"} {
		for from := range 2 {
			data := fmt.Sprintf("%s,a,label\n%d,5,x\n%d,7,y\n%d,6,y\n", name, from, from+1, from+2)
			s := mustRead(t, data, "a.csv", Options{})
			wantSet(t, s, [][]float64{{5}, {7}, {6}}, []float64{0, 1, 1})
			wantNotes(t, s, "the first column, which has no name and counts the examples, is left out")
			again(t, s, data, Options{})
		}
	}
	s := mustRead(t, ",a,label\n0,,x\n1,7,y\n2,6,y\n", "a.csv", Options{Missing: MissingDrop})
	wantSet(t, s, [][]float64{{7}, {6}}, []float64{0, 0})
	s = mustRead(t, "id,a,label\n1,5,1\n2,7,0\n3,6,1\n", "a.csv", Options{})
	wantSet(t, s, [][]float64{{1, 5}, {2, 7}, {3, 6}}, []float64{1, 0, 1})
	wantNotes(t, s, `column "id" counts the examples: --drop id if that is no feature`)
	s = mustRead(t, ",a,label\n1,5,1\n2,7,0\n4,6,1\n", "a.csv", Options{})
	if len(s.Features) != 2 || s.Notes != nil {
		t.Errorf("%+v", s)
	}
}

func TestColumnsAreChosenByNameOrNumber(t *testing.T) {
	const data = "a,b,c,label\n1,what?,3,0\n2,\"ever, x\",4,1\n"
	x, y := [][]float64{{1, 3}, {2, 4}}, []float64{0, 1}
	for _, opt := range []Options{{Drop: []string{"b"}}, {Drop: []string{"2"}}, {Columns: []string{"c", "a"}},
		{Columns: []string{"1", "3"}, Label: "4"}, {Columns: []string{"1", "c"}, Label: "label"}} {
		wantSet(t, mustRead(t, data, "a.csv", opt), x, y)
	}
	wantSet(t, mustRead(t, "a,b,c\n1,2,3\n", "a.csv", Options{Drop: []string{"c"}}), [][]float64{{1}}, []float64{2})
	wantSet(t, mustRead(t, "3,2,x\n1,2,3\n", "a.csv", Options{Label: "3"}), [][]float64{{2, 3}}, []float64{1}) // a name
	s := mustRead(t, "1,2,a\n3,4,b\n", "a.csv", Options{NoHeader: true})
	wantSet(t, s, [][]float64{{1, 2}, {3, 4}}, []float64{0, 1})
	if !slices.Equal(s.Features, []string{"1", "2"}) || s.Label != "3" {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Drop: []string{"d"}}, `--drop: no column "d": choose among "a", "b", "c", "label"`},
		{Options{Columns: []string{"9"}}, `--columns: no column "9": choose among "a", "b", "c", "label"`},
		{Options{Label: "a", Drop: []string{"a"}}, `column "a" is named by --label and by --drop: choose one`},
		{Options{Label: "a", Columns: []string{"a"}}, `column "a" is named by --label and by --columns: choose one`},
		{Options{Drop: []string{"a"}, Columns: []string{"a"}}, `column "a" is named by --columns and by --drop: choose one`},
		{Options{Drop: []string{"a", "b", "c"}}, `no features: no column is left besides the label`},
		{Options{Columns: []string{"a", "b", "c", "label"}},
			`no column is left for the label: name fewer with --columns or ` +
				`--drop`},
	} {
		wantError(t, data, "a.csv", c.opt, "a.csv:1: "+c.want)
	}
}

func TestOptionsOfACSVAreRefusedElsewhere(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		flag string
	}{{Options{NoHeader: true}, "--no-header"}, {Options{Drop: []string{"a"}}, "--drop"},
		{Options{Columns: []string{"a"}}, "--columns"}} {
		for name, data := range map[string]string{"svmlight": smallSVM, "npy": smallNPY(), "npz": smallNPZ()} {
			wantError(t, data, "a", c.opt, "a: "+c.flag+" is about the columns of a CSV, and this is "+name+": leave it out")
		}
	}
	wantSet(t, mustRead(t, smallSVM, "a.svm", Options{Missing: MissingMean}), smallX, smallY)
	wantError(t, smallCSV, "a.csv", Options{Missing: "median"},
		`a.csv: --missing "median": choose one of "error", "mean", "drop"`)
}

// column writes a table of one column and labels 0 and 1.
func oneColumn(values []string) string {
	var b strings.Builder
	b.WriteString("a b,label\n")
	for i, v := range values {
		fmt.Fprintf(&b, "%s,%d\n", v, i%2)
	}
	return b.String()
}

func TestTextsThatAreNoCategoriesAreRefusedWithTheWayOut(t *testing.T) {
	var numbers, names []string
	for i := range 200 {
		numbers = append(numbers, strconv.FormatFloat(float64(i)/3, 'g', -1, 64))
		names = append(names, fmt.Sprintf("name %d", i))
	}
	spoilt := slices.Clone(numbers)
	spoilt[7], spoilt[90] = "7 kg", "unknown"
	wantError(t, oneColumn(spoilt), "a.csv", Options{},
		`a.csv:9:1: field 1 ("a b"): "7 kg" is not a number in a column of `+
			`numbers, where 2 of 200 are none: correct it, or --drop "a b"`)
	wantError(t, oneColumn(names), "a.csv", Options{},
		`a.csv:2:1: 1 column with too many different texts for 200 examples, `+
			`"a b" (200 texts, such as "name 0"), to be categories: leave out with --drop "a b"`)
	several := "id,Name,Ticket,label\n"
	for i := range 150 {
		several += fmt.Sprintf("%d.5,n%d,t%d,%d\n", i, i, i, i%2)
	}
	wantError(t, several, "a.csv", Options{}, `a.csv:2:5: 2 columns with too many different texts for 150 examples, `+
		`"Name" (150 texts, such as "n0"), "Ticket" (150 texts, such as "t0"), to be categories: leave out with --drop Name,Ticket`)
	var classes strings.Builder
	classes.WriteString("a,label\n")
	for i := range 40 {
		fmt.Fprintf(&classes, "%d.5,c%d\n", i, i)
	}
	wantError(t, classes.String(), "a.csv", Options{},
		`a.csv: column "label" looks like no label: it has 40 different texts `+
			`in 40 examples: choose another with --label NAME, of "a", "label"`)
	few := []string{"1", "2", "many", "3"}
	if s := mustRead(t, oneColumn(few), "a.csv", Options{}); len(s.Features) != 4 {
		t.Errorf("%q", s.Features)
	}
	wantError(t, oneColumn([]string{"inf", "1"}), "a.csv", Options{},
		`a.csv:2:1: field 1 ("a b"): inf is not finite: fill in missing values or drop the example`)
	wantError(t, "a,b,label\n1,,0\n2,,1\n", "a.csv", Options{Missing: MissingMean},
		`a.csv: no values at all in 1 column b: --drop b`)
	wantError(t, "a,b,label\n1,,0\n2,,1\n", "a.csv", Options{Missing: MissingDrop},
		`a.csv: no examples: each of the 2 has a missing value: fill them in with --missing mean, or --drop columns`)
	wantError(t, oneColumn([]string{strings.Repeat("x", longest+1)}), "a.csv", Options{},
		`a.csv:2:1: field 1 ("a b"): a text of 65537 bytes, want at most 65536: is a quote missing?`)
}

func TestMoreTextsThanATableCouldHaveEndTheReading(t *testing.T) {
	var numbers, names, both strings.Builder
	numbers.WriteString("a,label\n")
	names.WriteString("a,label\n")
	both.WriteString("a,label\n")
	const n = 2 * maxTexts
	for i := range n {
		fmt.Fprintf(&numbers, "%d.5,%d\n", i, i%2)
		fmt.Fprintf(&names, "n%d,%d\n", i, i%2)
		fmt.Fprintf(&both, "%d.5,%d.5\n", i, i)
	}
	const junk = "\x00,junk,more\n" // which nobody gets to
	wantError(t, numbers.String()+"x,1\n"+junk, "a.csv", Options{},
		`a.csv:65538:1: field 1 ("a"): "x" is not a number in a `+
			`column of numbers, where 1 of 65537 are none: correct it, or --drop a`)
	wantError(t, names.String()+junk, "a.csv", Options{}, `a.csv:2:1: 1 column with too many different texts for 32768 `+
		`examples, "a" (32769 texts, such as "n0"), to be categories: leave out with --drop a`)
	wantError(t, both.String()+"1,x\n"+junk, "a.csv", Options{}, `a.csv:65538:3: field 2 ("label"): label: "x" is not a `+
		`number in a column of numbers, where 1 of 65537 are none: correct it`)
}

func TestTextsMayHoldSeparatorsAndQuotes(t *testing.T) {
	for data, want := range map[string][]string{
		"a,label\n\"x, y\",1\n\"say \"\"no\"\"\",0\n5\" pipe,1\n":  {`5" pipe`, `say "no"`, "x, y"},
		"\ufeffa;label\r\nx;1\r\n\"y;z\" ;0\r\n w ;1\r\n":          {"w", "x", "y;z"},
		"a\tlabel\nx y\t1\n\"t\tu\"\t0\nv\t1\n":                    {"t\tu", "v", "x y"},
		"\"a\r\n(cm)\",label\n\"one\ntwo\n\nthree\",1\nx,0\ny,1\n": {"one two three", "x", "y"},
		"a,label\nk\xf6ln,1\nköln,0\nbonn,1\nessen,0\n":            {"bonn", "essen", "köln"}, // Latin-1 is understood
	} {
		s := mustRead(t, data, "a.csv", Options{})
		if got := s.Encoding.Columns[0].Categories; !slices.Equal(got, want) {
			t.Errorf("%q has the categories %q, want %q", data, got, want)
		}
	}
}

func TestLinesAreCountedOverTextsOfSeveral(t *testing.T) {
	wantError(t, "a,label\n\"x\ny\",1\n\"z\n\",\"1\n\nu,1,1\n", "a.csv", Options{},
		`a.csv:5:3: field 2 ("label"): a quote `+
			`that does not end: close it`)
	wantError(t, "a,label\n\"x\ny\",1\nu,1,1\n", "a.csv", Options{},
		`a.csv:4: 3 fields, but the header has 2: every line needs one field a column`)
	wantError(t, "a,b,label\n1,\"x"+strings.Repeat("\n1,x,0", 20_000), "a.csv", Options{Drop: []string{"b"}},
		`a.csv:2:3: field 2 ("b"): a quote that does not end: close it`)
	wantError(t, "a,label,b\n1,0,\"x"+strings.Repeat("\n1,0,x", 20_000), "a.csv", Options{Drop: []string{"b"}},
		`a.csv:2:5: field 3 ("b"): a quote that does not end: close it`)
}

func TestOneClassOfTextIsNotTwo(t *testing.T) {
	if _, _, err := mustRead(t, "a,label\n1,yes\n2,yes\n", "a.csv", Options{}).Signs(); err == nil ||
		err.Error() != `a.csv: one class only, "yes": want examples of two` {
		t.Errorf("%v", err)
	}
}

func TestAFirstLineThatLooksLikeDataIsDoubted(t *testing.T) {
	const note = `the first line, with names such as "3.5", is taken for the header (--no-header if it is data)`
	s := mustRead(t, "5.1,3.5,label\n1,2,0\n", "a.csv", Options{})
	wantNotes(t, s, note)
	wantNotes(t, mustRead(t, "2019,2020,label\n1,2,0\n", "a.csv", Options{})) // years
}

func TestAnEditedEncodingIsChecked(t *testing.T) {
	good := func() *Encoding {
		return &Encoding{Label: "3", NoHeader: true, Width: 3, Classes: []string{"a", "b"}, Missing: MissingMean,
			Columns: []Column{{Name: "1", Fill: []float64{1}},
				{Name: "2", Categories: []string{"x", "y", "z"}, Fill: []float64{0, 1, 0}}}}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(e *Encoding){
		"no columns":    func(e *Encoding) { e.Columns = nil },
		"missing":       func(e *Encoding) { e.Missing = "median" },
		"classes":       func(e *Encoding) { e.Classes[1] = "a" },
		"categories":    func(e *Encoding) { e.Columns[1].Categories[2] = "x" },
		"fill":          func(e *Encoding) { e.Columns[1].Fill = []float64{1} },
		"empty fill":    func(e *Encoding) { e.Columns[0].Fill = []float64{} },
		"nan":           func(e *Encoding) { e.Columns[0].Fill[0] = nan },
		"name":          func(e *Encoding) { e.Columns[0].Name = "a" },
		"zero":          func(e *Encoding) { e.Columns[0].Name = "0" },
		"beyond":        func(e *Encoding) { e.Columns[0].Name = "4" },
		"same":          func(e *Encoding) { e.Columns[0].Name = "2" },
		"label":         func(e *Encoding) { e.Label = "1" },
		"another width": func(e *Encoding) { e.Width = 2 },
	} {
		e := good()
		if spoil(e); e.Check() == nil {
			t.Errorf("%s: %+v passes", what, e)
		}
	}
}

func TestEveryChoiceAboutMissingValuesIsListed(t *testing.T) {
	for _, m := range Missings {
		if !m.Name.known() || m.About == "" || !slices.Contains(MissingNames(), string(m.Name)) {
			t.Errorf("%+v", m)
		}
	}
	if Missing("x").known() || !Missing("").known() || len(Missings) != 3 {
		t.Errorf("%v", Missings)
	}
}
