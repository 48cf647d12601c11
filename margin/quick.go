package margin

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// quick reports whether the rows, which are those of the problem times powers of two, can be certified themselves: they
// are dense, all of them are there, and no power of two takes digits off.
func (r *rows) quick() bool {
	return r.dense != nil && r.pairs == nil && r.index == nil && r.unit == nil && slices.Min(r.length) > 1e-100 &&
		slices.Max(r.length) < 1e100
}

// row returns a row of dense ones.
func (r *rows) row(i int) []float64 { return r.dense[i*r.d : (i+1)*r.d] }

// leastMargin is linear.Problem.LeastMargin of the original problem, for its columns with entries.
func (r *rows) leastMargin(w []float64) float64 {
	const parts = 8
	var least [parts]float64
	parallel(parts, r.n*r.d > 1<<16, func(k int) {
		least[k] = math.Inf(1)
		for i := k * r.n / parts; i < (k+1)*r.n/parts; i++ {
			m := twofold.Dot(r.row(i), w)
			least[k] = min(least[k], r.length[i]*(m.Value()-m.Error()))
		}
	})
	return slices.Min(least[:])
}

// combined returns Aᵀ(hi + lo), for the weights of some rows; a nil lo is 0.
func (r *rows) combined(part []int, hi, lo []float64) *twofold.Vector {
	const columns = 1024
	v := twofold.NewVector(r.d)
	parallel((r.d+columns-1)/columns, len(part)*r.d > 1<<16, func(k int) {
		from, to := k*columns, min((k+1)*columns, r.d)
		for l, i := range part {
			if hi[l] != 0 {
				v.AxpyAt(from, hi[l], r.row(i)[from:to])
			}
			if lo != nil && lo[l] != 0 {
				v.AxpyAt(from, lo[l], r.row(i)[from:to])
			}
		}
	})
	v.AddTerms(2 * len(part))
	return v
}

// certify is linear.Certify of the original problem, with dual weights of its rows, for w whose least margin is known.
func (r *rows) certify(p float64, w []float64, least float64, a ...[]float64) linear.Certificate {
	var part []int
	weights := make([][]float64, 2)
	var mass twofold.Sum
	for i := range r.n {
		any := false
		for _, of := range a {
			any = any || of[i] != 0
		}
		if !any {
			continue
		}
		part = append(part, i)
		for k, of := range a {
			mass.Add(of[i])
			weights[k] = append(weights[k], of[i]*r.length[i])
		}
	}
	sums := r.combined(part, weights[0], weights[1])
	v := make([]float64, r.d)
	for j := range v {
		s := sums.At(j)
		v[j] = math.Abs(s.Value()) + s.Error()
	}
	return linear.Certificate{
		Lower: least / mirror.Norm(w, p),
		Upper: mirror.Norm(v, mirror.Conjugate(p)) / mass.Value(),
	}
}
