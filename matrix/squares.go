package matrix

// AddSquaresT adds Σᵢ c[i]·A[i,j]² to dst[j], the diagonal of Aᵀ·diag(c)·A, on all cores where the matrix is large.
func AddSquaresT(dst []float64, m Matrix, c []float64) {
	n, _ := m.Dims()
	if r, ok := m.(rowsOf); ok && m.NNZ() >= parallelEntries {
		cores().squaresT(r, dst, c)
		return
	}
	addSquares(dst, m, 0, n, c)
}

// addSquares is AddSquaresT for lo ≤ i < hi.
func addSquares(dst []float64, m Matrix, lo, hi int, c []float64) {
	rowsFrom(m, lo, hi, func(i int, idx []int32, val []float64) {
		w := c[i]
		if idx == nil {
			dst := dst[:len(val)]
			for j, v := range val {
				dst[j] += w * v * v
			}
			return
		}
		for k, v := range val {
			dst[idx[k]] += w * v * v
		}
	})
}
