package fit

import (
	"fmt"
	"slices"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/measure"
)

// Quality says how good a model's predictions are: of classes, or of the targets of a regression. The other is nil.
type Quality struct {
	Classes *measure.Classification `json:"classes,omitempty"`
	Targets *measure.Regression     `json:"targets,omitempty"`
}

// Quality measures the model on labelled data.
func (m Model) Quality(set *dataset.Set) (*Quality, error) {
	_, scores, err := m.Predict(set.X)
	if err != nil {
		return nil, err
	}
	return m.QualityOf(scores, set.Y)
}

// QualityOf measures scores that Predict has returned. A label that is not one of the model's classes is an error.
func (m Model) QualityOf(scores [][]float64, labels []float64) (*Quality, error) {
	if len(m.Classes) == 0 {
		return &Quality{Targets: new(measure.Targets(labels, scores[0]))}, nil
	}
	if len(m.Classes) == 1 {
		return nil, fmt.Errorf("a model of absorbed labels knows one class only")
	}
	truth, answers := make([]int, len(labels)), make([]int, len(labels))
	for i, y := range labels {
		k, ok := slices.BinarySearch(m.Classes, y)
		if !ok {
			return nil, fmt.Errorf("the label %s is not one of the model's classes %v", m.ClassName(y), m.ClassNames())
		}
		truth[i], answers[i] = k, answer(scores, i)
	}
	probs := m.ProbabilitiesOf(scores)
	if len(m.Classes) > 2 && probs != nil {
		scores = probs // a class is told from the rest by its probability, which the other scores have a part in
	}
	c := measure.Classes(len(m.Classes), truth, answers, probs, scores)
	return &Quality{Classes: &c}, nil
}

// answer is the class that the scores of the i-th example name.
func answer(scores [][]float64, i int) int {
	if len(scores) == 1 {
		if scores[0][i] > 0 {
			return 1
		}
		return 0
	}
	best := 0
	for k := range scores {
		if scores[k][i] > scores[best][i] {
			best = k
		}
	}
	return best
}
