package job

import (
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/train"
)

// Only a largest weight that grows out of all proportion is told of, not an epoch that was not measured, nor one that shrinks.
func TestJump(t *testing.T) {
	of := func(largest ...float64) []epochLine {
		var out []epochLine
		for k, v := range largest {
			out = append(out, epochLine{Epoch: train.Epoch{Epoch: k + 1}, Geometry: train.Geometry{NormInf: v}})
		}
		return out
	}
	for _, quiet := range [][]float64{nil, {0.3}, {0.2, 1.9}, {0.2, 0, 154}, {154, 0.2}, {0, 154}} {
		if text := jump(of(quiet...)); text != "" {
			t.Errorf("%v: %s", quiet, text)
		}
	}
	if text := jump(of(0.19, 0.193, 153.9, 153.9)); !strings.HasPrefix(text, "in epoch 3 the largest weight went from 0.193 to 154:") {
		t.Errorf("%q", text)
	}
}
