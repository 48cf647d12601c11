package twofold

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

// Dot returns Σ xᵢyᵢ.
func Dot(x, y []float64) Sum {
	hi, lo, size := vec.Dot2(x, y)
	return Sum{Hi: hi, Lo: lo, terms: len(x) + 8, size: size}
}

// Sub takes another sum off.
func (s *Sum) Sub(o Sum) {
	size, terms := s.size, s.terms
	s.Add(-o.Hi)
	s.Lo -= o.Lo
	s.size, s.terms = size+o.size, terms+o.terms+1
}

// Vector is a vector of running sums.
type Vector struct {
	hi, lo, size []float64
	terms        int // the most that an element has
}

// NewVector returns d sums of nothing.
func NewVector(d int) *Vector {
	all := make([]float64, 3*d)
	return &Vector{hi: all[:d:d], lo: all[d : 2*d : 2*d], size: all[2*d:]}
}

// Axpy adds a·x, for x in the columns idx, ascending; nil means all.
func (v *Vector) Axpy(a float64, idx []int32, x []float64) {
	v.terms++
	if Whole(idx, len(x), len(v.hi)) {
		vec.Axpy2(v.hi, v.lo, v.size, a, x)
		return
	}
	for k, j := range idx {
		p := a * x[k]
		t := v.hi[j] + p
		z := t - v.hi[j]
		v.lo[j] += (v.hi[j] - (t - z)) + (p - z)
		v.lo[j] += math.FMA(a, x[k], -p)
		v.hi[j] = t
		v.size[j] += math.Abs(p)
	}
}

// AxpyAt adds a·x to the elements from the given one on, without counting it: AddTerms does.
func (v *Vector) AxpyAt(from int, a float64, x []float64) {
	to := from + len(x)
	vec.Axpy2(v.hi[from:to], v.lo[from:to], v.size[from:to], a, x)
}

// AddTerms counts terms that AxpyAt has added to each element.
func (v *Vector) AddTerms(n int) { v.terms += n }

// At returns the sum of element j.
func (v *Vector) At(j int) Sum {
	return Sum{Hi: v.hi[j], Lo: v.lo[j], terms: v.terms, size: v.size[j]}
}

// Whole reports whether n entries in ascending columns are those of all d columns.
func Whole(idx []int32, n, d int) bool {
	return idx == nil || n == d && (d == 0 || idx[0] == 0 && int(idx[d-1]) == d-1)
}
