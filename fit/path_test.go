package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// blobs are classes around centres on a circle, shift apart, with two useless columns.
func blobs(seed uint64, n, classes int, shift float64) *dataset.Set {
	rng := rand.New(rand.NewPCG(seed, 35))
	s := &dataset.Set{Name: "blobs"}
	var rows [][]float64
	for i := range n {
		k := i % classes
		angle := 2 * math.Pi * float64(k) / float64(classes)
		x, y := shift*math.Cos(angle)+rng.NormFloat64(), shift*math.Sin(angle)+rng.NormFloat64()
		rows = append(rows, []float64{x, 100 * y, 7 + rng.NormFloat64(), rng.NormFloat64()})
		s.Y = append(s.Y, float64(k))
	}
	s.X = matrix.FromRows(rows)
	return s
}

func trained(t *testing.T, set *dataset.Set, s Settings) (*Result, []Remark) {
	t.Helper()
	var said []Remark
	s.Say = func(r Remark) { said = append(said, r) }
	if s.Objective == "" {
		s.Objective = Auto
	}
	r, err := Train(t.Context(), set, s)
	if err != nil {
		t.Fatal(err)
	}
	return r, said
}

func TestTheBestPenaltyOfThePathIsChosen(t *testing.T) {
	for classes := 2; classes <= 4; classes++ {
		r, _ := trained(t, blobs(uint64(classes), 120, classes, 1.2), Settings{Scale: "std"})
		chosen := 0
		for _, s := range r.CV {
			if s.Chosen {
				chosen++
				if s.Penalty != r.Penalty || s.End != r.End {
					t.Errorf("%d classes: penalty %v was chosen, the model has %v", classes, s.Penalty, r.Penalty)
				}
			}
			best := r.CV[slices.IndexFunc(r.CV, func(s Score) bool { return s.Chosen })]
			if s.LogLoss == nil || *s.LogLoss < *best.LogLoss && !best.End {
				t.Errorf("%d classes: %+v is better than %+v, which was chosen", classes, s, best)
			}
		}
		if chosen != 1 || len(r.CV) < 6 || r.Folds != 5 {
			t.Errorf("%d classes: %d of %d scores chosen, %d folds", classes, chosen, len(r.CV), r.Folds)
		}
		if q := r.HeldOut.Classes; q == nil || q.N != 120 || q.Accuracy < 0.5 || q.LogLoss == nil {
			t.Errorf("%d classes: held out %+v", classes, q)
		}
		if want := map[bool]int{true: 1, false: classes}[classes == 2]; len(r.Model.Weights) != want {
			t.Errorf("%d classes: %d weight vectors", classes, len(r.Model.Weights))
		}
	}
}

// Where it wins, the model has a certificate for the margin with a free intercept in the scaled columns, which the
// weights alone confirm: no example of the scaled data is nearer than Lower·‖w‖ₚ, the intercept apart.
func TestTheEndOfThePathIsTheLargestMarginWithItsCertificate(t *testing.T) {
	for _, p := range []float64{1, 1.5, 2, math.Inf(1)} {
		set := blobs(1, 60, 2, 9) // far apart
		r, _ := trained(t, set, Settings{P: []float64{p}, Scale: "std"})
		if !r.End || r.Penalty != 0 || !r.Separated || !(r.Gap < 1e-5) || r.Model.Method != "margin" {
			t.Errorf("p = %v: end %v, penalty %v, gap %v by %s", p, r.End, r.Penalty, r.Gap, r.Model.Method)
			continue
		}
		_, scores, err := r.Model.Predict(set.X)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Inf(1)
		for i, s := range scores[0] {
			least = min(least, (2*set.Y[i]-1)*s)
		}
		w := r.Model.Weights[0]
		if norm := mirror.Norm(w[:len(w)-1], p); math.Abs(least/norm-r.Certificate.Lower) > 1e-9*r.Certificate.Lower {
			t.Errorf("p = %v: the weights have margin %v, certified is %v", p, least/norm, r.Certificate.Lower)
		}
		if m := r.Model; m.Link != LinkSigmoid || m.Sigmoid == nil || !(m.Sigmoid.Slope > 0) {
			t.Errorf("p = %v: link %q, %+v", p, m.Link, m.Sigmoid)
		}
		loss, _ := trained(t, set, Settings{Objective: Loss, P: []float64{p}, Scale: "std"})
		if loss.End || slices.ContainsFunc(loss.CV, func(s Score) bool { return s.End }) {
			t.Errorf("p = %v: the objective loss looked for a margin", p)
		}
	}
}

// The same λ, without intercept and scaling, is the penalised fit of Newton's method: another program to the same end.
func TestAPenaltyIsThatOfNewtonsMethod(t *testing.T) {
	set := blobs(3, 80, 2, 1)
	for _, p := range []float64{1.2, 2, 5} {
		for _, loss := range []linear.Loss{linear.Logistic{}, linear.Exponential{}} {
			a, _ := trained(t, set, Settings{P: []float64{p}, Penalty: []float64{0.03}, NoIntercept: true, Loss: loss})
			b, err := Train(t.Context(), set, Settings{P: []float64{p}, Lambda: []float64{a.Attempt.Lambda}, Loss: loss,
				Gap: 1e-8})
			if err != nil {
				t.Fatal(err)
			}
			// each is proved to be within its gap of the least objective
			if diff := math.Abs(a.Objective - b.Objective); diff > 1e-6*b.Objective {
				t.Errorf("p = %v, %v loss: objectives %v and %v", p, loss, a.Objective, b.Objective)
			}
		}
	}
}

// The unit of the penalty: neither another unit of the columns nor one of the targets changes what a number means.
func TestAPenaltyMeansTheSameInEveryUnit(t *testing.T) {
	set := blobs(4, 60, 2, 1)
	times := func(factor, targets float64) *dataset.Set {
		x, y := matrix.Clone(set.X).(*matrix.Dense), slices.Clone(set.Y)
		n, _ := x.Dims()
		for i := range n {
			_, row := x.Row(i)
			for j := range row {
				row[j] *= factor
			}
			y[i] *= targets
		}
		return &dataset.Set{Name: "scaled", X: x, Y: y}
	}
	for _, p := range []float64{1, 1.3, 2, 4, math.Inf(1)} {
		s := Settings{P: []float64{p}, Penalty: []float64{0.01}}
		a, _ := trained(t, set, s)
		b, _ := trained(t, times(1000, 1), s)
		if math.Abs(a.Objective-b.Objective) > 1e-5*a.Objective { // each is proved to be within 1e-6 of the least
			t.Errorf("p = %v: objective %v, in another unit %v", p, a.Objective, b.Objective)
		}
		s.Loss = linear.Square{}
		c, _ := trained(t, set, s)
		d, _ := trained(t, times(0.001, 50), s)
		if math.Abs(2500*c.Objective-d.Objective) > 1e-5*d.Objective {
			t.Errorf("p = %v: objective of targets %v, in another unit %v", p, 2500*c.Objective, d.Objective)
		}
	}
}

// Weights n/(K·n_k) make the mean loss that of a table in which the rarer class stands several times.
func TestBalancedClassesAreThoseOfACopiedTable(t *testing.T) {
	set := blobs(5, 90, 2, 1)
	var few, copied []int // of class 1 every third example; then each of these three times
	for i, y := range set.Y {
		if y == 0 {
			few, copied = append(few, i), append(copied, i)
		} else if i%6 == 1 {
			few, copied = append(few, i), append(copied, i, i, i)
		}
	}
	of := func(rows []int) *dataset.Set {
		return &dataset.Set{Name: "part", X: matrix.Select(set.X, rows), Y: pick(set.Y, rows)}
	}
	for _, p := range []float64{1, 2} {
		s := Settings{P: []float64{p}, Penalty: []float64{0.02}}
		b, _ := trained(t, of(copied), s)
		s.Balanced = true
		a, _ := trained(t, of(few), s)
		if math.Abs(a.Objective-b.Objective) > 1e-5*b.Objective {
			t.Errorf("p = %v: objective %v balanced, %v copied", p, a.Objective, b.Objective)
		}
	}
}

func TestTheOnlyExampleOfAClassIsLearnedFrom(t *testing.T) {
	set := blobs(6, 40, 2, 4)
	set.Y[17] = 9 // a third class
	r, _ := trained(t, set, Settings{Scale: "std"})
	if q := r.HeldOut.Classes; q.N != 39 || len(q.Confusion) != 3 {
		t.Errorf("%d held out, confusion %v", q.N, q.Confusion)
	}
	few := &dataset.Set{Name: "few", X: matrix.Select(set.X, []int{0, 1, 17, 18}), Y: []float64{1, 2, 3, 4}}
	var wrong *SettingError
	_, err := Train(t.Context(), few, Settings{Objective: Auto})
	if !errors.As(err, &wrong) || wrong.Setting != "penalty" {
		t.Errorf("four classes of one example: %v", err)
	}
}

// Labels of one class in nine of ten examples, and columns that say nothing.
func TestAModelNoBetterThanTheLargestClassIsNamed(t *testing.T) {
	set := blobs(7, 80, 2, 0)
	for i := range set.Y {
		set.Y[i] = 1
		if i%10 == 0 {
			set.Y[i] = 0
		}
	}
	_, said := trained(t, set, Settings{Scale: "std"})
	if !slices.ContainsFunc(said, func(r Remark) bool { return r.Kind == Majority }) {
		t.Errorf("said %v", said)
	}
}

func TestSomeTargetsAreARegression(t *testing.T) {
	set := blobs(8, 60, 2, 1)
	for i := range set.Y {
		_, row := set.X.Row(i)
		set.Y[i] = 3*row[0] - 0.02*row[1] + 0.1*float64(i%3)
	}
	r, said := trained(t, set, Settings{Scale: "std"})
	if !slices.ContainsFunc(said, func(r Remark) bool { return r.Kind == Regression }) {
		t.Errorf("said %v", said)
	}
	q := r.HeldOut.Targets
	if r.Model.Loss != "square" || q == nil || q.R2 < 0.99 || r.CV[0].RMSE == nil {
		t.Errorf("loss %s, held out %+v", r.Model.Loss, q)
	}
}

func TestLabelsThatAreNotWholeAreTargets(t *testing.T) {
	set := blobs(12, 60, 3, 1)
	for i := range set.Y {
		set.Y[i] = 1 + set.Y[i]/2 // 1, 1.5, 2
	}
	if r, _ := trained(t, set, Settings{Scale: "std"}); r.Model.Loss != "square" {
		t.Errorf("labels 1, 1.5 and 2 have the %s loss", r.Model.Loss)
	}
	for i := range set.Y {
		set.Y[i] = 2 * set.Y[i]
	}
	if r, _ := trained(t, set, Settings{Scale: "std"}); r.Model.Loss != "softmax" {
		t.Errorf("labels 2, 3 and 4 have the %s loss", r.Model.Loss)
	}
}

func TestPenaltyZeroIsTheLargestMargin(t *testing.T) {
	set := blobs(1, 60, 2, 9)
	for _, folds := range []int{0, 4} {
		r, _ := trained(t, set, Settings{Penalty: []float64{0}, Folds: folds, Scale: "std"})
		if !r.End || !r.Separated || !(r.Gap < 1e-5) || (r.HeldOut != nil) != (folds > 0) {
			t.Errorf("%d folds: end %v, separated %v, gap %v, held out %v", folds, r.End, r.Separated, r.Gap, r.HeldOut)
		}
	}
	r, _ := trained(t, set, Settings{Penalty: []float64{0, 0.5}, Scale: "std"})
	if len(r.CV) != 2 || !r.CV[1].End || r.CV[0].Penalty != 0.5 {
		t.Errorf("tried %+v", r.CV)
	}
	var wrong *SettingError
	zero := []float64{0}
	for _, s := range []Settings{{Objective: Loss, Penalty: zero}, {Objective: Auto, Penalty: zero, Balanced: true}} {
		if _, err := Train(t.Context(), set, s); !errors.As(err, &wrong) || wrong.Setting != "penalty" {
			t.Errorf("%+v: %v", s, err)
		}
	}
	mixed := blobs(2, 60, 2, 0.2) // no weights separate it
	for _, folds := range []int{0, 4} {
		if _, err := Train(t.Context(), mixed, Settings{Objective: Auto, Penalty: []float64{0}, Folds: folds}); err == nil {
			t.Errorf("%d folds of classes that overlap have a margin", folds)
		}
	}
}

func TestManyNumbersTakenForClassesAreNamed(t *testing.T) {
	for classes, want := range map[int]bool{5: false, 12: true} {
		_, said := trained(t, blobs(13, 120, classes, 5), Settings{Scale: "std", Penalty: []float64{0.1}})
		if slices.ContainsFunc(said, func(r Remark) bool { return r.Kind == ManyClasses }) != want {
			t.Errorf("%d classes: %v", classes, said)
		}
	}
}

// Each fold's training part can be separated, all five examples cannot.
func TestFoldsWithAMarginAndAWholeWithoutFallBackToAPenalty(t *testing.T) {
	x := [][]float64{{-0.465, 1.852, 0.156}, {1.286, -0.139, 0.746}, {1.097, -1.244, 1.008}, {-0.366, 0.298, 0.918},
		{-0.103, 1.277, 2.1}}
	set := &dataset.Set{Name: "five", X: matrix.FromRows(x), Y: []float64{0, 1, 0, 1, 0}}
	r, said := trained(t, set, Settings{Scale: "std"})
	fell := slices.ContainsFunc(said, func(r Remark) bool { return r.Kind == Inseparable })
	if !fell || r.End || r.Penalty == 0 || len(r.Model.Weights) != 1 {
		t.Errorf("end %v, penalty %v, said %v", r.End, r.Penalty, said)
	}
	if k := slices.IndexFunc(r.CV, func(s Score) bool { return s.Chosen }); r.CV[k].Penalty != r.Penalty {
		t.Errorf("%+v is marked, the model has penalty %v", r.CV[k], r.Penalty)
	}
}

// Scores of noise that happen to be worse than none are not turned round to look good.
func TestScoresWorseThanNoneHaveNoProbabilities(t *testing.T) {
	tr := newTrainer(blobs(14, 40, 2, 1), Settings{Objective: Auto})
	h := &held{rows: allRows(40), scores: [][]float64{make([]float64, 40)}}
	for i, k := range tr.index {
		h.scores[0][i] = 1 - 2*float64(k) + 0.1*float64(i%3) // the wrong way round
	}
	if s := tr.sigmoid(h); s.Slope != 0 {
		t.Errorf("slope %v", s.Slope)
	}
	if loss := tr.calibratedLoss(h); loss < math.Ln2 {
		t.Errorf("log-loss %v", loss)
	}
}

func TestFeaturesThatDoNotVaryGiveNoWeights(t *testing.T) {
	set := blobs(15, 40, 2, 1)
	for i := range set.Y {
		_, row := set.X.Row(i)
		for j := range row {
			row[j] = 0.1 * float64(j+3)
		}
	}
	for _, scale := range []string{"", "std"} {
		r, said := trained(t, set, Settings{Scale: scale})
		if r.Excess > 1e-6 || slices.ContainsFunc(said, func(r Remark) bool { return r.Kind == NotProvedOnPath }) {
			t.Errorf("scale %q: excess %v, said %v", scale, r.Excess, said)
		}
	}
}

func TestIntegersOfManyValuesAreTargets(t *testing.T) {
	set := blobs(16, 400, 2, 1)
	for i := range set.Y {
		set.Y[i] = float64(i % 40)
	}
	if r, _ := trained(t, set, Settings{Scale: "std"}); r.Model.Loss != "square" {
		t.Errorf("40 integers have the %s loss", r.Model.Loss)
	}
}

// Folds run at the same time, and the result does not depend on which ends first.
func TestAPathIsRepeatedToTheLastBit(t *testing.T) {
	set := blobs(9, 70, 3, 1.5)
	for _, p := range []float64{1, 1.5, 2} {
		s := Settings{P: []float64{p}, Scale: "std"}
		a, _ := trained(t, set, s)
		b, _ := trained(t, set, s)
		if fmt.Sprint(a.Model.Weights) != fmt.Sprint(b.Model.Weights) || a.Penalty != b.Penalty {
			t.Errorf("p = %v: another model the second time", p)
		}
	}
}

func TestAnInterruptedPathStops(t *testing.T) {
	set := blobs(10, 3000, 5, 0.3)
	ctx, stop := context.WithCancel(t.Context())
	s := Settings{Objective: Auto, P: []float64{1, 2, math.Inf(1)}, Scale: "std"}
	s.Progress = func(_ string, share float64, _ string) {
		if share > 0.05 {
			stop()
		}
	}
	begin := time.Now()
	if _, err := Train(ctx, set, s); !errors.Is(err, context.Canceled) || time.Since(begin) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// All folds and the model take at most thirty times the steps of one fit straight to the penalty that is chosen: each
// fit of a path starts from the one before. Steps are those of Newton's method, the products of which cost the same.
func TestChoosingAPenaltyCostsAtMostThirtyFits(t *testing.T) {
	for _, name := range []string{"iris", "wine", "breast_cancer", "diabetes"} {
		set, err := dataset.Open(t.Context(), name, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []float64{1.5, 2} {
			r, _ := trained(t, set, Settings{P: []float64{p}, Scale: "std"})
			tr := newTrainer(set, Settings{Objective: Auto, P: []float64{p}, Scale: "std"})
			x, err := tr.scaledPath(tr.withConstant(), &Result{})
			if err != nil {
				t.Fatal(err)
			}
			path, err := linear.NewPenaltyPath(tr.penalised(x, allRows(len(set.Y))), p)
			if err != nil {
				t.Fatal(err)
			}
			cold, err := path.Fit(t.Context(), r.Penalty, modelGap)
			if err != nil {
				t.Fatal(err)
			}
			steps := float64(r.Steps)
			for _, s := range r.CV {
				steps += s.Steps * float64(r.Folds) * 0.8 // of four fifths of the examples
			}
			if steps > 30*float64(cold.Steps) {
				t.Errorf("%s, p = %v: %.0f steps, one fit takes %d", name, p, steps, cold.Steps)
			}
		}
	}
}

func TestSeveralPAreCompared(t *testing.T) {
	r, _ := trained(t, blobs(11, 80, 3, 1), Settings{P: Geometries, Scale: "std", Rest: true})
	seen := map[mirror.Exponent]bool{}
	for _, s := range r.CV {
		seen[s.P] = true
	}
	if len(seen) != len(Geometries) || r.Model.Link != LinkLogistic || r.Model.Loss != "logistic" {
		t.Errorf("p %v, link %q of the %s loss", seen, r.Model.Link, r.Model.Loss)
	}
}
