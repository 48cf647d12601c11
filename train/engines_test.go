package train

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/optim"
)

// Twenty steps on our engine and on GoMLX's: the same graph, rounded differently. A rounding of 6e-8 grows with the steps and with sums over
// a batch; with p at most 2 it stays below 2e-4 of the largest weight of each tensor. With p = 3 the map z ↦ √z is infinitely steep at 0, and
// weights pass 0: GoMLX's engine parts from itself by a fifth of the largest weight when the learning rate changes in its seventh digit. There
// only the loss is compared.
func TestTwentyStepsAgreeWithGoMLXsEngine(t *testing.T) {
	set := small(t, 400, 40)
	for p, bound := range map[float64]float64{1.5: 2e-4, 2: 2e-4, 3: 1} {
		var losses [2]float64
		var after [2]safetensors.File
		for i, name := range []string{"cpu", "go"} {
			e, err := engine.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			s := quick
			s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 1))
			x, err := New(e, set, s)
			if err != nil {
				t.Fatal(err)
			}
			r := Run{P: p, LR: 0.1, Seed: 3, Epochs: 1, Schedule: optim.Triangular(x.PerEpoch, 5)}
			if err := x.Start(r); err != nil {
				t.Fatal(err)
			}
			losses[i] = epochs(t, x, r, 0, 1).Loss
			saved := weights(t, x)
			if after[i], err = safetensors.Decode(strings.NewReader(saved), int64(len(saved))); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(losses[0]-losses[1]) > max(1e-5, bound/100) {
			t.Errorf("p = %v: mean loss %v and %v", p, losses[0], losses[1])
		}
		for k, a := range after[0].Tensors {
			b := after[1].Tensors[k]
			u, err := safetensors.Float32s(a)
			if err != nil {
				continue // counters
			}
			v, err := safetensors.Float32s(b)
			if err != nil || a.Name != b.Name {
				t.Fatal(err, a.Name, b.Name)
			}
			var largest, apart float64
			for i := range u {
				largest = max(largest, math.Abs(float64(v[i])))
				apart = max(apart, math.Abs(float64(u[i]-v[i])))
			}
			if apart > bound*largest {
				t.Errorf("p = %v, %s: %v apart, the largest is %v", p, a.Name, apart, largest)
			}
		}
	}
}
