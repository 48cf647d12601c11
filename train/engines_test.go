package train

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/optim"
)

// apart trains on our engine and on GoMLX's, and returns for every tensor how far the two ended apart, as a share of
// its largest element, and the two mean losses.
func apart(t *testing.T, set *images.Set, p float64, seed uint64) (shares map[string]float64, losses [2]float64) {
	t.Helper()
	var after [2]safetensors.File
	for i, name := range []string{"cpu", "go"} {
		e, err := engine.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		s := quick
		s.Batch = 10
		s.Optimizer = optim.Mirror().Schedule(optim.Triangular(1, 0))
		x, err := New(e, set, s)
		if err != nil {
			t.Fatal(err)
		}
		r := Plan{P: p, LR: 0.1, Seed: seed, Epochs: 1, Schedule: optim.Triangular(x.PerEpoch, x.PerEpoch/4)}
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		losses[i] = epochs(t, x, r, 0, 1).Loss
		saved := weights(t, x)
		if after[i], err = safetensors.Decode(strings.NewReader(saved), int64(len(saved))); err != nil {
			t.Fatal(err)
		}
	}
	shares = map[string]float64{}
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
		shares[a.Name] = apart / max(largest, 1e-9)
	}
	return shares, losses
}

// The same graph, rounded differently. GoMLX's engine adds numbers one after another, which is off by 1e-5 of a
// gradient (ours by 1e-6: see nets), so that a few units in a step are on the other side of ReLU's 0, and the gradient
// has some pixels more or less. Over twenty steps that adds up to a hundredth of the largest weight. With p = 3 GoMLX's
// engine parts from itself by a fifth of the largest weight when the learning rate changes in its seventh digit: there
// only the loss is compared.
func TestTwentyStepsAgreeWithGoMLXsEngine(t *testing.T) {
	set := small(t, 200, 20)
	for p, bound := range map[float64]float64{1.5: 3e-2, 2: 3e-2, 3: 1} {
		shares, losses := apart(t, set, p, 3)
		if math.Abs(losses[0]-losses[1]) > 5e-3 {
			t.Errorf("p = %v: mean loss %v and %v", p, losses[0], losses[1])
		}
		for name, s := range shares {
			if strings.HasSuffix(name, "bias") && !strings.Contains(name, "linear") {
				continue // hardly moved from 0
			}
			if s > bound {
				t.Errorf("p = %v, %s: %v of the largest apart", p, name, s)
			}
		}
	}
}
