package render

import "testing"

func TestCountsHaveTheirPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := Count(n, "run"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
