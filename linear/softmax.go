package linear

import (
	"math"

	"github.com/bregman-ml/bregman/internal/vec"
)

// softmax sets dst to the softmax of −m, which minimises ⟨m, μ⟩ + Σ μ log μ over the simplex, and returns minus the
// minimum, log Σ e^(−mᵢ). dst may be m.
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

// boundedSoftmax minimises ⟨m, μ⟩ + Σ μ log(μ/c) over the simplex with μ ≤ c. It sets dst to the minimiser,
// μ = c·min(1, e^(level−m)), and returns minus the minimum and the level. order is scratch space as long as m. dst must
// not be m.
//
// The level solves Σ cᵢ·min(1, e^(level−mᵢ)) = 1. It is at most the margin up to which the c add up to 1, and
// everything is measured from that margin: the least margin may be too far below.
func boundedSoftmax(dst, m, c []float64, order []int32) (value, level float64) {
	from, _, _ := quantile(m, c, order)
	for i, v := range m {
		dst[i] = min(from-v, 50) // beyond 50 an example has its largest weight
	}
	vec.Exp(dst, dst)
	scale := 1 / vec.Dot(c, dst)
	for cut := 0; ; { // cut weights off at c until no other exceeds it
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
		if now <= cut || rest == 0 || full >= 1 { // the last two by rounding: the others get 0
			break
		}
		cut, scale = now, (1-full)/rest
	}
	level = from + math.Log(scale)
	for i, v := range dst { // m + log(μ/c) is the level, or m if μ = c
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

// worst returns min ⟨m, μ⟩ over the simplex with μ ≤ c: the mean of the worst margins, or without c the least margin.
func worst(m, c []float64, order []int32) float64 {
	if c == nil {
		return minOf(m)
	}
	from, below, sum := quantile(m, c, order)
	return sum + (1-below)*from
}

// quantile returns the least margin up to which the c add up to 1, or the largest margin if they never do. It also
// returns the sums of c and of c·m below that margin, which may include some examples equal to it. The sum of c is
// below 1.
func quantile(m, c []float64, order []int32) (from, below, sum float64) {
	order = order[:len(m)]
	for i := range order {
		order[i] = int32(i)
	}
	for lo, hi := 0, len(order)-1; ; { // those left of lo are below the quantile, and counted
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
		// order[lo:j+1] ≤ pivot, order[i:hi+1] ≥ pivot, and those between are equal to it
		var less, lessSum, equal float64
		for _, k := range order[lo:i] {
			if m[k] < pivot {
				less += c[k]
				lessSum += c[k] * m[k]
			} else {
				equal += c[k]
			}
		}
		before, with := below+less, below+less+equal // with becomes below, so that below < 1 to the last bit
		switch {
		case before >= 1: // some are less than the pivot
			hi = j
		case with >= 1 || i > hi:
			return pivot, before, sum + lessSum
		default:
			below, lo = with, i
			sum += lessSum + equal*pivot
		}
	}
}

// caps returns bounds on the examples' weights with which the worst share soft of them gets all the weight, half of it
// in each class.
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
