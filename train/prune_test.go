package train

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/bregman-ml/bregman/optim"
)

func TestTheShareOfPrunedWeightsGrowsByTheCube(t *testing.T) {
	p := Pruning{To: 0.8, From: 0.1, Until: 0.75}
	for _, steps := range []int{1, 2, 3, 20, 1000, 5820} {
		last, events := 0.0, 0
		for step := 1; step <= steps; step++ {
			share, now := p.after(step, steps)
			if share < last {
				t.Errorf("step %d of %d: %v after %v", step, steps, share, last)
			}
			last = share
			if now {
				events++
			}
		}
		if last != 0.8 || events < 1 || events > prunings {
			t.Errorf("%d steps: ends at %v, grew %d times", steps, last, events)
		}
	}
	// Of 1000 steps it begins after 100 and ends after 750; half-way 1 − ½³ of the share is pruned.
	for step, want := range map[int]float64{100: 0, 425: 0.8 * 0.875, 750: 0.8, 751: 0.8} {
		if got, _ := p.after(step, 1000); math.Abs(got-want) > 1e-12 {
			t.Errorf("step %d: %v, want %v", step, got, want)
		}
	}
	for _, c := range []struct {
		step int
		now  bool
	}{{100, false}, {750, true}, {751, false}} {
		if _, now := p.after(c.step, 1000); now != c.now {
			t.Errorf("step %d prunes: %v", c.step, now)
		}
	}
	if _, now := (Pruning{From: 0.1, Until: 0.75}).after(750, 1000); now {
		t.Error("nothing to prune, and it does")
	}
	for _, bad := range []Pruning{{To: 1, Until: 1}, {To: -0.1, Until: 1}, {To: math.NaN(), Until: 1}, {To: 0.5},
		{To: 0.5, From: 0.5, Until: 0.5}, {To: 0.5, From: -0.1, Until: 0.5}, {To: 0.5, From: 0.1, Until: 1.1}} {
		if bad.Check() == nil {
			t.Errorf("%+v is allowed", bad)
		}
	}
}

// pruneQuick are settings with all that could revive a weight of 0.
func pruneQuick(units bool) Settings {
	s := quick
	s.Prune = true
	s.Optimizer = optim.Mirror().Momentum(0.9).Nesterov().WeightDecay(1e-3).DualDecay(1e-3).
		Schedule(optim.Triangular(1, 0))
	if units {
		s.Optimizer.Units()
	}
	return s
}

// flat are the values of all layers.
func flat(layers []Layer) []float32 {
	var out []float32
	for _, l := range layers {
		out = append(out, l.Values...)
	}
	return out
}

// For every p the share is exact after every step, but for weights of one size; what was pruned stays 0 with its
// momentum, and the rest does not become 0.
func TestPrunedWeightsAreExactlyZeroForEveryP(t *testing.T) {
	for _, units := range []bool{false, true} {
		x := session(t, small(t, 200, 40), pruneQuick(units))
		for _, p := range []float64{1.5, 2, 3, 10} {
			r := quickRun(x, p)
			r.LR, r.Prune = 0.02, Pruning{To: 0.7, From: 0.1, Until: 0.75}
			if err := x.Start(r); err != nil {
				t.Fatal(err)
			}
			steps, seen := r.Epochs*x.PerEpoch, map[int]bool{}
			step := 0
			for epoch := range r.Epochs {
				_, err := x.Train(t.Context(), r, epoch, func(int) {
					step++
					layers, err := x.Weights()
					if err != nil {
						t.Fatal(err)
					}
					w := flat(layers)
					share, _ := r.Prune.after(step, steps)
					// The share grows at every step here: there are fewer than a hundred.
					want := int(math.Round(share * float64(len(w))))
					if got := int(math.Round(zeros(layers) * float64(len(w)))); got < want || got > want+2 {
						t.Fatalf("p = %v, units %v, step %d: %d zeros of %d, want %d", p, units, step, got, len(w), want)
					}
					for i, v := range w {
						if v == 0 {
							seen[i] = true
						} else if seen[i] {
							t.Fatalf("p = %v, step %d: weight %d is %v again", p, step, i, v)
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := len(seen); n < 16_677 || n > 16_679 { // 70 % of 23,824
				t.Errorf("%d weights are 0 in the end", n)
			}
			momenta := 0
			for _, layer := range x.layerVars() {
				m := valueOf(t, x, x.opt.Momentum(x.store.RootScope(), layer).Path())
				for i, v := range valueOf(t, x, layer.Path()) {
					if v == 0 && m[i] != 0 {
						t.Fatalf("p = %v: a pruned weight has the momentum %v", p, m[i])
					}
					if m[i] != 0 {
						momenta++
					}
				}
			}
			if momenta == 0 {
				t.Error("no weight has a momentum: the test shows nothing")
			}
		}
	}
}

// The graph prunes what sorting finds, of weights of all sizes, and nothing after a loss that is not finite.
func TestTheSmallestWeightsOfAllLayersArePruned(t *testing.T) {
	x := session(t, small(t, 120, 40), pruneQuick(false))
	r := quickRun(x, 2)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	for k, l := range layers {
		for i := range l.Values {
			l.Values[i] *= float32(math.Pow(10, float64(3*k-5))) // the layers are decades apart
		}
	}
	all := flat(layers)
	sorted := sizes(all)
	for _, count := range []int{1, 2, 1000, len(all) / 2, len(all) - 1} {
		if err := x.unprune(); err != nil {
			t.Fatal(err)
		}
		if err := x.SetWeights(layers); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []bool{true, false} {
			first := int32(-1)
			if bad {
				first = 3
			}
			if err := x.store.GetVariable(firstBadVar).SetValue(tensors.FromScalar(first)); err != nil {
				t.Fatal(err)
			}
			if _, err := x.pruner.Call(tensors.FromScalar(int32(count))); err != nil {
				t.Fatal(err)
			}
			after, err := x.Weights()
			if err != nil {
				t.Fatal(err)
			}
			want := all
			if !bad {
				want = pruned(all, sorted[count-1])
			}
			if !slices.Equal(flat(after), want) {
				t.Errorf("%d pruned, after a bad loss: %v: other weights than by sorting", count, bad)
			}
		}
	}
}

// The masks are in the checkpoint: another session continues to the same bits, and a run trained twice is the same. A
// session that prunes is used again for a run that does not.
func TestAPrunedRunResumesToTheSameBits(t *testing.T) {
	set := small(t, 120, 40)
	x := session(t, set, pruneQuick(false))
	r := quickRun(x, 3)
	r.LR, r.Prune = 0.05, Pruning{To: 0.9, From: 0.1, Until: 0.8}
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 2)
	checkpoint := filepath.Join(t.TempDir(), "checkpoint.safetensors")
	if err := x.Save(checkpoint, true, nil); err != nil {
		t.Fatal(err)
	}
	for epoch := 2; epoch < 4; epoch++ {
		if _, check, err := x.trainTwice(t.Context(), r, epoch, func(int) {}); err != nil || check != same {
			t.Fatalf("%s, %v", check, err)
		}
	}
	want := weights(t, x)
	y := session(t, set, pruneQuick(false))
	if err := y.Start(r); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Load(checkpoint); err != nil {
		t.Fatal(err)
	}
	epochs(t, y, r, 2, 4)
	if weights(t, y) != want {
		t.Error("the resumed run has other bits")
	}
	if _, g, err := y.Measure(t.Context(), 3); err != nil || g.Zeros == nil || math.Abs(*g.Zeros-0.9) > 1e-4 {
		t.Errorf("zeros %v, %v", g.Zeros, err)
	}

	r.Prune = Pruning{}
	if err := y.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, y, r, 0, 4)
	s := pruneQuick(false)
	s.Prune = false
	z := session(t, set, s)
	if err := z.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, z, r, 0, 4)
	a, err := y.Weights()
	if err != nil {
		t.Fatal(err)
	}
	b, err := z.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if hashOf(a) != hashOf(b) {
		t.Error("masks of ones change the weights")
	}
	for v := range z.store.IterVariables() {
		if strings.HasPrefix(v.Path(), maskScope) {
			t.Errorf("a session that does not prune has %s", v.Path())
		}
	}
	r.Prune = Pruning{To: 0.5, Until: 1}
	if err := z.Start(r); err == nil || !strings.Contains(fmt.Sprint(err), "Settings.Prune") {
		t.Errorf("a session without masks prunes: %v", err)
	}
}
