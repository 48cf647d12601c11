package train

import (
	"encoding/json"
	"strings"
	"testing"
)

// A line without an evaluation has no zeros in its place.
func TestWhatWasNotEvaluatedIsNotWritten(t *testing.T) {
	data, err := json.Marshal(Record{Epoch: Epoch{Epoch: 3, Loss: 0.5}, Unevaluated: true})
	if err != nil || strings.Contains(string(data), "test_") || strings.Contains(string(data), "norm") ||
		!strings.Contains(string(data), `"unevaluated":true`) || !strings.Contains(string(data), `"loss":0.5`) {
		t.Errorf("%s, %v", data, err)
	}
	if data, _ = json.Marshal(Record{}); !strings.Contains(string(data), "test_accuracy") {
		t.Errorf("%s", data)
	}
}

// Only a largest weight that grows out of all proportion is told of, not an epoch that was not measured, nor one that
// shrinks.
func TestJump(t *testing.T) {
	of := func(largest ...float64) []Record {
		var out []Record
		for k, v := range largest {
			out = append(out, Record{Epoch: Epoch{Epoch: k + 1}, Geometry: Geometry{NormInf: v}})
		}
		return out
	}
	// the first ahead of all
	for _, quiet := range [][]float64{{0}, {0, 154}, {0.1, 2.9}, {0.1, 0.2, 1.9}, {0.1, 154 / 200., 0.2}, {0, 0, 154}} {
		if text := jump(quiet[0], of(quiet[1:]...)); text != "" {
			t.Errorf("%v: %s", quiet, text)
		}
	}
	for want, largest := range map[string][]float64{"in epoch 3 the largest weight went from 0.193 to 154:": {0.1, 0.19,
		0.193, 153.9, 153.9}, "in epoch 1 the largest weight went from 0.1 to 4:": {0.1, 4},
		"in epoch 3 the largest weight went from 0.2 to 154:": {0, 0.2, 0, 154}} {
		if text := jump(largest[0], of(largest[1:]...)); !strings.HasPrefix(text, want) {
			t.Errorf("%v: %q", largest, text)
		}
	}
}
