package train

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/nets"
)

// The masks follow from the run's seed and the step: another session continues with those that the first would have
// had. The seed is in checkpoints and not in the weights, which a network without dropout reads too.
func TestARunWithDropoutResumesToTheSameBits(t *testing.T) {
	set, s := small(t, 120, 40), quick
	s.Net = s.Net.With(nets.Options{Dropout: 0.4})
	x := session(t, set, s)
	r := quickRun(x, 3)
	if err := x.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 0, 2)
	dir := t.TempDir()
	checkpoint, file := filepath.Join(dir, "checkpoint.safetensors"), filepath.Join(dir, "weights.safetensors")
	if err := x.Save(checkpoint, true, nil); err != nil {
		t.Fatal(err)
	}
	if err := x.Save(file, false, nil); err != nil {
		t.Fatal(err)
	}
	epochs(t, x, r, 2, 4)
	want := weights(t, x)

	y := session(t, set, s)
	if _, err := y.Load(checkpoint); err != nil {
		t.Fatal(err)
	}
	epochs(t, y, r, 2, 4)
	if weights(t, y) != want {
		t.Error("the resumed run has other bits")
	}

	f, err := safetensors.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tensor := range f.Tensors {
		if strings.Contains(tensor.Name, nets.DropoutSeed) {
			t.Errorf("the weights have %s", tensor.Name)
		}
	}
	in, err := ReadInit(file)
	if err != nil {
		t.Fatal(err)
	}
	plain := session(t, set, quick)
	for _, to := range []*Session{y, plain} {
		if err := to.CheckInit(in); err != nil {
			t.Error(err)
		}
	}
	if err := plain.Start(r); err != nil {
		t.Fatal(err)
	}
	epochs(t, plain, r, 0, 4)
	with, err := y.Weights()
	if err != nil {
		t.Fatal(err)
	}
	without, err := plain.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(with[0].Values, without[0].Values) {
		t.Error("dropout changes nothing")
	}
}
