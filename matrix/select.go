package matrix

import (
	"fmt"
	"slices"
)

// Rows calls f with every row in turn: its columns, nil meaning all, and values, which f must not keep.
func Rows(m Matrix, f func(i int, idx []int32, val []float64)) {
	n, _ := m.Dims()
	rowsFrom(m, 0, n, f)
}

// rowsFrom is Rows for lo ≤ i < hi.
func rowsFrom(m Matrix, lo, hi int, f func(i int, idx []int32, val []float64)) {
	csr, sparse := m.(*CSR)
	pairs, _ := m.(*Pairs)
	var columns []int32
	var buf []float64
	for i := lo; i < hi; i++ {
		if sparse {
			idx, val := csr.rowInto(buf[:0], i)
			if f(i, idx, val); len(val) > cap(buf) {
				buf = make([]float64, 0, 2*len(val))
			}
			continue
		}
		if pairs != nil {
			columns, buf = pairs.rowInto(columns[:0], buf[:0], i)
			f(i, columns, buf)
			continue
		}
		idx, val := m.Row(i)
		f(i, idx, val)
	}
}

// Select returns a copy of some rows, in the order given.
func Select(m Matrix, rows []int) Matrix { return SelectInto(nil, m, rows) }

// SelectInto is Select with the memory of an earlier copy, which is lost; nil: none.
func SelectInto(old, m Matrix, rows []int) Matrix {
	if pairs, ok := m.(*Pairs); ok {
		return pairs.selected(rows)
	}
	_, d := m.Dims()
	if _, ok := m.(*Dense); ok {
		data := make([]float64, 0, len(rows)*d)
		for _, i := range rows {
			_, val := m.Row(i)
			data = append(data, val...)
		}
		return NewDense(d, data)
	}
	if csr, ok := m.(*CSR); ok {
		var blocks []block
		if o, ok := old.(*CSR); ok {
			blocks = o.blocks
		}
		return csr.selected(rows, blocks)
	}
	var b Builder
	for _, i := range rows {
		idx, val := m.Row(i)
		for k, j := range idx {
			b.Add(j, val[k])
		}
		b.EndRow()
	}
	return b.Build(d)
}

// selected is Select, on all cores: a block each, with the memory of old ones.
func (m *CSR) selected(rows []int, old []block) *CSR {
	out := &CSR{cols: m.cols, first: starts{0}}
	at := m.cursor()
	entries := 0
	for k, i := range rows {
		lo, hi := at.find(i)
		n := int(hi - lo)
		if entries > 0 && entries+n > blockEntries {
			out.first = append(out.first, k)
			entries = 0
		}
		entries += n
		out.nnz += n
	}
	if len(rows) > 0 {
		out.first = append(out.first, len(rows))
	}
	blocks := len(out.first) - 1
	out.blocks = append(make([]block, 0, max(blocks, len(old))), old...)
	for len(out.blocks) < blocks {
		out.blocks = append(out.blocks, block{})
	}
	out.blocks = out.blocks[:blocks]
	fill := func(_, b int) { m.copyRows(&out.blocks[b], rows[out.first[b]:out.first[b+1]]) }
	if out.nnz >= parallelEntries {
		cores().pool.Each(blocks, fill)
		return out
	}
	for b := range blocks {
		fill(0, b)
	}
	return out
}

// copyRows sets a block to some rows.
func (m *CSR) copyRows(to *block, rows []int) {
	at := m.cursor()
	entries := 0
	for _, i := range rows {
		lo, hi := at.find(i)
		entries += int(hi - lo)
	}
	// A block of empty rows has neither kind of values.
	short := slices.ContainsFunc(m.blocks, func(b block) bool { return b.val32 != nil })
	to.ptr, to.idx = append(slices.Grow(to.ptr[:0], len(rows)+1), 0), slices.Grow(to.idx[:0], entries)
	if short {
		to.val, to.val32 = nil, slices.Grow(to.val32[:0], entries)
	} else {
		to.val, to.val32 = slices.Grow(to.val[:0], entries), nil
	}
	for _, i := range rows {
		lo, hi := at.find(i)
		if to.idx = append(to.idx, at.k.idx[lo:hi]...); short {
			to.val32 = append(to.val32, at.k.val32[lo:hi]...)
		} else {
			to.val = append(to.val, at.k.val[lo:hi]...)
		}
		to.ptr = append(to.ptr, int32(len(to.idx)))
	}
}

// Clone returns a copy.
func Clone(m Matrix) Matrix {
	n, _ := m.Dims()
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return Select(m, rows)
}

// AppendConstant returns a copy with one more column, of ones; of pairs, one for each class.
func AppendConstant(m Matrix) Matrix {
	if pairs, ok := m.(*Pairs); ok {
		return pairs.Of(AppendConstant(pairs.x))
	}
	n, d := m.Dims()
	if _, ok := m.(*Dense); ok {
		data := make([]float64, 0, n*(d+1))
		for i := range n {
			_, val := m.Row(i)
			data = append(append(data, val...), 1)
		}
		return NewDense(d+1, data)
	}
	csr, ok := m.(*CSR)
	b := Builder{Float32: ok && len(csr.blocks) > 0 && csr.blocks[0].val32 != nil}
	if entries := m.NNZ() + n; entries < blockEntries {
		b.Reserve(n, entries)
	}
	for i := range n {
		idx, val := m.Row(i)
		for k, j := range idx {
			b.Add(j, val[k])
		}
		b.Add(int32(d), 1)
		b.EndRow()
	}
	return b.Build(d + 1)
}

// ScaleColumns replaces every entry by (x − center[j])·factor[j], in place. A nil center is 0, and must be for a sparse
// matrix, which would not stay sparse. Pairs are scaled by their examples.
func ScaleColumns(m Matrix, center, factor []float64) {
	if _, ok := m.(*Pairs); ok {
		panic("matrix: ScaleColumns of pairs: scale the examples")
	}
	_, sparse := m.(*CSR)
	n, d := m.Dims()
	if sparse && center != nil || len(factor) != d || center != nil && len(center) != d {
		panic(fmt.Sprintf("matrix: ScaleColumns with %d centers and %d factors for %d columns", len(center), len(factor), d))
	}
	if csr, ok := m.(*CSR); ok {
		for _, b := range csr.blocks {
			for k, j := range b.idx[:len(b.val)] {
				b.val[k] *= factor[j]
			}
			for k, j := range b.idx[:len(b.val32)] {
				b.val32[k] = float32(float64(b.val32[k]) * factor[j])
			}
		}
		return
	}
	for i := range n {
		_, val := m.Row(i)
		switch {
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
