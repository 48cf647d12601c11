package margin

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// prune leaves only the dual weights that the certificate needs. An interior point method ends with small ones
// everywhere, of which the gap g that it certifies cannot tell whether they are 0.
//
// For w of margin 1 and weights a of sum 1, with slacks σᵢ = yᵢ⟨xᵢ, w⟩ − 1, the certificate says Σ aᵢσᵢ ≤ g. An example
// is a support vector if aᵢ > σᵢ: so one with a weight above √g always is, and one with a slack above √g never. The
// other weights are set to 0 and those left are fitted again, so that the bound holds without them. If it does not,
// weaker examples stay, too.
func (s *solver) prune(gap float64) {
	s.mul(s.m, s.best.w)
	least := s.least(s.m)
	total := vec.Dot(s.b, s.best.a)
	before := sync.OnceValue(s.bestSums)
	tried := s.n
	for _, weaker := range []float64{1, 1e-3, 1e-6, 1e-9} {
		y := make([]float64, s.n)
		count := 0
		for i, a := range s.best.a {
			if slack := s.m[i]/s.b[i]/least - 1; a*s.b[i]/total > weaker*slack {
				y[i] = a
				count++
			}
		}
		if count == tried || count == 0 {
			continue
		}
		tried = count
		kept := s.keepOnly(y, before, nil, gap)
		if !kept || !s.reached() {
			target, known := s.stationary(y)
			kept = s.keepOnly(y, func() []float64 { return target }, known, gap) || kept
		}
		if kept {
			return
		}
	}
}

// bestSums returns Aᵀa for the best weights.
func (s *solver) bestSums() []float64 {
	all := &polisher{solver: s, unit: s.units(), part: make([]int, s.n), hi: s.best.a, lo: s.best.fine}
	for i := range all.part {
		all.part[i] = i
	}
	if all.lo == nil {
		all.lo = make([]float64, s.n)
	}
	sums, _ := all.sums()
	out := make([]float64, s.d)
	for j := range out {
		s := sums.At(j)
		out[j] = s.Value()
	}
	return out
}

// keepOnly makes the weights y, fitted to a target, the best ones if the gap allows it; or, if others than they are 0
// already, if they are better.
func (s *solver) keepOnly(y []float64, target func() []float64, known []bool, gap float64) bool {
	k := s.polish(y, target, known)
	upper := k.run(min(gap, s.gap))
	worse := upper >= s.best.upper && s.sparse(y)
	if (linear.Certificate{Lower: s.best.lower, Upper: upper}).Gap() > gap || worse {
		return false
	}
	k.keep(upper, gap)
	return true
}

// sparse reports whether the best weights are 0 wherever y is.
func (s *solver) sparse(y []float64) bool {
	for i, a := range s.best.a {
		if a > 0 && y[i] == 0 {
			return false
		}
	}
	return true
}

// pruneWeights leaves only the coordinates of w that the certificate needs. For p = 1 those are told apart as support
// vectors are, by what the certificate says, Σ |wⱼ|/‖w‖·(1 − |vⱼ|/‖v‖) ≤ g: coordinate j is 0 if its share is not
// larger than the second factor. For other p no coordinate is exactly 0, and only those are set to 0 whose sum is
// nothing: without the coordinates J the margin falls by at most Σ |wⱼ|·max|âᵢⱼ|/bᵢ over J, and the norm does not grow.
func (s *solver) pruneWeights(gap float64) {
	if s.p == 1 && s.pruneVertex(gap) {
		return
	}
	most := make([]float64, s.d)
	if s.largest != nil && s.unit == nil && s.index == nil && s.pairs == nil {
		least := slices.Min(s.length)
		for j, v := range s.largest {
			most[j] = v / least
		}
	} else {
		s.largestEntries(most)
	}
	for j, w := range s.best.w {
		most[j] *= math.Abs(w)
	}
	// upper/(lower − loss/‖w‖) − 1 ≤ gap
	room := (s.best.lower - s.best.upper/(1+gap)) * mirror.Norm(s.best.w, s.p)
	var order []int
	for j, v := range most {
		if v <= room {
			order = append(order, j)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(most[i], most[j]), i-j) }) // as stable, faster
	for _, j := range order {
		if room -= most[j]; room < 0 {
			return
		}
		s.best.w[j] = 0
	}
}

// largestEntries sets most to the largest magnitude in each column, relative to the margin b of its row.
func (s *solver) largestEntries(most []float64) {
	for i := range s.n {
		idx, val := s.a.Row(i)
		share := 1 / s.b[i] // a power of two
		for k, v := range val {
			j := column(idx, k)
			if v := math.Abs(v) * share; v > most[j] {
				most[j] = v
			}
		}
	}
}

// pruneVertex sets the coordinates to 0 that the bound leaves out, brings the margins of the support vectors back to
// what they were by the least change of the others, and reports whether the gap allows it.
func (s *solver) pruneVertex(gap float64) bool {
	s.mulT(s.v, s.best.a)
	size, most := mirror.Norm(s.best.w, 1), mirror.Norm(s.v, math.Inf(1))
	w := slices.Clone(s.best.w)
	for j := range w {
		if math.Abs(w[j])/size <= 1-math.Abs(s.v[j])/most {
			w[j] = 0
		}
	}
	s.mul(s.m, s.best.w)
	var rows []int
	for i, a := range s.best.a {
		if a > 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) <= smallRows {
		s.restore(w, rows)
	}
	s.mul(s.m, w)
	lower := s.least(s.m) / mirror.Norm(w, 1)
	if (linear.Certificate{Lower: lower, Upper: s.best.upper}).Gap() > gap {
		return false
	}
	s.best.w, s.best.lower = w, lower
	return true
}

// restore changes the coordinates of w that are not 0, each relative to itself, such that the given rows have the
// margins γb, where γ is the least of them for the best w: δ = W²Bᵀ(BW²Bᵀ)⁻¹(γb − Bw), for the rows B and W = diag(w).
func (s *solver) restore(w []float64, rows []int) {
	n := len(rows)
	gamma := s.least(s.m)
	b := make([][]float64, n)
	for k, i := range rows {
		b[k] = make([]float64, s.d)
		idx, val := s.a.Row(i)
		for e, v := range val {
			j := column(idx, e)
			b[k][j] = v * w[j]
		}
	}
	m := make([]float64, n*n)
	for k := range b {
		for l := range k + 1 {
			m[k*n+l] = vec.Dot(b[k], b[l])
		}
	}
	cholesky(m, n)
	for range 2 { // the second time for what rounding left
		t := make([]float64, n)
		s.mul(s.m, w)
		for k, i := range rows {
			t[k] = gamma*s.b[i] - s.m[i]
		}
		choleskySolve(m, n, t)
		for k := range rows {
			for j, v := range b[k] {
				w[j] += t[k] * v * w[j]
			}
		}
	}
}
