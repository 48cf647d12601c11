package fit

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
)

var someCheckpoint = &Checkpoint{Data: "sha256:x", Attempt: Attempt{P: 1.5, Soft: 0.1}, None: "why", Refuted: true,
	Finished: []*linear.Result{{W: []float64{1, 2}, Certificate: linear.Certificate{Lower: 1, Upper: 2}, Loss: 2.5, Objective: 3, Excess: 4, Steps: 5, Eta: 6}},
	State:    &linear.Checkpoint{Method: linear.Accelerated, Step: 7, Numbers: []float64{1, math.Inf(1)}, Vectors: [][]float64{{1, 2}, {}, {3}}}}

// without returns an encoded file with the checksum taken out and the version set, as older programs wrote it.
func without(t testing.TB, data []byte, version string) []byte {
	t.Helper()
	f, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Metadata, safetensors.ChecksumKey)
	f.Metadata["version"] = version
	var b bytes.Buffer
	if err := safetensors.Encode(&b, f); err != nil {
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
	got, err := readBack(t, data)
	if err != nil || !reflect.DeepEqual(got, someCheckpoint) {
		t.Errorf("%+v, %v", got, err)
	}
	for version, want := range map[string]string{"3": "lacks its checksum", "1": "older"} {
		if _, err := readBack(t, without(t, data, version)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v", version, err)
		}
	}
	old := *someCheckpoint
	old.Unchecked = true
	if got, err = readBack(t, without(t, data, "2")); err != nil || !reflect.DeepEqual(got, &old) {
		t.Errorf("version 2: %+v, %v", got, err)
	}
	newer, err := safetensors.Decode(bytes.NewReader(data), -1)
	if err != nil {
		t.Fatal(err)
	}
	newer.Metadata["version"] = "4"
	var b bytes.Buffer
	if newer, err = newer.WithChecksum(); err == nil {
		err = safetensors.Encode(&b, newer)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readBack(t, b.Bytes()); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("version 4: %v", err)
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
	f.Add(without(f, someCheckpoint.Encode(), "2"))
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
