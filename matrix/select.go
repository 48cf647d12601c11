package matrix

import "fmt"

// Select returns a copy of some rows, in the order given.
func Select(m Matrix, rows []int) Matrix {
	_, d := m.Dims()
	if _, ok := m.(*Dense); ok {
		data := make([]float64, 0, len(rows)*d)
		for _, i := range rows {
			_, val := m.Row(i)
			data = append(data, val...)
		}
		return NewDense(d, data)
	}
	entries := 0
	for _, i := range rows {
		_, val := m.Row(i)
		entries += len(val)
	}
	var b Builder
	if entries < blockEntries {
		b.Reserve(len(rows), entries)
	}
	for _, i := range rows {
		idx, val := m.Row(i)
		for k, j := range idx {
			b.Add(j, val[k])
		}
		b.EndRow()
	}
	return b.Build(d)
}

// ScaleColumns replaces every entry by (x − center[j])·factor[j], in place. A nil center is 0, and must be for a sparse matrix, which
// would not stay sparse.
func ScaleColumns(m Matrix, center, factor []float64) {
	_, sparse := m.(*CSR)
	n, d := m.Dims()
	if sparse && center != nil || len(factor) != d || center != nil && len(center) != d {
		panic(fmt.Sprintf("matrix: ScaleColumns with %d centers and %d factors for %d columns", len(center), len(factor), d))
	}
	for i := range n {
		idx, val := m.Row(i)
		switch {
		case idx != nil:
			for k, j := range idx {
				val[k] *= factor[j]
			}
		case center != nil:
			for j := range val {
				val[j] = (val[j] - center[j]) * factor[j]
			}
		default:
			for j := range val {
				val[j] *= factor[j]
			}
		}
	}
}
