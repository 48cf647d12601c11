package matrix

import (
	"fmt"
	"slices"
)

// Pairs is the matrix of a problem of several classes. A row is a pair of an example i, of class yᵢ, and another class
// k: xᵢ ⊗ (e_{yᵢ} − e_k), so that its product with the weights of all classes, one class after the other, is
// ⟨w_{yᵢ} − w_k, xᵢ⟩: by how much the score of the right class is above that of k. The rows are not stored: a product
// costs one with the examples for each class.
type Pairs struct {
	x       Matrix
	class   []int32 // of each example
	classes int
	example []int32 // of each row
	against []int32 // the other class of each row
	whole   bool    // all pairs are there, those of an example in a row
}

var _ Matrix = (*Pairs)(nil)

// NewPairs returns the matrix of all n·(K−1) pairs, those of an example in a row, for labels from 0 to K − 1.
func NewPairs(x Matrix, class []int, classes int) *Pairs {
	n, _ := x.Dims()
	if len(class) != n || classes < 2 {
		panic(fmt.Sprintf("matrix: %d labels of %d classes for %d rows", len(class), classes, n))
	}
	m := &Pairs{x: x, class: make([]int32, n), classes: classes, whole: true}
	m.example, m.against = make([]int32, 0, n*(classes-1)), make([]int32, 0, n*(classes-1))
	for i, y := range class {
		if y < 0 || y >= classes {
			panic(fmt.Sprintf("matrix: row %d has the label %d of %d classes", i, y, classes))
		}
		m.class[i] = int32(y)
		for k := range classes {
			if k != y {
				m.example, m.against = append(m.example, int32(i)), append(m.against, int32(k))
			}
		}
	}
	return m
}

// Of returns the same pairs of other examples: x in place of the examples.
func (m *Pairs) Of(x Matrix) *Pairs {
	out := *m
	out.x = x
	return &out
}

// Examples returns the matrix of the examples and their classes, from 0 to K − 1.
func (m *Pairs) Examples() (x Matrix, class []int32, classes int) { return m.x, m.class, m.classes }

// Pair returns the example of a row and the class that its own is compared with.
func (m *Pairs) Pair(row int) (example, against int) { return int(m.example[row]), int(m.against[row]) }

// Split returns the weights of each class.
func (m *Pairs) Split(w []float64) [][]float64 {
	_, d := m.x.Dims()
	out := make([][]float64, m.classes)
	for k := range out {
		out[k] = w[k*d : (k+1)*d : (k+1)*d]
	}
	return out
}

// Dims returns the number of pairs, and of features times classes.
func (m *Pairs) Dims() (n, d int) {
	_, d = m.x.Dims()
	return len(m.example), d * m.classes
}

// NNZ returns the number of entries of all rows: two for one of the example.
func (m *Pairs) NNZ() int {
	n, _ := m.x.Dims()
	return int(2 * float64(m.x.NNZ()) * float64(len(m.example)) / float64(max(n, 1)))
}

// Mul sets dst = A·w.
func (m *Pairs) Mul(dst, w []float64) {
	if x := m.large(); x != nil {
		m.sweep(x, nil, dst, nil, w, nil)
		return
	}
	n, _ := m.x.Dims()
	score := make([]float64, n*m.classes)
	for k, v := range m.Split(w) {
		m.x.Mul(score[k*n:(k+1)*n], v)
	}
	for r, i := range m.example {
		dst[r] = score[int(m.class[i])*n+int(i)] - score[int(m.against[r])*n+int(i)]
	}
}

// AddMulT adds Aᵀ·c to dst.
func (m *Pairs) AddMulT(dst, c []float64) {
	if x := m.large(); x != nil {
		m.sweep(x, dst, nil, c, nil, nil)
		return
	}
	n, _ := m.x.Dims()
	sum := make([]float64, n*m.classes)
	for r, i := range m.example {
		sum[int(m.class[i])*n+int(i)] += c[r]
		sum[int(m.against[r])*n+int(i)] -= c[r]
	}
	for k, v := range m.Split(dst) {
		m.x.AddMulT(v, sum[k*n:(k+1)*n])
	}
}

// places are the products of some pairs, sorted by class: example[k] of class k are multiplied by its weights, and
// own[r] and other[r] are the places of pair r in the lists of its two classes.
type places struct {
	example    [][]int
	own, other []int
}

func (m *Pairs) places(rows []int) places {
	p := places{example: make([][]int, m.classes), own: make([]int, len(rows)), other: make([]int, len(rows))}
	last := -1
	for r, row := range rows {
		i, k := int(m.example[row]), m.against[row]
		y := m.class[i]
		if i != last { // the pairs of an example follow each other
			p.example[y] = append(p.example[y], i)
			last = i
		}
		p.own[r] = len(p.example[y]) - 1
		p.example[k] = append(p.example[k], i)
		p.other[r] = len(p.example[k]) - 1
	}
	return p
}

// MulRows sets dst[r] = ⟨A[rows[r]], w⟩.
func (m *Pairs) MulRows(dst []float64, rows []int, w []float64) {
	p := m.places(rows)
	score := make([][]float64, m.classes)
	for k, v := range m.Split(w) {
		score[k] = make([]float64, len(p.example[k]))
		m.x.MulRows(score[k], p.example[k], v)
	}
	for r, row := range rows {
		dst[r] = score[m.class[m.example[row]]][p.own[r]] - score[m.against[row]][p.other[r]]
	}
}

// AddMulTRows adds Σ c[r]·A[rows[r]] to dst.
func (m *Pairs) AddMulTRows(dst []float64, rows []int, c []float64) {
	p := m.places(rows)
	sum := make([][]float64, m.classes)
	for k := range sum {
		sum[k] = make([]float64, len(p.example[k]))
	}
	for r, row := range rows {
		sum[m.class[m.example[row]]][p.own[r]] += c[r]
		sum[m.against[row]][p.other[r]] -= c[r]
	}
	for k, v := range m.Split(dst) {
		m.x.AddMulTRows(v, p.example[k], sum[k])
	}
}

// large returns the examples if a product with all pairs is worth sharing between cores, else nil.
func (m *Pairs) large() rowsOf {
	if x, ok := m.x.(rowsOf); ok && m.whole && m.x.NNZ() >= parallelEntries {
		return x
	}
	return nil
}

// sweep is MulAddT of all pairs in one pass over the examples, in which each is multiplied by the weights of all
// classes. Without w it is AddMulT, without dst Mul.
func (m *Pairs) sweep(x rowsOf, dst, s, c, w []float64, weigh func(lo, hi int)) {
	t := cores()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = maxSums
	if t.dst = dst; dst != nil {
		t.makeSums()
	}
	_, d := x.Dims()
	each := m.classes - 1
	t.pool.Each(t.parts, func(_, k int) {
		var sum []float64
		if dst != nil {
			sum = t.sum(k)
		}
		scores := make([]float64, m.classes*bothRows)
		hi := x.cut(k+1, t.parts)
		for lo := x.cut(k, t.parts); lo < hi; lo += bothRows {
			to := min(lo+bothRows, hi)
			n := to - lo
			if w != nil {
				for j := range m.classes {
					x.mulRange(scores[j*n:(j+1)*n], lo, to, w[j*d:(j+1)*d])
				}
				for r := lo * each; r < to*each; r++ {
					i := int(m.example[r])
					s[r] = scores[int(m.class[i])*n+i-lo] - scores[int(m.against[r])*n+i-lo]
				}
			}
			if weigh != nil {
				weigh(lo*each, to*each)
			}
			if dst == nil {
				continue
			}
			clear(scores)
			for r := lo * each; r < to*each; r++ {
				i := int(m.example[r])
				scores[int(m.class[i])*n+i-lo] += c[r]
				scores[int(m.against[r])*n+i-lo] -= c[r]
			}
			for j := range m.classes {
				x.addMulTRange(sum[j*d:(j+1)*d], lo, to, scores[j*n:(j+1)*n])
			}
		}
	})
	if dst != nil {
		t.addUp()
	}
	t.dst = nil
}

// MulAddT is both products.
func (m *Pairs) MulAddT(dst []float64, rows []int, s, c, w []float64, weigh func(lo, hi int)) {
	if x := m.large(); x != nil && rows == nil {
		m.sweep(x, dst, s, c, w, weigh)
		return
	}
	if rows == nil {
		m.Mul(s, w)
		weigh(0, len(m.example))
		m.AddMulT(dst, c)
		return
	}
	m.MulRows(s, rows, w)
	weigh(0, len(rows))
	m.AddMulTRows(dst, rows, c)
}

// Row returns a copy of a row: the values of the example, and their negatives.
func (m *Pairs) Row(row int) (idx []int32, val []float64) { return m.rowInto(nil, nil, row) }

// rowInto is Row, appended to the given slices.
func (m *Pairs) rowInto(idx []int32, val []float64, row int) ([]int32, []float64) {
	i := int(m.example[row])
	_, d := m.x.Dims()
	own, x := m.x.Row(i)
	of, against := m.class[i], m.against[row]
	for _, k := range []int32{min(of, against), max(of, against)} {
		for e, v := range x {
			j := int32(e)
			if own != nil {
				j = own[e]
			}
			if k == against {
				v = -v
			}
			idx, val = append(idx, k*int32(d)+j), append(val, v)
		}
	}
	return idx, val
}

// selected returns the pairs of some rows, in the order given, and of the examples only those that they need.
func (m *Pairs) selected(rows []int) *Pairs {
	var examples []int
	for _, r := range rows {
		examples = append(examples, int(m.example[r]))
	}
	slices.Sort(examples)
	examples = slices.Compact(examples)
	place := make(map[int32]int32, len(examples))
	out := &Pairs{x: Select(m.x, examples), classes: m.classes}
	for at, i := range examples {
		place[int32(i)] = int32(at)
		out.class = append(out.class, m.class[i])
	}
	for _, r := range rows {
		out.example, out.against = append(out.example, place[m.example[r]]), append(out.against, m.against[r])
	}
	return out
}
