package matrix

import "math"

// AddLast appends an entry to the current row that belongs in the matrix's last column, past all others.
// Which column that is turns out only when every row has been seen: BuildLast knows.
func (b *Builder) AddLast(v float64) {
	seen := b.cols
	b.Add(math.MaxInt32, v)
	b.cols = seen
}

// BuildLast is Build for rows that AddLast was used on: the matrix has at least the given number of columns,
// and one more than the entries of Add need.
func (b *Builder) BuildLast(cols int) *CSR {
	m := b.Build(max(cols, b.cols+1))
	for _, k := range m.blocks { // shares its columns with the block
		for _, end := range k.ptr[1:] {
			if end > 0 && k.idx[end-1] == math.MaxInt32 {
				k.idx[end-1] = int32(m.cols - 1)
			}
		}
	}
	return m
}
