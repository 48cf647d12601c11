package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A label says what stands there: to a thousandth of the axis.
func TestLabelsOfLinearAxesAreTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e7, 1e7).Draw(t, "lo") * math.Pow(10, float64(rapid.IntRange(-12, 0).Draw(t, "size")))
		width := math.Abs(lo)*rapid.Float64Range(1e-7, 10).Draw(t, "share") + 1e-12
		ticks := steps{}.Ticks(lo, lo+width)
		if len(ticks) < 2 || len(ticks) > mostMarks {
			t.Fatalf("%d marks from %v to %v", len(ticks), lo, lo+width)
		}
		for _, tick := range ticks {
			v, err := strconv.ParseFloat(strings.ReplaceAll(tick.Label, "−", "-"), 64)
			if err != nil || math.Abs(v-tick.Value) > 1e-3*width || tick.Value < lo || tick.Value > lo+width {
				t.Fatalf("from %v to %v: %q at %v", lo, lo+width, tick.Label, tick.Value)
			}
		}
	})
}

func TestMarksOfLinearAxes(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{1.2485, 1.5822, "1.3 1.4 1.5"},
		{0, 100, "0 20 40 60 80 100"},
		{-1, 1, "−1.0 −0.5 0 0.5 1.0"},
		{0, 2.5e6, "0 5e5 1e6 1.5e6 2e6 2.5e6"},
		{0, 3e-7, "0 1e−7 2e−7 3e−7"},
	} {
		var got []string
		for _, tick := range (steps{}).Ticks(c.lo, c.hi) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("from %v to %v: %v", c.lo, c.hi, got)
		}
	}
}
