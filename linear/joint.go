package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Joint is the problem of the joint margin of several classes: the weights are those of all classes, one after the
// other, and the margin of W is by how much the right class is ahead of every other one, on every example,
//
//	min over i and k ≠ yᵢ of ⟨w_{yᵢ} − w_k, xᵢ⟩,    ‖W‖ₚ the norm of all its entries.
//
// Labels are from 0 to K − 1. Whatever finds and certifies the margin of two classes does so here, where an example is
// K − 1 pairs of itself and another class: Fit, Certify, margin.Solve. A dual weight belongs to a pair; X.Pair says to
// which, and X.Split separates the weights of the classes.
func Joint(x matrix.Matrix, class []int, classes int) (Problem, *matrix.Pairs) {
	pairs := matrix.NewPairs(x, class, classes)
	return Problem{X: pairs}, pairs
}

// checkPairs is Check for the examples of pairs.
func checkPairs(m *matrix.Pairs) error {
	x, class, _ := m.Examples()
	return Problem{X: x, Y: make([]float64, len(class))}.Check()
}

// leastLead is LeastMargin of pairs.
func leastLead(m *matrix.Pairs, w []float64) float64 {
	x, class, classes := m.Examples()
	of := m.Split(w)
	score := make([]twofold.Sum, classes)
	rows, _ := m.Dims()
	last, least := -1, math.Inf(1)
	for row := range rows {
		i, k := m.Pair(row)
		if i != last {
			last = i
			idx, val := x.Row(i)
			for c := range score {
				score[c] = product(idx, val, of[c])
			}
		}
		lead := score[class[i]]
		lead.Sub(score[k])
		least = min(least, lead.Value()-lead.Error())
	}
	return least
}

// certifyJointIntercept is CertifyIntercept for several classes: the last weight of each is its intercept. Dual weights
// with Σ c_i = 0 for every class, where c are the coefficients of its examples in Σ a(x_i ⊗ (e_y − e_k)), leave all
// intercepts free. If they miss that by r, the intercepts gain at most ‖r‖₁/2 times the largest difference of two of
// them, which is at most ‖W‖ₚ·max‖xᵢ ⊗ (e_y − e_k)‖_q: otherwise some margin would be negative.
func certifyJointIntercept(prob Problem, m *matrix.Pairs, p float64, w []float64, a [][]float64) Certificate {
	v, total := combined(prob, a)
	x, _, _ := m.Examples()
	_, d := x.Dims()
	q := mirror.Conjugate(p)
	var longest, off float64
	matrix.Rows(x, func(_ int, idx []int32, val []float64) {
		longest = max(longest, mirror.Norm(withoutLast(idx, val, d-1), q))
	})
	longest *= math.Pow(2, 1/q)
	var weights, sums []float64
	for _, k := range m.Split(w) {
		weights = append(weights, k[:d-1]...)
	}
	for _, k := range m.Split(v) {
		sums = append(sums, k[:d-1]...)
		off += k[d-1]
	}
	return Certificate{
		Lower: prob.LeastMargin(w) / mirror.Norm(weights, p),
		Upper: (mirror.Norm(sums, q) + off/2*longest) / total,
	}
}

// withoutLast returns the values of a row without that in the given last column.
func withoutLast(idx []int32, val []float64, last int) []float64 {
	if k := len(val) - 1; k >= 0 && (idx == nil || int(idx[k]) == last) {
		return val[:k]
	}
	return val
}
