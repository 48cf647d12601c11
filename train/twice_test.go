package train

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

// scale multiplies the weights of a layer, as a broken step may.
func scale(t *testing.T, x *Session, layer int, by float32) {
	t.Helper()
	layers, err := x.Weights()
	if err != nil {
		t.Fatal(err)
	}
	for i := range layers[layer].Values {
		layers[layer].Values[i] *= by
	}
	if err := x.SetWeights(layers[layer : layer+1]); err != nil {
		t.Fatal(err)
	}
}

func TestTrainingTwiceIsTrainingOnce(t *testing.T) {
	for _, s := range []Settings{quick, {Net: cnn(), Batch: 20, Precision: "float32", Augment: true,
		Optimizer: optim.Mirror().Momentum(0.9).Units().Schedule(optim.Triangular(1, 0))}} {
		x := session(t, small(t, 200, 50), s)
		r := quickRun(x, 3)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		once := epochs(t, x, r, 0, 2)
		want := weights(t, x)
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		for epoch := range 2 {
			e, text, err := x.trainTwice(t.Context(), r, epoch, func(int) {})
			if err != nil || text != same {
				t.Fatalf("epoch %d: %q, %v", epoch+1, text, err)
			}
			if epoch == 1 && e.Loss != once.Loss {
				t.Errorf("loss %v, once %v", e.Loss, once.Loss)
			}
		}
		if weights(t, x) != want {
			t.Error("other weights than after training once")
		}
	}
}

// A step of one pass that differs is found, whichever pass it is in, with the tensors and the step, and training goes
// on as if it had not been.
func TestABrokenStepIsFoundByTrainingTwice(t *testing.T) {
	x := session(t, small(t, 200, 50), quick)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 1)
	want := weights(t, x)
	for _, c := range []struct {
		pass, step int
		third      string
	}{{1, 4, "as the second"}, {2, 7, "as the first"}, {2, x.PerEpoch, "as the first"}} {
		if err := x.Start(r); err != nil {
			t.Fatal(err)
		}
		pass := 0
		_, text, err := x.trainTwice(t.Context(), r, 0, func(step int) {
			if step == 1 {
				pass++
			}
			if pass == c.pass && step == c.step {
				scale(t, x, 1, 1.0001)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		tensor, step := x.layerVars()[0].Path()[1:], fmt.Sprintf("in step %d:", c.step+1) // by then all differ
		if c.step == x.PerEpoch {
			tensor, step = x.layerVars()[1].Path()[1:], "it is in the last one"
		}
		for _, part := range []string{"tensors differ: ", tensor + " in ", " values, from place ",
			"a third pass is " + c.third, step} {
			if !strings.Contains(text, part) {
				t.Errorf("%+v: %q lacks %q", c, text, part)
			}
		}
		if weights(t, x) != want {
			t.Errorf("%+v: training continues with other weights", c)
		}
	}
}

// A layer that grows tenfold in one step is noticed at that step, in any epoch but the first, and the checkpoint from
// before it outlives those that follow.
func TestAJumpIsNoticedAtItsStep(t *testing.T) {
	x := session(t, small(t, 200, 50), quick)
	r := quickRun(x, 2)
	r.Epochs = 6
	r.Schedule = optim.Triangular(6*x.PerEpoch, x.PerEpoch)
	folder, err := runlog.Create(t.TempDir(), "x", runlog.Info{Command: "train"})
	if err != nil {
		t.Fatal(err)
	}
	o := &jumper{x: x, t: t}
	out, err := x.Run(t.Context(), r, folder, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range out.Records {
		switch j := e.Jump; {
		case i != 2 && j != nil:
			t.Errorf("epoch %d: %+v", i+1, j)
		case i == 2 && (j == nil || j.Step != 6 || j.Layer != x.layerNames()[1] || !(j.After > 10*j.Before)):
			t.Errorf("epoch 3: %+v", j)
		}
	}
	if !strings.HasPrefix(out.Warning, "in step 6 of epoch 3 the largest weight of "+x.layerNames()[1]) {
		t.Errorf("warning %q", out.Warning)
	}
	left, _ := filepath.Glob(folder.Path("checkpoints/*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	want := []string{"epoch-00002-before-jump.safetensors", "epoch-00005.safetensors", "epoch-00006.safetensors"}
	if !slices.Equal(left, want) || !slices.ContainsFunc(o.said, func(s string) bool {
		return strings.Contains(s, "is kept: ") && strings.HasSuffix(s, want[0])
	}) {
		t.Errorf("checkpoints %q, said %q", left, o.said)
	}
	if err := DropCheckpoints(folder.Dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(folder.Path("checkpoints/*")); len(left) != 1 || filepath.Base(left[0]) != want[0] {
		t.Errorf("after the run: %q", left)
	}
	if again := ReadStopped(folder); jump(0, again.records) != out.Warning {
		t.Error("a resumed run would not warn")
	}
}

// jumper makes a layer larger in the first and the third epoch.
type jumper struct {
	Silent
	x    *Session
	t    *testing.T
	said []string
}

func (j *jumper) Say(text string) { j.said = append(j.said, text) }
func (j *jumper) Step(epoch, step int) {
	if (epoch == 1 || epoch == 3) && step == 5 {
		scale(j.t, j.x, 1, 30)
	}
}

func TestJumpsOfSmallWeightsAreNone(t *testing.T) {
	layers := []string{"a", "b"}
	for _, c := range []struct {
		before []float32
		rows   [][]float32
		want   int
	}{
		{nil, [][]float32{{1, 5, 5}, {1, 49, 5}}, 0},
		{nil, [][]float32{{1, 5, 5}, {1, 5, 51}}, 2},
		{[]float32{1, 0.2, 0.2}, [][]float32{{1, 2.1, 0.2}}, 1},
		{[]float32{1, 0.001, 0.001}, [][]float32{{1, 0.09, 0.09}}, 0},
		{[]float32{1, 0, 0}, [][]float32{{1, 0.05, 0.05}, {1, 0.2, 0.05}}, 0},
	} {
		j := findJump(c.before, c.rows, layers)
		if (j == nil) != (c.want == 0) || j != nil && j.Step != c.want {
			t.Errorf("%+v: %+v", c, j)
		}
	}
}

// The log has the largest weight of every layer after each step, also of layers that are no whole number of blocks.
func TestTheLogIsThatOfTheWeights(t *testing.T) {
	x := session(t, small(t, 200, 50), quick)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	var want [][]float32
	if _, err := x.Train(t.Context(), r, 0, func(int) {
		layers, err := x.Weights()
		if err != nil {
			t.Fatal(err)
		}
		var row []float32
		for _, l := range layers {
			var most float32
			for _, v := range l.Values {
				most = max(most, v, -v)
			}
			row = append(row, most)
		}
		want = append(want, row)
	}); err != nil {
		t.Fatal(err)
	}
	rows, err := x.steps()
	if err != nil || len(rows) != x.PerEpoch {
		t.Fatal(len(rows), err)
	}
	for k := range rows {
		if !slices.Equal(rows[k][1:len(rows[k])-1], want[k]) {
			t.Fatalf("step %d: %v, the weights have %v", k+1, rows[k], want[k])
		}
	}
}
