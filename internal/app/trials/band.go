package trials

import (
	"math"
	"slices"
)

// Band is the mean of several curves with one standard deviation to both sides.
type Band struct {
	X, Mean, Low, High []float64
	N                  []int // how many curves reach there
}

// Points is a curve as two columns of equal length.
type Points struct{ X, Y []float64 }

// MeanOf averages curves of trials. The mean is taken at the x of all curves; between its points a curve is a straight
// line, on a logarithmic x axis if log is set, and beyond its ends it does not count. A single curve is returned as it
// is.
func MeanOf(curves []Points, log bool) Band {
	var b Band
	var clean []Points
	for _, c := range curves {
		var p Points
		for i, x := range c.X {
			if y := c.Y[i]; x-x == 0 && y-y == 0 && (len(p.X) == 0 || x > p.X[len(p.X)-1]) {
				p.X, p.Y = append(p.X, x), append(p.Y, y)
			}
		}
		clean = append(clean, p)
		b.X = append(b.X, p.X...)
	}
	slices.Sort(b.X)
	b.X = slices.Compact(b.X)
	at := make([]int, len(clean)) // the point of each curve that x has not passed
	for _, x := range b.X {
		var sum, square float64
		n := 0
		for k, c := range clean {
			for at[k] < len(c.X) && c.X[at[k]] < x {
				at[k]++
			}
			i := at[k]
			if i == len(c.X) || i == 0 && c.X[0] > x {
				continue
			}
			y := c.Y[i]
			if c.X[i] > x {
				x0, x1 := c.X[i-1], c.X[i]
				f := (x - x0) / (x1 - x0)
				if log && x0 > 0 {
					f = math.Log(x/x0) / math.Log(x1/x0)
				}
				y = c.Y[i-1] + f*(c.Y[i]-c.Y[i-1])
			}
			sum, square, n = sum+y, square+y*y, n+1
		}
		mean := sum / float64(n)
		deviation := 0.0
		if n > 1 {
			deviation = math.Sqrt(max(0, square-sum*mean) / float64(n-1))
		}
		b.Mean, b.Low, b.High, b.N = append(b.Mean, mean), append(b.Low, mean-deviation), append(b.High, mean+deviation),
			append(b.N, n)
	}
	return b
}
