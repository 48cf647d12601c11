package fit

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Remark is something that the user of a fit should know.
type Remark struct {
	Kind RemarkKind
	Text string
}

// RemarkKind says what a remark is about, for whoever adds what to do about it.
type RemarkKind int

// The kinds of remarks.
const (
	Absorbed        RemarkKind = iota // all labels are the same
	Softened                          // a softer margin is maximised
	SoftTooSmall                      // the share that was asked for has no positive mean
	NoMargin                          // the largest share has none either
	FoldsSoft                         // some fits of cross-validation are soft
	LambdaAtEnd                       // the chosen λ is the least or the largest
	NotProved                         // the objective is not within the gap
	NotProvedOnPath                   // the same, of a penalty on a path
	LossNotFalling
	PenaltyAtEnd // the penalty that was chosen is the strongest or the weakest
	Majority     // the most frequent class as the only answer would do as well
	NotConverged // a regression
	Regression   // labels are taken for targets
	ManyClasses  // labels are taken for classes
	Inseparable  // every fold has a margin, all examples together have none
	Noise        // the p that was chosen is hardly better than 2
)

func (t *trainer) say(kind RemarkKind, format string, args ...any) {
	if t.Say != nil {
		t.Say(Remark{kind, fmt.Sprintf(format, args...)})
	}
}

// remarks says what the user should know of a fit that ended.
func (t *trainer) remarks(x matrix.Matrix, r *Result) {
	gap := t.settings(linear.Problem{X: x}, r.Attempt).Gap
	if gap == 0 {
		gap = 1e-3
	}
	penalised := len(t.Lambda) > 0
	for _, f := range r.Fits {
		pts := f.Points
		switch {
		case penalised && !(f.Excess <= gap*f.Objective):
			t.say(NotProved, "the objective is proved to be within %.3g of the least possible only", f.Excess)
		case penalised || t.ChosenMethod() == linear.MethodAccelerated || len(pts) < 2:
		case !(pts[len(pts)-1].Loss < pts[0].Loss) && pts[0].Step == 0:
			t.say(LossNotFalling, "the loss did not fall, from %.4g to %.4g", pts[0].Loss, pts[len(pts)-1].Loss)
		case t.Loss.Residual():
			if j, c := correlation(x, t.targets[0], f.W); c > correlated {
				t.say(NotConverged, "not converged: the residual still has a correlation of %.2g with feature %s", c,
					FeatureName(t.set, j))
			}
		}
	}
}

// correlated is the correlation of a feature with the residual above which a regression has not converged: the loss
// could fall by the square of it, 1e-4 of itself, by that feature alone.
const correlated = 0.01

// correlation returns the feature with the largest |⟨xⱼ, r⟩|/(‖xⱼ‖‖r‖), r = Xw − y, which is 0 at the least loss; 0 if
// r is nothing beside y.
func correlation(x matrix.Matrix, y, w []float64) (feature int, most float64) {
	n, d := x.Dims()
	r, grad, square := make([]float64, n), make([]float64, d), make([]float64, d)
	x.Mul(r, w)
	for i := range r {
		r[i] -= y[i]
	}
	size := mirror.Norm(r, 2)
	if size <= 1e-6*mirror.Norm(y, 2) {
		return 0, 0
	}
	x.AddMulT(grad, r)
	each(x, func(j int, v float64) { square[j] += v * v })
	for j, g := range grad {
		if c := math.Abs(g) / (math.Sqrt(square[j]) * size); c > most {
			feature, most = j, c
		}
	}
	return feature, most
}

// FeatureName is the name of a feature, or its number as the file counts it.
func FeatureName(set *dataset.Set, j int) string {
	switch {
	case j < len(set.Features):
		return strconv.Quote(set.Features[j])
	case set.ZeroBased:
		return strconv.Itoa(j)
	}
	return strconv.Itoa(j + 1)
}
