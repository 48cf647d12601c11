package render

import (
	"math"
	"slices"
	"testing"
)

func TestThinningKeepsExtremesEndsAndGaps(t *testing.T) {
	const n = 100_000
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(i), math.Sin(float64(i)/1000)
	}
	y[54321], y[12345], y[77777] = 1e6, -1e6, math.NaN()
	for _, log := range []bool{false, true} {
		keep := Thin(x, y, 800, log)
		if len(keep) > 1000 || len(keep) < 200 || !slices.IsSorted(keep) {
			t.Errorf("log %v: %d points", log, len(keep))
		}
		for _, must := range []int{0, 54321, 12345, 77777, n - 1} {
			if !slices.Contains(keep, must) {
				t.Errorf("log %v: point %d is gone", log, must)
			}
		}
	}
	if got := Thin(x[:10], y[:10], 100, true); len(got) != 10 {
		t.Errorf("a short curve lost points: %v", got)
	}
	for _, x := range [][]float64{slices.Repeat([]float64{5}, 100), slices.Repeat([]float64{math.NaN()}, 100),
		slices.Repeat([]float64{-1}, 100)} {
		if got := Thin(x, x, 10, true); len(got) == 0 || len(got) > 20 {
			t.Errorf("%v: %v", x[0], got)
		}
	}
}

func TestShowableTextsCanBeDrawn(t *testing.T) {
	f := sample()
	f.Title = Showable("<b>漢字 p = 3\n\x00ₚ")
	if _, err := PNG(f); err != nil {
		t.Error(err)
	}
}
