package render

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

// A curve that is nearly flat has a figure, too.
func TestNearlyFlatCurvesAreDrawn(t *testing.T) {
	for _, at := range []float64{1, -1, 1e-300, 5e-324, 1e290, 123456789} {
		for _, share := range []float64{0, 1e-17, 2.3e-16, 1e-15, 1e-13, 1e-12, 2e-12, 1e-11} {
			y := []float64{at, at + share*math.Abs(at), math.Nextafter(at, math.Inf(1))}
			for _, log := range []bool{false, true} {
				if _, err := SVG(Figure{LogY: log, Series: []Series{{X: []float64{1, 2, 3}, Y: y}}}); err != nil {
					t.Errorf("%v: %v", y, err)
				}
			}
			if n := len((steps{}).Ticks(at, at+share*math.Abs(at))); n > mostMarks {
				t.Errorf("%d marks from %v to %v more", n, at, share)
			}
		}
	}
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

func TestEpochsAreMarkedAtWholeOnes(t *testing.T) {
	for hi, want := range map[float64]string{2: "1 2", 4: "1 2 3 4", 15: "5 10 15"} {
		var got []string
		for _, tick := range (steps{whole: true}).Ticks(1, hi) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("to %v: %v", hi, got)
		}
	}
}

func TestAFigureByPIsMarkedAtItsExponents(t *testing.T) {
	f := Figure{ByP: true, Series: []Series{{X: []float64{10, 1.1, 2, 0.5}, Y: []float64{1, 2, 3, 5}},
		{X: []float64{2, 2.001, 3}, Y: []float64{1, 2, 3}}}}
	var got []string
	for _, tick := range (exponents{f}).Ticks(1.1, 10) {
		got = append(got, tick.Label)
	}
	if strings.Join(got, " ") != "1.1 2  3 10" { // no name for 2.001
		t.Errorf("%q", got)
	}
	if a := (exponents{}).Normalize(1.1, 11, 2); math.Abs(a-0.5) > 1e-12 {
		t.Errorf("p = 2 is at %v of 1.1 to 11", a)
	}
	for _, x := range [][]float64{{1.1, 2, 10}, {2}, {1}, nil} {
		f = Figure{ByP: true, Series: []Series{{X: x, Y: make([]float64, len(x))}}}
		if _, err := SVG(f); err != nil {
			t.Errorf("%v: %v", x, err)
		}
	}
}
