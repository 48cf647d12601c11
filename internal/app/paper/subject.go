package paper

import (
	"context"
	"math"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/mirror"
)

// subject is the algorithm under test. Tests replace parts of it by broken ones, and then statements have to fail.
type subject struct {
	potential  func(p float64) mirror.Potential   // of p-GD
	squared    func(p float64) mirror.Potential   // of the p-norm algorithm
	quadratic  func(a []float64) mirror.Potential // a diagonal form
	loss       func(margin.Curved) linear.Loss    // as descents use it
	square     linear.Loss                        // likewise, for regression
	pathLoss   func(margin.Curved) margin.Curved  // likewise, for the regularisation path
	norm       func(x []float64, p float64) float64
	conjugate  func(p float64) float64
	divergence func(psi mirror.Potential, x, y []float64) float64
	powers     func(p, x float64) (xp, xp1 float64) // xᵖ and x^(p−1)
	// direction returns the unit vector of largest ℓₚ margin, and that margin.
	direction func(prob linear.Problem, p float64) (u []float64, margin float64, err error)
	// regularised returns the regularised direction of a loss, a unit vector, and its margin.
	regularised func(prob linear.Problem, p float64, loss margin.Curved) (u []float64, margin float64, err error)
	// project returns the interpolation nearest to w0 in the divergence of p.
	project func(prob linear.Problem, p float64, w0 []float64) (*margin.Projection, error)
}

// ours is the algorithm as it is.
func ours(ctx context.Context) subject {
	return subject{
		potential:  mirror.Power,
		squared:    mirror.SquaredNorm,
		quadratic:  mirror.Quadratic,
		loss:       func(l margin.Curved) linear.Loss { return l },
		square:     linear.Square{},
		pathLoss:   func(l margin.Curved) margin.Curved { return l },
		norm:       mirror.Norm,
		conjugate:  mirror.Conjugate,
		divergence: mirror.Divergence,
		powers:     func(p, x float64) (float64, float64) { return math.Pow(x, p), math.Pow(x, p-1) },
		direction: func(prob linear.Problem, p float64) ([]float64, float64, error) {
			s, err := margin.Solve(ctx, prob, p, margin.Settings{})
			if err != nil {
				return nil, 0, err
			}
			return scaled(1/mirror.Norm(s.W, p), s.W), s.Lower, nil
		},
		regularised: func(prob linear.Problem, p float64, loss margin.Curved) ([]float64, float64, error) {
			// The path is within O(1/B) of its limit, and every check allows for that.
			c := prob.RowNorm(mirror.Conjugate(p))
			points, err := margin.Path{P: p, Loss: loss, To: 1e7 / c, PerDecade: 2}.Run(ctx, prob)
			if err != nil {
				return nil, 0, err
			}
			end := points[len(points)-1]
			return scaled(1/mirror.Norm(end.W, p), end.W), end.Margin, nil
		},
		project: func(prob linear.Problem, p float64, w0 []float64) (*margin.Projection, error) {
			return margin.Project(ctx, prob, p, w0, margin.Settings{})
		},
	}
}

// descent is p-GD on a setting.
func (sub subject) descent(set setting, l tail, rule stepRule) descentOf {
	return descentOf{
		setting: set, geometry: powerGeometry(set.p), loss: l, rule: rule,
		step: func() mirror.Potential { return sub.potential(set.p) },
		direction: func() ([]float64, float64, error) {
			if l.exponential() {
				return sub.direction(set.prob, set.p)
			}
			return sub.regularised(set.prob, set.p, l.loss)
		},
	}
}

// run follows a descent.
func (sub subject) run(of descentOf, data string) run[*trajectory] {
	return run[*trajectory]{where{of.p, data, of.loss.name, of.rule},
		func(ctx context.Context, each func(*trajectory)) error { return follow(ctx, sub, of, each) }}
}
