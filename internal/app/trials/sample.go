package trials

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sample is the mean and the deviation s of n values, s² = Σ(x − mean)²/(n − 1). The deviation of one value is NaN;
// without values both are NaN.
type Sample struct {
	N               int
	Mean, Deviation float64
}

// SampleOf is the sample of these values.
func SampleOf(values []float64) Sample {
	s := Sample{N: len(values), Mean: math.NaN(), Deviation: math.NaN()}
	if s.N == 0 {
		return s
	}
	s.Mean = 0
	for _, v := range values {
		s.Mean += v / float64(s.N)
	}
	var sum float64
	for _, v := range values {
		sum += (v - s.Mean) * (v - s.Mean)
	}
	s.Deviation = math.Sqrt(sum / float64(s.N-1)) // 0/0 for one
	return s
}

// Error is the standard error of the mean, s/√n.
func (s Sample) Error() float64 { return s.Deviation / math.Sqrt(float64(s.N)) }

// Student is the probability of a mean as far from 0 as this one if the values were normal around 0: Student's t with n
// − 1 degrees of freedom, both sides. It is NaN, no test, below three values, and if they do not differ: accuracies are
// multiples of 1/n, so that a few differences are easily equal by chance, and then do not show their deviation.
func (s Sample) Student() float64 {
	if s.N < LeastRuns {
		return math.NaN()
	}
	return student(s.Mean, s.Error(), float64(s.N-1))
}

func student(mean, deviation, freedom float64) float64 {
	if math.IsNaN(mean) || !(deviation > 0) || !(freedom >= 1) {
		return math.NaN()
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(math.Abs(mean/deviation))
}

func paired(a, b map[uint64]float64) Sample {
	var all []float64
	var size float64
	for _, seed := range slices.Sorted(maps.Keys(a)) { // sums do not depend on chance
		if y, both := b[seed]; both {
			all, size = append(all, a[seed]-y), max(size, math.Abs(a[seed]), math.Abs(y))
		}
	}
	return SampleOf(all).exact(size)
}

// exact takes a deviation for 0 if it is some hundred roundings of values of this size, 1e-16 each.
func (s Sample) exact(size float64) Sample {
	if s.Deviation <= 1e-13*size {
		s.Deviation = 0
	}
	return s
}

// sampleOf is the sample of values by seed. Sums do not depend on chance.
func sampleOf(values map[uint64]float64) Sample {
	var all []float64
	var size float64
	for _, seed := range slices.Sorted(maps.Keys(values)) {
		all, size = append(all, values[seed]), max(size, math.Abs(values[seed]))
	}
	return SampleOf(all).exact(size)
}

// Holm corrects probabilities for their number: the k-th least of n is multiplied by n − k + 1, and none is below one
// before it. Comparing each with 0.05 then errs anywhere among them with a probability of 0.05 at most. NaN, no
// comparison, stays and does not count.
func Holm(ps []float64) []float64 {
	var order []int
	out := slices.Clone(ps)
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, ps[i]*float64(len(order)-k)))
		out[i] = least
	}
	return out
}

// Significant is the corrected probability below which a difference counts.
const Significant = 0.05
