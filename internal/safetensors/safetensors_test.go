package safetensors

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// golden is a file written by hand from the description of the format.
const golden = "\x90\x00\x00\x00\x00\x00\x00\x00" + // 32 + 55 + 52 + 1 + 4 spaces = 144
	`{"__metadata__":{"format":"pt"},` +
	`"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},` +
	`"n":{"dtype":"I64","shape":[],"data_offsets":[8,16]}` +
	`}` + "    " +
	"\x00\x00\x80\x3f" + "\x00\x00\x00\xc0" + // 1, −2
	"\xfd\xff\xff\xff\xff\xff\xff\xff" // −3

func goldenFile() File {
	return File{
		Tensors: []Tensor{
			FromFloat32s("w", []int{2, 1}, []float32{1, -2}),
			FromInt64s("n", []int{}, []int64{-3}),
		},
		Metadata: map[string]string{"format": "pt"},
	}
}

func encoded(t *testing.T, f File) string {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// framed puts the length before a header and the data after it.
func framed(header, data string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + data
}

func TestEncodeWritesTheBytesOfTheSpecification(t *testing.T) {
	if got := encoded(t, goldenFile()); got != golden {
		t.Errorf("got\n%q, want\n%q", got, golden)
	}
	if got, want := encoded(t, File{}), "\x08\x00\x00\x00\x00\x00\x00\x00{}      "; got != want {
		t.Errorf("no tensors: got %q, want %q", got, want)
	}
}

func TestDecodeReadsTheBytesOfTheSpecification(t *testing.T) {
	for _, size := range []int64{int64(len(golden)), -1} {
		got, err := Decode(strings.NewReader(golden), size)
		if err != nil {
			t.Fatal(err)
		}
		if want := goldenFile(); !reflect.DeepEqual(got, want) {
			t.Errorf("size %d: got %v, want %v", size, got, want)
		}
	}
}

func TestDecodeReturnsTensorsInTheOrderOfTheirData(t *testing.T) {
	f, err := Decode(strings.NewReader(framed(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},`+
		`"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"empty":{"dtype":"F64","shape":[0,3],"data_offsets":[1,1]}}`,
		"AB")), -1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tensor := range f.Tensors {
		names = append(names, tensor.Name+string(tensor.Data))
	}
	if want := []string{"aA", "empty", "bB"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestNamesAndMetadataOfAnyTextComeBack(t *testing.T) {
	text := "<a & \"b\">\n\\ é \u2028 \x00"
	f := File{Tensors: []Tensor{FromInt64s(text, []int{1}, []int64{math.MinInt64})},
		Metadata: map[string]string{text: text, "": ""}}
	got, err := Decode(strings.NewReader(encoded(t, f)), -1)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("got %v, %v, want %v", got, err, f)
	}
}

func TestElementsComeBackBitForBit(t *testing.T) {
	same := func(got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	f32 := []float32{0, -1.5, math.MaxFloat32, float32(math.Inf(-1))}
	got32, err := Float32s(FromFloat32s("x", []int{2, 2}, f32))
	same(got32, f32, err)
	f64 := []float64{math.Pi, math.SmallestNonzeroFloat64}
	got64, err := Float64s(FromFloat64s("x", []int{2}, f64))
	same(got64, f64, err)
	i64 := []int64{math.MinInt64, -1, math.MaxInt64}
	gotI, err := Int64s(FromInt64s("x", []int{3}, i64))
	same(gotI, i64, err)
	scalar, err := Int64s(FromInt64s("x", nil, i64[:1]))
	same(scalar, i64[:1], err)
	none, err := Float32s(FromFloat32s("x", []int{0}, nil))
	same(none, []float32{}, err)
}

func TestElementsOfAnotherTypeAreRefused(t *testing.T) {
	_, err := Float32s(FromFloat64s("w", []int{1}, []float64{1}))
	if err == nil || err.Error() != `safetensors: tensor "w" is F64, not F32` {
		t.Error(err)
	}
	if _, err := Int64s(Tensor{Name: "w", DType: "I64", Shape: []int{2}, Data: make([]byte, 15)}); err == nil {
		t.Error("15 bytes passed for two elements")
	}
}

func TestEncodeRefusesWhatNoReaderTakes(t *testing.T) {
	one := FromInt64s("a", []int{1}, []int64{1})
	for want, f := range map[string]File{
		"takes 16 bytes, and there are 8": {Tensors: []Tensor{FromInt64s("a", []int{2}, []int64{1})}},
		`two tensors are named "a"`:       {Tensors: []Tensor{one, one}},
		"reserved for metadata":           {Tensors: []Tensor{{Name: "__metadata__", DType: "U8", Shape: []int{0}}}},
		"unknown dtype":                   {Tensors: []Tensor{{Name: "a", DType: "f32", Shape: []int{0}}}},
		"negative dimension":              {Tensors: []Tensor{{Name: "a", DType: "U8", Shape: []int{-1}}}},
		"too large":                       {Tensors: []Tensor{{Name: "a", DType: "U8", Shape: []int{math.MaxInt, 2}}}},
		"name is not valid UTF-8":         {Tensors: []Tensor{{Name: "\xff", DType: "U8", Shape: []int{0}}}},
		"metadata \"\\xff\" is not valid": {Metadata: map[string]string{"\xff": ""}},
		"use fewer tensors":               {Metadata: map[string]string{"a": strings.Repeat("a", maxHeader)}},
	} {
		var b bytes.Buffer
		if err := Encode(&b, f); err == nil || !strings.Contains(err.Error(), want) || b.Len() > 0 {
			t.Errorf("want %q, got %v after %d bytes", want, err, b.Len())
		}
	}
}

func TestDecodeRefusesFilesThatAreNotWhole(t *testing.T) {
	for n := range len(golden) {
		for _, size := range []int64{int64(n), -1, int64(len(golden))} {
			if _, err := Decode(strings.NewReader(golden[:n]), size); err == nil {
				t.Errorf("%d of %d bytes passed with size %d", n, len(golden), size)
			}
		}
	}
	for _, size := range []int64{int64(len(golden)) + 1, -1} {
		if _, err := Decode(strings.NewReader(golden+"x"), size); err == nil ||
			!strings.Contains(err.Error(), "after the data") {
			t.Errorf("a byte too many with size %d: %v", size, err)
		}
	}
}

func TestDecodeRefusesHeadersThatLie(t *testing.T) {
	for header, want := range map[string]string{
		``:                                 "does not start with {",
		` {}`:                              "does not start with {",
		`[]`:                               "does not start with {",
		"{\"\xff\":{}}":                    "UTF-8",
		`{`:                                "ends before its closing }",
		`{"a":{"dtype":"U8"`:               "ends before its closing }",
		`{} {}`:                            "data after",
		`{}}`:                              "data after",
		`{"a":1}`:                          "must have an object",
		`{"a":{}}`:                         "no shape",
		`{"__metadata__":[]}`:              "must have an object",
		`{"__metadata__":{"a":1}}`:         `metadata "a" is not a string`,
		`{"__metadata__":{"a":"","a":""}}`: `"a" is there twice`,
		`{"a":{"dtype":"U8","shape":null,"data_offsets":[0,8]}}`:                    "no shape",
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[8]}}`:                       "1 data_offsets, want 2",
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[null,8]}}`:                  "null is not a size",
		`{"a":{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}}`:                   "8.0 is not a size",
		`{"a":{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}}`:                    "-8 is not a size",
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,9223372036854775808]}}`:   "9223372036854775808 is not a size",
		`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`: "too large",
		`{"a":{"DType":"U8","shape":[8],"data_offsets":[0,8]}}`:                     `unknown dtype ""`,
		`{"a":{"dtype":"Q8","shape":[8],"data_offsets":[0,8]}}`:                     `unknown dtype "Q8"`,
		`{"a":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}}`:        `"dtype" is there twice`,
		`{"a":{"dtype":"U16","shape":[8],"data_offsets":[0,8]}}`: "takes 16 bytes, and data_offsets " +
			"are [0 8]",
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[8,0]}}`: "takes 8 bytes, and data_offsets " +
			"are [8 0]",
		`{"a":{"dtype":"U8","shape":[7],"data_offsets":[1,8]}}`: "a hole of 1 bytes",
		`{"a":{"dtype":"U8","shape":[7],"data_offsets":[0,7]}}`: "after the data",
		`{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`: "cut short",
		`{}`: "after the data",
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}}`: `"a" is there twice`,
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[1],"data_offsets":[7,8]}}`: "overlaps",
	} {
		file := framed(header, "12345678")
		for _, size := range []int64{int64(len(file)), -1} {
			if _, err := Decode(strings.NewReader(file), size); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, size %d: got %v, want %q", header, size, err, want)
			}
		}
	}
}

func TestDecodeAllocatesForWhatIsThereNotForWhatIsClaimed(t *testing.T) {
	claims := map[string]string{
		"header": string(binary.LittleEndian.AppendUint64(nil, maxHeader)) + "{",
		"data":   framed(`{"a":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}}`, "x"),
	}
	for name, file := range claims {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Decode(strings.NewReader(file), -1); err == nil {
			t.Errorf("%s: no error", name)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 { // a few buffers of a few kB
			t.Errorf("%s: %d bytes for a file of %d", name, grown, len(file))
		}
	}
	if _, err := Decode(strings.NewReader("\x01\xe1\xf5\x05\x00\x00\x00\x00{}"), -1); err == nil ||
		!strings.Contains(err.Error(), "more than 100000000") {
		t.Errorf("a header of 100000001 bytes: %v", err)
	}
}

func TestErrorsOfReaderAndWriterArePassedOn(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(golden[:150]), iotest.ErrReader(os.ErrDeadlineExceeded))
	if _, err := Decode(broken, -1); err == nil || !strings.Contains(err.Error(), os.ErrDeadlineExceeded.Error()) {
		t.Error(err)
	}
	r, w := io.Pipe()
	r.Close()
	if err := Encode(w, goldenFile()); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

func TestReadNamesTheFileInItsErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, []byte(golden), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	w, ok := f.Tensor("w")
	if x, err := Float32s(w); !ok || err != nil || !slices.Equal(x, []float32{1, -2}) {
		t.Errorf("w = %v, %v, %v", x, ok, err)
	}
	if _, ok := f.Tensor("v"); ok {
		t.Error("a tensor that is not there")
	}
	if err := os.Truncate(path, 150); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": safetensors: the file is cut short") {
		t.Error(err)
	}
	if _, err := Read(path + "x"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// checked is the golden file with a checksum, encoded.
func checked() string {
	f, err := goldenFile().WithChecksum()
	var b bytes.Buffer
	if err == nil {
		err = Encode(&b, f)
	}
	if err != nil {
		panic(err)
	}
	return b.String()
}

func TestAFlippedBitDoesNotPassTheChecksum(t *testing.T) {
	whole := checked()
	if f, err := Decode(strings.NewReader(whole), -1); err != nil || f.Verify() != nil {
		t.Fatalf("the whole file: %v, %v", err, f.Verify())
	}
	for bit := range 8 * len(whole) {
		b := []byte(whole)
		b[bit/8] ^= 1 << (bit % 8)
		if f, err := Decode(bytes.NewReader(b), -1); err == nil && f.Verify() == nil {
			t.Errorf("bit %d of byte %d: %q passes", bit%8, bit/8, b)
		}
	}
	f := goldenFile()
	if err := f.Verify(); err == nil || !strings.Contains(err.Error(), "lacks its checksum") {
		t.Errorf("no checksum: %v", err)
	}
	if _, err := f.WithChecksum(); err != nil || len(f.Metadata) != 1 {
		t.Errorf("%v, and the metadata of the original is now %v", err, f.Metadata)
	}
}
