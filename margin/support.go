package margin

import (
	"cmp"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/mirror"
)

// prune leaves only the dual weights and the weights that the certificate needs. An interior point method ends with small ones
// everywhere, of which the gap g that it certifies cannot tell whether they are 0.
//
// For w of margin 1 and weights a of sum 1, with slacks σᵢ = yᵢ⟨xᵢ, w⟩ − 1, the certificate says Σ aᵢσᵢ ≤ g. An example is
// a support vector if aᵢ > σᵢ: so one with a weight above √g always is, and one with a slack above √g never. The other
// weights are set to 0 and those left are fitted again, so that the bound holds without them. If it does not, weaker
// examples stay, too.
func (s *solver) prune(gap float64) {
	s.mul(s.m, s.best.w)
	least := s.least(s.m)
	var total float64
	for i, a := range s.best.a {
		total += a * s.b[i]
	}
	tried := s.n
	for _, weaker := range []float64{1, 1e-3, 1e-6, 1e-9} {
		var count int
		for i, a := range s.best.a {
			s.y[i] = 0
			if slack := s.m[i]/s.b[i]/least - 1; a*s.b[i]/total > weaker*slack {
				s.y[i] = a
				count++
			}
		}
		if count == tried || count == 0 {
			continue
		}
		tried = count
		if k := s.polish(s.y); k != nil {
			if upper := k.run(gap); (linear.Certificate{Lower: s.best.lower, Upper: upper}).Gap() <= gap {
				k.keep(upper, gap)
				return
			}
		}
	}
}

// pruneWeights sets coordinates of w to 0, the least important first, as long as the margin stays within the gap: without
// the coordinates J it falls by at most Σ |wⱼ|·max|âᵢⱼ|/bᵢ over J, and the norm does not grow.
func (s *solver) pruneWeights(gap float64) {
	most := make([]float64, s.d)
	for i := range s.n {
		idx, val := s.a.Row(i)
		for k, v := range val {
			j := column(idx, k)
			most[j] = max(most[j], math.Abs(v*s.best.w[j])/s.b[i])
		}
	}
	order := make([]int, s.d)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(most[i], most[j]) })
	// upper/(lower − loss/‖w‖) − 1 ≤ gap
	room := (s.best.lower - s.best.upper/(1+gap)) * mirror.Norm(s.best.w, s.p)
	for _, j := range order {
		if room -= most[j]; room < 0 {
			return
		}
		s.best.w[j] = 0
	}
}
