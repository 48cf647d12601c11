package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// scipy.optimize.minimize(…, method='BFGS', options=dict(gtol=1e-12)) on Platt's loss; scikit-learn's own
// _SigmoidCalibration, which stops at 1e-5, has 0.72674 and −0.08383.
func TestSigmoidIsThatOfSciPy(t *testing.T) {
	_, scores, positive := two()
	s := FitSigmoid(scores, positive)
	equal(t, "slope", s.Slope, 0.7267355139955826, 1e-8)
	equal(t, "offset", s.Offset, -0.08383009799133283, 1e-8)
}

// scipy.optimize.brentq on the derivative of the loss with targets (N+1)/(N+3) and 1/(N+3), xtol 1e-15.
func TestTemperatureIsThatOfSciPy(t *testing.T) {
	truth, _, scores := three()
	equal(t, "slope", FitTemperature(scores, truth), 0.3195049268907796, 1e-10)
}

// Of n examples the standard error of a slope near 1 is about 3/√n, 0.01 here.
func TestCalibrationRecoversAKnownSigmoid(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, want := range []Sigmoid{{2, -1}, {0.3, 0.5}, {-1, 0}} {
		const n = 100_000
		scores, positive := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i] = r.NormFloat64()
			positive[i] = r.Float64() < want.Probability(scores[i])
		}
		got := FitSigmoid(scores, positive)
		equal(t, "slope", got.Slope, want.Slope, 0.05)
		equal(t, "offset", got.Offset, want.Offset, 0.05)
	}
}

func TestCalibrationRecoversAKnownTemperature(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, want := range []float64{0.25, 1, 3} {
		const n = 50_000
		scores, truth := [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}, make([]int, n)
		for i := range n {
			for k := range scores {
				scores[k][i] = r.NormFloat64()
			}
		}
		probs := Softmax(scores, want)
		for i := range truth {
			if u := r.Float64(); u > probs[0][i]+probs[1][i] {
				truth[i] = 2
			} else if u > probs[0][i] {
				truth[i] = 1
			}
		}
		equal(t, "slope", FitTemperature(scores, truth), want, 0.03*max(1, want))
		if e := CalibrationError(probs, truth); e > 0.015 { // about 0.5/√(n/10) by chance
			t.Errorf("the true probabilities have calibration error %v", e)
		}
	}
}

// A unit and a shift of the scores change the numbers and no probability.
func TestCalibrationDoesNotDependOnUnits(t *testing.T) {
	_, scores, positive := two()
	truth, _, several := three()
	s, slope := FitSigmoid(scores, positive), FitTemperature(several, truth)
	for _, unit := range []float64{1e-120, 1e-9, 7, 1e9, 1e120} {
		mapped := make([]float64, len(scores))
		for i := range scores {
			mapped[i] = unit * (scores[i] - 3)
		}
		m := FitSigmoid(mapped, positive)
		for i := range scores {
			equal(t, "probability", m.Probability(mapped[i]), s.Probability(scores[i]), 1e-9)
		}
		scaled := make([][]float64, len(several))
		for k := range several {
			for i := range truth {
				scaled[k] = append(scaled[k], unit*(several[k][i]+float64(i%4))) // of all classes alike
			}
		}
		equal(t, "slope", FitTemperature(scaled, truth)*unit, slope, 1e-9)
	}
}

// Two classes are one score: the softmax of ±s/2 is the sigmoid of s, without an offset.
func TestTemperatureOfTwoClassesIsASigmoid(t *testing.T) {
	probs := Softmax([][]float64{{-0.7, 2}, {0.7, -2}}, 1.5)
	s := Sigmoid{Slope: 3}
	for i, score := range []float64{0.7, -2} {
		equal(t, "probability", probs[1][i], s.Probability(score), near)
		equal(t, "sum", probs[0][i]+probs[1][i], 1, near)
	}
}

// Platt's targets keep separated scores from an infinite slope: the best are (N+1)/(N+2), at −1 and 1.
func TestSeparatedScoresHaveAFiniteSlope(t *testing.T) {
	s := FitSigmoid([]float64{-1, -1, 1, 1}, []bool{false, false, true, true})
	equal(t, "probability", s.Probability(1), 3.0/4, 1e-9)
	equal(t, "probability", s.Probability(-1), 1.0/4, 1e-9)
	slope := FitTemperature([][]float64{{1, 1, -1, -1}, {-1, -1, 1, 1}}, []int{0, 0, 1, 1})
	equal(t, "slope", slope, math.Log(3)/2, 1e-9) // softmax(±slope) is 3/4
	// far apart, and one far outside
	far := FitSigmoid([]float64{-1e6, -1, 1, 2, 1e9}, []bool{false, false, true, true, true})
	if !(far.Slope > 0) || math.IsInf(far.Slope, 0) || math.IsNaN(far.Offset) {
		t.Errorf("an outlier makes the sigmoid %+v", far)
	}
}

func TestCalibrationOnTheEdge(t *testing.T) {
	for _, c := range []struct {
		scores   []float64
		positive []bool
		want     float64 // P(+1) everywhere
	}{
		{nil, nil, 0.5},
		{[]float64{4}, []bool{true}, 2.0 / 3},                            // (1+1)/(1+2)
		{[]float64{4, 5}, []bool{false, false}, 1.0 / 4},                 // 1/(2+2)
		{[]float64{0.1, 0.1, 0.1}, []bool{true, true, false}, 11.0 / 18}, // (3/4 + 3/4 + 1/3)/3
	} {
		s := FitSigmoid(c.scores, c.positive)
		equal(t, "probability", s.Probability(-3), c.want, near)
		equal(t, "slope", s.Slope, 0, 0)
	}
	for _, scores := range [][][]float64{{{}, {}, {}}, {{2, 7}, {2, 7}, {2, 7}}} {
		equal(t, "slope of scores that say nothing", FitTemperature(scores, make([]int, len(scores[0]))), 1, 0)
	}
	for _, p := range Softmax([][]float64{{1e308}, {-1e308}}, 1) {
		if math.IsNaN(p[0]) {
			t.Error("the softmax of large scores is NaN")
		}
	}
}

// No slope nearby has less loss, on random scores of all kinds.
func TestCalibrationIsAMinimum(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		n := 2 + r.IntN(60)
		scores, positive, target := make([]float64, n), make([]bool, n), make([]float64, n)
		positives := 0
		for i := range scores {
			positive[i] = r.IntN(2) == 0
			scores[i] = math.Exp(3*r.NormFloat64()) * float64(1-2*r.IntN(2))
			if positive[i] {
				positives++
			}
		}
		for i := range target {
			if target[i] = 1 / float64(n-positives+2); positive[i] {
				target[i] = float64(positives+1) / float64(positives+2)
			}
		}
		s := FitSigmoid(scores, positive)
		least := crossEntropy(scores, target, s.Slope, s.Offset)
		for _, h := range []float64{-1e-2, -1e-4, 1e-4, 1e-2} {
			size := max(math.Abs(s.Slope), 1e-6)
			for _, other := range []float64{crossEntropy(scores, target, s.Slope+h*size, s.Offset),
				crossEntropy(scores, target, s.Slope, s.Offset+h)} {
				if other < least-1e-10*least {
					t.Fatalf("%d scores: loss %v at the minimum, %v beside it", n, least, other)
				}
			}
		}
	}
}
