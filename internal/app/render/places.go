package render

import (
	"math"

	"gonum.org/v1/plot"
)

// ends are where an axis shows what it has no finite place for: p = 1 or x = 0 below the others, p = ∞ above them.
func (f Figure) ends() (low, high float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range f.Series {
		for _, x := range s.X {
			if f.ByP {
				x--
			}
			if x > 1/huge && x < huge {
				least, most = min(least, x), max(most, x)
			}
		}
	}
	if least > most {
		least, most = 0.2, 9 // p = 1.2 and 10
	}
	gap := max(math.Pow(most/least, 0.15), 1.8)
	if f.ByP {
		return 1 + least/gap, 1 + most*gap
	}
	return least / gap, most
}

// places returns where on the axis an x is drawn: at itself, if it has a finite place.
func (f Figure) places() func(x float64) float64 {
	if !f.ByP && (!f.LogX || f.Zero == "") {
		return func(x float64) float64 { return x }
	}
	low, high := f.ends()
	return func(x float64) float64 {
		switch {
		case f.ByP && x == 1 || !f.ByP && x == 0:
			return low
		case f.ByP && math.IsInf(x, 1):
			return high
		}
		return x
	}
}

// withZero are the marks of a logarithmic axis with a place for 0.
type withZero struct{ of Figure }

func (w withZero) Ticks(lo, hi float64) []plot.Tick {
	zero, _ := w.of.ends()
	var ticks []plot.Tick
	if lo <= zero*(1+1e-9) {
		ticks = append(ticks, plot.Tick{Value: zero, Label: w.of.Zero})
	}
	for _, t := range (decades{}).Ticks(lo, hi) {
		if math.Log(t.Value/zero) > 0.7*math.Log(hi/zero)/mostMarks { // not below its label
			ticks = append(ticks, t)
		}
	}
	return ticks
}
