package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// The files in testdata/parquet are from another writer than the one these tests use. In an empty folder, with
// write.mjs copied there:
//
//	npm install hyparquet-writer@0.17.0 && node write.mjs .
const peopleFile = "testdata/parquet/people"

var peopleFiles = []string{peopleFile + ".parquet", peopleFile + "-plain.parquet", peopleFile + "-delta.parquet"}

func sameTable(t *testing.T, got, want *Set) {
	t.Helper()
	if !sameRows(rowsOf(got), rowsOf(want)) || !slices.EqualFunc(got.Y, want.Y, sameBits) {
		t.Errorf("X = %v, Y = %v, want %v, %v", rowsOf(got), got.Y, rowsOf(want), want.Y)
	}
	if !reflect.DeepEqual(got.Encoding, want.Encoding) {
		t.Errorf("encoding %+v, want %+v", got.Encoding, want.Encoding)
	}
	if !slices.Equal(got.Features, want.Features) || got.Label != want.Label || got.Unlabeled != want.Unlabeled ||
		!slices.Equal(got.Notes, want.Notes) {
		t.Errorf("%q, labels %q, notes %q, want %q, %q, %q", got.Features, got.Label, got.Notes, want.Features, want.Label,
			want.Notes)
	}
}

func TestParquetIsReadAsTheSameCSV(t *testing.T) {
	like, err := Read(peopleFile+".csv", Options{Missing: MissingMean})
	if err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{
		{Missing: MissingMean}, {Missing: MissingDrop, Bias: true}, {Missing: MissingMean, Label: "adult"},
		{Drop: []string{"age", "3"}, Label: "5"}, {Columns: []string{"income", "port"}, Missing: MissingDrop},
		{Drop: []string{"port", "age"}, Unlabeled: true}, {Like: like.Encoding}, {Like: like.Encoding, Unlabeled: true},
		{Missing: MissingMean, Label: "port", Drop: []string{"age"}}, // which is an error about a label
	} {
		want, wantErr := Read(peopleFile+".csv", opt)
		for _, name := range peopleFiles {
			got, err := Read(name, opt)
			if wantErr != nil {
				_, what, _ := strings.Cut(wantErr.Error(), "): ")
				if err == nil || !strings.HasSuffix(err.Error(), `row 6, column "port": `+what) {
					t.Errorf("%s, %+v: %v, but of the CSV %v", name, opt, err, wantErr)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s, %+v: %v", name, opt, err)
			}
			sameTable(t, got, want)
		}
	}
	wantFileError(t, peopleFiles[0], Options{}, `row 4, column "age": 14 missing values in 2 columns (age 9, port 5): `+
		`--missing mean fills them in, --missing drop leaves out 13 of 60 examples`)
}

func wantFileError(t *testing.T, name string, opt Options, want string) {
	t.Helper()
	if _, err := Read(name, opt); err == nil || err.Error() != name+": "+want {
		t.Errorf("%s gives\n%v\nwant\n%s: %s", name, err, name, want)
	}
}

func TestATableOfTheOtherKindIsReadLikeIt(t *testing.T) {
	csv, err := Read(peopleFile+".csv", Options{Missing: MissingMean})
	if err != nil {
		t.Fatal(err)
	}
	pq, err := Read(peopleFiles[0], Options{Missing: MissingMean})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Read(peopleFile+".csv", Options{Like: pq.Encoding})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(peopleFiles[1], Options{Like: csv.Encoding})
	if err != nil {
		t.Fatal(err)
	}
	sameTable(t, b, a)
}

// written is a Parquet file of rows.
func written[T any](t testing.TB, rows []T, opt ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, opt...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type allTypes struct {
	I8   int8     `parquet:"i8"`
	I16  int16    `parquet:"i16"`
	I32  int32    `parquet:"i32,delta"`
	I64  int64    `parquet:"i64,delta"`
	U8   uint8    `parquet:"u8"`
	U32  uint32   `parquet:"u32"`
	U64  uint64   `parquet:"u64"`
	F32  float32  `parquet:"f32,split"`
	F64  float64  `parquet:"f64,dict"`
	D9   int32    `parquet:"d9,decimal(2:9)"`
	D18  int64    `parquet:"d18,decimal(3:18)"`
	D38  [16]byte `parquet:"d38,decimal(1:38)"`
	Null *float64 `parquet:"null,optional"`
	Y    int32    `parquet:"y"`
}

func TestNumbersOfAllTypes(t *testing.T) {
	two := 2.5
	minus := [16]byte{15: 0xf6} // −10
	for i := range 15 {
		minus[i] = 0xff
	}
	data := written(t, []allTypes{
		{-128, -32768, math.MinInt32, math.MinInt64, 255, math.MaxUint32, math.MaxUint64, 0.1, 0.1, 1234, -1, minus, nil, 1},
		{127, 32767, math.MaxInt32, 3, 0, 0, 0, -2, 1e300, -5, 7001, [16]byte{15: 25}, &two, 0},
		{0, 0, 0, -1 << 53, 1, 1 << 31, 1 << 63, 0, math.NaN(), 0, 0, [16]byte{}, &two, 0},
	})
	want := [][]float64{
		{-128, -32768, math.MinInt32, math.MinInt64, 255, math.MaxUint32, math.MaxUint64, float64(float32(0.1)), 0.1, 12.34,
			-0.001, -1, 2.5},
		{127, 32767, math.MaxInt32, 3, 0, 0, 0, -2, 1e300, -0.05, 7.001, 2.5, 2.5},
		{0, 0, 0, -1 << 53, 1, 1 << 31, 1 << 63, 0, 5e299, 0, 0, 0, 2.5},
	}
	s := mustRead(t, data, "a.parquet", Options{Missing: MissingMean})
	wantSet(t, s, want, []float64{1, 0, 0})
	wantNotes(t, s, `labels are in column "y", the last one (--label NAME for another)`,
		"2 missing values in 2 columns (f64, null) are filled in with the mean")
	wantError(t, data, "a", Options{}, `a: row 1, column "null": 2 missing values in 2 columns (f64 1, null 1): `+
		`--missing mean fills them in, --missing drop leaves out 2 of 3 examples`)
}

type allTexts struct {
	Plain  string  `parquet:"plain"`
	Dict   string  `parquet:"dict,dict"`
	Delta  string  `parquet:"delta,delta"`
	Enum   string  `parquet:"enum,enum"`
	Bytes  []byte  `parquet:"bytes"`
	Opt    *string `parquet:"opt,optional,dict"`
	Number string  `parquet:"number"`
	Yes    bool    `parquet:"yes"`
}

func TestTextsOfAllTypesInAllCompressions(t *testing.T) {
	var rows []allTexts
	csv := "plain,dict,delta,enum,bytes,opt,number,yes\n"
	for i := range 300 {
		s := func(k int) string { return fmt.Sprintf(" kind %d ", i*i%k) }
		r := allTexts{s(3), s(4), s(5), s(6), []byte(s(7)), nil, fmt.Sprint(i * 3 % 7), i%3 == 0}
		opt := ""
		if i%5 > 0 {
			opt = s(2)
			r.Opt = &opt
		}
		rows = append(rows, r)
		csv += fmt.Sprintf("%s,%s,%s,%s,%s,%s,%s,%t\n", r.Plain, r.Dict, r.Delta, r.Enum, r.Bytes, opt, r.Number, r.Yes)
	}
	want := mustRead(t, csv, "a.csv", Options{Missing: MissingMean})
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd,
		&parquet.Lz4Raw}
	for _, codec := range codecs {
		for version := 1; version <= 2; version++ {
			data := written(t, rows, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(512),
				parquet.MaxRowsPerRowGroup(170))
			sameTable(t, mustRead(t, data, "a.parquet", Options{Missing: MissingMean}), want)
		}
	}
}

type withIndex struct {
	X     float64 `parquet:"x"`
	Y     int32   `parquet:"y"`
	Index int64   `parquet:"__index_level_0__"`
}

func TestTheIndexOfPandasIsLikeAFirstColumnWithoutAName(t *testing.T) {
	data := written(t, []withIndex{{0.5, 1, 0}, {2, 0, 1}, {-1, 1, 2}})
	s := mustRead(t, data, "a.parquet", Options{})
	wantSet(t, s, [][]float64{{0.5}, {2}, {-1}}, []float64{1, 0, 1})
	wantNotes(t, s, `labels are in column "y", the last one (--label NAME for another)`,
		"column __index_level_0__, the row numbers of pandas, is left out")
	csv := mustRead(t, ",x,y\n0,0.5,1\n1,2,0\n2,-1,1\n", "a.csv", Options{})
	if !reflect.DeepEqual(s.Encoding, csv.Encoding) {
		t.Errorf("%+v, of the CSV %+v", s.Encoding, csv.Encoding)
	}
	sameTable(t, mustRead(t, data, "a", Options{Like: s.Encoding}), mustRead(t, ",x,y\n0,0.5,1\n1,2,0\n2,-1,1\n", "a.csv",
		Options{Like: s.Encoding}))
	data = written(t, []withIndex{{0.5, 1, 10}, {2, 0, 7}})
	if s := mustRead(t, data, "a", Options{}); !slices.Equal(s.Features, []string{"", "x"}) {
		t.Errorf("features %q: an index that does not count rows is one", s.Features)
	}
	for _, name := range []string{pandasIndex, "1"} {
		if s := mustRead(t, data, "a", Options{Drop: []string{name}}); !slices.Equal(s.Features, []string{"x"}) {
			t.Errorf("features %q without column %s", s.Features, name)
		}
	}
}

func TestColumnsWithoutNumbersOrTextsAreNamed(t *testing.T) {
	const name = "testdata/parquet/mixed.parquet"
	wantFileError(t, name, Options{}, "columns born, tags hold timestamps, JSON, neither numbers nor texts: "+
		"--drop born,tags")
	wantFileError(t, name, Options{Label: "born"}, "columns born, tags hold timestamps, JSON, neither numbers nor texts: "+
		"choose another column of labels with --label NAME")
	s, err := Read(name, Options{Drop: []string{"born", "tags"}})
	if err != nil {
		t.Fatal(err)
	}
	wantSet(t, s, [][]float64{{0.5, 0.5}, {1.5, -2}, {2.5, 65504}, {-1, math.Ldexp(1, -24)}}, []float64{1, 0, 1, 0})
	like := &Encoding{Columns: []Column{{Name: "x"}, {Name: "tags"}}, Label: "y"}
	wantFileError(t, name, Options{Like: like}, "column tags holds JSON, neither numbers nor texts, which the model "+
		"needs: save them as numbers or texts")

	type nested struct {
		List   []int32          `parquet:"list"`
		Proper []int32          `parquet:"proper,list"`
		Map    map[string]int64 `parquet:"map"`
		In     struct {
			A, B float64
		} `parquet:"in"`
		UUID [16]byte `parquet:"uuid,uuid"`
		Day  int32    `parquet:"day,date"`
		X    float64  `parquet:"x"`
		Y    string   `parquet:"y"`
	}
	data := written(t, []nested{{X: 1, Y: "a", List: []int32{1, 2}}, {X: 2.5, Y: "b"}})
	wantError(t, data, "a", Options{}, "a: columns list, proper, map, in, uuid, … hold lists, maps, nested columns, "+
		"UUIDs, dates, neither numbers nor texts: --drop list,proper,map,in,uuid,day")
	s = mustRead(t, data, "a", Options{Columns: []string{"x"}})
	wantSet(t, s, [][]float64{{1}, {2.5}}, []float64{0, 1})
}

func TestValuesThatAreNotFiniteAreRefused(t *testing.T) {
	type row struct {
		X float64 `parquet:"x"`
		Y int32   `parquet:"y"`
	}
	for v, text := range map[float64]string{math.Inf(1): "+Inf", math.Inf(-1): "-Inf"} {
		data := written(t, []row{{1, 0}, {v, 1}, {2, 1}})
		for _, missing := range Missings {
			wantError(t, data, "a", Options{Missing: missing.Name}, `a: row 2, column "x": `+text+
				" is not finite: fill in missing values or drop the example")
		}
		wantError(t, data, "a", Options{Like: &Encoding{Columns: []Column{{Name: "x"}}}}, `a: row 2, column "x": `+text+
			" is not finite: fill in missing values or drop the example")
	}
	wantError(t, written(t, []row{}), "a", Options{}, "a: no examples: the file has columns and no rows")
	wantError(t, smallCSV, "a.parquet", Options{}, "a.parquet: cannot read: not a Parquet file, whatever its name says: "+
		"save it again, in pandas with DataFrame.to_parquet")
	wantError(t, written(t, []row{{1, 1}}), "a", Options{NoHeader: true}, "a: --no-header is about the columns of a CSV, "+
		"and this is parquet: leave it out")
}

func TestParquetIsReadFromFilesStreamsAndGzip(t *testing.T) {
	data, err := os.ReadFile(peopleFiles[0])
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Missing: MissingMean}
	want, err := Open(context.Background(), peopleFiles[0], opt)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := ReadFrom(io.MultiReader(bytes.NewReader(data)), "a", opt)
	if err != nil {
		t.Fatal(err)
	}
	sameTable(t, stream, want)
	zipped := gz(string(data))
	fromGzip := mustRead(t, zipped, "people.parquet.gz", opt)
	sameTable(t, fromGzip, want)
	for s, bytes := range map[*Set]string{want: string(data), stream: string(data), fromGzip: zipped} {
		if sum := sha256.Sum256([]byte(bytes)); s.Hash != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("hash %s is not that of the bytes as stored", s.Hash)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, peopleFiles[0], opt); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the context has ended", err)
	}
}

type wide struct {
	A, B string
	X, Y float64
}

func wideRows(n int) []wide {
	rows := make([]wide, n)
	for i := range rows {
		rows[i] = wide{strings.Repeat(fmt.Sprint("a", i), 50), fmt.Sprint("b", i*i), float64(i * i % 101), float64(i % 2)}
	}
	return rows
}

// countingFile counts the bytes that are read here and there.
type countingFile struct {
	*bytes.Reader
	n int
}

func (c *countingFile) ReadAt(b []byte, at int64) (int, error) {
	c.n += len(b)
	return c.Reader.ReadAt(b, at)
}

func TestUnusedColumnsAreNotRead(t *testing.T) {
	data := written(t, wideRows(2000), parquet.Compression(&parquet.Uncompressed))
	file := &countingFile{Reader: bytes.NewReader([]byte(data))}
	s, err := readParquet(file, int64(len(data)), "a", Options{Columns: []string{"X"}, Label: "Y"})
	if err != nil {
		t.Fatal(err)
	}
	if n, d := s.X.Dims(); n != 2000 || d != 1 {
		t.Errorf("%d × %d", n, d)
	}
	// Two columns of 8 bytes a value and a footer; the texts are ten times that.
	if most := 2*8*2000 + 8000; file.n > most {
		t.Errorf("%d of %d bytes were read, want at most %d", file.n, len(data), most)
	}
}

// A file with anything changed is refused in words, or read; memory follows from its size.
func TestDamagedParquetFilesAreRefused(t *testing.T) {
	data := written(t, wideRows(50))
	for k := range len(data) {
		_, err := ReadFrom(strings.NewReader(data[:k]), "a.parquet", Options{})
		if e := (*Error)(nil); !errors.As(err, &e) {
			t.Fatalf("%v of the first %d bytes", err, k)
		}
	}
	wantError(t, data[:len(data)-9], "a", Options{}, "a: the Parquet file is damaged (it is cut short): save or fetch it "+
		"again")
	wantError(t, data[:len(data)-4]+"PARE", "a", Options{}, "a: the file is encrypted: save it without a key")

	footer := []byte{0x15, 2, 0x19, 0xfc, 0x80, 0xda, 0xc4, 0x09, 0} // a list of 20 million elements
	small := "PAR1" + string(footer) + string(binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))) + "PAR1"
	type zeros struct {
		X float64 `parquet:",dict"`
		Y bool
	}
	bomb := written(t, make([]zeros, 1_000_000), parquet.Compression(&parquet.Zstd))
	for _, c := range []struct{ what, data string }{{"a list in the footer", small}, {"a million rows of zeros", bomb}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readParquetUpTo(strings.NewReader(c.data), int64(len(c.data)), 1<<16, "a", Options{})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s was read", c.what)
		}
		if d := after.TotalAlloc - before.TotalAlloc; d > 4<<20 {
			t.Errorf("%s, %d bytes, took %d", c.what, len(c.data), d)
		}
	}
}

// The decoders find what is wrong in pages themselves: what is recovered from is a panic nobody thought of.
func TestChangedPagesAreRefusedWithoutPanics(t *testing.T) {
	var files []string
	for _, version := range []int{1, 2} {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd} {
			opts := []parquet.WriterOption{parquet.Compression(codec), parquet.DataPageVersion(version)}
			two := 2.5
			numbers := make([]allTypes, 40)
			texts := make([]allTexts, 40)
			for i := range numbers {
				numbers[i] = allTypes{I32: int32(i * i), I64: int64(i) << i, F64: float64(i % 3), D9: int32(i)}
				texts[i] = allTexts{Dict: fmt.Sprint(i % 5), Delta: fmt.Sprint("text ", i), Number: "3", Yes: i%3 > 0}
				if i%4 > 0 {
					numbers[i].Null, texts[i].Opt = &two, &texts[i].Dict
				}
			}
			files = append(files, written(t, numbers, opts...), written(t, texts, opts...))
		}
	}
	for _, name := range peopleFiles {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(data))
	}
	rng := rand.New(rand.NewPCG(1, 3))
	read := 0
	opt := Options{Missing: MissingDrop, Label: "1"}
	for range *changes {
		data := []byte(files[rng.IntN(len(files))])
		pages := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
		for range 1 + rng.IntN(3) {
			data[4+rng.IntN(pages-4)] = byte(rng.IntN(256))
		}
		_, err := readParquetUpTo(bytes.NewReader(data), int64(len(data)), 1<<16, "a", opt)
		if err == nil {
			read++
		} else if strings.Contains(err.Error(), "runtime error") {
			t.Fatalf("%v:\n%x", err, data)
		}
	}
	t.Logf("%d of %d were read", read, *changes)
}

var changes = flag.Int("dataset.changes", 5000, "changed Parquet files to read")

// FuzzParquet reads whatever comes, with all options.
func FuzzParquet(f *testing.F) {
	files, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil || len(files) == 0 {
		f.Fatal("no files: ", err)
	}
	for k, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(8*k), "")
	}
	f.Add([]byte(written(f, wideRows(5), parquet.Compression(&parquet.Zstd))), uint8(0), "A")
	f.Add([]byte(written(f, wideRows(9), parquet.Compression(&parquet.Lz4Raw), parquet.DataPageVersion(1))), uint8(9), "B")
	f.Add([]byte(written(f, make([]allTypes, 4))), uint8(18), "y")
	f.Add([]byte(written(f, make([]allTexts, 40), parquet.Compression(&parquet.Brotli))), uint8(17), "8")
	f.Add([]byte(written(f, []withIndex{{1, 1, 0}, {2, 0, 1}})), uint8(4), "y")
	read := func(r io.Reader, name string, opt Options) (*Set, error) {
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		return readParquetUpTo(bytes.NewReader(data), int64(len(data)), 1<<16, name, opt)
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint8, label string) {
		opt := Options{Bias: how&1 > 0, Unlabeled: how&4 > 0, Missing: []Missing{"", MissingMean, MissingDrop}[how/8%3]}
		if how&2 > 0 {
			opt.Drop = []string{label}
		} else {
			opt.Label = label
		}
		promises(t, read, data, opt)
		s, err := read(bytes.NewReader(data), "fuzz", opt)
		if err != nil {
			return
		}
		if err := s.Encoding.Check(); err != nil {
			t.Fatalf("%+v: %v", s.Encoding, err)
		}
		if s.Label == "" && !s.Unlabeled {
			return // a column without a name is known by its number, which may be the name of another
		}
		promises(t, read, data, Options{Bias: opt.Bias, Like: s.Encoding})
	})
}
