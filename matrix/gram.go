package matrix

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

// The rows of A that AddGramT multiplies at a time, and the columns of a tile: 32 kB, which stay in the first level
// cache while all other columns pass by.
const (
	gramRows = 256
	gramTile = 16
)

// AddGramT adds Σₖ c[k]·aₖaₖᵀ for the rows aₖ = A[rows[k]], c ≥ 0, to the lower triangle of the row-major d × d matrix
// dst, on all cores. Each entry is added up in the order of the rows, so that the cores do not change a bit.
func AddGramT(dst []float64, m Matrix, rows []int, c []float64) {
	_, d := m.Dims()
	if len(dst) != d*d {
		panic("matrix: a Gram matrix of another size")
	}
	columns := make([]float64, d*gramRows)
	tile := func(_, k int) {
		var sums [gramTile]float64
		lo := k * gramTile
		hi := min(lo+gramTile, d)
		for j := lo; j < d; j++ {
			width := min(hi, j+1) - lo
			vec.MulDense(sums[:width], columns[lo*gramRows:(lo+width)*gramRows], columns[j*gramRows:(j+1)*gramRows])
			vec.Axpy(1, sums[:width], dst[j*d+lo:j*d+lo+width])
		}
	}
	tiles := (d + gramTile - 1) / gramTile
	for from := 0; from < len(rows); from += gramRows {
		to := min(from+gramRows, len(rows))
		clear(columns)
		for k, i := range rows[from:to] {
			root := math.Sqrt(c[from+k])
			idx, val := m.Row(i)
			for e, v := range val {
				j := e
				if idx != nil {
					j = int(idx[e])
				}
				columns[j*gramRows+k] = root * v
			}
		}
		if (to-from)*d*d < parallelEntries {
			for k := range tiles {
				tile(0, k)
			}
			continue
		}
		t := cores()
		t.mu.Lock()
		t.pool.Each(tiles, tile)
		t.mu.Unlock()
	}
}
