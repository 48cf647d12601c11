package main

import (
	"testing"

	"github.com/gomlx/compute"

	_ "github.com/bregman-ml/bregman/engine/cpu"
	"github.com/bregman-ml/bregman/looplog"
)

// Twenty-five steps bring the network well below the loss of one who knows how often each character comes.
func TestTheNetworkLearns(t *testing.T) {
	backend, err := compute.NewWithConfig("cpu")
	if err != nil {
		t.Fatal(err)
	}
	guess := newText(1).guess()
	for _, p := range []float64{2, 3} {
		got, err := run(t.Context(), t.Output(), backend, p, 25, looplog.Settings{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got > guess {
			t.Errorf("p = %g: loss %.3f, a guess %.3f", p, got, guess)
		}
	}
}
