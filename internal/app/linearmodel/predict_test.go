package linearmodel

import (
	"encoding/json"
	"math"
	"testing"
)

// JSON has no infinity: such a score is null, and the others are not lost.
func TestScoresThatAreNotFiniteAreNull(t *testing.T) {
	for want, scores := range map[string][][]float64{"[1,null,null]": {{1, math.Inf(-1), math.NaN()}},
		"[[1,2],[null,3]]": {{1, math.Inf(1)}, {2, 3}}} {
		if got, err := json.Marshal(byExample(scores)); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
