package margin

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// evenly returns exponents of powers of two for the rows and columns of a matrix without empty ones: its entries
// divided by both are at most about 1, and about 1 once in every row and column. entries calls its argument with every
// entry that is not 0.
func evenly(n, d int, entries func(f func(i, j int, v float64))) (rows, columns []int) {
	rows, columns = make([]int, n), make([]int, d)
	for range 4 { // each pass brings what is left closer to 1
		for j := range columns {
			columns[j] = math.MinInt
		}
		entries(func(i, j int, v float64) { columns[j] = max(columns[j], exponentOf(v)-rows[i]) })
		for i := range rows {
			rows[i] = math.MinInt
		}
		entries(func(i, j int, v float64) { rows[i] = max(rows[i], exponentOf(v)-columns[j]) })
	}
	return rows, columns
}

// exponentOf returns e with 2^(e−1) ≤ |v| < 2^e.
func exponentOf(v float64) int {
	_, e := math.Frexp(v)
	return e
}

// uneven is the binary logarithm of the ratio of the sizes of two columns above which they are brought to one scale.
const uneven = 20

// equilibrate returns powers of two for the rows and the columns, see evenly; nil if the columns are of similar size.
//
// Whether the data can be separated does not depend on either. But in rows of length 1 small columns
// vanish beside others, and with them the only w that may separate. Powers of two change no digit of the data.
func equilibrate(prob linear.Problem, place []int32, most []float64, n int) (length, unit []float64) {
	d := len(most)
	entries := func(f func(i, j int, v float64)) {
		matrix.Rows(prob.X, func(i int, idx []int32, val []float64) {
			for k, v := range val {
				if v != 0 {
					f(i, int(place[column(idx, k)]), v)
				}
			}
		})
	}
	size := make([]int, d)
	for j, v := range most {
		size[j] = exponentOf(v)
	}
	if slices.Max(size)-slices.Min(size) <= uneven {
		return nil, nil
	}
	rowExp, colExp := evenly(n, d, entries)
	if slices.Max(colExp)-slices.Min(colExp) <= uneven {
		return nil, nil
	}
	middle := (slices.Max(colExp) + slices.Min(colExp)) / 2
	for _, e := range colExp {
		unit = append(unit, math.Ldexp(1, e-middle))
	}
	for _, e := range rowExp {
		length = append(length, math.Ldexp(1, e+middle))
	}
	return length, unit
}

// scale returns the columns whose scales are farthest apart, nil if none are far apart.
func (r *rows) scale() *Scale {
	if r.even == nil {
		return nil
	}
	return farthest(r.even.unit, r.cols)
}

func farthest(unit []float64, cols []int) *Scale {
	large, small := 0, 0
	for j, u := range unit {
		if u > unit[large] {
			large = j
		}
		if u < unit[small] {
			small = j
		}
	}
	return &Scale{Column: cols[large], Small: cols[small], Ratio: min(unit[large]/unit[small], math.MaxFloat64)}
}

// Scales returns the two columns whose scales are farthest apart, or nil if no columns differ by a factor of a million:
// whatever the scales of the examples, which do not matter.
func Scales(prob linear.Problem) *Scale {
	if prob.Check() != nil {
		return nil
	}
	place, cols, most, _ := columns(prob)
	if len(cols) == 0 {
		return nil
	}
	n, _ := prob.Dims()
	_, unit := equilibrate(prob, place, most, n)
	if unit == nil {
		return nil
	}
	return farthest(unit, cols)
}

// raise raises the largest magnitude of each column to that of a row, and returns how many of its values are not 0.
func raise(largest []float64, idx []int32, val []float64) (entries int) {
	if idx == nil {
		to := largest[:len(val)]
		for j, v := range val {
			if v != 0 {
				entries++
			}
			if v = math.Abs(v); v > to[j] {
				to[j] = v
			}
		}
		return entries
	}
	for k, v := range val {
		if v != 0 {
			entries++
		}
		if v = math.Abs(v); v > largest[idx[k]] {
			largest[idx[k]] = v
		}
	}
	return entries
}

// largestInParts is raise for all rows, on several cores.
func largestInParts(largest []float64, x matrix.Matrix) (entries int) {
	const parts = 4
	n, d := x.Dims()
	var of [parts][]float64
	var count [parts]int
	parallel(parts, x.NNZ() > 1<<16, func(k int) {
		of[k] = make([]float64, d)
		for i := k * n / parts; i < (k+1)*n/parts; i++ {
			idx, val := x.Row(i)
			count[k] += raise(of[k], idx, val)
		}
	})
	for k, part := range of {
		raise(largest, nil, part)
		entries += count[k]
	}
	return entries
}

// columns returns the columns with entries, the place of each column among them, −1 for others, the largest magnitude
// in each of those with entries, and the number of entries.
func columns(prob linear.Problem) (place []int32, cols []int, most []float64, entries int) {
	_, full := prob.Dims()
	place = make([]int32, full)
	largest := make([]float64, full)
	if _, ok := prob.X.(*matrix.Dense); ok || prob.X.NNZ() > 1<<16 && prob.X.NNZ() < 1<<24 {
		entries = largestInParts(largest, prob.X)
	} else {
		matrix.Rows(prob.X, func(_ int, idx []int32, val []float64) { entries += raise(largest, idx, val) })
	}
	for j, v := range largest {
		if place[j] = -1; v > 0 {
			place[j] = int32(len(cols))
			cols, most = append(cols, j), append(most, v)
		}
	}
	return place, cols, most, entries
}
