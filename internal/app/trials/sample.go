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
	if s.N < 3 {
		return math.NaN()
	}
	return student(s.Mean, s.Error(), float64(s.N-1))
}

// Welch is the probability of means as far apart as these if both samples had one mean, for deviations that need not be
// equal, by Welch's t. It is NaN if both deviations are 0.
func Welch(a, b Sample) float64 {
	u, v := a.Error()*a.Error(), b.Error()*b.Error()
	return student(a.Mean-b.Mean, math.Sqrt(u+v), (u+v)*(u+v)/(u*u/float64(a.N-1)+v*v/float64(b.N-1)))
}

func student(mean, deviation, freedom float64) float64 {
	if math.IsNaN(mean) || !(deviation > 0) {
		return math.NaN()
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(math.Abs(mean/deviation))
}

// Pair is the difference of two settings over the seeds that both have: what is the same in a seed, its data or its
// start, cancels.
type Pair struct {
	I, J   int
	Sample         // of values[I] − values[J]
	Chance float64 // by Student's t, corrected by Holm's method over all pairs
}

// Pairs are the pairs of all settings, I < J, from their values by seed.
func Pairs(values []map[uint64]float64) []Pair {
	var out []Pair
	var chances []float64
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			d := paired(values[i], values[j])
			out, chances = append(out, Pair{I: i, J: j, Sample: d}), append(chances, d.Student())
		}
	}
	for k, p := range Holm(chances) {
		out[k].Chance = p
	}
	return out
}

func paired(a, b map[uint64]float64) Sample {
	var all []float64
	var size float64
	for _, seed := range slices.Sorted(maps.Keys(a)) { // sums do not depend on chance
		if y, both := b[seed]; both {
			all, size = append(all, a[seed]-y), max(size, math.Abs(a[seed]), math.Abs(y))
		}
	}
	s := SampleOf(all)
	if s.Deviation <= 1e-13*size { // differences are equal, but for some hundred roundings of 1e-16
		s.Deviation = 0
	}
	return s
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
