package command

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/train"
)

// A line without an evaluation has no zeros in its place.
func TestWhatWasNotEvaluatedIsNotWritten(t *testing.T) {
	data, err := json.Marshal(epochLine{Epoch: train.Epoch{Epoch: 3, Loss: 0.5}, Untold: true}.record())
	if err != nil || strings.Contains(string(data), "test_") || strings.Contains(string(data), "norm") || !strings.Contains(string(data), `"unevaluated":true`) || !strings.Contains(string(data), `"loss":0.5`) {
		t.Errorf("%s, %v", data, err)
	}
	if data, _ = json.Marshal(epochLine{}.record()); !strings.Contains(string(data), "test_accuracy") {
		t.Errorf("%s", data)
	}
}

// Only a largest weight that grows out of all proportion is told of, not an epoch that was not measured, nor one that shrinks.
func TestJump(t *testing.T) {
	of := func(largest ...float64) []epochLine {
		var out []epochLine
		for k, v := range largest {
			out = append(out, epochLine{Epoch: train.Epoch{Epoch: k + 1}, Geometry: train.Geometry{NormInf: v}})
		}
		return out
	}
	for _, quiet := range [][]float64{{0}, {0, 154}, {0.1, 2.9}, {0.1, 0.2, 1.9}, {0.1, 154 / 200., 0.2}, {0, 0, 154}} { // the first ahead of all
		if text := jump(quiet[0], of(quiet[1:]...)); text != "" {
			t.Errorf("%v: %s", quiet, text)
		}
	}
	for want, largest := range map[string][]float64{"in epoch 3 the largest weight went from 0.193 to 154:": {0.1, 0.19, 0.193, 153.9, 153.9}, "in epoch 1 the largest weight went from 0.1 to 4:": {0.1, 4},
		"in epoch 3 the largest weight went from 0.2 to 154:": {0, 0.2, 0, 154}} {
		if text := jump(largest[0], of(largest[1:]...)); !strings.HasPrefix(text, want) {
			t.Errorf("%v: %q", largest, text)
		}
	}
}

// What diverged may have other reasons than its learning rate, which the settings tell.
func TestADivergedRunIsToldWhatElseToTry(t *testing.T) {
	bad := &train.Diverged{Err: errors.New("NaN: try a smaller learning rate")}
	for _, c := range []struct {
		train Train
		p     float64
		err   error
		want  string
	}{
		{Train{}, 2, bad, "p = 2, seed 7: NaN: try a smaller learning rate"},
		{Train{WeightDecay: 1}, 2, bad, "p = 2, seed 7: NaN: try a smaller learning rate, or less decay"},
		{Train{DualDecay: 1}, 1.01, bad, "p = 1.01, seed 7: NaN: try a smaller learning rate, or less decay, or a p further from 1"},
		{Train{WeightDecay: 1}, 2, errors.New("disk full"), "p = 2, seed 7: disk full"},
	} {
		if got := (&Trainer{Train: &c.train}).named(c.err, c.p, 7); got.Error() != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}
