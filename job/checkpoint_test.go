package job

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/linear"
)

var someCheckpoint = &fitCheckpoint{hash: "sha256:x", p: 1.5, soft: 0.1, finished: []*linear.Result{{W: []float64{1, 2}, Certificate: linear.Certificate{Lower: 1, Upper: 2}, Loss: 2.5, Objective: 3, Excess: 4, Steps: 5, Eta: 6}},
	state: &linear.Checkpoint{Method: linear.Accelerated, Step: 7, Numbers: []float64{1, math.Inf(1)}, Vectors: [][]float64{{1, 2}, {}, {3}}}}

func TestCheckpointsComeBackAsTheyWere(t *testing.T) {
	data := someCheckpoint.encode()
	f, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeFitCheckpoint(f)
	if err != nil || !reflect.DeepEqual(got, someCheckpoint) {
		t.Errorf("%+v, %v", got, err)
	}
	for version, want := range map[string]string{"3": "newer", "1": "older"} {
		f.Metadata["version"] = version
		if _, err := decodeFitCheckpoint(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v", version, err)
		}
	}
}

func FuzzFitCheckpoint(f *testing.F) {
	f.Add(someCheckpoint.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		c, err := decodeFitCheckpoint(file)
		if err != nil {
			return
		}
		again := c.encode() // whatever was taken can be written
		if _, err := safetensors.Decode(bytes.NewReader(again), int64(len(again))); err != nil {
			t.Fatal(err)
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
