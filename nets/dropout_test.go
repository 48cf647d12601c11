package nets

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

// hashed is the hash of the graph, on the host.
func hashed(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

// masks drops from ones, [batch, features], at a step of a run.
func masks(t *testing.T, rate float64, batch, features int) (run func(seed uint64, step int64) []float64,
	seed func() int64) {
	t.Helper()
	store := model.NewStore()
	scope := store.Scope("/model")
	exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
		b := at64(scope, true).In("classifier")
		b.dropout = rate
		return b.drop(x)
	})
	ones := zeros(batch, features)
	for i := range ones.flat {
		ones.flat[i] = 1
	}
	exec.MustCall(ones.tensor())
	seed = func() int64 {
		return tensors.ToScalar[int64](store.GetVariable("/model/classifier/" + DropoutSeed).MustValue())
	}
	return func(seed uint64, step int64) []float64 {
		if err := (Net{}).Init(scope, seed); err != nil {
			t.Fatal(err)
		}
		if err := optimizer.GetGlobalStepVar(store).SetValue(tensors.FromScalar(step)); err != nil {
			t.Fatal(err)
		}
		return flat(t, exec.MustCall(ones.tensor())[0])
	}, seed
}

// The same on every engine: the mask is that of the formula in integers of Go.
func TestDropoutIsTheHashOfSeedStepAndPlace(t *testing.T) {
	run, seed := masks(t, 0.2, 3, 50)
	for _, step := range []int64{0, 1, 150_119, 1<<33 + 7} {
		got := run(9, step)
		first := hashed(uint32(seed()) ^ hashed(uint32(step)))
		second := hashed(uint32(uint64(seed())>>32) ^ first)
		for i, v := range got {
			want := 0.0
			if u := hashed(hashed(uint32(i)+first)^second) >> 8; float32(u)/(1<<24) >= float32(0.2) {
				want = 1.25
			}
			if v != want {
				t.Fatalf("step %d, place %d: %v, want %v", step, i, v, want)
			}
		}
	}
}

// Shares and agreements of n independent draws, to five deviations.
func TestDropoutMasksLookIndependent(t *testing.T) {
	const batch, features, rate = 64, 320, 0.2
	run, _ := masks(t, rate, batch, features)
	near := func(what string, hits, n int, p float64) {
		t.Helper()
		if got := float64(hits) / float64(n); math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/float64(n)) {
			t.Errorf("%s: share %.4f, want %.4f", what, got, p)
		}
	}
	agree := func(a, b []float64) (n int) {
		for i := range a {
			if a[i] == b[i] {
				n++
			}
		}
		return n
	}
	const same = rate*rate + (1-rate)*(1-rate)
	a := run(1, 0)
	kept := 0
	for _, v := range a {
		if v == 1/(1-rate) {
			kept++
		} else if v != 0 {
			t.Fatalf("a value of %v", v)
		}
	}
	near("kept", kept, len(a), 1-rate)
	if !slices.Equal(a, run(1, 0)) {
		t.Error("the same step has another mask")
	}
	for _, step := range []int64{1, 2, 3, 1 << 16} {
		near("of another step", agree(a, run(1, step)), len(a), same)
	}
	near("of another seed", agree(a, run(2, 0)), len(a), same)
	near("of another example", agree(a[features:], a[:len(a)-features]), len(a)-features, same)
	near("of the next feature", agree(a[1:], a[:len(a)-1]), len(a)-1, same)
}

func TestDropoutIsForTrainingAlone(t *testing.T) {
	store := model.NewStore()
	scope := store.Scope("/model")
	n := mustNet(t, "cnn")
	logits := func(n Net, training bool) []float64 {
		return flat(t, model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
			return n.Logits(scope, x, 10, training)
		}).MustCall(random(1, 4, 8, 8, 3).tensor())[0])
	}
	dropped := n.With(Options{Dropout: 0.5})
	close(t, "evaluation", logits(dropped, false), logits(n, false), 0)
	if v := store.GetVariable("/model/linear/" + DropoutSeed); v != nil {
		t.Error("evaluation made a seed")
	}
	a, b := logits(dropped, true), logits(n, true)
	if slices.Equal(a, b) {
		t.Error("training does not drop")
	}
	if v := store.GetVariable("/model/linear/" + DropoutSeed); v == nil || v.Trainable {
		t.Errorf("the seed is %v: want a variable that is not trainable", v)
	}
}

func TestGradientOfDropout(t *testing.T) {
	checkGradient(t, func(scope *model.Scope, x []*Node) *Node {
		b := at64(scope, true)
		b.dropout = 0.3
		return weighted(Square(b.Head("linear", x[0], 3)))
	}, random(1, 4, 2, 2, 9))
}
