package measure

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// near is for sums of a few dozen terms of order one.
const near = 1e-14

func equal(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// three is an example of three classes. Its constants in the tests are those of scikit-learn 1.2.1:
//
//	t=[0,1,2,2,1,0,1,2,0,1,1,1]; f=[0,1,2,1,1,0,0,2,1,1,0,1]
//	S=np.array([[((7*a+5*k)%11)/4+2*(t[a]==k and a%3!=0) for k in range(3)] for a in range(12)])
//	P=np.exp(S); P/=P.sum(1,keepdims=True)
func three() (truth, predicted []int, scores [][]float64) {
	truth, predicted = []int{0, 1, 2, 2, 1, 0, 1, 2, 0, 1, 1, 1}, []int{0, 1, 2, 1, 1, 0, 0, 2, 1, 1, 0, 1}
	scores = [][]float64{nil, nil, nil}
	for k := range scores {
		for a := range truth {
			s := float64((7*a+5*k)%11) / 4
			if truth[a] == k && a%3 != 0 {
				s += 2
			}
			scores[k] = append(scores[k], s)
		}
	}
	return truth, predicted, scores
}

func TestThreeClassesMeasureAsInScikitLearn(t *testing.T) {
	truth, predicted, scores := three()
	c := Classes(3, truth, predicted, Softmax(scores, 1), scores)
	equal(t, "accuracy", c.Accuracy, 8.0/12, near)              // accuracy_score(t, f)
	equal(t, "balanced accuracy", c.Balanced, 2.0/3, near)      // balanced_accuracy_score(t, f)
	equal(t, "majority", c.Majority, 6.0/12, near)              // DummyClassifier
	equal(t, "AUC", *c.AUC, 0.6990740740740741, near)           // mean of roc_auc_score(t==k, S[:,k])
	equal(t, "log-loss", *c.LogLoss, 1.0129119134685645, near)  // log_loss(t, P)
	equal(t, "Brier score", *c.Brier, 0.5500287313439153, near) // ((P-np.eye(3)[t])**2).sum(1).mean()
	want := [][]int{{2, 1, 0}, {2, 4, 0}, {0, 1, 2}}            // confusion_matrix(t, f)
	if !slices.EqualFunc(c.Confusion, want, slices.Equal[[]int]) {
		t.Errorf("confusion matrix %v", c.Confusion)
	}
	for k := range 3 { // precision_recall_fscore_support(t, f)
		equal(t, "precision", c.Precision[k], []float64{0.5, 2.0 / 3, 1}[k], near)
		equal(t, "recall", c.Recall[k], 2.0/3, near)
		equal(t, "F1", c.F1[k], []float64{4.0 / 7, 2.0 / 3, 0.8}[k], near)
	}
	// Without scores, AUC is that of the probabilities. (No constant: rounding decides which of them are tied.)
	probs := Softmax(scores, 1)
	equal(t, "AUC", *Classes(3, truth, predicted, probs, nil).AUC, *Classes(3, truth, predicted, nil, probs).AUC, 0)
}

// two is an example of two classes, with ties: y=[0,0,1,1,0,1,1,0]; s=[-1.5,.25,.25,2,-.5,-.75,1,.25];
// p=1/(1+np.exp(-s)).
func two() (truth []int, scores []float64, positive []bool) {
	truth, scores = []int{0, 0, 1, 1, 0, 1, 1, 0}, []float64{-1.5, 0.25, 0.25, 2, -0.5, -0.75, 1, 0.25}
	for _, v := range truth {
		positive = append(positive, v == 1)
	}
	return truth, scores, positive
}

func TestTwoClassesMeasureAsInScikitLearn(t *testing.T) {
	truth, scores, _ := two()
	predicted, probs := make([]int, len(truth)), [][]float64{nil, nil}
	for i, s := range scores {
		if s > 0 {
			predicted[i] = 1
		}
		p := Sigmoid{Slope: 1}.Probability(s)
		probs[0], probs[1] = append(probs[0], 1-p), append(probs[1], p)
	}
	negated := make([]float64, len(scores))
	for i, s := range scores {
		negated[i] = -s
	}
	for _, rows := range [][][]float64{{scores}, {negated, scores}, nil} {
		c := Classes(2, truth, predicted, probs, rows)
		equal(t, "AUC", *c.AUC, 0.75, near)                          // roc_auc_score(y, s)
		equal(t, "log-loss", *c.LogLoss, 0.5600461533094356, near)   // log_loss(y, p)
		equal(t, "Brier score", *c.Brier, 0.19342660139578507, near) // brier_score_loss(y, p)
	}
}

// By hand: the pairs above one another are 3 of 4, and one of them is tied.
func TestAUCCountsTiesHalf(t *testing.T) {
	for _, c := range []struct {
		scores   []float64
		positive []bool
		want     float64
	}{
		{[]float64{1, 2, 2, 3}, []bool{false, false, true, true}, 3.5 / 4},
		{[]float64{1, 2}, []bool{false, true}, 1},
		{[]float64{2, 1}, []bool{false, true}, 0},
		{[]float64{5, 5, 5}, []bool{false, true, true}, 0.5},
		{[]float64{math.Inf(-1), math.Inf(1)}, []bool{false, true}, 1},
	} {
		if got, ok := AUC(c.scores, c.positive); !ok || got != c.want {
			t.Errorf("AUC of %v is %v, not %v", c.scores, got, c.want)
		}
	}
}

func TestAUCOfScoresThatAreNotNumbersEnds(t *testing.T) {
	if _, ok := AUC([]float64{math.NaN(), 1, math.NaN()}, []bool{true, false, false}); !ok {
		t.Error("there are both classes")
	}
}

func TestAUCSeesNothingButOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 2 + r.IntN(50)
		scores, positive := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i], positive[i] = float64(r.IntN(20)), r.IntN(3) == 0
		}
		positive[0], positive[1] = true, false
		want, _ := AUC(scores, positive)
		direct, pairs := 0.0, 0.0
		for i := range scores {
			for j := range scores {
				if positive[i] && !positive[j] {
					pairs++
					switch {
					case scores[i] > scores[j]:
						direct++
					case scores[i] == scores[j]:
						direct += 0.5
					}
				}
			}
		}
		equal(t, "AUC", want, direct/pairs, near)
		mapped, negated, flipped := make([]float64, n), make([]float64, n), make([]bool, n)
		for i, s := range scores {
			mapped[i], negated[i], flipped[i] = math.Atan(s*s*s)-7, -s, !positive[i]
		}
		if got, _ := AUC(mapped, positive); got != want {
			t.Fatalf("a monotone map of the scores changes AUC from %v to %v", want, got)
		}
		got, _ := AUC(negated, positive)
		equal(t, "AUC of negated scores", got, 1-want, near)
		got, _ = AUC(negated, flipped)
		equal(t, "AUC with both signs changed", got, want, near)
	}
}

// Gibbs: no constant answer has a smaller log-loss than the classes' shares, whose log-loss is their entropy.
func TestLogLossIsAtLeastTheEntropy(t *testing.T) {
	truth := []int{0, 0, 0, 1, 1, 2}
	constant := func(p ...float64) float64 {
		probs := make([][]float64, len(p))
		for k := range p {
			probs[k] = slices.Repeat([]float64{p[k]}, len(truth))
		}
		return LogLoss(probs, truth)
	}
	entropy := math.Log(2)/2 + math.Log(3)/3 + math.Log(6)/6
	equal(t, "log-loss of the shares", constant(1.0/2, 1.0/3, 1.0/6), entropy, near)
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		a, b, c := r.ExpFloat64(), r.ExpFloat64(), r.ExpFloat64()
		if got := constant(a/(a+b+c), b/(a+b+c), c/(a+b+c)); got < entropy-near {
			t.Errorf("log-loss %v is below the entropy %v", got, entropy)
		}
	}
}

func TestProbabilitiesOfZeroAndOneAreClipped(t *testing.T) {
	probs := [][]float64{{1, 1}, {0, 0}}
	c := Classes(2, []int{0, 1}, []int{0, 0}, probs, nil)
	equal(t, "log-loss", *c.LogLoss, -math.Log(1e-15)/2, near)
	equal(t, "Brier score", *c.Brier, 0.5, 0)
	equal(t, "calibration error", *c.Calibration, 0.5, 0) // sure of all, right in half
	equal(t, "AUC", *c.AUC, 0.5, 0)
}

// By hand: the bin from 0.9 has mean 0.95 and one of two right, that from 0.6 has 0.65 and is right.
func TestCalibrationErrorComparesBins(t *testing.T) {
	probs := [][]float64{{0.92, 0.98, 0.35}, {0.08, 0.02, 0.65}}
	equal(t, "calibration error", CalibrationError(probs, []int{0, 1, 1}), (2*0.45+0.35)/3, near)
	// Answers that are right as often as they say: of ten at 0.7, seven.
	probs = [][]float64{slices.Repeat([]float64{0.7}, 10), slices.Repeat([]float64{0.3}, 10)}
	equal(t, "calibration error", CalibrationError(probs, []int{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}), 0, near)
}

func TestAnAbsentClassIsZeroAndNeverNaN(t *testing.T) {
	for _, c := range []struct {
		k                int
		truth, predicted []int
	}{
		{3, nil, nil}, {2, []int{1}, []int{1}}, {2, []int{0, 0}, []int{0, 0}}, {3, []int{0, 1, 1}, []int{2, 2, 2}},
		{1, []int{0}, []int{0}},
	} {
		probs := make([][]float64, c.k)
		for k := range probs {
			probs[k] = slices.Repeat([]float64{1 / float64(c.k)}, len(c.truth))
		}
		for _, p := range [][][]float64{nil, probs} {
			m := Classes(c.k, c.truth, c.predicted, p, p)
			if _, err := json.Marshal(m); err != nil {
				t.Errorf("%v predicted as %v: %v", c.truth, c.predicted, err)
			}
			if m.AUC != nil {
				t.Errorf("%v has AUC %v, though a class is empty", c.truth, *m.AUC)
			}
			if (m.LogLoss != nil) != (p != nil && len(c.truth) > 0) {
				t.Errorf("%v: log-loss %v of probabilities %v", c.truth, m.LogLoss, p)
			}
		}
	}
	m := Classes(3, []int{0, 1, 1}, []int{0, 1, 0}, nil, nil)
	equal(t, "balanced accuracy of the classes that occur", m.Balanced, 0.75, 0)
	equal(t, "recall of an absent class", m.Recall[2], 0, 0)
}

// scikit-learn: r2_score, mean_squared_error(a, b)**.5, mean_absolute_error of a=[3,-.5,2,7,4.25], b=[2.5,0,2,8,4].
func TestTargetsMeasureAsInScikitLearn(t *testing.T) {
	m := Targets([]float64{3, -0.5, 2, 7, 4.25}, []float64{2.5, 0, 2, 8, 4})
	equal(t, "R2", m.R2, 0.9491042345276873, near)
	equal(t, "RMSE", m.RMSE, 0.5590169943749475, near)
	equal(t, "MAE", m.MAE, 0.45, near)
}

func TestTargetsOnTheEdge(t *testing.T) {
	for _, c := range []struct {
		truth, predicted []float64
		want             Regression
	}{
		{nil, nil, Regression{}},
		{[]float64{2}, []float64{2}, Regression{N: 1, R2: 1}},
		{[]float64{2}, []float64{5}, Regression{N: 1, R2: 0, RMSE: 3, MAE: 3}},
		{[]float64{0.1, 0.1, 0.1}, []float64{0.1, 0.1, 0.1}, Regression{N: 3, R2: 1}},
		{[]float64{1, 3}, []float64{2, 2}, Regression{N: 2, R2: 0, RMSE: 1, MAE: 1}},
		{[]float64{1e200, -1e200}, []float64{0, 0}, Regression{N: 2, R2: 0, RMSE: 1e200, MAE: 1e200}},
	} {
		got := Targets(c.truth, c.predicted)
		if got.N != c.want.N || math.Abs(got.R2-c.want.R2) > near || math.Abs(got.RMSE-c.want.RMSE) > near*c.want.RMSE ||
			math.Abs(got.MAE-c.want.MAE) > near*c.want.MAE {
			t.Errorf("%v predicted as %v: %+v, not %+v", c.truth, c.predicted, got, c.want)
		}
	}
}
