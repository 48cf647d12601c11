package margin

import (
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// rows is the problem as the solvers see it: labels absorbed, rows of Euclidean length 1 to 2, columns without
// entries dropped. With âᵢ = yᵢxᵢ/rᵢ and bᵢ = r/rᵢ, where rᵢ is the power of two below ‖xᵢ‖₂ and r the least of them,
//
//	max γ  subject to  âᵢ·w ≥ γ·bᵢ,  ‖w‖ₚ ≤ 1
//
// has the optimum γₚ/r. Such rows keep the pivots of the normal equations comparable whatever the
// scales of the examples, and powers of two leave every digit of the data.
type rows struct {
	n, d    int
	a       matrix.Matrix
	dense   []float64 // a as one row-major block, nil where a is sparse
	length  []float64 // rᵢ
	b       []float64
	cols    []int         // the original column of each kept one
	full    int           // columns of the original
	largest []float64     // the largest magnitude in each column of the original that is kept; nil: not known
	index   []int         // the original row of each, nil meaning the same
	whole   int           // rows of the original
	even    *rows         // nil if the columns are of similar scales, see equilibrate
	unit    []float64     // of an even problem: its column j is that of the other divided by unit[j], a power of two
	pairs   *matrix.Pairs // a, if its rows are pairs of an example and another class
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
	if m, ok := prob.X.(*matrix.Pairs); ok {
		return newPairRows(m)
	}
	n, full := prob.Dims()
	r = &rows{n: n, whole: n, full: full, length: make([]float64, n)}
	for i := range n {
		_, val := prob.X.Row(i)
		size := length(val)
		if size == 0 {
			return nil, i, nil
		}
		r.length[i] = math.Ldexp(1, exponentOf(size)-1)
	}
	if r.fill(prob) {
		return r, -1, nil
	}
	place, cols, most, nnz := columns(prob)
	r.cols, r.d, r.largest = cols, len(cols), most
	dense := float64(nnz) > denseShare*float64(n)*float64(r.d)
	length, unit := equilibrate(prob, place, most, n)
	if unit != nil && checkLengths(r.length) != nil {
		r.length = length // rows that have only large entries, or only small ones
	}
	if err := checkLengths(r.length); err != nil {
		return nil, -1, err
	}
	r.weigh()
	if unit != nil {
		even := *r
		even.length, even.unit = length, unit
		even.weigh()
		even.copyScaled(prob, place, dense)
		r.even = &even
	}
	r.copyScaled(prob, place, dense)
	return r, -1, nil
}

// fill copies a problem of which few entries are 0 at once, as copyScaled does, and reports whether it could: each
// column must have entries, and all must be of similar sizes.
func (r *rows) fill(prob linear.Problem) bool {
	n, d := r.n, r.full
	if checkLengths(r.length) != nil || float64(prob.X.NNZ()) < 0.7*float64(n)*float64(d) || !mostlyFilled(prob.X) {
		return false
	}
	block := make([]float64, n*d)
	const parts = 4
	var of [parts][]float64
	parallel(parts, n*d > 1<<15, func(k int) {
		of[k] = make([]float64, d)
		for i := k * n / parts; i < (k+1)*n/parts; i++ {
			idx, val := prob.X.Row(i)
			row, factor := block[i*d:(i+1)*d], math.Copysign(1, label(prob, i))/r.length[i] // a power of two
			if twofold.Whole(idx, len(val), d) {
				vec.Scale(row, factor, val)
			} else {
				for e, j := range idx {
					row[j] = val[e] * factor
				}
			}
			vec.Raise(of[k], r.length[i], row)
		}
	})
	for _, part := range of[1:] {
		vec.Raise(of[0], 1, part)
	}
	least, most := slices.Min(of[0]), slices.Max(of[0])
	if !(least > 0) || most/least > 1<<(uneven-1) {
		return false
	}
	r.d, r.dense, r.largest = d, block, of[0]
	r.cols = make([]int, d)
	for j := range r.cols {
		r.cols[j] = j
	}
	r.a = matrix.NewDense(d, block)
	r.weigh()
	return true
}

// mostlyFilled reports whether few entries of a matrix are 0, by some rows of it.
func mostlyFilled(x matrix.Matrix) bool {
	n, _ := x.Dims()
	zeros, all := 0, 0
	for k := range 8 {
		_, val := x.Row(k * n / 8)
		for _, v := range val {
			if v == 0 {
				zeros++
			}
		}
		all += len(val)
	}
	return float64(zeros) < 0.3*float64(all)
}

// length returns ‖x‖₂, which is 0 for x = 0 alone.
func length(x []float64) float64 {
	if s := vec.Dot(x, x); s > 1e-200 && s < 1e200 {
		return math.Sqrt(s)
	}
	return mirror.Norm(x, 2)
}

// checkLengths refuses lengths of rows that cannot be computed with.
func checkLengths(length []float64) error {
	least, most := slices.Min(length), slices.Max(length)
	switch {
	case most > mostLength || least < 1/mostLength:
		return fmt.Errorf("the lengths of the examples go from %.2g to %.2g, beyond what can be computed with: "+
			"scale the data", least, most)
	case most/least > mostRatio:
		return fmt.Errorf("the lengths of the examples go from %.2g to %.2g, too far apart to compute with: "+
			"scale the examples alike", least, most)
	}
	return nil
}

// weigh sets b.
func (r *rows) weigh() {
	r.b = make([]float64, r.n)
	least := slices.Min(r.length)
	for i, l := range r.length {
		r.b[i] = least / l
	}
}

func (r *rows) copyScaled(prob linear.Problem, place []int32, dense bool) {
	var sparse matrix.Builder
	if dense {
		r.dense = make([]float64, r.n*r.d)
	}
	several := 0
	if dense {
		several = r.n * r.d
	}
	each := func(i int) {
		idx, val := prob.X.Row(i)
		sign := math.Copysign(1, label(prob, i))
		if dense && r.unit == nil && r.d == r.full && twofold.Whole(idx, len(val), r.d) {
			vec.Scale(r.dense[i*r.d:(i+1)*r.d], sign/r.length[i], val) // a power of two
			return
		}
		if dense && r.unit == nil && idx != nil {
			row, factor := r.dense[i*r.d:(i+1)*r.d], sign/r.length[i]
			for k, j := range idx {
				if at := place[j]; at >= 0 {
					row[at] = val[k] * factor
				}
			}
			return
		}
		for k, v := range val {
			if v == 0 {
				continue
			}
			j := place[column(idx, k)]
			if v = sign * (v / r.length[i]); r.unit != nil {
				v /= r.unit[j]
			}
			if dense {
				r.dense[i*r.d+int(j)] = v
			} else {
				sparse.Add(j, v)
			}
		}
		if !dense {
			sparse.EndRow()
		}
	}
	parallel(r.n, several > 1<<17, each)
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

// dual returns the weights of the original rows, of sum 1, for weights a + fine; a nil fine is 0.
func (r *rows) dual(a, fine []float64) (hi, lo []float64) {
	hi = make([]float64, r.whole)
	if fine != nil {
		lo = make([]float64, r.whole)
	}
	least := slices.Min(r.length)
	var sum float64
	for i, v := range a {
		sum += max(v, 0) * (least / r.length[i])
	}
	for i, v := range a {
		w := max(v, 0) * (least / r.length[i]) // a power of two times v
		if fine == nil {
			hi[r.at(i)] = w / sum
			continue
		}
		var s twofold.Sum
		s.AddProduct(w, 1/sum)
		s.AddProduct(fine[i]*(least/r.length[i]), 1/sum)
		hi[r.at(i)], lo[r.at(i)] = s.Split()
	}
	return hi, lo
}
