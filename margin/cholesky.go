package margin

import (
	"math"

	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/vec"
)

// cholesky factors the symmetric n × n matrix whose lower triangle is in m, in place: m = L·Lᵀ.
//
// It is gonum's Dpotrf with two differences that matter here. Rows are finished in blocks by dot products of
// whole rows, which the vector kernels do several times as fast. And a pivot that cancels to nothing is replaced by a
// huge one, which leaves that unknown unchanged: the normal equations of an interior point method end
// nearly singular, and their right-hand side is then zero along the lost direction.
func cholesky(m []float64, n int) {
	const block = 24
	for lo := 0; lo < n; lo += block {
		hi := min(lo+block, n)
		parallel(hi-lo, lo >= 128, func(k int) { // left of the block: rows do not depend on each other
			i := lo + k
			row := m[i*n : i*n+n]
			for j := range lo {
				row[j] = (row[j] - vec.Dot(row[:j], m[j*n:j*n+j])) / m[j*n+j]
			}
		})
		for i := lo; i < hi; i++ {
			row := m[i*n : i*n+n]
			for j := lo; j < i; j++ {
				row[j] = (row[j] - vec.Dot(row[:j], m[j*n:j*n+j])) / m[j*n+j]
			}
			pivot := row[i] - vec.Dot(row[:i], row[:i])
			if !(pivot > 1e-15*math.Abs(row[i])) {
				pivot = 1e128
			}
			row[i] = math.Sqrt(pivot)
		}
	}
}

// choleskySolve sets x = (L·Lᵀ)⁻¹x.
func choleskySolve(l []float64, n int, x []float64) {
	for i := range n {
		x[i] = (x[i] - vec.Dot(l[i*n:i*n+i], x[:i])) / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		x[i] /= l[i*n+i]
		vec.Axpy(-x[i], l[i*n:i*n+i], x[:i])
	}
}

// parallel calls f(0) … f(n−1), on all cores if several is true. Each call writes what is its own alone, so
// that the result does not depend on the order.
func parallel(n int, several bool, f func(i int)) {
	if several {
		pool.Loop(n, f)
		return
	}
	for i := range n {
		f(i)
	}
}
