package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Score is what cross-validation finds for one p, and one λ of several: means over the folds.
type Score struct {
	P         mirror.Exponent `json:"p"`
	Lambda    float64         `json:"lambda,omitempty"`
	Penalty   float64         `json:"penalty,omitempty"`    // of a path
	End       bool            `json:"margin_end,omitempty"` // the largest margin, at the end of a path
	Accuracy  float64         `json:"accuracy"`
	Deviation float64         `json:"accuracy_deviation"` // between folds
	LogLoss   *float64        `json:"log_loss,omitempty"`
	// of the log-loss between folds; 0 of a margin
	LossDeviation float64  `json:"log_loss_deviation,omitempty"`
	RMSE          *float64 `json:"rmse,omitempty"` // of a regression, instead of an accuracy
	Sparsity      float64  `json:"sparsity"`       // share of weights below a thousandth of the largest
	Margin        *float64 `json:"margin"`         // the least over weight vectors; null if the data is not separated
	Steps         float64  `json:"steps"`
	Chosen        bool     `json:"chosen"`
}

// Cell is one p and λ on one fold.
type Cell struct {
	P      mirror.Exponent `json:"p"`
	Lambda float64         `json:"lambda,omitempty"` // 0: there is no penalty
	Fold   int             `json:"fold"`             // −1: the mean of all
	// of a path; 0: its end
	Penalty float64 `json:"penalty,omitempty"`
}

// CellScore is what is measured in a cell.
type CellScore struct {
	Cell
	Accuracy float64  `json:"accuracy"`
	Sparsity float64  `json:"sparsity"`
	Margin   *float64 `json:"margin"`
	Steps    int      `json:"steps"`
	Soft     float64  `json:"soft"`
	LogLoss  *float64 `json:"log_loss,omitempty"` // of a path
}

// name is how a cell is called.
func (c Cell) name() string {
	if c.Lambda > 0 {
		return fmt.Sprintf("p = %v, lambda = %v", c.P, c.Lambda)
	}
	return fmt.Sprintf("p = %v", c.P)
}

// folds deals the examples of each class out to k folds, in an order the seed decides.
func folds(labels, classes []float64, k int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x666f6c6473)) // "folds": a stream of its own
	of := make([]int, len(labels))
	next := 0
	for _, c := range classes {
		var members []int
		for i, y := range labels {
			if y == c {
				members = append(members, i)
			}
		}
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		for _, i := range members {
			of[i] = next % k
			next++
		}
	}
	return of
}

// crossValidate scores every p, with every λ, and chooses the most accurate, of equals the p nearest to 2 and the
// largest λ.
func (t *trainer) crossValidate(ctx context.Context) (chosen Score, all []Score, err error) {
	fold := folds(t.set.Y, t.classes, t.Folds, t.Seed)
	lambdas := t.Lambda
	if len(lambdas) == 0 {
		lambdas = []float64{0}
	}
	cells := map[Cell]CellScore{}
	for _, s := range t.Scored {
		cells[s.Cell] = s
	}
	each := len(t.P) * len(lambdas)
	for k := range t.Folds {
		var part *split
		for j := range each {
			c := Cell{P: mirror.Exponent(t.P[j/len(lambdas)]), Lambda: lambdas[j%len(lambdas)], Fold: k}
			if _, ok := cells[c]; ok {
				continue
			}
			if part == nil {
				if part, err = t.split(fold, k); err != nil {
					return chosen, nil, err
				}
			}
			s, err := t.score(ctx, part, c, func(share float64, note string) {
				if t.Progress != nil {
					done := (float64(k*each+j) + share) / float64(t.Folds*each)
					t.Progress("cross-validation", done, fmt.Sprintf("%v, fold %d, %s", c.name(), k+1, note))
				}
			})
			if err != nil {
				return chosen, nil, err
			}
			cells[c] = s
			if t.Score != nil {
				if err := t.Score(s); err != nil {
					return chosen, nil, err
				}
			}
		}
	}
	all = summary(t.P, lambdas, t.Folds, cells)
	soft := 0
	for _, s := range cells {
		if s.Soft > 0 && t.Soft == 0 {
			soft++
		}
	}
	if soft > 0 {
		t.say(FoldsSoft, "cross-validation: no positive margin was found in %d of %d fits, which maximise a soft one instead",
			soft,
			len(cells))
	}
	for _, s := range all {
		if s.Chosen {
			chosen = s
		}
	}
	if len(lambdas) > 1 && (chosen.Lambda == slices.Min(lambdas) || chosen.Lambda == slices.Max(lambdas)) {
		t.say(LambdaAtEnd, "lambda = %v is at the end of those that were tried: others beyond it may do better",
			chosen.Lambda)
	}
	return chosen, all, nil
}

// Better reports whether s is to be chosen rather than t: for its log-loss if both have one, else for its accuracy. If
// these are equal, the p nearer to 2 and the stronger penalty is chosen. Of a regression the error decides.
//
// The log-loss has one minimum along a path, as a rule. The accuracy of a few hundred examples has many maxima: models
// chosen for it are no more accurate on other examples, and their probabilities are worse.
func (s Score) Better(t Score) bool {
	near := func(p mirror.Exponent) float64 { return math.Abs(math.Log(float64(p) / 2)) }
	if s.RMSE != nil && t.RMSE != nil && *s.RMSE != *t.RMSE {
		return *s.RMSE < *t.RMSE
	}
	if s.LogLoss != nil && t.LogLoss != nil {
		if *s.LogLoss != *t.LogLoss {
			return *s.LogLoss < *t.LogLoss
		}
	} else if d := s.Accuracy - t.Accuracy; math.Abs(d) > 1e-12 {
		return d > 0
	}
	return near(s.P) < near(t.P) || s.P == t.P && (s.Lambda > t.Lambda || s.Penalty > t.Penalty)
}

// same reports whether both are of one candidate.
func (s Score) same(t Score) bool {
	return s.P == t.P && s.Lambda == t.Lambda && s.Penalty == t.Penalty && s.End == t.End
}

// summary takes the folds together.
func summary(ps, lambdas []float64, folds int, cells map[Cell]CellScore) []Score {
	var out []Score
	best := 0
	for j := range len(ps) * len(lambdas) {
		s := Score{P: mirror.Exponent(ps[j/len(lambdas)]), Lambda: lambdas[j%len(lambdas)]}
		var square, margin float64
		separated := true
		for k := range folds {
			c := cells[Cell{P: s.P, Lambda: s.Lambda, Fold: k}]
			s.Accuracy += c.Accuracy / float64(folds)
			square += c.Accuracy * c.Accuracy / float64(folds)
			s.Sparsity += c.Sparsity / float64(folds)
			s.Steps += float64(c.Steps) / float64(folds)
			if separated = separated && c.Margin != nil; separated {
				margin += *c.Margin / float64(folds)
			}
		}
		s.Deviation = math.Sqrt(max(square-s.Accuracy*s.Accuracy, 0) * float64(folds) / float64(folds-1))
		if separated {
			s.Margin = &margin
		}
		if out = append(out, s); s.Better(out[best]) {
			best = j
		}
	}
	out[best].Chosen = true
	return out
}

// split is the data of one fold.
type split struct {
	train  problem
	held   matrix.Matrix
	labels []float64 // of those held out
}

// split holds the k-th fold out.
func (t *trainer) split(fold []int, k int) (*split, error) {
	var train, held []int
	for i, f := range fold {
		if f == k {
			held = append(held, i)
		} else {
			train = append(train, i)
		}
	}
	s := &split{train: t.problem(matrix.Select(t.set.X, train)), held: matrix.Select(t.set.X, held),
		labels: pick(t.set.Y, held)}
	if t.jointMargin() {
		s.train.class = pick(t.index, train)
	} else {
		s.train.targets = nil
		for _, y := range t.targets {
			s.train.targets = append(s.train.targets, pick(y, train))
		}
	}
	if t.Scale != "" { // learned without what is held out
		scale, err := NewScaler(t.Scale, s.train.x, t.Bias)
		if err != nil {
			return nil, t.nameFeature(err)
		}
		if err := scale.Apply(s.train.x); err != nil {
			return nil, err
		}
		if err := scale.Apply(s.held); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func pick[T any](x []T, rows []int) []T {
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = x[i]
	}
	return out
}

// score fits one p and λ on one fold and measures it.
func (t *trainer) score(ctx context.Context, part *split, c Cell, progress func(share float64, note string)) (CellScore,
	error) {
	out, err := t.all(ctx, part.train, Attempt{P: float64(c.P), Lambda: c.Lambda, Soft: t.Soft}, hooks{progress: progress})
	if err != nil {
		return CellScore{}, err
	}
	m := Model{Classes: t.classes}
	s := CellScore{Cell: c, Soft: out.Soft}
	margin := math.Inf(1)
	for _, r := range out.fits {
		m.Weights = append(m.Weights, t.vectors(r.W)...)
		s.Steps = max(s.Steps, r.Steps)
		margin = min(margin, r.Lower)
	}
	_, d := part.train.x.Dims()
	s.Sparsity = 1 - float64(m.Nonzero())/float64(d)
	if margin > 0 && !math.IsInf(margin, 1) && out.Soft == 0 { // a soft one is not comparable
		s.Margin = &margin
	}
	labels, _, err := m.Predict(part.held)
	if err != nil {
		return s, err
	}
	for i, v := range labels {
		if v == part.labels[i] {
			s.Accuracy += 1 / float64(len(labels))
		}
	}
	return s, nil
}
