package main

import (
	"testing"

	"github.com/gomlx/compute"

	_ "github.com/bregman-ml/bregman/engine/cpu"
	"github.com/bregman-ml/bregman/looplog"
)

// A hundred steps bring the network above the sixth that guessing gets, with either p, and a seed decides all of it.
func TestTheNetworkLearns(t *testing.T) {
	backend, err := compute.NewWithConfig("cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{2, 3} {
		got, err := run(t.Context(), t.Output(), backend, p, 100, looplog.Settings{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got < 0.35 {
			t.Errorf("p = %g: %.0f %% right", p, 100*got)
		}
	}
}
