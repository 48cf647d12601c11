package matrix

// AddSquaresT adds Σᵢ c[i]·A[i,j]² to dst[j]: the diagonal of Aᵀ·diag(c)·A.
func AddSquaresT(dst []float64, m Matrix, c []float64) {
	Rows(m, func(i int, idx []int32, val []float64) {
		w := c[i]
		if idx == nil {
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
