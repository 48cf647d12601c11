package fit

import (
	"reflect"
	"testing"

	"github.com/bregman-ml/bregman/mirror"
)

func TestFoldsHoldOutEveryExampleOnceAndEveryClassEverywhere(t *testing.T) {
	labels := make([]float64, 103)
	for i := range labels {
		labels[i] = float64(i % 3)
	}
	of := folds(labels, []float64{0, 1, 2}, 5, 1)
	size, classes := make([]int, 5), make([]map[float64]int, 5)
	for i, f := range of {
		size[f]++
		if classes[f] == nil {
			classes[f] = map[float64]int{}
		}
		classes[f][labels[i]]++
	}
	for k := range size {
		if size[k] < 20 || size[k] > 21 || len(classes[k]) != 3 {
			t.Errorf("fold %d has %d examples, classes %v", k, size[k], classes[k])
		}
	}
	if reflect.DeepEqual(of, folds(labels, []float64{0, 1, 2}, 5, 2)) {
		t.Error("the seed makes no difference")
	}
}

func TestOfEquallyAccuratePTheOneNearestToTwoIsChosen(t *testing.T) {
	cells := map[Cell]CellScore{}
	for k := range 2 {
		for p, acc := range map[float64]float64{1.1: 0.9, 3: 0.9, 10: 0.8} {
			cells[Cell{P: mirror.Exponent(p), Fold: k}] = CellScore{Accuracy: acc}
		}
	}
	for _, s := range summary([]float64{1.1, 3, 10}, []float64{0}, 2, cells) {
		if s.Chosen != (s.P == 3) {
			t.Errorf("p = %v: chosen %v", s.P, s.Chosen)
		}
	}
}

// A penalty is chosen for its log-loss; the largest margin, whose scores are not log-odds, for its accuracy alone.
func TestBetterByLogLoss(t *testing.T) {
	loss := func(v float64) *float64 { return &v }
	calm := Score{P: 2, Penalty: 0.1, Accuracy: 0.90, LogLoss: loss(0.20)}
	sharp := Score{P: 2, Penalty: 0.001, Accuracy: 0.91, LogLoss: loss(0.30)}
	end := Score{P: 2, End: true, Accuracy: 0.905}
	if !calm.Better(sharp) || sharp.Better(calm) {
		t.Error("the more accurate penalty was chosen, not that of lower log-loss")
	}
	if !end.Better(calm) || calm.Better(end) {
		t.Error("the largest margin is more accurate and was not chosen")
	}
	if end.Accuracy = calm.Accuracy; end.Better(calm) || !calm.Better(end) {
		t.Error("the largest margin is only as accurate and was chosen")
	}
}
