package vec

// Rows of 32-bit values, for vectors of 64-bit ones: products and sums are made in 64 bits.

// SparseDotMixed returns Σ val[k]·x[idx[k]].
func SparseDotMixed(val []float32, idx []int32, x []float64) float64 {
	idx = idx[:len(val)]
	var a, b, c, d float64
	k := 0
	for ; k+4 <= len(val); k += 4 {
		v, i := val[k:k+4:k+4], idx[k:k+4:k+4]
		a += float64(v[0]) * x[i[0]]
		b += float64(v[1]) * x[i[1]]
		c += float64(v[2]) * x[i[2]]
		d += float64(v[3]) * x[i[3]]
	}
	for ; k < len(val); k++ {
		a += float64(val[k]) * x[idx[k]]
	}
	return (a + b) + (c + d)
}

// SparseAxpyMixed adds a·val[k] to y[idx[k]], for each k in order.
func SparseAxpyMixed(a float64, val []float32, idx []int32, y []float64) {
	idx = idx[:len(val)]
	for k, v := range val {
		y[idx[k]] += a * float64(v)
	}
}
