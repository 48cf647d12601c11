package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
)

var someCheckpoint = &fitCheckpoint{hash: "sha256:x", p: 1.5, soft: 0.1, none: "why", refuted: true, finished: []*linear.Result{{W: []float64{1, 2}, Certificate: linear.Certificate{Lower: 1, Upper: 2}, Loss: 2.5, Objective: 3, Excess: 4, Steps: 5, Eta: 6}},
	state: &linear.Checkpoint{Method: linear.Accelerated, Step: 7, Numbers: []float64{1, math.Inf(1)}, Vectors: [][]float64{{1, 2}, {}, {3}}}}

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
func readBack(t *testing.T, data []byte) (*fitCheckpoint, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fit.safetensors")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return readFitCheckpoint(path)
}

func TestCheckpointsComeBackAsTheyWere(t *testing.T) {
	data := someCheckpoint.encode()
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
	old.unchecked = true
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
	whole := someCheckpoint.encode()
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
		_, err := readFitCheckpoint(path)
		if err == nil || !strings.Contains(err.Error(), path+" is damaged") || !strings.Contains(err.Error(), "delete it") ||
			strings.Contains(err.Error(), "\n") {
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
	}
}

func TestAFitResumesFromACheckpointWithoutAChecksumAndSaysSo(t *testing.T) {
	run := func(ctx context.Context, f Fit) (string, error) {
		var out, said bytes.Buffer
		err := perform(ctx, &f, &out, &said)
		return said.String(), err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	runs := t.TempDir()
	long := Fit{Data: "r100", P: []float64{3}, Loss: "exp", Method: "pgd", LR: 1e-4, Steps: 1e9, Runs: runs}
	if _, err := run(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(runs, "*", "checkpoints", "fit.safetensors"))
	if len(found) != 1 {
		t.Fatalf("checkpoints %v", found)
	}
	path, dir := found[0], filepath.Dir(filepath.Dir(found[0]))
	edit(t, dir, func(info map[string]any) { // so that it ends where it was stopped
		info["settings"].(map[string]any)["steps"] = 1
	})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	for _, c := range []struct {
		data []byte
		want string
	}{{damaged, path + " is damaged"}, {without(t, whole, "2"), path + " has no checksum"}} {
		if err := os.WriteFile(path, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		said, err := run(t.Context(), Fit{Resume: dir})
		if text := fmt.Sprintln(said, err); !strings.Contains(text, c.want) {
			t.Errorf("want %q, got %s", c.want, text)
		}
	}
}

func FuzzFitCheckpoint(f *testing.F) {
	f.Add(someCheckpoint.encode())
	f.Add(without(f, someCheckpoint.encode(), "2"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		c, err := decodeFitCheckpoint(file) // without the checksum, which would refuse nearly everything
		if err != nil {
			return
		}
		again := c.encode() // whatever was taken can be written
		if file, err = safetensors.Decode(bytes.NewReader(again), int64(len(again))); err != nil || file.Verify() != nil {
			t.Fatal(err, file.Verify())
		}
	})
}

func TestFoldsHoldOutEveryExampleOnceAndEveryClassEverywhere(t *testing.T) {
	labels := make([]float64, 103)
	for i := range labels {
		labels[i] = float64(i % 3)
	}
	of := folds(labels, []float64{0, 1, 2}, 5, 1)
	size, classes := make([]int, 5), make([]map[float64]int, 5)
	for i, f := range of {
		size[f]++
		if classes[f] == nil {
			classes[f] = map[float64]int{}
		}
		classes[f][labels[i]]++
	}
	for k := range size {
		if size[k] < 20 || size[k] > 21 || len(classes[k]) != 3 {
			t.Errorf("fold %d has %d examples, classes %v", k, size[k], classes[k])
		}
	}
	if reflect.DeepEqual(of, folds(labels, []float64{0, 1, 2}, 5, 2)) {
		t.Error("the seed makes no difference")
	}
}

func TestOfEquallyAccuratePTheOneNearestToTwoIsChosen(t *testing.T) {
	cells := map[cell]cellScore{}
	for k := range 2 {
		for p, acc := range map[float64]float64{1.1: 0.9, 3: 0.9, 10: 0.8} {
			cells[cell{P: p, Fold: k}] = cellScore{Accuracy: acc}
		}
	}
	for _, s := range summary([]float64{1.1, 3, 10}, []float64{0}, 2, cells) {
		if s.Chosen != (s.P == 3) {
			t.Errorf("p = %v: chosen %v", s.P, s.Chosen)
		}
	}
}
