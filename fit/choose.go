package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/measure"
	"github.com/bregman-ml/bregman/mirror"
)

// search looks for the best point of the paths of several p.
type search struct {
	*trainer
	parts []*fold
	all   []Score
	best  tried
	limit tried // the largest margin of the p of the best, if there is one
	// the best with a penalty, for when the folds have a margin and all examples together have none; nil: there is none
	penalised *tried
}

// tried is a candidate with what the folds found.
type tried struct {
	candidate
	Score
	held heldScores
}

// choose scores the candidates on held-out examples.
func (t *trainer) choose(ctx context.Context, x matrix.Matrix, r *Result) (*search, error) {
	parts, err := t.parts(x)
	if err != nil {
		return nil, err
	}
	r.Folds = len(parts)
	s := &search{trainer: t, parts: parts}
	for at, p := range t.P {
		err := s.follow(ctx, p, at)
		if r.CV = s.all; err != nil {
			return nil, err
		}
	}
	if len(s.all) == 0 {
		return nil, &SettingError{"penalty", " 0: no weights separate the classes of every fold"}
	}
	s.settle()
	return s, nil
}

// follow tries the penalties of the at-th p from strong to weak, until several in a row are no better, and the largest
// margin at their end.
func (s *search) follow(ctx context.Context, p float64, at int) (err error) {
	for _, f := range s.parts {
		if f.path, err = linear.NewPenaltyPath(f.prob, p); err != nil {
			return err
		}
	}
	penalties := s.penalties()
	var own Score // the best of this p
	idle, separated := 0, false
	for k, penalty := range penalties {
		if penalty == 0 { // the largest margin
			break
		}
		if s.Progress != nil {
			share := (float64(at) + float64(k)/float64(len(penalties))) / float64(len(s.P))
			s.Progress("cross-validation", share, fmt.Sprintf("p = %v, penalty %.2g", p, penalty))
		}
		c := candidate{p: p, penalty: penalty}
		of, err := s.fitFolds(ctx, s.parts, penalty)
		if err != nil {
			return err
		}
		score := s.measure(c, s.parts, of.held)
		score.Steps, score.Sparsity, separated = of.steps, of.sparsity, of.separated
		if idle++; k == 0 || score.Better(own) {
			own, idle = score, 0
		}
		if err := s.take(tried{c, score, of.held}); err != nil {
			return err
		}
		most := weaker
		if score.RMSE == nil && score.LogLoss == nil {
			most = weakerAccuracy
		}
		if idle >= most && len(s.Penalty) == 0 {
			break
		}
	}
	asked := slices.Contains(s.Penalty, 0)
	if !asked && (s.Objective != Auto || len(s.Penalty) > 0 || !separated || !s.hasMargin()) {
		return nil
	}
	held, err := s.marginFolds(ctx, s.parts, p)
	if err != nil || held == nil {
		return err
	}
	c := candidate{p: p, end: true}
	end := tried{c, s.measure(c, s.parts, held), held}
	if err := s.take(end); err != nil {
		return err
	}
	if s.best.p == p {
		s.limit = end
	}
	return nil
}

// take adds a candidate to those that were tried.
func (s *search) take(c tried) error {
	if len(s.all) == 0 || c.Better(s.best.Score) {
		s.best = c
	}
	if !c.end && (s.penalised == nil || c.Better(s.penalised.Score)) {
		s.penalised = &c
	}
	s.all = append(s.all, c.Score)
	if s.trainer.Score == nil {
		return nil
	}
	return s.trainer.Score(CellScore{Cell: Cell{P: c.P, Penalty: c.Penalty, Fold: -1}, Accuracy: c.Accuracy,
		Sparsity: c.Sparsity, Steps: int(c.Steps), LogLoss: c.LogLoss})
}

// settle prefers the largest margin to the weakest penalty, on the way to it, if it is as accurate; marks what was
// chosen, and says if it is at an end of what was tried.
func (s *search) settle() {
	penalties := s.penalties()
	first, last := penalties[0], penalties[len(penalties)-1]
	if s.limit.end && s.limit.p == s.best.p && s.best.penalty == last && s.limit.Accuracy >= s.best.Accuracy {
		s.best = s.limit
	}
	s.mark()
	s.sayIfNoise()
	switch penalty := s.best.penalty; {
	case len(penalties) == 1 || s.best.end:
	case penalty == last && len(s.Penalty) == 0 && !s.Loss.Residual():
		s.say(PenaltyAtEnd, "the weakest penalty, %.2g, is the best: the model is close to the largest margin, and has no "+
			"certificate", last)
	case penalty == first && len(s.Penalty) == 0:
		s.say(PenaltyAtEnd, "the strongest penalty, %.2g, is the best: the features hardly help", first)
	case penalty == last && len(s.Penalty) > 0 || penalty == first:
		s.say(PenaltyAtEnd, "penalty %.2g is at the end of those that were tried: others beyond it may do better", penalty)
	}
}

// mark marks the best.
func (s *search) mark() {
	for k := range s.all {
		s.all[k].Chosen = s.all[k].same(s.best.Score)
	}
}

// sayIfNoise says if another p than 2 was chosen though p = 2 is as good but for noise.
func (s *search) sayIfNoise() {
	var two *Score // the best of p = 2
	for k := range s.all {
		if c := &s.all[k]; c.P == 2 && (two == nil || c.Better(*two)) {
			two = c
		}
	}
	best := s.best.Score
	if two == nil || best.P == 2 || best.LogLoss == nil || two.LogLoss == nil || len(s.parts) < 2 {
		return
	}
	noise := max(best.LossDeviation, two.LossDeviation) / math.Sqrt(float64(len(s.parts)))
	if *two.LogLoss-*best.LogLoss < noise {
		s.say(Noise, "p = %v is better than p = 2 by less than one standard error: the choice between them is noise", best.P)
	}
}

// measure is what cross-validation finds for a candidate.
func (t *trainer) measure(c candidate, parts []*fold, held heldScores) Score {
	s := Score{P: mirror.Exponent(c.p), Penalty: c.penalty, End: c.end}
	share, losses := make([]float64, len(parts)), make([]float64, len(parts)) // of each fold
	link := t.link()
	if c.end {
		link = LinkSigmoid
	}
	for k, f := range parts {
		n, of := float64(len(f.rows)), held[k]
		if t.Loss.Residual() {
			for j, i := range f.rows {
				losses[k] += (of[0][j] - t.set.Y[i]) * (of[0][j] - t.set.Y[i]) / n
			}
			continue
		}
		right := 0
		for j, i := range f.rows {
			if answer(of, j) == t.index[i] {
				right++
			}
		}
		share[k] = float64(right) / n
		weight := t.weights(f.rows)
		if prob := probabilities(link, of); prob != nil {
			for j, i := range f.rows {
				losses[k] -= weight(t.index[i]) * math.Log(max(prob[t.index[i]][j], 1e-15)) / n
			}
		}
	}
	loss, spread := meanDeviation(losses)
	switch {
	case t.Loss.Residual():
		rmse := math.Sqrt(loss)
		s.RMSE, s.Deviation = &rmse, spread/max(2*rmse, 1e-300)
		return s
	case link == LinkSigmoid:
		loss = t.calibratedLoss(t.heldOut(parts, held))
		s.LogLoss = &loss
	case link != "":
		s.LogLoss, s.LossDeviation = &loss, spread
	}
	s.Accuracy, s.Deviation = meanDeviation(share)
	return s
}

// meanDeviation returns the mean and the standard deviation of some numbers.
func meanDeviation(v []float64) (mean, deviation float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x
	}
	mean /= n
	for _, x := range v {
		deviation += (x - mean) * (x - mean) / max(n-1, 1)
	}
	return mean, math.Sqrt(deviation)
}

// calibratedLoss is the log-loss of two classes with the probabilities that are fitted to their held-out scores. It is
// 2/n larger, to be compared with others: two numbers gain as much on the examples that they are fitted to (Akaike).
func (t *trainer) calibratedLoss(h *held) float64 {
	sigmoid := t.sigmoid(h)
	loss, weight := 2/float64(len(h.rows)), t.weights(h.rows)
	for j, i := range h.rows {
		prob := sigmoid.Probability(h.scores[0][j])
		if t.index[i] == 0 {
			prob = 1 - prob
		}
		loss -= weight(t.index[i]) * math.Log(max(prob, 1e-15)) / float64(len(h.rows))
	}
	return loss
}

// sigmoid is fitted to the held-out scores of two classes.
func (t *trainer) sigmoid(h *held) measure.Sigmoid {
	positive := make([]bool, len(h.rows))
	for j, i := range h.rows {
		positive[j] = t.index[i] == 1
	}
	s := measure.FitSigmoid(h.scores[0], positive)
	if s.Slope < 0 { // scores that are worse than none say nothing of new examples
		s = measure.FitSigmoid(make([]float64, len(positive)), positive)
	}
	return s
}
