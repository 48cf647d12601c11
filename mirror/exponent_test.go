package mirror_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/bregman-ml/bregman/mirror"
)

func TestAnExponentIsReadAsItWasWritten(t *testing.T) {
	for _, p := range []mirror.Exponent{1, 1.1, 2, 1e300, mirror.Exponent(math.Inf(1))} {
		data, err := json.Marshal(p)
		var back mirror.Exponent
		if err != nil || json.Unmarshal(data, &back) != nil || back != p {
			t.Errorf("%v: written as %s, read as %v, %v", p, data, back, err)
		}
	}
	for _, bad := range []string{`"2"`, `"infinity"`, `[2]`, `true`} {
		if err := json.Unmarshal([]byte(bad), new(mirror.Exponent)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
