package measure

import "math"

// Sigmoid is Platt's calibration of one score: P(+1) = 1/(1+e^{−(Slope·s+Offset)}).
type Sigmoid struct {
	Slope  float64 `json:"slope"`
	Offset float64 `json:"offset"`
}

// FitSigmoid finds the sigmoid of least log-loss on held-out scores, by Newton's method with a line search. Targets are
// Platt's: (N₊+1)/(N₊+2) for positive examples and 1/(N₋+2) for others, so that separated scores have a finite slope.
// Equal scores, and one class alone, have slope 0. A negative slope says that the scores are worse than none.
// Platt 1999; Lin, Lin & Weng 2007, A note on Platt's probabilistic outputs.
func FitSigmoid(scores []float64, positive []bool) Sigmoid {
	n := len(scores)
	var positives int
	for _, p := range positive {
		if p {
			positives++
		}
	}
	high, low := float64(positives+1)/float64(positives+2), 1/float64(n-positives+2)
	target := make([]float64, n)
	for i, p := range positive {
		if target[i] = low; p {
			target[i] = high
		}
	}
	mean, deviation := moments(scores)
	if deviation == 0 || positives == 0 || positives == n {
		var t float64
		for i := range target {
			t += target[i] / float64(n)
		}
		if n == 0 {
			t = 0.5
		}
		return Sigmoid{0, math.Log(t / (1 - t))}
	}
	// In standardised scores Newton's steps do not depend on the unit, and the Hessian is as good as it gets.
	z := make([]float64, n)
	for i, s := range scores {
		z[i] = (s - mean) / deviation
	}
	a, b := 0.0, math.Log(float64(positives+1)/float64(n-positives+1))
	loss := crossEntropy(z, target, a, b)
	for range newtonSteps {
		var ga, gb, haa, hab, hbb float64
		for i, s := range z {
			p := sigmoid(a*s + b)
			e, h := p-target[i], p*(1-p)
			ga, gb = ga+e*s, gb+e
			haa, hab, hbb = haa+h*s*s, hab+h*s, hbb+h
		}
		haa, hbb = haa+ridge, hbb+ridge
		det := haa*hbb - hab*hab
		da, db := -(hbb*ga-hab*gb)/det, -(haa*gb-hab*ga)/det
		decrease := -(ga*da + gb*db)
		size, better := lineSearch(loss, decrease, func(t float64) float64 {
			return crossEntropy(z, target, a+t*da, b+t*db)
		})
		if size == 0 {
			break
		}
		a, b, loss = a+size*da, b+size*db, better
		if decrease <= settled*float64(n) {
			break
		}
	}
	return Sigmoid{a / deviation, b - a*mean/deviation}
}

// Probability is P(+1) of a score.
func (s Sigmoid) Probability(score float64) float64 { return sigmoid(s.Slope*score + s.Offset) }

// FitTemperature finds the slope of Softmax with the least log-loss on held-out scores, [class][example], by Newton's
// method: temperature scaling (Guo et al. 2017), whose temperature is 1/slope. The targets are Platt's for k classes:
// (N+1)/(N+k) for the true class, of which there are N examples, and 1/(N+k) for the others. Scores of an example that
// are all alike say nothing; if all are so, the slope is 1.
func FitTemperature(scores [][]float64, truth []int) float64 {
	k := len(scores)
	// An example's softmax does not depend on what is added to all of its scores, nor the result on their unit.
	z, unit := centred(scores, len(truth))
	if unit == 0 {
		return 1
	}
	count := make([]int, k)
	for _, t := range truth {
		count[t]++
	}
	// The loss is Σᵢ log Σₖ e^{βzᵢₖ} − β·linear.
	var linear float64
	for i, t := range truth {
		// of centred scores, Σₖ of the small target times the score is 0
		linear += float64(count[t]) / float64(count[t]+k) * z[t][i]
	}
	p := make([]float64, k)
	// at returns the loss and its derivatives.
	at := func(beta float64) (loss, slope, curve float64) {
		loss, slope = -beta*linear, -linear
		for i := range truth {
			top := math.Inf(-1)
			for c := range p {
				top = max(top, beta*z[c][i])
			}
			var sum, first, second float64
			for c := range p {
				e := math.Exp(beta*z[c][i] - top)
				sum, first, second = sum+e, first+e*z[c][i], second+e*z[c][i]*z[c][i]
			}
			first, second = first/sum, second/sum
			loss, slope, curve = loss+top+math.Log(sum), slope+first, curve+second-first*first
		}
		return loss, slope, curve
	}
	beta := 0.0
	loss, slope, curve := at(beta)
	for range newtonSteps {
		step := -slope / (max(curve, 0) + ridge)
		decrease := -slope * step
		size, _ := lineSearch(loss, decrease, func(t float64) float64 { l, _, _ := at(beta + t*step); return l })
		if size == 0 {
			break
		}
		beta += size * step
		if decrease <= settled*float64(len(truth)) {
			break
		}
		loss, slope, curve = at(beta)
	}
	return beta / unit
}

// Softmax returns P(k) = e^{slope·s_k}/Σⱼ e^{slope·s_j} of scores, [class][example].
func Softmax(scores [][]float64, slope float64) [][]float64 {
	out := make([][]float64, len(scores))
	for k := range scores {
		out[k] = make([]float64, len(scores[k]))
	}
	if len(scores) == 0 {
		return out
	}
	for i := range scores[0] {
		top := math.Inf(-1)
		for k := range scores {
			top = max(top, slope*scores[k][i])
		}
		var sum float64
		for k := range scores {
			out[k][i] = math.Exp(slope*scores[k][i] - top)
			sum += out[k][i]
		}
		for k := range out {
			out[k][i] /= sum
		}
	}
	return out
}

const (
	newtonSteps = 100
	ridge       = 1e-12 // added to a second derivative, so that one that rounds to 0 divides
	settled     = 1e-20 // a predicted decrease of the mean loss so small is the last: the step was its root, 1e-10
)

// lineSearch halves a Newton step until the loss decreases by a small share of what its slope predicts, and returns its
// size and the loss there; 0 if rounding hides every decrease.
func lineSearch(loss, decrease float64, at func(t float64) float64) (size, reached float64) {
	if !(decrease > 0) {
		return 0, loss
	}
	slack := 1e-14 * math.Abs(loss) // a sum of so many terms is not more accurate
	for t := 1.0; t > 1e-10; t /= 2 {
		if l := at(t); l <= loss-1e-4*t*decrease+slack {
			return t, l
		}
	}
	return 0, loss
}

// crossEntropy is Σ log(1+e^{−x}) + (1−target)·x with x = a·z+b, without overflow.
func crossEntropy(z, target []float64, a, b float64) float64 {
	var sum float64
	for i, s := range z {
		x := a*s + b
		sum += max(-x, 0) + math.Log1p(math.Exp(-math.Abs(x))) + (1-target[i])*x
	}
	return sum
}

// sigmoid is 1/(1+e^{−x}).
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// moments are the mean and the standard deviation; equal values have deviation 0 exactly.
func moments(v []float64) (mean, deviation float64) {
	flat := true
	for _, x := range v {
		mean += x / float64(len(v))
		flat = flat && x == v[0]
	}
	if flat {
		return mean, 0
	}
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = x - mean
	}
	return mean, norm(d) / math.Sqrt(float64(len(v)))
}

// centred returns scores minus each example's mean over classes, divided by the largest magnitude, which is the unit.
func centred(scores [][]float64, n int) (z [][]float64, unit float64) {
	z = make([][]float64, len(scores))
	for k := range z {
		z[k] = make([]float64, n)
	}
	for i := range n {
		first, mean := scores[0][i], 0.0 // a difference from the first is exact if scores are alike
		for k := range scores {
			mean += (scores[k][i] - first) / float64(len(scores))
		}
		for k := range scores {
			z[k][i] = scores[k][i] - first - mean
			unit = max(unit, math.Abs(z[k][i]))
		}
	}
	if unit > 0 {
		for k := range z {
			for i := range z[k] {
				z[k][i] /= unit
			}
		}
	}
	return z, unit
}
