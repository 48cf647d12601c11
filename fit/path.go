package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// The relative gaps of the objective: of the path on the way to its choice, and of the model.
const (
	pathGap  = 1e-3
	modelGap = 1e-6
	// marginGap is that of the largest margin on a fold. The model's is 1e-6, if rounding allows it.
	marginGap = 1e-3
)

const (
	// defaultFolds is how many folds choose if nothing is said, unless the data has more than foldEntries entries for
	// each weight vector: then a fifth is held out once.
	defaultFolds = 5
	foldEntries  = 20_000_000
	// weaker is after how many penalties in a row that are no better the path ends. An accuracy goes up and down.
	weaker         = 3
	weakerAccuracy = 5
)

// candidate is a point of a path: a penalty, or the largest margin at its end.
type candidate struct {
	p, penalty float64
	end        bool // the largest margin
}

// trainPath fits a model on a path of penalties.
func (t *trainer) trainPath(ctx context.Context) (*Result, error) {
	r := &Result{Attempt: Attempt{P: t.P[0]}}
	r.Model = t.model(string(linear.MethodNewton))
	r.Model.Bias, r.Model.Intercept, r.Model.Link = !t.NoIntercept, !t.NoIntercept, t.link()
	if r.Model.Bias && !t.Bias && r.Model.Features != nil {
		r.Model.Features = append(slices.Clone(t.set.Features), "bias")
	}
	data := t.withConstant()
	choice := candidate{p: t.P[0], penalty: t.penalties()[0]}
	choice.end = choice.penalty == 0
	var s *search
	if len(t.P)*len(t.penalties()) > 1 || t.Folds > 0 {
		var err error
		if s, err = t.choose(ctx, data, r); err != nil {
			return r, err
		}
		choice = s.best.candidate
	}
	r.Attempt.P, r.Model.P = choice.p, mirror.Exponent(choice.p)
	x, err := t.scaledPath(data, r)
	if err != nil {
		return nil, err
	}
	if t.Progress != nil {
		t.Progress(fmt.Sprintf("fit p = %v", choice.p), 0, "")
	}
	n, _ := x.Dims()
	prob := t.penalised(x, allRows(n))
	if choice.end {
		err = t.fitMargin(ctx, prob, choice.p, r)
		if err != nil && ctx.Err() == nil && s != nil && s.penalised != nil {
			s.best = *s.penalised
			s.mark()
			choice = s.best.candidate
			r.Attempt.P, r.Model.P = choice.p, mirror.Exponent(choice.p)
			t.say(Inseparable, "the largest margin was the best, but no weights separate all examples: the best penalty, "+
				"%.2g, is used", choice.penalty)
		}
	}
	if !choice.end {
		err = t.fitPenalised(ctx, prob, choice, r)
	}
	if err == nil && t.Progress != nil {
		t.Progress(fmt.Sprintf("fit p = %v", choice.p), 1, "")
	}
	if err != nil {
		return r, err
	}
	var seen *held
	if s != nil {
		seen = t.heldOut(s.parts, s.best.held)
	}
	return r, t.judge(r, seen)
}

func allRows(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// lossName is the loss as the model names it.
func (t *trainer) lossName() string {
	if t.onPath() && t.joint() {
		return "softmax"
	}
	return fmt.Sprint(t.Loss)
}

// scaledPath is scaled for data with a constant.
func (t *trainer) scaledPath(x matrix.Matrix, r *Result) (matrix.Matrix, error) {
	if t.Scale == "" {
		return x, nil
	}
	if x == t.set.X && !t.InPlace {
		x = matrix.Clone(x)
	}
	s, err := NewScaler(t.Scale, x, !t.NoIntercept)
	if err != nil {
		return nil, t.nameFeature(err)
	}
	r.Model.Scale = s
	return x, s.Apply(x)
}

// fitPenalised fits the model for a penalty, from strong ones on.
func (t *trainer) fitPenalised(ctx context.Context, prob linear.Penalised, c candidate, r *Result) error {
	path, err := linear.NewPenaltyPath(prob, c.p)
	if err != nil {
		return err
	}
	var f *linear.PenaltyFit
	for _, penalty := range append(Penalties(), c.penalty) {
		gap := pathGap
		if penalty == c.penalty {
			gap = modelGap
		} else if penalty <= c.penalty {
			continue
		}
		if f, err = path.Fit(ctx, penalty, gap); f == nil {
			return err
		}
		r.Steps += f.Steps
		if err != nil {
			break
		}
		if t.Point != nil {
			weights := slices.Concat(withoutIntercept(f.W, prob.Intercept)...)
			pt := linear.Point{Step: r.Steps, Loss: f.Loss, Norm: mirror.Norm(weights, c.p),
				Gap: math.NaN(), Margin: math.NaN(), Divergence: math.NaN(), Angle: math.NaN()}
			if err := t.Point(nil, pt); err != nil {
				return err
			}
		}
		if penalty == c.penalty {
			break
		}
	}
	r.Penalty, r.Attempt.Lambda = c.penalty, f.Lambda
	r.Loss, r.Objective, r.Excess = f.Loss, f.Objective, f.Excess
	r.Model.Weights, r.Model.Steps = f.W, r.Steps
	if c.p == 1 || math.IsInf(c.p, 1) {
		r.Model.Method = "proximal gradients"
	}
	for _, w := range f.W {
		r.Fits = append(r.Fits, &linear.Result{W: w, Steps: r.Steps})
	}
	if err == nil && f.Excess > 10*modelGap*math.Abs(f.Objective) {
		t.say(NotProvedOnPath, "the objective is proved to be within %.3g of the least possible only: a stronger penalty "+
			"may help", f.Excess)
	}
	return err
}

// fitMargin fits the model of largest margin.
func (t *trainer) fitMargin(ctx context.Context, prob linear.Penalised, p float64, r *Result) error {
	s, err := t.largestMargin(ctx, prob, p, 0)
	if s == nil {
		return err
	}
	n, _ := prob.X.Dims()
	weights := [][]float64{s.W}
	own := linear.Problem{X: prob.X}
	if t.joint() {
		var pairs *matrix.Pairs
		own, pairs = linear.Joint(prob.X, prob.Class, prob.Classes)
		weights = pairs.Split(s.W)
		r.Joint = true
	} else {
		own.Y = prob.Y[0]
	}
	rows, _ := own.Dims()
	m := make([]float64, rows)
	own.Margins(m, s.W)
	yes := true
	r.End, r.Separable, r.Separated, r.Exact = true, &yes, true, s.Method
	r.Certificate, r.Gap = s.Certificate, s.Gap()
	if r.Loss = t.Loss.Sum(m) / float64(n); t.joint() {
		r.Loss = softmaxOf(m, n)
	}
	r.Steps = s.Iterations
	r.Model.Weights, r.Model.Method, r.Model.Steps = weights, "margin", s.Iterations
	r.Model.Link = LinkSigmoid
	r.Fits = []*linear.Result{{W: s.W, Certificate: s.Certificate, Steps: s.Iterations}}
	var short *margin.GapError
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.As(err, &short) {
		t.say(NotProved, "%v", err)
	}
	return nil
}

// softmaxOf is the mean loss of n examples of several classes, each with its margins over the other classes.
func softmaxOf(m []float64, n int) float64 {
	each := len(m) / n
	var sum float64
	for i := range n {
		rest := 1.0
		for _, v := range m[i*each : (i+1)*each] {
			rest += math.Exp(-v)
		}
		sum += math.Log(rest)
	}
	return sum / float64(n)
}

// largestMargin is the end of the path: of several classes, jointly.
func (t *trainer) largestMargin(ctx context.Context, prob linear.Penalised, p, gap float64) (*margin.Solution, error) {
	var own linear.Problem
	if t.joint() {
		own, _ = linear.Joint(prob.X, prob.Class, prob.Classes)
	} else {
		own = linear.Problem{X: prob.X, Y: prob.Y[0]}
	}
	if prob.Intercept {
		return margin.SolveIntercept(ctx, own, p, margin.Settings{Gap: gap})
	}
	return margin.Solve(ctx, own, p, margin.Settings{Gap: max(gap, 1e-8)})
}

// fold is a part of the data that is held out, and the paths on the rest.
type fold struct {
	x    matrix.Matrix // scaled
	held matrix.Matrix
	rows []int // that are held out
	prob linear.Penalised
	path *linear.PenaltyPath
}

// held are the scores of one candidate for what each fold holds out, by fold and weight vector.
type heldScores [][][]float64

// hasMargin reports whether the largest margin at the end of the path can be had: of two classes, if it is quick.
func (t *trainer) hasMargin() bool {
	return len(t.classes) == 2 && !t.Balanced && t.Loss != linear.Loss(linear.PolynomialTail{}) &&
		exactIsFaster(linear.Problem{X: t.set.X})
}

// parts deals the examples out to folds, or holds a fifth out once.
func (t *trainer) parts(x matrix.Matrix) ([]*fold, error) {
	n, _ := x.Dims()
	k, once := t.Folds, false
	if k == 0 {
		k = min(defaultFolds, n)
		once = x.NNZ()*max(1, len(t.targets)) > foldEntries
	}
	labels, classes := t.set.Y, t.classes
	if len(classes) == 0 {
		labels, classes = make([]float64, n), []float64{0}
	}
	of := folds(labels, classes, k, t.Seed)
	single := t.single()
	var parts []*fold
	for part := range k {
		f := &fold{}
		var train []int
		for i, g := range of {
			if g == part && !single[i] {
				f.rows = append(f.rows, i)
			} else {
				train = append(train, i)
			}
		}
		if len(f.rows) == 0 {
			continue
		}
		f.x, f.held = matrix.Select(x, train), matrix.Select(x, f.rows)
		if t.Scale != "" { // learned without what is held out
			s, err := NewScaler(t.Scale, f.x, !t.NoIntercept)
			if err != nil {
				return nil, t.nameFeature(err)
			}
			if err := errors.Join(s.Apply(f.x), s.Apply(f.held)); err != nil {
				return nil, err
			}
		}
		f.prob = t.penalised(f.x, train)
		parts = append(parts, f)
		if once {
			break
		}
	}
	if len(parts) == 0 {
		return nil, &SettingError{"penalty", ": no class has two examples, so that one could be held out: name it"}
	}
	return parts, nil
}

// single are the only examples of their classes: they are never held out.
func (t *trainer) single() map[int]bool {
	count := make([]int, len(t.classes))
	for _, k := range t.index {
		count[k]++
	}
	out := map[int]bool{}
	for i, k := range t.index {
		if count[k] == 1 {
			out[i] = true
		}
	}
	return out
}

// eachFold calls f for every fold, several at a time if the data is small: large products use all cores by themselves.
func eachFold(parts []*fold, f func(k int, part *fold) error) error {
	errs := make([]error, len(parts))
	if parts[0].x.NNZ() > 1_000_000 {
		for k, part := range parts {
			errs[k] = f(k, part)
		}
		return errors.Join(errs...)
	}
	var wait sync.WaitGroup
	for k, part := range parts {
		wait.Go(func() { errs[k] = f(k, part) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// fitted are the fits of all folds with a penalty.
type fitted struct {
	held            heldScores
	steps, sparsity float64 // means
	separated       bool    // each has only positive margins
}

// fitFolds fits every fold with a penalty.
func (t *trainer) fitFolds(ctx context.Context, parts []*fold, penalty float64) (out fitted, err error) {
	out.held = make(heldScores, len(parts))
	apart, fits := make([]bool, len(parts)), make([]*linear.PenaltyFit, len(parts))
	err = eachFold(parts, func(k int, f *fold) error {
		fit, err := f.path.Fit(ctx, penalty, pathGap)
		if err != nil {
			return err
		}
		out.held[k], fits[k] = scoresOf(f.held, fit.W), fit
		if len(f.prob.Y) == 1 && !t.Loss.Residual() {
			worst, _ := linear.Problem{X: f.x, Y: f.prob.Y[0]}.Margin(fit.W[0])
			apart[k] = worst > 0
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	for _, f := range fits {
		w := withoutIntercept(f.W, !t.NoIntercept)
		out.steps += float64(f.Steps) / float64(len(parts))
		out.sparsity += (1 - float64(Model{Weights: w}.Nonzero())/float64(len(w[0]))) / float64(len(parts))
	}
	out.separated = !slices.Contains(apart, false)
	return out, nil
}

// marginFolds finds the largest margin on every fold; nil if one has none.
func (t *trainer) marginFolds(ctx context.Context, parts []*fold, p float64) (heldScores, error) {
	held := make(heldScores, len(parts))
	err := eachFold(parts, func(k int, f *fold) error {
		s, err := t.largestMargin(ctx, f.prob, p, marginGap)
		if s != nil && s.Lower > 0 {
			held[k] = scoresOf(f.held, [][]float64{s.W})
		} else if ctx.Err() != nil {
			return err
		}
		return nil
	})
	for _, h := range held {
		if h == nil {
			return nil, err
		}
	}
	return held, err
}

// scoresOf are ⟨x, w⟩ of every example, by weight vector.
func scoresOf(x matrix.Matrix, w [][]float64) [][]float64 {
	n, _ := x.Dims()
	out := make([][]float64, len(w))
	for k := range out {
		out[k] = make([]float64, n)
		x.Mul(out[k], w[k])
	}
	return out
}

// held are the scores of the chosen candidate for examples that were held out: by models that have not seen them.
type held struct {
	rows   []int       // of the data
	scores [][]float64 // by weight vector, in the order of rows
}

// heldOut joins what the folds hold out.
func (t *trainer) heldOut(parts []*fold, scores heldScores) *held {
	h := &held{scores: make([][]float64, len(scores[0]))}
	for k, f := range parts {
		h.rows = append(h.rows, f.rows...)
		for v, s := range scores[k] {
			h.scores[v] = append(h.scores[v], s...)
		}
	}
	return h
}

// judge measures the model on what was held out, after it has calibrated its probabilities there if its scores are not
// log-odds.
func (t *trainer) judge(r *Result, h *held) error {
	if r.Model.Link == LinkSigmoid {
		t.calibrate(r, h)
	}
	if h == nil {
		return nil
	}
	var err error
	if r.HeldOut, err = r.Model.QualityOf(h.scores, pick(t.set.Y, h.rows)); err != nil {
		return err
	}
	if c := r.HeldOut.Classes; c != nil && c.Accuracy <= c.Majority {
		most := t.classes[0]
		count := map[float64]int{}
		for _, y := range t.set.Y {
			if count[y]++; count[y] > count[most] {
				most = y
			}
		}
		t.say(Majority, "always answering %s would be right as often: %.1f %% of what was held out, the model %.1f %%",
			t.className(most), 100*c.Majority, 100*c.Accuracy)
	}
	return nil
}

// className is a class as the user knows it.
func (t *trainer) className(y float64) string { return t.set.ClassName(y) }

// calibrate fits the sigmoid of a model of two classes.
func (t *trainer) calibrate(r *Result, h *held) {
	if r.Model.Link = ""; h == nil || len(t.classes) != 2 {
		return
	}
	s := t.sigmoid(h)
	r.Model.Link, r.Model.Sigmoid = LinkSigmoid, &s
}
