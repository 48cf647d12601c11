package margin

import (
	"cmp"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// polisher fits the weights of some rows to conditions on v = Aᵀa,
//
//	vⱼ = targetⱼ,
//
// so that ‖v‖_q, the bound on the margin, is what it is for the target. In float64 a sum that should cancel is off by
// 1e-16 of its terms, which is more than the margin if a column is 1e16 times as large as others. So the weights are
// a sum of two vectors, hi + lo, and the solution is refined until they hold no more (Wilkinson's iterative
// refinement, residuals in twice the precision).
//
// There may be more conditions than weights. They are met in the order of the sizes of the columns, by an orthogonal
// factorisation that leaves out those that depend on earlier ones: what is left of them is small in the norm.
type polisher struct {
	*solver
	target func() []float64 // in columns divided by their units
	known  []bool           // nil: all
	unit   []float64
	part   []int     // the rows with weights
	hi, lo []float64 // their weights

	order   []int       // conditions: columns that are met, the largest first
	base    [][]float64 // orthonormal, one vector of length part for each
	lower   [][]float64 // the conditions in the base: a lower triangle
	current []float64   // the weights that the unknowns are relative to
}

// mostPolish bounds the arithmetic of a factorisation.
const mostPolish = 4e9

// polish returns a polisher for the rows with positive weights y.
func (s *solver) polish(y []float64, target func() []float64, known []bool) *polisher {
	k := &polisher{solver: s, target: target, known: known, unit: s.units()}
	for i, v := range y {
		if v > 0 {
			k.part, k.hi = append(k.part, i), append(k.hi, v)
		}
	}
	k.lo = make([]float64, len(k.part))
	k.current = slices.Clone(k.hi)
	return k
}

// units returns what columns are divided by to be of one scale.
func (s *solver) units() []float64 {
	if s.even != nil {
		return s.even.unit
	}
	return slices.Repeat([]float64{1}, s.d)
}

// stationary returns what v is at the optimum if the best w is the solution: γ∇‖w‖ₚ, divided by the units. For p = 1 it
// is not known in the coordinates where w = 0, and for p = ∞ in those where |w| is largest. The weights y set its
// scale.
func (s *solver) stationary(y []float64) (target []float64, known []bool) {
	w, unit := s.best.w, s.units()
	target, known = make([]float64, s.d), make([]bool, s.d)
	size := mirror.Norm(w, s.p)
	switch {
	case s.p == 1:
		var largest float64
		for j, x := range w {
			largest = max(largest, math.Abs(x)*unit[j])
		}
		for j, x := range w {
			known[j] = math.Abs(x)*unit[j] > nearZero*largest
			target[j] = math.Copysign(1, x)
		}
	case math.IsInf(s.p, 1):
		for j, x := range w {
			known[j] = math.Abs(x) < (1-nearZero)*size
		}
	default:
		mirror.DualityMap(target, w, s.p)
		vec.Scale(target, 1/size, target)
		for j := range known {
			known[j] = true
		}
	}
	gamma := s.best.lower * vec.Dot(s.b, y)
	for j := range target {
		target[j] *= gamma / unit[j]
	}
	return target, known
}

// nearZero is the share of the largest below which a coordinate of the solution of a linear program counts as 0.
const nearZero = 1e-6

// choose factors the conditions, unless that would take too long.
func (k *polisher) choose() {
	if n, d := float64(len(k.part)), float64(k.d); n*d*min(n, d) > mostPolish {
		return
	}
	sizes, columnOf := k.columns()
	order := make([]int, k.d)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sizes[j], sizes[i]) })
	for _, j := range order {
		if len(k.order) == len(k.part) {
			return
		}
		if k.known != nil && !k.known[j] {
			continue
		}
		c := columnOf(j)
		if c == nil {
			continue
		}
		before := mirror.Norm(c, 2)
		row := make([]float64, len(k.base)+1)
		for range 2 { // twice is enough for orthogonality
			for l, q := range k.base {
				t := vec.Dot(q, c)
				row[l] += t
				vec.Axpy(-t, q, c)
			}
		}
		left := mirror.Norm(c, 2)
		if !(left > 1e-7*before) {
			continue
		}
		vec.Scale(c, 1/left, c)
		row[len(k.base)] = left
		k.order, k.base, k.lower = append(k.order, j), append(k.base, c), append(k.lower, row)
	}
}

// columns returns the sizes of the columns of the part, times the current weights, and a function that returns a column
// divided by its unit; nil if it is empty.
func (k *polisher) columns() (sizes []float64, columnOf func(j int) []float64) {
	sizes = make([]float64, k.d)
	if k.quick() && k.even == nil {
		for l, i := range k.part {
			vec.Raise(sizes, k.current[l], k.row(i))
		}
		return sizes, func(j int) []float64 {
			c := make([]float64, len(k.part))
			for l, i := range k.part {
				c[l] = k.dense[i*k.d+j] * k.current[l]
			}
			return c
		}
	}
	columns := make([][]float64, k.d)
	for l, i := range k.part {
		idx, val := k.a.Row(i)
		for e, x := range val {
			j := column(idx, e)
			if columns[j] == nil {
				columns[j] = make([]float64, len(k.part))
			}
			columns[j][l] = x / k.unit[j] * k.current[l]
			sizes[j] = max(sizes[j], math.Abs(x)*k.current[l])
		}
	}
	return sizes, func(j int) []float64 { return columns[j] }
}

// sums returns Aᵀ(hi + lo), with columns divided by their units, and bᵀ(hi + lo).
func (k *polisher) sums() (v *twofold.Vector, total float64) {
	if k.quick() && k.even == nil {
		total := func(a []float64) (sum twofold.Sum) {
			for l, i := range k.part {
				sum.AddProduct(k.b[i], a[l])
			}
			return sum
		}
		sum, low := total(k.hi), total(k.lo)
		return k.combined(k.part, k.hi, k.lo), sum.Value() + low.Value()
	}
	v = twofold.NewVector(k.d)
	var sum twofold.Sum
	var scaled []float64
	for l, i := range k.part {
		idx, val := k.a.Row(i)
		if k.even != nil {
			scaled = append(scaled[:0], val...)
			for e := range scaled {
				scaled[e] /= k.unit[column(idx, e)]
			}
			val = scaled
		}
		v.Axpy(k.hi[l], idx, val)
		if k.lo[l] != 0 {
			v.Axpy(k.lo[l], idx, val)
		}
		sum.AddProduct(k.b[i], k.hi[l])
		sum.AddProduct(k.b[i], k.lo[l])
	}
	return v, sum.Value()
}

// bound returns ‖Aᵀa‖_q/bᵀa.
func (k *polisher) bound(v *twofold.Vector, total float64) float64 {
	x := make([]float64, k.d)
	for j := range x {
		s := v.At(j)
		x[j] = (math.Abs(s.Value()) + s.Error()) * k.unit[j]
	}
	return mirror.Norm(x, k.q) / total
}

// run refines the weights as long as the bound falls, or until it is within the gap of the lower one, and returns it.
func (k *polisher) run(gap float64) float64 {
	v, total := k.sums()
	upper := k.bound(v, total)
	for step := range 12 {
		if (linear.Certificate{Lower: k.best.lower, Upper: upper}).Gap() <= gap {
			break
		}
		if step == 0 {
			k.choose()
		}
		if len(k.order) == 0 {
			break
		}
		hi, lo := slices.Clone(k.hi), slices.Clone(k.lo)
		k.step(v)
		v, total = k.sums()
		if next := k.bound(v, total); next < upper {
			better := next < 0.9*upper || upper-next > 1e-3*(upper-k.best.lower)
			if upper = next; better {
				continue
			}
			break
		}
		k.hi, k.lo = hi, lo
		break
	}
	return upper
}

// step solves for a change of the weights, relative to what they were at first: rowₖ·t = what the condition lacks.
func (k *polisher) step(v *twofold.Vector) {
	t, target := make([]float64, len(k.order)), k.target()
	change := make([]float64, len(k.part))
	for e, j := range k.order {
		s := v.At(j)
		lack := twofold.Sum{Hi: -s.Hi, Lo: -s.Lo}
		lack.Add(target[j])
		row := k.lower[e]
		t[e] = (lack.Value() - vec.Dot(row[:e], t[:e])) / row[e]
		vec.Axpy(t[e], k.base[e], change)
	}
	length := 1.0
	for l := range change {
		change[l] *= k.current[l]
		if now := k.hi[l] + k.lo[l]; change[l] < 0 && now+length*change[l] < 0 {
			length = now / -change[l]
		}
	}
	for l, c := range change {
		s := twofold.Sum{Hi: k.hi[l], Lo: k.lo[l]}
		s.Add(length * c)
		k.hi[l], k.lo[l] = s.Split()
		if k.hi[l] < 0 {
			k.hi[l], k.lo[l] = 0, 0
		}
	}
}

// keep makes the weights the best ones. Their lower halves are left out if the bound is within the gap without them.
func (k *polisher) keep(upper, gap float64) {
	lo := k.lo
	k.lo = make([]float64, len(k.part))
	if slices.Equal(lo, k.lo) {
		lo = nil
	} else if u := k.bound(k.sums()); u <= upper || (linear.Certificate{Lower: k.best.lower, Upper: u}).Gap() <= gap {
		upper, lo = u, nil
	}
	k.best.upper = upper
	k.best.fine = nil
	if lo != nil {
		k.best.fine = make([]float64, k.n)
	}
	clear(k.best.a)
	for l, i := range k.part {
		k.best.a[i] = k.hi[l]
		if lo != nil {
			k.best.fine[i] = lo[l]
		}
	}
}
