package margin

import (
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// freeJoint turns the solution of a joint margin with large constant columns into one with free intercepts.
//
// The weights decide by how much class c is ahead of k at least, before the intercepts: lead[c][k]. The best intercepts
// b are such that lead[c][k] + b_c − b_k is as large as can be for the worst pair. That is the least mean of lead along
// a cycle of classes (Karp 1978). With the dual weights each class must be as often the right one as the other one.
func freeJoint(prob linear.Problem, m *matrix.Pairs, p float64, s *Solution) *Solution {
	x, class, classes := m.Examples()
	_, d := x.Dims()
	out := *s
	out.W = slices.Clone(s.W)
	w := m.Split(out.W)
	for _, v := range w {
		v[d-1] = 0
	}
	n, _ := prob.Dims()
	score := make([]float64, n)
	m.Mul(score, out.W)
	lead := make([][]float64, classes)
	for c := range lead {
		lead[c] = slices.Repeat([]float64{math.Inf(1)}, classes)
	}
	for row, v := range score {
		i, k := m.Pair(row)
		c := class[i]
		lead[c][k] = min(lead[c][k], v)
	}
	reached := leastCycleMean(lead)
	for k, b := range potentials(lead, reached) {
		w[k][d-1] = b
	}
	for j := range out.W {
		out.W[j] /= reached
	}
	out.Dual = circulation(m, s.Dual)
	out.Fine = nil // it belongs to the sums before they were balanced
	out.Certificate = linear.CertifyIntercept(prob, p, out.W, out.Dual)
	return &out
}

// leastCycleMean returns the least mean of edges along a cycle. There is an edge between any two nodes.
func leastCycleMean(edge [][]float64) float64 {
	n := len(edge)
	walk := make([][]float64, n+1) // the least sum of k edges that end in a node
	walk[0] = make([]float64, n)
	for k := range n {
		walk[k+1] = slices.Repeat([]float64{math.Inf(1)}, n)
		for from := range n {
			for to := range n {
				if from != to {
					walk[k+1][to] = min(walk[k+1][to], walk[k][from]+edge[from][to])
				}
			}
		}
	}
	least := math.Inf(1)
	for v := range n {
		most := math.Inf(-1)
		for k := range n {
			most = max(most, (walk[n][v]-walk[k][v])/float64(n-k))
		}
		least = min(least, most)
	}
	return least
}

// potentials returns b with edge[c][k] + b_c − b_k ≥ mean for all c ≠ k, up to rounding: b_k is the least sum of
// edge − mean along a path that ends in k (Bellman & Ford).
func potentials(edge [][]float64, mean float64) []float64 {
	b := make([]float64, len(edge))
	for range edge {
		for c := range edge {
			for k := range edge {
				if c != k {
					b[k] = min(b[k], b[c]+edge[c][k]-mean)
				}
			}
		}
	}
	return b
}

// circulation changes the dual weights of the pairs of class c with k by a factor d_c/d_k, such that every class has as
// much weight as the right class as it has as the other one (Osborne 1960).
func circulation(m *matrix.Pairs, a []float64) []float64 {
	_, class, classes := m.Examples()
	flow := make([][]float64, classes)
	for c := range flow {
		flow[c] = make([]float64, classes)
	}
	for row, v := range a {
		i, k := m.Pair(row)
		flow[class[i]][k] += v
	}
	d := slices.Repeat([]float64{1}, classes)
	for range 2000 {
		off := 0.0
		for c := range classes {
			var as, against float64
			for k := range classes {
				as += flow[c][k] * d[c] / d[k]
				against += flow[k][c] * d[k] / d[c]
			}
			if !(as > 0) || !(against > 0) { // no cycle of classes passes here
				continue
			}
			off = max(off, math.Abs(as-against))
			d[c] *= math.Sqrt(against / as)
		}
		if off < 1e-16 {
			break
		}
	}
	out := make([]float64, len(a))
	var sum float64
	for row, v := range a {
		i, k := m.Pair(row)
		out[row] = v * (d[class[i]] / d[k])
		sum += out[row]
	}
	for row := range out {
		out[row] /= sum
	}
	return out
}
