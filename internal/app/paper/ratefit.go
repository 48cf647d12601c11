package paper

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// rateFit compares two models of a divergence on the same points, with two parameters each: D = c·log^(−k) t and
// D = c·t^(−a). Both are fitted to log D by least squares.
type rateFit struct {
	K, A       float64
	OffK, OffA float64 // the root mean square of what remains of log D
	Falls      bool    // D falls from each point to the next; else neither model is meant
}

// fitRate fits both models to the points with from ≤ log t ≤ to. It returns false if they are fewer than three.
func fitRate(logT, divergence []float64, from, to float64) (rateFit, bool) {
	var x, xx, y []float64 // log t, log log t, log D
	const slack = 1e-9
	for i, t := range logT {
		if t >= from-slack && t <= to+slack && divergence[i] > 0 {
			x, xx, y = append(x, t), append(xx, math.Log(t)), append(y, math.Log(divergence[i]))
		}
	}
	if len(x) < 3 {
		return rateFit{}, false
	}
	f := rateFit{Falls: true}
	for i := 1; i < len(y); i++ {
		f.Falls = f.Falls && y[i] < y[i-1]
	}
	f.K, f.OffK = fitLine(xx, y)
	f.A, f.OffA = fitLine(x, y)
	f.K, f.A = -f.K, -f.A
	return f, true
}

// logarithmic reports whether a power of log t fits better than a power of t.
func (f rateFit) logarithmic() bool { return f.OffK < f.OffA }

// fitLine returns the slope of the least-squares line and the root mean square of the residuals.
func fitLine(x, y []float64) (slope, off float64) {
	c, slope := stat.LinearRegression(x, y, nil, false)
	for i := range x {
		r := y[i] - c - slope*x[i]
		off += r * r
	}
	return slope, math.Sqrt(off / float64(len(x)))
}
