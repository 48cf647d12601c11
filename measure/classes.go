// Package measure says how good predictions are, of classes and of numbers, and calibrates scores to probabilities.
// Its functions are pure: slices in, numbers out. No result is NaN or infinite if scores and predictions are finite.
package measure

import (
	"cmp"
	"math"
	"slices"
)

// Classification measures predictions of classes. By class k, of the confusion matrix C, precision is
// C[k][k] / Σᵢ C[i][k],
// recall C[k][k] / Σⱼ C[k][j], and F1 their harmonic mean. Each is 0 if its denominator is 0: a class that was never
// predicted has precision 0, one that never occurs recall 0.
type Classification struct {
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
	Balanced float64 `json:"balanced_accuracy"` // mean recall of the classes that occur
	Majority float64 `json:"majority"`          // accuracy of always answering the most frequent class

	LogLoss     *float64 `json:"log_loss,omitempty"`          // mean −log P(true class); nil without probabilities
	Brier       *float64 `json:"brier,omitempty"`             // see Brier; nil without probabilities
	Calibration *float64 `json:"calibration_error,omitempty"` // see CalibrationError; nil without probabilities
	// see AUC; of more than two classes the mean of each against the rest
	AUC *float64 `json:"auc,omitempty"`

	Confusion [][]int   `json:"confusion"` // [true][predicted]
	Precision []float64 `json:"precision"`
	Recall    []float64 `json:"recall"`
	F1        []float64 `json:"f1"`
}

// Classes measures predictions among k classes. truth and predicted are indices of classes, 0 to k − 1. probs is
// [class][example], or nil if none are known. scores is [class][example], or of two classes the one row that is large
// for class 1; nil takes probs. AUC is nil without either, or if one of the classes does not occur.
func Classes(k int, truth, predicted []int, probs, scores [][]float64) Classification {
	c := Classification{N: len(truth), Confusion: make([][]int, k),
		Precision: make([]float64, k), Recall: make([]float64, k), F1: make([]float64, k)}
	for i := range c.Confusion {
		c.Confusion[i] = make([]int, k)
	}
	for i, t := range truth {
		c.Confusion[t][predicted[i]]++
	}
	c.count()
	if scores == nil {
		scores = probs
	}
	if probs != nil && c.N > 0 {
		c.LogLoss, c.Brier, c.Calibration = new(LogLoss(probs, truth)), new(Brier(probs, truth)),
			new(CalibrationError(probs, truth))
	}
	if scores != nil {
		c.AUC = areas(k, scores, truth)
	}
	return c
}

// count fills in what follows from the confusion matrix.
func (c *Classification) count() {
	right, most, occurring := 0, 0, 0
	for k, row := range c.Confusion {
		var actual, predicted int
		for j := range row {
			actual, predicted = actual+row[j], predicted+c.Confusion[j][k]
		}
		right, most = right+row[k], max(most, actual)
		c.Precision[k], c.Recall[k] = share(row[k], predicted), share(row[k], actual)
		c.F1[k] = share(2*row[k], actual+predicted)
		if actual > 0 {
			occurring++
			c.Balanced += c.Recall[k]
		}
	}
	c.Accuracy, c.Majority = share(right, c.N), share(most, c.N)
	c.Balanced /= float64(max(occurring, 1))
}

// share is a/b, and 0 of nothing.
func share(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// areas is the AUC of two classes, or the mean over classes against the rest.
func areas(k int, scores [][]float64, truth []int) *float64 {
	first := 0
	if k == 2 { // one against the other is enough
		first = 1
	}
	var sum float64
	for class := first; class < k; class++ {
		positive := make([]bool, len(truth))
		for i, t := range truth {
			positive[i] = t == class
		}
		row := scores[len(scores)-1]
		switch {
		case k == 2 && len(scores) == 2: // the class is that of the larger score
			row = make([]float64, len(truth))
			for i := range row {
				row[i] = scores[1][i] - scores[0][i]
			}
		case k > 2:
			row = scores[class]
		}
		area, ok := AUC(row, positive)
		if !ok {
			return nil
		}
		sum += area
	}
	if k < 2 {
		return nil
	}
	return new(sum / float64(k-first))
}

// AUC is the area under the receiver operating characteristic: the probability that a positive example has a larger
// score than a negative one, with ties counted half. It is not defined, and ok is false, unless there are both.
func AUC(scores []float64, positive []bool) (area float64, ok bool) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	// Wilcoxon's statistic: below counts pairs of a positive with a negative below it, twice.
	var below, negatives, positives float64
	for i := 0; i < len(order); {
		var p, n float64                                                                          // of one score
		for s := scores[order[i]]; i < len(order) && cmp.Compare(scores[order[i]], s) == 0; i++ { // NaN is NaN
			if positive[order[i]] {
				p++
			} else {
				n++
			}
		}
		below += p * (2*negatives + n)
		positives, negatives = positives+p, negatives+n
	}
	if positives == 0 || negatives == 0 {
		return 0, false
	}
	return below / (2 * positives * negatives), true
}

// tiny is the least probability that a log-loss takes at its word.
const tiny = 1e-15

// LogLoss is the mean of −log P(true class). Probabilities are [class][example], and clipped at 1e-15.
func LogLoss(probs [][]float64, truth []int) float64 {
	var sum float64
	for i, t := range truth {
		sum -= math.Log(min(max(probs[t][i], tiny), 1-tiny))
	}
	return sum / float64(max(len(truth), 1))
}

// Brier is the Brier score: of two classes the mean of (P(1) − [truth is 1])², of more the mean of the sum over
// classes.
func Brier(probs [][]float64, truth []int) float64 {
	var sum float64
	for i, t := range truth {
		for k := range probs {
			e := probs[k][i]
			if k == t {
				e--
			}
			sum += e * e
		}
	}
	if len(probs) == 2 {
		sum /= 2
	}
	return sum / float64(max(len(truth), 1))
}

// calibrationBins is into how many equal parts of 0 to 1 the calibration error divides probabilities.
const calibrationBins = 10

// CalibrationError is the expected calibration error (Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017): examples are
// sorted into ten bins by the probability of their most probable class; it is the mean over examples of how far their
// bin's mean probability is from its share of right answers.
func CalibrationError(probs [][]float64, truth []int) float64 {
	var excess [calibrationBins]float64 // probabilities minus right answers
	for i, t := range truth {
		best := 0
		for k := range probs {
			if probs[k][i] > probs[best][i] {
				best = k
			}
		}
		b := min(max(int(calibrationBins*probs[best][i]), 0), calibrationBins-1)
		excess[b] += probs[best][i]
		if best == t {
			excess[b]--
		}
	}
	var sum float64
	for _, e := range excess {
		sum += math.Abs(e)
	}
	return sum / float64(max(len(truth), 1))
}
