package command

import (
	"errors"
	"testing"

	"github.com/bregman-ml/bregman/train"
)

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
		{Train{DualDecay: 1}, 1.01, bad, "p = 1.01, seed 7: NaN: try a smaller learning rate, or less decay, or a p " +
			"further from 1"},
		{Train{WeightDecay: 1}, 2, errors.New("disk full"), "p = 2, seed 7: disk full"},
	} {
		if got := (&Trainer{Train: &c.train}).describeError(c.err, c.p, 7); got.Error() != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}
