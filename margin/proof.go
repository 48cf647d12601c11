package margin

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/bregman-ml/bregman/internal/exact"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// NotSeparableError proves that no w separates the data: the examples in Rows, with their labels and the Weights, all
// positive, cancel exactly,
//
//	Σ aᵢyᵢxᵢ = 0,
//
// in integers, without any rounding. So Σ aᵢ·yᵢ⟨xᵢ, w⟩ = 0 for every w, and not every term is positive (Gordan's
// theorem: either such weights or a w with positive margins exist, never both). Verify checks it.
//
// Of a joint margin the rows are pairs of an example and another class, and no weights put the right class first on all
// examples.
type NotSeparableError struct {
	Rows    []int // ascending
	Weights []*big.Int

	pairs *matrix.Pairs // the rows; nil: they are examples
}

// of says what the rows are.
func (e *NotSeparableError) of(prob linear.Problem) *NotSeparableError {
	e.pairs, _ = prob.X.(*matrix.Pairs)
	return e
}

// Examples returns the examples that the proof needs, ascending: the rows, or, of pairs, the examples in them.
func (e *NotSeparableError) Examples() []int {
	if e.pairs == nil {
		return e.Rows
	}
	var out []int
	for _, row := range e.Rows {
		i, _ := e.pairs.Pair(row)
		out = append(out, i)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (e *NotSeparableError) Error() string {
	if e.pairs != nil && len(e.Rows) > 1 {
		return fmt.Sprintf("the data are not separable: a positive combination of comparisons of the right class with "+
			"another, on %d examples, is exactly 0, so no weights put the right class first on all of them; "+
			"a constant feature (bias) or more features may help", len(e.Examples()))
	}
	if len(e.Rows) == 1 {
		return fmt.Sprintf("the data are not separable: all values of example %d are 0, and so is its margin for every w; "+
			"leave it out, or add a constant feature (bias)", e.Examples()[0]+1)
	}
	return fmt.Sprintf("the data are not separable: a positive combination of %d examples with their labels is "+
		"exactly 0, "+
		"so no w has a positive margin on all of them; a constant feature (bias) or more features may help", len(e.Rows))
}

// Verify reports whether the weights are positive and the examples cancel exactly.
func (e *NotSeparableError) Verify(prob linear.Problem) bool {
	n, d := prob.Dims()
	if len(e.Weights) != len(e.Rows) || slices.ContainsFunc(e.Rows, func(i int) bool { return i < 0 || i >= n }) {
		return false
	}
	lowest := make([]int, d) // the exponent of the lowest bit that may be set in a column
	for _, i := range e.Rows {
		idx, val := prob.X.Row(i)
		for l, v := range val {
			if v != 0 {
				j := column(idx, l)
				lowest[j] = min(lowest[j], exponentOf(v)-53)
			}
		}
	}
	sums := make([]big.Int, d)
	term := new(big.Int)
	for k, i := range e.Rows {
		y := label(prob, i)
		if e.Weights[k].Sign() <= 0 || math.Abs(y) != 1 {
			return false
		}
		idx, val := prob.X.Row(i)
		for l, v := range val {
			if v == 0 {
				continue
			}
			frac, exp := math.Frexp(v * y)
			j := column(idx, l)
			term.Mul(e.Weights[k], term.SetInt64(int64(frac*(1<<53))))
			sums[j].Add(&sums[j], term.Lsh(term, uint(exp-53-lowest[j])))
		}
	}
	for j := range sums {
		if sums[j].Sign() != 0 {
			return false
		}
	}
	return len(e.Rows) > 0
}

// mostExact is the number of examples a proof may need: solving 400 equations exactly takes two seconds. Examples
// in R^d need at most d + 1 of them.
const mostExact = 400

// mostVertex bounds the arithmetic of the search for those examples.
const mostVertex = 4e9

// prove turns weights a ≥ 0 with Σ aᵢyᵢxᵢ ≈ 0 into a proof that the data are not separable: it moves them to a vertex,
// where the examples with a positive weight determine them, and computes these weights exactly. It returns nil if that
// fails: the weights were wrong, the vertex was missed by rounding, or the problem is too large.
//
// An interior point method leaves small weights on examples that do not belong to the combination. So the examples with
// large weights are tried first.
func prove(prob linear.Problem, a []float64) *NotSeparableError {
	most := slices.Max(a)
	tried := 0
	for _, share := range []float64{1e-2, 1e-4, 1e-6, 1e-9, 0} {
		var rows []int
		for i, v := range a {
			if v > share*most {
				rows = append(rows, i)
			}
		}
		if len(rows) == tried || len(rows) == 0 {
			continue
		}
		tried = len(rows)
		slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(a[j], a[i]) })
		if v := newVertex(prob, rows, a); v != nil && v.move() {
			if e := v.proof(prob); e != nil {
				return e
			}
		}
	}
	return nil
}

// vertex moves weights to a vertex of {a ≥ 0 : Σ aᵢ(rowᵢ, 1) = const}. The rows are scaled to about 1 by powers of two,
// by rows and by columns: that changes weights by known factors, and no sum from 0.
type vertex struct {
	index  []int       // the examples
	rows   [][]float64 // scaled, and a last column of 1
	shift  []int       // rows are examples times 2^−shift, but for columns
	a      []float64
	base   []int       // linearly independent rows: places in index
	pivots []int       // as many columns, in which they are independent, too
	inv    [][]float64 // the inverse of the rows of the base in the columns of the pivots
}

func newVertex(prob linear.Problem, index []int, weights []float64) *vertex {
	place := map[int]int{}
	for _, i := range index {
		idx, val := prob.X.Row(i)
		for l, v := range val {
			if j := column(idx, l); v != 0 {
				if _, ok := place[j]; !ok {
					place[j] = len(place)
				}
			}
		}
	}
	n, d := len(index), len(place)+1
	if k := float64(min(n, d)); min(n, d) > mostExact || float64(n)*k*float64(d) > mostVertex {
		return nil
	}
	s := &vertex{index: index, a: make([]float64, n), rows: make([][]float64, n)}
	entries := func(f func(k, j int, v float64)) {
		for k, i := range index {
			idx, val := prob.X.Row(i)
			for l, v := range val {
				if v != 0 {
					f(k, place[column(idx, l)], v*label(prob, i))
				}
			}
		}
	}
	var columns []int
	s.shift, columns = evenly(n, d-1, entries)
	for k := range s.rows {
		s.rows[k] = make([]float64, d)
	}
	rounded := false // by entries 1e300 apart
	entries(func(k, j int, v float64) {
		e := -s.shift[k] - columns[j]
		s.rows[k][j] = math.Ldexp(v, e)
		rounded = rounded || math.Ldexp(s.rows[k][j], -e) != v
	})
	if rounded {
		return nil
	}
	for k, i := range index {
		s.rows[k][d-1] = 1
		s.a[k] = math.Ldexp(weights[i], s.shift[k])
	}
	most := slices.Max(s.a)
	for k := range s.a {
		s.a[k] /= most
	}
	return s
}

// dependent is what may be left of a row of size 1 that is a combination of others.
const dependent = 1e-9

// move takes one row after the other into the base. One that depends on the base is exchanged for a row whose weight
// falls to 0 first, as in the simplex method; or its own weight does. It reports whether some positive weight is left.
func (s *vertex) move() bool {
	for k, row := range s.rows {
		c := s.coefficients(row)
		if j, off := s.remainder(row, c); off > dependent*(1+size(c)) {
			s.extend(k, j, row, c)
			continue
		}
		if out, t := s.ratio(k, c); out >= 0 {
			for l, v := range c {
				s.a[s.base[l]] += t * v
			}
			s.a[s.base[out]] = 0
			s.a[k] -= t
			s.exchange(out, k, c)
		} else {
			for l, v := range c {
				s.a[s.base[l]] += s.a[k] * v
			}
			s.a[k] = 0
		}
	}
	return len(s.base) > 0
}

// ratio returns the place in the base whose weight is the first to reach 0 as that of row k is shifted to the base by
// its coefficients, and how much is shifted by then; −1 if all of it can be.
func (s *vertex) ratio(k int, c []float64) (out int, t float64) {
	out, t = -1, s.a[k]
	for l, v := range c {
		if v < -1e-12 {
			if r := max(s.a[s.base[l]], 0) / -v; r < t {
				out, t = l, r
			}
		}
	}
	return out, t
}

func size(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// coefficients returns c with Σ cₗ·baseₗ = row in the pivot columns.
func (s *vertex) coefficients(row []float64) []float64 {
	c := make([]float64, len(s.base))
	for l, j := range s.pivots {
		vec.Axpy(row[j], s.inv[l], c)
	}
	return c
}

// remainder returns the largest entry of |row − Σ cₗ·baseₗ| and its column.
func (s *vertex) remainder(row, c []float64) (column int, off float64) {
	rest := slices.Clone(row)
	for l, v := range c {
		vec.Axpy(-v, s.rows[s.base[l]], rest)
	}
	for j, v := range rest {
		if math.Abs(v) > off && !slices.Contains(s.pivots, j) {
			column, off = j, math.Abs(v)
		}
	}
	return column, off
}

// extend adds row k to the base and column j to the pivots, and borders the inverse.
func (s *vertex) extend(k, j int, row, c []float64) {
	rest := row[j]
	up := make([]float64, len(s.base)) // column j of the base
	for l, b := range s.base {
		up[l] = s.rows[b][j]
		rest -= c[l] * up[l]
	}
	right := make([]float64, len(s.base)) // inverse·up
	for l, r := range s.inv {
		right[l] = vec.Dot(r, up)
	}
	for l := range s.inv {
		f := right[l] / rest
		vec.Axpy(f, c, s.inv[l])
		s.inv[l] = append(s.inv[l], -f)
	}
	last := make([]float64, len(c), len(c)+1)
	for m, v := range c {
		last[m] = -v / rest
	}
	s.inv = append(s.inv, append(last, 1/rest))
	s.base, s.pivots = append(s.base, k), append(s.pivots, j)
}

// exchange puts row k, of coefficients c, in place l of the base.
func (s *vertex) exchange(l, k int, c []float64) {
	for _, r := range s.inv {
		t := r[l] / c[l]
		vec.Axpy(-t, c, r)
		r[l] = t
	}
	s.base[l] = k
}

// proof computes the weights of the base exactly, and returns nil if they prove nothing.
func (s *vertex) proof(prob linear.Problem) *NotSeparableError {
	k := len(s.base)
	last := len(s.rows[0]) - 1 // the column of ones, where the weights sum to 1; in the other pivots they sum to 0
	if !slices.Contains(s.pivots, last) {
		return nil
	}
	m, b := make([][]float64, k), make([]float64, k)
	for e, j := range s.pivots {
		for _, r := range s.base {
			m[e] = append(m[e], s.rows[r][j])
		}
		if j == last {
			b[e] = 1
		}
	}
	num, _, ok := exact.Solve(m, b)
	if !ok {
		return nil
	}
	e := new(NotSeparableError)
	order := make([]int, k)
	for l := range order {
		order[l] = l
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(s.index[s.base[x]], s.index[s.base[y]]) })
	most := slices.Max(s.shift)
	for _, l := range order {
		switch num[l].Sign() {
		case -1:
			return nil
		case 1: // weights of examples are those of rows times 2^−shift; only their ratios matter
			e.Rows = append(e.Rows, s.index[s.base[l]])
			e.Weights = append(e.Weights, num[l].Lsh(num[l], uint(most-s.shift[s.base[l]])))
		}
	}
	if !e.Verify(prob) {
		return nil
	}
	return e
}
