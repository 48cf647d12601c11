package margin

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// rows is the problem as the solvers see it: labels absorbed, rows of Euclidean length 1, columns without
// entries dropped. With âᵢ = yᵢxᵢ/rᵢ and bᵢ = r/rᵢ, where rᵢ = ‖xᵢ‖₂ and r the least of them,
//
//	max γ  subject to  âᵢ·w ≥ γ·bᵢ,  ‖w‖ₚ ≤ 1
//
// has the optimum γₚ/r. Unit rows keep the pivots of the normal equations comparable whatever the
// scales of the examples.
type rows struct {
	n, d   int
	a      matrix.Matrix
	dense  []float64 // a as one row-major block, nil where a is sparse
	length []float64 // rᵢ
	b      []float64
	cols   []int // the original column of each kept one
	full   int   // columns of the original
	index  []int // the original row of each, nil meaning the same
	whole  int   // rows of the original
}

// denseShare is the share of entries above which a sparse matrix is stored dense: the dense kernels do several
// entries in the time of a sparse one.
const denseShare = 0.2

const (
	mostLength = 1e290 // of a row, and its inverse: w and the margin must be numbers of full accuracy
	mostRatio  = 1e150 // of the lengths of two rows: its square must be a number
)

// newRows copies and scales the problem. A row that is zero is returned as the index zero ≥ 0: it alone proves that
// there is no margin.
func newRows(prob linear.Problem) (r *rows, zero int, err error) {
	n, full := prob.Dims()
	zero = -1
	r = &rows{n: n, whole: n, full: full, length: make([]float64, n), b: make([]float64, n)}
	count := make([]int, full)
	nnz := 0
	for i := range n {
		idx, val := prob.X.Row(i)
		for k, v := range val {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, -1, fmt.Errorf("example %d has the value %v: only finite numbers have a margin", i+1, v)
			}
			if v != 0 {
				nnz++
				count[column(idx, k)]++
			}
		}
		y := label(prob, i)
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return nil, -1, fmt.Errorf("example %d has the label %v", i+1, y)
		}
		r.length[i] = mirror.Norm(val, 2) * math.Abs(y)
		if mirror.Norm(val, math.Inf(1)) == 0 || y == 0 {
			zero = i
		}
	}
	if zero >= 0 {
		return nil, zero, nil
	}
	least, most := slices.Min(r.length), slices.Max(r.length)
	switch {
	case most > mostLength || least < 1/mostLength:
		return nil, -1, fmt.Errorf("the lengths of the examples go from %.2g to %.2g, beyond what can be computed with: scale the data", least, most)
	case most/least > mostRatio:
		return nil, -1, fmt.Errorf("the lengths of the examples go from %.2g to %.2g, too far apart to compute with: scale the examples alike", least, most)
	}
	place := make([]int32, full)
	for j, c := range count {
		place[j] = -1
		if c > 0 {
			place[j] = int32(len(r.cols))
			r.cols = append(r.cols, j)
		}
	}
	r.d = len(r.cols)
	for i, l := range r.length {
		r.b[i] = least / l
	}
	r.copyScaled(prob, place, float64(nnz) > denseShare*float64(n)*float64(r.d))
	return r, -1, nil
}

func (r *rows) copyScaled(prob linear.Problem, place []int32, dense bool) {
	var sparse matrix.Builder
	if dense {
		r.dense = make([]float64, r.n*r.d)
	}
	for i := range r.n {
		idx, val := prob.X.Row(i)
		sign := math.Copysign(1, label(prob, i))
		length := r.length[i] / math.Abs(label(prob, i))
		for k, v := range val {
			if v == 0 {
				continue
			}
			j := place[column(idx, k)]
			if dense {
				r.dense[i*r.d+int(j)] = sign * (v / length)
			} else {
				sparse.Add(j, sign*(v/length))
			}
		}
		if !dense {
			sparse.EndRow()
		}
	}
	if dense {
		r.a = matrix.NewDense(r.d, r.dense)
	} else {
		r.a = sparse.Build(r.d)
	}
}

func column(idx []int32, k int) int {
	if idx == nil {
		return k
	}
	return int(idx[k])
}

func label(prob linear.Problem, i int) float64 {
	if prob.Y == nil {
		return 1
	}
	return prob.Y[i]
}

// mul sets dst = Âw.
func (r *rows) mul(dst, w []float64) { r.a.Mul(dst, w) }

// mulT sets dst = Âᵀa.
func (r *rows) mulT(dst, a []float64) {
	clear(dst)
	r.a.AddMulT(dst, a)
}

// primal returns w with all columns of the original.
func (r *rows) primal(w []float64) []float64 {
	out := make([]float64, r.full)
	for k, j := range r.cols {
		out[j] = w[k]
	}
	return out
}

// at returns the original row of row i.
func (r *rows) at(i int) int {
	if r.index == nil {
		return i
	}
	return r.index[i]
}

// dual returns the weights of the original rows, of sum 1.
func (r *rows) dual(a []float64) []float64 {
	out := make([]float64, r.whole)
	var sum float64
	least := slices.Min(r.length)
	for i, v := range a {
		w := max(v, 0) * (least / r.length[i])
		out[r.at(i)] = w
		sum += w
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}
