package main

import (
	"testing"

	"github.com/bregman-ml/bregman/engine"
)

// Two epochs bring the network far above the tenth that guessing gets, and a seed decides all of it.
func TestTheNetworkLearns(t *testing.T) {
	e, err := engine.Open(engine.CPU)
	if err != nil {
		t.Fatal(err)
	}
	first, err := run(t.Context(), t.Output(), e, 2)
	if err != nil {
		t.Fatal(err)
	}
	again, err := run(t.Context(), t.Output(), e, 2)
	if err != nil {
		t.Fatal(err)
	}
	for k, r := range first {
		if got := r.Last().Score; got.Accuracy < 0.5 || len(r.Records) != 2 {
			t.Errorf("run %d: accuracy %v after %d epochs", k, got.Accuracy, len(r.Records))
		} else if again[k].Last().Score != got {
			t.Errorf("run %d: %v, then %v", k, got, again[k].Last().Score)
		}
	}
}
