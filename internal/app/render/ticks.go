package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// steps marks a linear axis at multiples of 1, 2 or 5 times a power of ten, each label written in full.
// (plot.DefaultTicks may step by 0.15 and write 1.25 as 1.2.)
type steps struct {
	whole bool // whole numbers only: the axis counts things
}

// mostMarks is how many labels a linear axis has at most; it has at least two.
const mostMarks = 6

func (s steps) Ticks(lo, hi float64) []plot.Tick {
	// nearly one number: there is no label between
	if !(hi-lo > 1e-12*max(math.Abs(lo), math.Abs(hi))) || hi-lo < 1e-290 || math.IsInf(hi-lo, 0) {
		return nil
	}
	e := math.Floor(math.Log10(hi-lo)) - 1
	if s.whole {
		e = max(e, 0)
	}
	for ; ; e++ {
		for _, m := range []float64{1, 2, 5} {
			step := m * math.Pow(10, e)
			first, last := math.Ceil(lo/step-1e-9), math.Floor(hi/step+1e-9)
			if last-first >= mostMarks {
				continue
			}
			decimals, size := max(0, int(-e)), max(math.Abs(lo), math.Abs(hi))
			exponent := (size >= 1e6 || size < 1e-4) && step > 1e-5*size
			var ticks []plot.Tick
			for i := range int(last-first) + 1 {
				k := first + float64(i)
				ticks = append(ticks, plot.Tick{Value: min(max(k*step, lo), hi), Label: number(k*step, decimals, exponent)})
			}
			return ticks
		}
	}
}

// number writes v with so many decimals, or with an exponent.
func number(v float64, decimals int, exponent bool) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	switch {
	case v == 0:
		s = "0"
	case exponent:
		s = strconv.FormatFloat(v, 'e', -1, 64)
		if mantissa, e, ok := strings.Cut(s, "e"); ok {
			if len(mantissa) > 8 { // rounding errors
				m, _ := strconv.ParseFloat(mantissa, 64)
				mantissa = strconv.FormatFloat(math.Round(m*1e6)/1e6, 'f', -1, 64)
			}
			s = mantissa + "e" + strings.TrimLeft(strings.Replace(e, "+", "", 1), "0")
			s = strings.Replace(s, "e-0", "e-", 1)
		}
	}
	return strings.ReplaceAll(s, "-", "−")
}

// decades marks powers of ten on a logarithmic axis, every other one or fewer if there are many. Within two decades it
// marks 2 and 5 as well.
type decades struct{}

func (decades) Ticks(lo, hi float64) []plot.Tick {
	if !(lo > 0 && lo < hi) || math.IsInf(hi, 1) {
		return nil
	}
	a, b := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	every := math.Ceil((b - a) / 7)
	var ticks []plot.Tick
	for e := a; e <= b; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && math.Mod(e-a, every) == 0 || m > 1 && b-a <= 2 {
				t.Label = decadeLabel(v)
			}
			if t.Label != "" || m == 1 && b-a <= 20 || b-a <= 2 {
				ticks = append(ticks, t)
			}
		}
	}
	if labelled := slices.DeleteFunc(slices.Clone(ticks),
		func(t plot.Tick) bool { return t.Label == "" }); len(labelled) < 2 {
		return steps{}.Ticks(lo, hi) // within a factor of two or three the axis is nearly linear
	}
	return ticks
}

// decadeLabel writes 0.01 to 1000 in full and others as 1e−4: the font has no raised minus.
func decadeLabel(v float64) string {
	if v >= 0.0099 && v < 9999 {
		return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	}
	e := int(math.Floor(math.Log10(v) + 1e-9))
	m := math.Round(v / math.Pow(10, float64(e)))
	return strings.Replace(fmt.Sprintf("%ge%d", m, e), "-", "−", 1)
}

// exponents are the axis of a figure by p: p = 1.1, 2 and 11 are equally far apart. Its marks are the p of the figure.
type exponents struct{ of Figure }

// Normalize maps lo to 0 and hi to 1.
func (exponents) Normalize(lo, hi, x float64) float64 {
	return math.Log((x-1)/(lo-1)) / math.Log((hi-1)/(lo-1))
}

// Ticks are the p of all series; one that is too close to the one before has no label.
func (e exponents) Ticks(lo, hi float64) []plot.Tick {
	var all []float64
	least, most := e.of.ends()
	names := map[float64]string{least: "1", most: "inf"}
	for _, s := range e.of.Series {
		for _, piece := range e.of.visible(s) {
			for _, pt := range piece {
				all = append(all, pt.X)
			}
		}
	}
	slices.Sort(all)
	var ticks []plot.Tick
	last := math.Inf(-1)
	for _, p := range slices.Compact(all) {
		t := plot.Tick{Value: p}
		if at := e.Normalize(lo, hi, p); at-last > 0.06 {
			t.Label, last = cmp.Or(names[p], strconv.FormatFloat(p, 'g', 4, 64)), at
		}
		ticks = append(ticks, t)
	}
	return ticks
}
