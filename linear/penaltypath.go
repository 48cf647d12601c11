package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Penalised is a problem for a PenaltyPath: examples with signs, targets or classes. Its weights are penalised, its
// intercepts are not.
type Penalised struct {
	X matrix.Matrix

	// Y are signs ±1, or for Square targets, of each weight vector. Several vectors are one problem: their losses are
	// added, and their penalty is that of all weights. It is nil if Class is given.
	Y    [][]float64
	Loss Loss // nil: Logistic. It must have a second derivative, as all of Losses have

	// Class is the class of each example, from 0 to Classes − 1. There is a weight vector a class, and the loss is the
	// cross-entropy of the softmax of their scores.
	Class   []int
	Classes int

	Weight    []float64 // of the examples, with mean 1; nil: all are 1
	Intercept bool      // the last column of X is constant, and its weights are the intercepts
}

// check returns an error if the problem is not one.
func (p Penalised) check() error {
	if err := (Problem{X: p.X}).Check(); err != nil {
		return err
	}
	n, d := p.X.Dims()
	if (p.Y == nil) == (p.Class == nil) {
		return errors.New("a penalised problem has signs or targets, or classes")
	}
	if p.Weight != nil && len(p.Weight) != n {
		return fmt.Errorf("%d weights for %d examples", len(p.Weight), n)
	}
	if p.Intercept && d == 1 {
		return errors.New("no data: the only feature is constant")
	}
	if len(p.Class) > 0 {
		if len(p.Class) != n || p.Classes < 2 || slices.Min(p.Class) < 0 || slices.Max(p.Class) >= p.Classes {
			return fmt.Errorf("classes of %d examples: want one from 0 to %d for each of %d", len(p.Class), p.Classes-1, n)
		}
	}
	for _, y := range p.Y {
		prob := Problem{X: p.X, Y: y}
		if len(y) != n {
			return fmt.Errorf("%d labels for %d examples", len(y), n)
		}
		if p.loss().Residual() {
			if len(p.Y) > 1 {
				return errors.New("a regression has one weight vector")
			}
			continue
		}
		if err := prob.checkSigns(); err != nil {
			return err
		}
	}
	return nil
}

func (p Penalised) loss() Loss {
	if p.Loss == nil {
		return Logistic{}
	}
	return p.Loss
}

// PenaltyPath minimises
//
//	L(W, b) + (λ/2)‖W‖ₚ²,   λ = penalty·‖∇L(0, b₀)‖_q²/L(0, b₀),   1/p + 1/q = 1, 1 ≤ p ≤ ∞
//
// for one penalty after another, each from the weights of the one before. L is the mean loss, ‖·‖ₚ the norm of all
// weights together, b₀ are the best intercepts without weights. The unit of the penalty makes it mean the same for
// every p and every scale of the data and of targets: as the loss is convex, weights lower L(W, b) + (λ/2)‖W‖ₚ² by at
// most 1/(2·penalty) of L(0, b₀). From 10 on weights do next to nothing; at 1e-6 the penalty does. As the penalty tends
// to 0, the weights of the exponential, logistic and cross-entropy loss turn to the largest ℓₚ margin.
//
// With 1 < p < ∞ it uses Newton's method (see Newton), else accelerated proximal gradients with the proximal map of the
// squared norm, which for p = 1 makes weights exactly 0. Both stop at a duality gap.
type PenaltyPath struct {
	prob   Penalised
	p      float64
	loss   meanLoss
	unit   float64 // λ of penalty 1
	newton *newtonState
	prox   *proximalState
}

// NewPenaltyPath begins a path.
func NewPenaltyPath(prob Penalised, p float64) (*PenaltyPath, error) {
	if !(p >= 1) {
		return nil, fmt.Errorf("p = %v: want a number from 1 to Inf", p)
	}
	if err := prob.check(); err != nil {
		return nil, err
	}
	x := &PenaltyPath{prob: prob, p: p}
	if prob.Class != nil {
		x.loss = newSoftmaxLoss(newLayout(prob.X, prob.Classes, prob.Intercept), prob.Class, prob.Weight)
	} else {
		l, ok := prob.loss().(curved)
		if !ok {
			return nil, fmt.Errorf("the %v loss has no second derivative", prob.loss())
		}
		x.loss = newSeparate(newLayout(prob.X, len(prob.Y), prob.Intercept), prob.Y, l, prob.Weight)
	}
	x.newton = newNewton(x.loss, penalty{2, 1}, nil)
	scale := mirror.Norm(x.newton.v[:x.newton.m], mirror.Conjugate(p))
	row, y := x.loss.sizes()
	rounding := 1e-14 * row * max(1, y) // of a gradient: no weight lowers the loss
	if x.unit = scale * (scale / x.newton.mean); !(scale > rounding) || !(x.unit > 0) || math.IsInf(x.unit, 1) {
		x.unit = 1
	}
	return x, nil
}

// PenaltyFit is a point of a PenaltyPath.
type PenaltyFit struct {
	P, Penalty, Lambda float64
	W                  [][]float64 // as long as X is wide: the intercept is last
	Loss, Objective    float64
	Excess             float64 // the objective is at most this far above the least possible
	Steps              int
}

// Fit returns the minimum for a penalty, to a relative gap of its objective. Penalties are meant to come in descending
// order. If ctx ends, the fit so far comes with the error.
func (x *PenaltyPath) Fit(ctx context.Context, strength, gap float64) (*PenaltyFit, error) {
	if !(strength > 0) || math.IsInf(strength, 1) {
		return nil, fmt.Errorf("penalty %v: want a positive number", strength)
	}
	goal := penalty{x.p, strength * x.unit}
	out := &PenaltyFit{P: x.p, Penalty: strength, Lambda: goal.lambda}
	var w []float64
	var err error
	if x.p > 1 && !math.IsInf(x.p, 1) {
		w, err = x.byNewton(ctx, goal, gap, out)
	} else {
		w, err = x.byProximal(ctx, goal, gap, out)
	}
	all := x.vectors(w)
	out.W = all
	return out, err
}

// vectors returns the weight vectors, copied.
func (x *PenaltyPath) vectors(w []float64) [][]float64 {
	l := newLayout(x.prob.X, max(len(x.prob.Y), x.prob.Classes), x.prob.Intercept)
	var all [][]float64
	for k := range l.k {
		all = append(all, slices.Clone(l.vector(w, k)))
	}
	return all
}

// The most steps of one penalty.
const (
	newtonMost   = 200
	proximalMost = 4000
)

func (x *PenaltyPath) byNewton(ctx context.Context, goal penalty, gap float64, out *PenaltyFit) ([]float64, error) {
	s := x.newton
	if s.goal.p != goal.p || s.t == 0 {
		s = newNewton(x.loss, goal, s.w)
		x.newton = s
	} else {
		s.goal, s.now, s.dual = goal, goal, math.Inf(-1)
		s.evaluate()
	}
	begin := s.t
	for !s.done(gap) && s.t-begin < newtonMost && ctx.Err() == nil {
		s.step(ctx)
	}
	out.Loss, out.Objective, out.Excess, out.Steps = s.mean, s.f, s.bound, s.t-begin
	return s.w, ctx.Err()
}

func (x *PenaltyPath) byProximal(ctx context.Context, goal penalty, gap float64, out *PenaltyFit) ([]float64, error) {
	if x.prox == nil {
		x.prox = newProximal(x.loss, x.newton.w)
	}
	s := x.prox
	s.begin(goal)
	for s.t < proximalMost && s.excess > gap*math.Abs(s.f) && ctx.Err() == nil {
		s.step()
	}
	s.evaluate()
	out.Loss, out.Objective, out.Excess, out.Steps = s.mean, s.f, s.excess, s.t
	return s.w, ctx.Err()
}
