package fit

import (
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/measure"
)

// Link says how scores become probabilities. "" is a model without any.
type Link string

// The links.
const (
	LinkLogistic Link = "logistic" // 1/(1 + e^(−s)); of one against the rest each, divided by their sum
	LinkSoftmax  Link = "softmax"  // e^s/Σe^s
	LinkSigmoid  Link = "sigmoid"  // 1/(1 + e^−(a·s + b)), of two classes, with a and b from examples that were held out
)

// link is that of the models of a path. That of LinkSigmoid is fitted at the end.
func (t *trainer) link() Link {
	switch {
	case t.Loss.Residual():
		return ""
	case t.joint():
		return LinkSoftmax
	case t.Loss == linear.Loss(linear.Logistic{}):
		return LinkLogistic
	case len(t.classes) == 2:
		return LinkSigmoid
	}
	return ""
}

// probabilities are those of scores by weight vector, class by class; nil if the link needs more than the scores.
func probabilities(link Link, scores [][]float64) [][]float64 {
	switch link {
	case LinkSoftmax:
		return measure.Softmax(scores, 1)
	case LinkLogistic:
		return logistic(scores)
	}
	return nil
}

func logistic(scores [][]float64) [][]float64 {
	n := len(scores[0])
	if len(scores) == 1 {
		out := [][]float64{make([]float64, n), make([]float64, n)}
		for i, s := range scores[0] {
			out[0][i], out[1][i] = 1/(1+math.Exp(s)), 1/(1+math.Exp(-s))
		}
		return out
	}
	out := make([][]float64, len(scores))
	for k := range out {
		out[k] = make([]float64, n)
		for i, s := range scores[k] {
			out[k][i] = 1 / (1 + math.Exp(-s))
		}
	}
	for i := range n {
		var sum float64
		for k := range out {
			sum += out[k][i]
		}
		for k := range out {
			if out[k][i] /= sum; sum == 0 {
				out[k][i] = 1 / float64(len(out))
			}
		}
	}
	return out
}

// Probabilities returns those of each class, [class][example], for rows as Predict takes them; nil if the model has
// none: that of a regression, or of a margin without held-out examples.
func (m Model) Probabilities(x matrix.Matrix) ([][]float64, error) {
	_, scores, err := m.Predict(x)
	if err != nil {
		return nil, err
	}
	return m.ProbabilitiesOf(scores), nil
}

// ProbabilitiesOf returns the probabilities of scores that Predict has returned.
func (m Model) ProbabilitiesOf(scores [][]float64) [][]float64 {
	if m.Link == LinkSigmoid && m.Sigmoid != nil {
		calibrated := make([]float64, len(scores[0]))
		for i, s := range scores[0] {
			calibrated[i] = m.Sigmoid.Slope*s + m.Sigmoid.Offset
		}
		return logistic([][]float64{calibrated})
	}
	return probabilities(m.Link, scores)
}
