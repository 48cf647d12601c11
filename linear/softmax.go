package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

// softmax sets dst to the softmax of −m, which minimises ⟨m, μ⟩ + Σ μ log μ over the simplex, and returns minus the minimum, log Σ e^(−mᵢ).
// dst may be m.
func softmax(dst, m []float64) float64 {
	lo := minOf(m)
	for i, v := range m {
		dst[i] = lo - v
	}
	vec.Exp(dst, dst)
	var sum float64
	for _, v := range dst {
		sum += v
	}
	vec.Scale(dst, 1/sum, dst)
	return math.Log(sum) - lo
}

// boundedSoftmax minimises ⟨m, μ⟩ + Σ μ log(μ/c) over the simplex with μ ≤ c, whose minimiser is μ = c·min(1, e^(level−m)), and returns minus the minimum, and
// the level. order is as long as m, for its own use. dst may not be m.
//
// The level is where Σ cᵢ·min(1, e^(level−mᵢ)) = 1. It is at most the margin up to which the c add up to 1, and
// everything is measured from there: the least margin may be too far below.
func boundedSoftmax(dst, m, c []float64, order []int32) (value, level float64) {
	from, _, _ := quantile(m, c, order)
	for i, v := range m {
		dst[i] = min(from-v, 50) // those so far ahead have all the weight they may
	}
	vec.Exp(dst, dst)
	scale := 1 / vec.Dot(c, dst)
	for cut := 0; ; { // more and more of them are cut off, until no other is
		var full, rest float64
		now := 0
		for i, v := range dst {
			if v*scale >= 1 {
				full += c[i]
				now++
			} else {
				rest += c[i] * v
			}
		}
		if now <= cut || rest == 0 || full >= 1 { // by rounding, the last two: nothing is left for the rest
			break
		}
		cut, scale = now, (1-full)/rest
	}
	level = from + math.Log(scale)
	for i, v := range dst { // m + log(μ/c) is the level, or m where μ = c
		if v*scale < 1 {
			dst[i] = c[i] * v * scale
			value -= dst[i] * level
		} else {
			dst[i] = c[i]
			value -= dst[i] * m[i]
		}
	}
	return value, level
}

// worst returns min ⟨m, μ⟩ over the simplex with μ ≤ c, the mean of the worst margins, and without c the least one.
func worst(m, c []float64, order []int32) float64 {
	if c == nil {
		return minOf(m)
	}
	from, below, sum := quantile(m, c, order)
	return sum + (1-below)*from
}

// quantile returns the least margin up to which the c add up to 1, or the largest where they never do, with the sum of c and of c·m below it,
// some that are equal to it included: less than 1 in any case.
func quantile(m, c []float64, order []int32) (from, below, sum float64) {
	order = order[:len(m)]
	for i := range order {
		order[i] = int32(i)
	}
	for lo, hi := 0, len(order)-1; ; { // what is left of lo is below the quantile, and counted
		pivot := m[order[lo+(hi-lo)/2]]
		i, j := lo, hi
		for i <= j {
			for m[order[i]] < pivot {
				i++
			}
			for m[order[j]] > pivot {
				j--
			}
			if i <= j {
				order[i], order[j] = order[j], order[i]
				i++
				j--
			}
		}
		// order[lo:j+1] ≤ pivot, order[i:hi+1] ≥ pivot, and between them are equal to it
		var less, lessSum, equal float64
		for _, k := range order[lo:i] {
			if m[k] < pivot {
				less += c[k]
				lessSum += c[k] * m[k]
			} else {
				equal += c[k]
			}
		}
		before, with := below+less, below+less+equal // below < 1, always: with is what was compared, to the last bit
		switch {
		case before >= 1: // then some are less, and those equal to the pivot are not among them
			hi = j
		case with >= 1 || i > hi:
			return pivot, before, sum + lessSum
		default:
			below, lo = with, i
			sum += lessSum + equal*pivot
		}
	}
}

// caps bounds the weights of examples so that the share soft of them takes all, each class counting as much as the other.
func caps(prob Problem, soft float64) []float64 {
	n, _ := prob.Dims()
	c := make([]float64, n)
	up := 0
	for _, y := range prob.Y {
		if y > 0 {
			up++
		}
	}
	for i := range c {
		switch {
		case up == 0 || up == n:
			c[i] = 1 / (soft * float64(n))
		case prob.Y[i] > 0:
			c[i] = 1 / (2 * soft * float64(up))
		default:
			c[i] = 1 / (2 * soft * float64(n-up))
		}
	}
	return c
}
