package sweep

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sample is the mean and the deviation s of n values, s² = Σ(x − mean)²/(n − 1). The deviation of one is NaN, and so are both of none.
type Sample struct {
	N               int
	Mean, Deviation float64
}

// SampleOf is that of these values.
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

// Student is the probability of a mean as far from 0 as this one if the values were normal around 0: Student's t with n − 1 degrees of freedom, both
// sides. NaN below two values.
func (s Sample) Student() float64 { return student(s.Mean, s.Error(), float64(s.N-1)) }

// Welch is the probability of means as far apart as these if both samples had one mean, for deviations that need not be equal, by Welch's t.
func Welch(a, b Sample) float64 {
	u, v := a.Error()*a.Error(), b.Error()*b.Error()
	return student(a.Mean-b.Mean, math.Sqrt(u+v), (u+v)*(u+v)/(u*u/float64(a.N-1)+v*v/float64(b.N-1)))
}

func student(mean, deviation, freedom float64) float64 {
	switch {
	case math.IsNaN(mean) || math.IsNaN(deviation):
		return math.NaN()
	case mean == 0:
		return 1
	case deviation <= 1e-12*math.Abs(mean): // the same every time, but for rounding
		return 0
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(math.Abs(mean/deviation))
}

// Holm corrects probabilities for their number: the k-th least of n is multiplied by n − k + 1, and none is below one before it. Comparing each with
// 0.05 then errs anywhere among them with a probability of 0.05 at most. NaN, no comparison, stays and does not count.
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

// Sure is the corrected probability below which a difference counts.
const Sure = 0.05
