package margin

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// newPairRows is newRows for pairs of an example and another class: those of the scaled examples.
func newPairRows(m *matrix.Pairs) (r *rows, zero int, err error) {
	x, _, _ := m.Examples()
	of, zero, err := newRows(linear.Problem{X: x})
	n, _ := m.Dims()
	for row := 0; zero >= 0 && row < n; row++ {
		if i, _ := m.Pair(row); i == zero {
			return nil, row, nil
		}
	}
	if err != nil {
		return nil, -1, err
	}
	return of.inPairs(m), -1, nil
}

// inPairs returns the problem of the pairs, given that of the examples.
func (r *rows) inPairs(m *matrix.Pairs) *rows {
	n, _ := m.Dims()
	_, _, classes := m.Examples()
	out := &rows{n: n, whole: n, d: classes * r.d, full: classes * r.full, pairs: m.Of(r.a)}
	out.a = out.pairs
	for row := range n {
		i, _ := m.Pair(row)
		out.length, out.b = append(out.length, r.length[i]), append(out.b, r.b[i])
	}
	for k := range classes {
		for _, j := range r.cols {
			out.cols = append(out.cols, k*r.full+j)
		}
		out.unit = append(out.unit, r.unit...)
	}
	if r.even != nil {
		out.even = r.even.inPairs(m)
	}
	return out
}

// classBlocks are the examples of pairs, sorted by class, for normal equations made class by class: the product of a
// pair with another is a sum of products of their examples, one for each class that both have.
type classBlocks struct {
	n, d    int
	classes int
	from    []int     // examples from[k] … from[k+1] are of class k
	order   []int     // the example of each place
	at      []float64 // the transpose, d × n, of dense examples; nil: sparse
	rows    [][]side  // by class: the pairs that it has a part in
	gram    []float64
	chunk   []float64
	sqrt    []float64
	weight  []float64
}

// side is the part of a class in a pair.
type side struct {
	row, place int // of the example
	sign       float64
}

// newClassBlocks sorts the examples.
func newClassBlocks(m *matrix.Pairs) *classBlocks {
	x, class, classes := m.Examples()
	k := &classBlocks{classes: classes, from: make([]int, classes+1), rows: make([][]side, classes)}
	k.n, k.d = x.Dims()
	place := make([]int, k.n)
	for c := range classes {
		for i, y := range class {
			if int(y) == c {
				place[i] = len(k.order)
				k.order = append(k.order, i)
			}
		}
		k.from[c+1] = len(k.order)
	}
	rows, _ := m.Dims()
	for row := range rows {
		i, against := m.Pair(row)
		own := int(class[i])
		k.rows[own] = append(k.rows[own], side{row, place[i], 1})
		k.rows[against] = append(k.rows[against], side{row, place[i], -1})
	}
	k.weight = make([]float64, k.n)
	k.sqrt = make([]float64, max(k.n, k.d))
	return k
}

// dense returns the examples in the order of the blocks, row by row; nil if they are sparse.
func (k *classBlocks) dense(m *matrix.Pairs) []float64 {
	x, _, _ := m.Examples()
	if _, ok := x.(*matrix.Dense); !ok {
		return nil
	}
	out := make([]float64, 0, k.n*k.d)
	for _, i := range k.order {
		_, val := x.Row(i)
		out = append(out, val...)
	}
	return out
}

// gramPairs sets the lower triangle of m to ADAᵀ. For each class it is, up to signs, that of the examples with the
// weights D of the class.
func (k *normal) gramPairs() {
	if k.blocks == nil {
		k.blocks = newClassBlocks(k.pairs)
	}
	clear(k.m)
	x, _, _ := k.pairs.Examples()
	b := k.blocks
	for c, sides := range b.rows {
		places := make([]int, 0, len(sides)) // of the examples that the class has a part in
		for _, s := range sides {
			places = append(places, s.place)
		}
		slices.Sort(places)
		places = slices.Compact(places)
		at := make([]int, b.n)
		for e, p := range places {
			at[p] = e
		}
		n := len(places)
		if cap(b.gram) < n*n {
			b.gram = make([]float64, n*n)
		}
		g := b.gram[:n*n]
		clear(g)
		row := func(e int) ([]int32, []float64) { return x.Row(b.order[places[e]]) }
		if _, ok := x.(*matrix.Dense); ok {
			block := make([]float64, 0, n*b.d)
			for e := range n {
				_, val := row(e)
				block = append(block, val...)
			}
			if need := newChunk(n); len(b.chunk) < len(need) {
				b.chunk = need
			}
			addGram(g, n, block, b.d, 0, b.d, k.root[c*b.d:(c+1)*b.d], b.chunk, false)
		} else {
			setSparseGram(g, n, row, k.diag[c*b.d:(c+1)*b.d])
		}
		parallel(len(sides), len(sides) > 128, func(i int) {
			s := sides[i]
			e := at[s.place]
			for _, t := range sides {
				if t.row <= s.row {
					f := at[t.place]
					k.m[s.row*k.size+t.row] += s.sign * t.sign * g[max(e, f)*n+min(e, f)]
				}
			}
		})
	}
}

// outerPairs sets the lower triangle of m to AᵀΘ⁻¹A. Its block of classes c and c′ is XᵀTX for a diagonal T: of the
// pairs of c and c′, with the sign −1, and for c = c′ of all pairs that c has a part in.
func (k *normal) outerPairs() {
	if k.blocks == nil {
		k.blocks = newClassBlocks(k.pairs)
	}
	b := k.blocks
	if b.at == nil {
		if rows := b.dense(k.pairs); rows != nil {
			b.at = transposed(rows, b.n, b.d)
			b.chunk, b.gram = newChunk(b.d), make([]float64, b.d*b.d)
		}
	}
	if b.at == nil {
		k.outerSparsePairs()
		return
	}
	_, class, _ := k.pairs.Examples()
	for c := range b.classes {
		for other := range c + 1 {
			clear(b.weight)
			if c == other {
				for _, s := range b.rows[c] {
					b.weight[s.place] += 1 / k.theta[s.row]
				}
			} else {
				for _, side := range [][]side{b.rows[c], b.rows[other]} {
					for _, s := range side {
						i, against := k.pairs.Pair(s.row)
						own := int(class[i])
						if s.sign > 0 && (own == c && against == other || own == other && against == c) {
							b.weight[s.place] += 1 / k.theta[s.row]
						}
					}
				}
			}
			for i, w := range b.weight {
				b.sqrt[i] = math.Sqrt(w)
			}
			clear(b.gram)
			sign := 1.0
			if c == other {
				addGram(b.gram, b.d, b.at, b.n, 0, b.n, b.sqrt, b.chunk, false)
			} else {
				sign = -1
				addGram(b.gram, b.d, b.at, b.n, b.from[c], b.from[c+1], b.sqrt, b.chunk, false)
				addGram(b.gram, b.d, b.at, b.n, b.from[other], b.from[other+1], b.sqrt, b.chunk, false)
			}
			for j := range b.d { // the blocks are symmetric
				row := k.m[(c*b.d+j)*k.size+other*b.d:]
				for l := range b.d {
					row[l] = sign * b.gram[max(j, l)*b.d+min(j, l)]
				}
			}
		}
	}
}

// outerSparsePairs is outerPairs for sparse examples. Every share takes some rows of m and passes over all pairs.
func (k *normal) outerSparsePairs() {
	const shares = 8
	clear(k.m)
	x, class, _ := k.pairs.Examples()
	_, d := x.Dims()
	parallel(shares, k.a.NNZ() > 1<<12, func(t int) {
		for r, theta := range k.theta {
			i, against := k.pairs.Pair(r)
			own := int(class[i])
			idx, val := x.Row(i)
			low, high := min(own, against)*d, max(own, against)*d
			for e, j := range idx {
				if int(j)%shares != t {
					continue
				}
				w := val[e] / theta
				vec.SparseAxpy(w, val[:e+1], idx[:e+1], k.m[(low+int(j))*k.size+low:])
				vec.SparseAxpy(w, val[:e+1], idx[:e+1], k.m[(high+int(j))*k.size+high:])
				vec.SparseAxpy(-w, val, idx, k.m[(high+int(j))*k.size+low:])
			}
		}
	})
}
