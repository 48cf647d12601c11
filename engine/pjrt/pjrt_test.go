package pjrt_test

import (
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine/pjrt"
)

func TestTheVariableSaysHowManyStepsAreInFlight(t *testing.T) {
	for text, want := range map[string]int{"": 2, "0": 0, "1": 1, "32": 32} {
		t.Setenv(pjrt.Variable, text)
		if n, err := pjrt.InFlight(); n != want || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"-1", "33", "two", "1.5"} {
		t.Setenv(pjrt.Variable, text)
		if _, err := pjrt.InFlight(); err == nil || !strings.Contains(err.Error(), pjrt.Variable+"="+text+": want") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
