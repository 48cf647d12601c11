package report

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// steps marks a linear axis at multiples of 1, 2 or 5 times a power of ten, each label written in full. (plot.DefaultTicks may step by 0.15 and write 1.25 as 1.2.)
type steps struct{}

// mostMarks is how many labels a linear axis has at most; it has at least two.
const mostMarks = 6

func (steps) Ticks(lo, hi float64) []plot.Tick {
	if !(lo < hi) || math.IsInf(hi-lo, 0) {
		return nil
	}
	e := math.Floor(math.Log10(hi-lo)) - 1
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
			for k := first; k <= last; k++ {
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
			if len(mantissa) > 8 { // what rounding left
				m, _ := strconv.ParseFloat(mantissa, 64)
				mantissa = strconv.FormatFloat(math.Round(m*1e6)/1e6, 'f', -1, 64)
			}
			s = mantissa + "e" + strings.TrimLeft(strings.Replace(e, "+", "", 1), "0")
			s = strings.Replace(s, "e-0", "e-", 1)
		}
	}
	return strings.ReplaceAll(s, "-", "−")
}
