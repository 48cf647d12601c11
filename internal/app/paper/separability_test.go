package paper

import (
	"testing"

	"github.com/bregman-ml/bregman/mirror"
)

// Both halves of the remark can fail: p-GD with a norm in its step, and the p-norm algorithm without one.
func TestSeparabilityIsToldBothWays(t *testing.T) {
	count := func(change func(*subject)) float64 {
		sub := ours(t.Context())
		change(&sub)
		u := newUpdates(sub, 3, 1)
		r := newTally(false)
		r.here = u
		separabilityStatements[0].Check(u, r)
		return r.worst
	}
	if n := count(func(*subject) {}); n != 0 {
		t.Errorf("%v, want 0", n)
	}
	// Five of the eight changes leave a finite norm that is another one.
	if n := count(func(s *subject) { s.potential = mirror.SquaredNorm }); n < 5*(updateSize-1) {
		t.Errorf("p-GD with a norm in its step: %v coordinates change", n)
	}
	if n := count(func(s *subject) { s.squared = mirror.Power }); n != 1 {
		t.Errorf("½‖·‖ₚ² without a norm: %v, want 1", n)
	}
}
