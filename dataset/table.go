package dataset

import (
	"iter"

	"github.com/bregman-ml/bregman/matrix"
)

// table collects the rows of a dense matrix in blocks. A finished block is never copied.
type table struct {
	features int // what the file has
	width    int // what the matrix has: the bias included
	bias     bool
	blocks   [][]float64
	cur      []float64
}

// blockFloats is the size of a block: 1 MiB.
const blockFloats = 1 << 17

func newTable(features int, opt Options) *table {
	t := &table{features: features, width: features, bias: opt.Bias}
	if opt.Bias {
		t.width++
	}
	return t
}

// row adds a row and returns the part of it that the file's features go into.
func (t *table) row() []float64 {
	n := len(t.cur)
	if n+t.width > cap(t.cur) {
		full := max(1, blockFloats/t.width)
		if rows := n / t.width; rows < full { // the first block grows, so that small data stay small
			rows = min(full, max(16, 2*rows))
			t.cur = append(make([]float64, 0, rows*t.width), t.cur...)
		} else {
			t.blocks = append(t.blocks, t.cur)
			t.cur, n = make([]float64, 0, full*t.width), 0
		}
	}
	t.cur = t.cur[:n+t.width]
	r := t.cur[n:]
	if t.bias {
		r[t.width-1] = 1
	}
	return r[:t.features]
}

// all yields the parts of the rows that the file's features went into. The last may still be being read.
func (t *table) all() iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		i := 0
		for b := range len(t.blocks) + 1 {
			rows := t.cur
			if b < len(t.blocks) {
				rows = t.blocks[b]
			}
			for ; len(rows) > 0; rows = rows[t.width:] {
				if !yield(i, rows[:t.features]) {
					return
				}
				i++
			}
		}
	}
}

func (t *table) dense() *matrix.Dense {
	if len(t.cur) > 0 {
		t.blocks = append(t.blocks, t.cur)
		t.cur = nil
	}
	return matrix.NewDense(t.width, t.blocks...)
}

// names are the columns' names, where the file has them, and "bias".
func (t *table) names(features []string) []string {
	if t.bias {
		features = append(features, "bias")
	}
	return features
}
