package fit

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
)

var someCheckpoint = &Checkpoint{Data: "sha256:x", Attempt: Attempt{P: 1.5, Soft: 0.1}, None: "why", Refuted: true,
	Finished: []*linear.Result{{W: []float64{1, 2}, Certificate: linear.Certificate{Lower: 1, Upper: 2},
		Loss: 2.5, Objective: 3, Excess: 4, Steps: 5, Eta: 6}},
	State: &linear.Checkpoint{Method: "accelerated", Step: 7,
		Scalars: map[string]float64{"sum": 1, "lipschitz": 2, "logsumexp": 3, "spare": 4, "upper": 5, "gap": math.Inf(1),
			"tries": 8, "chosen": 6, "all": 0},
		Vectors: map[string][]float64{"weights": {1, 2}, "margins": {3}, "mean_b": {4, 5}, "mean_mu": {6, 7}, "rows": {}}}}

// positional are the entries of the state in the order of versions 2 and 3.
var positional = map[string]struct{ numbers, vectors []string }{
	"accelerated": {[]string{"sum", "lipschitz", "logsumexp", "spare", "upper", "gap", "tries", "chosen", "all"},
		[]string{"weights", "margins", "mean_b", "mean_mu", "rows"}},
	"pgd": {[]string{"eta", "mass", "upper"}, []string{"weights", "dual", "dual_start"}},
}

// earlier returns an encoded checkpoint as programs wrote it in version 2 or 3.
func earlier(t testing.TB, data []byte, version string) []byte {
	t.Helper()
	now := decoded(t, data)
	names := positional[now.Metadata["method"]]
	f := safetensors.File{Metadata: now.Metadata}
	f.Metadata["vectors"] = strconv.Itoa(len(names.vectors))
	numbers := safetensors.Tensor{Name: "numbers", DType: "F64", Shape: []int{len(names.numbers)}}
	for _, name := range names.numbers {
		x, _ := now.Tensor("scalar." + name)
		numbers.Data = append(numbers.Data, x.Data...)
	}
	for _, x := range now.Tensors {
		if strings.HasPrefix(x.Name, "finished.") {
			f.Tensors = append(f.Tensors, x)
		}
	}
	f.Tensors = append(f.Tensors, numbers)
	for k, name := range names.vectors {
		x, _ := now.Tensor("state." + name)
		x.Name = fmt.Sprintf("vector.%d", k)
		f.Tensors = append(f.Tensors, x)
	}
	return encodedAs(t, f, version)
}

func decoded(t testing.TB, data []byte) safetensors.File {
	t.Helper()
	f, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// encodedAs encodes f with the given version, and from version 3 on with a checksum.
func encodedAs(t testing.TB, f safetensors.File, version string) []byte {
	t.Helper()
	var err error
	delete(f.Metadata, safetensors.ChecksumKey)
	if f.Metadata["version"] = version; version > "2" {
		f, err = f.WithChecksum()
	}
	var b bytes.Buffer
	if err == nil {
		err = safetensors.Encode(&b, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBack reads data as a fit's checkpoint.
func readBack(t *testing.T, data []byte) (*Checkpoint, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fit.safetensors")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return ReadCheckpoint(path)
}

func TestCheckpointsComeBackAsTheyWere(t *testing.T) {
	data := someCheckpoint.Encode()
	unchecked := *someCheckpoint
	unchecked.Unchecked = true
	for version, c := range map[string]struct {
		data []byte
		want *Checkpoint
	}{
		"4": {data, someCheckpoint},
		"3": {earlier(t, data, "3"), someCheckpoint},
		"2": {earlier(t, data, "2"), &unchecked},
	} {
		if got, err := readBack(t, c.data); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("version %s: %+v, %v", version, got, err)
		}
	}
}

func TestOtherVersionsOfCheckpointsAreRefused(t *testing.T) {
	data := someCheckpoint.Encode()
	unsigned := decoded(t, data)
	delete(unsigned.Metadata, safetensors.ChecksumKey)
	var b bytes.Buffer
	if err := safetensors.Encode(&b, unsigned); err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string][]byte{
		"newer":              encodedAs(t, decoded(t, data), "5"),
		"older":              encodedAs(t, decoded(t, data), "1"),
		"lacks its checksum": b.Bytes(),
		"no numbers":         encodedAs(t, decoded(t, data), "3"),
		`method "fly"`:       encodedAs(t, withMethod(decoded(t, earlier(t, data, "3")), "fly"), "3"),
		"9 numbers":          encodedAs(t, withMethod(decoded(t, earlier(t, data, "3")), "newton"), "3"),
	} {
		if _, err := readBack(t, data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func withMethod(f safetensors.File, method string) safetensors.File {
	f.Metadata["method"] = method
	return f
}

func TestNumbersOfACheckpointKeepTheirBits(t *testing.T) {
	for _, bits := range []uint64{0, 1 << 63, 1, 0x7ff0000000000000, 0xfff8000000000abc, 0x3fb999999999999a} {
		x := math.Float64frombits(bits)
		c := &Checkpoint{State: &linear.Checkpoint{Scalars: map[string]float64{"x": x},
			Vectors: map[string][]float64{"x": {x}}}}
		got, err := readBack(t, c.Encode())
		if err != nil {
			t.Fatal(err)
		}
		scalar, vector := got.State.Scalars["x"], got.State.Vectors["x"][0]
		if math.Float64bits(scalar) != bits || math.Float64bits(vector) != bits {
			t.Errorf("%#x came back as %#x and %#x", bits, math.Float64bits(scalar), math.Float64bits(vector))
		}
	}
}

func TestAFitDoesNotResumeFromADamagedCheckpoint(t *testing.T) {
	whole := someCheckpoint.Encode()
	path := filepath.Join(t.TempDir(), "fit.safetensors")
	stride := 1
	if testing.Short() {
		stride = 9
	}
	for bit := 0; bit < 8*len(whole); bit += stride {
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ReadCheckpoint(path)
		if err == nil || !strings.Contains(err.Error(), path+" is damaged") || !strings.Contains(err.Error(), "delete it") ||
			strings.Contains(err.Error(), "\n") {
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(someCheckpoint.Encode())
	f.Add(earlier(f, someCheckpoint.Encode(), "2"))
	f.Add(earlier(f, someCheckpoint.Encode(), "3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		c, err := decodeCheckpoint(file) // without the checksum, which would refuse nearly everything
		if err != nil {
			return
		}
		again := c.Encode() // whatever was taken can be written
		if file, err = safetensors.Decode(bytes.NewReader(again), int64(len(again))); err != nil || file.Verify() != nil {
			t.Fatal(err, file.Verify())
		}
	})
}

func writeFile(path string, data []byte) error { return os.WriteFile(path, data, 0o666) }
