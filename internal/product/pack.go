package product

// packRows copies rows of so many columns, stride apart in src, into a panel: rows as wide as the panel, zeros on the
// right.
func packRows(dst, src []float32, stride, rows, columns, panel int) {
	if rows == 0 {
		return
	}
	if columns == panel && copyRows(dst, src, panel, stride, rows, columns) {
		return
	}
	for k := range rows {
		row := dst[k*panel:][:panel]
		copy(row, src[k*stride:][:columns])
		clear(row[columns:])
	}
}

// packColumns is packRows for the transpose: src holds columns of so many rows, stride apart.
func packColumns(dst, src []float32, stride, rows, columns, panel int) {
	for j := 0; j < panel; j += 8 {
		whole := rows / 8
		if j+8 > columns {
			whole = 0
		}
		if whole > 0 {
			transpose8(dst[j:], src[j*stride:], panel, stride, whole)
		}
		for k := 8 * whole; k < rows; k++ {
			for i := j; i < min(j+8, panel); i++ {
				if i < columns {
					dst[k*panel+i] = src[i*stride+k]
				} else {
					dst[k*panel+i] = 0
				}
			}
		}
	}
}
