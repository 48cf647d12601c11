package linear

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/mirror"
)

// Descent is mirror descent on a linear problem, one step at a time: Start returns a State, which steps and measures.
// MirrorDescent and SteepestDescent run it as a Method. The zero value is plain gradient descent on the exponential
// loss with η = 1e-4, the paper's step.
//
// One step, with g = ∇L(w) over all examples or a mini-batch:
//
//	constant     z ← z − η·g,          w = ∇ψ*(z)
//	normalized   z ← z − η·g/L(w),     w = ∇ψ*(z)
//	steepest     w ← w + η·argmin_v {⟨g, v⟩ + ½‖v‖ₚ²} = w − η·∇(½‖·‖_q²)(g)
type Descent struct {
	Potential  mirror.Potential // nil: Power(2)
	Loss       Loss             // nil: Exponential
	Eta        float64          // the step η; 0: 1e-4
	Normalized bool             // divide each step by the loss (Nacson et al. 2019)
	Steepest   float64          // above 1: steepest descent in this ℓₚ norm, instead of mirror descent
	Batch      int              // examples per step; 0: all of them
	Seed       uint64           // determines the order of mini-batches
}

// State is a running descent: after T steps the weights are W and the dual vector is Z = ∇ψ(W).
// For steepest descent, which has no dual state, Z is the last negative gradient.
type State struct {
	W, Z []float64
	T    int

	d     Descent
	prob  Problem
	n     int       // examples per full pass
	score []float64 // margins or residuals of the examples in this step
	c     []float64 // the examples' coefficients: the step is z ← z + Xᵀc
	order []int     // this epoch's order of examples, for mini-batches
	epoch int       // the epoch order was drawn for, counted from 1
	pcg   rand.PCG
	rng   *rand.Rand
	safe  []float64 // the state some steps ago (Z, or W of steepest descent), to find the step that overflowed
	safeM float64   // the mass at that time
	move  []float64 // the direction of steepest descent
	z0    []float64 // of normalized mirror descent: the first Z
	mass  float64   // the sum of all coefficients: (Z − z0)/mass is a weighted mean of examples, a bound on the margin
	cert  *certifier
}

// Start checks the settings and returns the state at w0, which is copied; nil means the potential's own start.
func (d Descent) Start(prob Problem, w0 []float64) (*State, error) {
	if err := prob.Check(); err != nil {
		return nil, err
	}
	if d.Potential == nil {
		d.Potential = mirror.Power(2)
	}
	if d.Loss == nil {
		d.Loss = Exponential{}
	}
	if d.Eta == 0 {
		d.Eta = 1e-4
	}
	n, dim := prob.Dims()
	switch {
	case !(d.Eta > 0) || math.IsInf(d.Eta, 1):
		return nil, fmt.Errorf("step size %v: want a positive number", d.Eta)
	case d.Batch < 0 || d.Batch > n:
		return nil, fmt.Errorf("batch of %d: there are %d examples", d.Batch, n)
	case d.Steepest != 0 && mirror.CheckP(d.Steepest) != nil:
		return nil, fmt.Errorf("steepest descent: %w", mirror.CheckP(d.Steepest))
	case d.Loss.Residual() && prob.Y == nil:
		return nil, fmt.Errorf("the %v loss needs targets", d.Loss)
	}
	k := n
	if d.Batch > 0 {
		k = d.Batch
	}
	s := &State{
		W: make([]float64, dim), Z: make([]float64, dim), d: d, prob: prob, n: n,
		score: make([]float64, k), c: make([]float64, k),
		safe: make([]float64, dim),
	}
	if d.Batch > 0 {
		s.order = make([]int, n)
		s.rng = rand.New(&s.pcg)
	}
	if d.Steepest != 0 {
		s.move = make([]float64, dim)
	}
	if w0 == nil {
		d.Potential.Start(s.W)
	} else if len(w0) != dim {
		return nil, fmt.Errorf("start has %d weights, the data has %d features", len(w0), dim)
	} else {
		copy(s.W, w0)
	}
	if err := d.Potential.Check(s.W); err != nil {
		return nil, fmt.Errorf("start outside the potential's domain: %w", err)
	}
	if d.Steepest == 0 {
		d.Potential.Mirror(s.Z, s.W)
		d.Potential.Inverse(s.W, s.Z) // if ∇ψ underflows, w follows its dual from the start
		if d.Normalized && !d.Loss.Residual() {
			s.z0 = append(s.z0, s.Z...)
		}
	}
	return s, nil
}

// SetEta changes the step size η of the steps that follow.
func (s *State) SetEta(eta float64) { s.d.Eta = eta }

// Step makes one step. It does not look for overflow: Run does.
func (s *State) Step() {
	rows := s.batch()
	score, c := s.score, s.c
	if rows == nil {
		s.prob.X.Mul(score, s.W)
	} else {
		score, c = score[:len(rows)], c[:len(rows)]
		s.prob.X.MulRows(score, rows, s.W)
	}
	s.label(score, rows, s.d.Loss.Residual())

	scale := 1.0
	if s.d.Normalized {
		s.d.Loss.Normalized(c, score)
	} else {
		s.d.Loss.Weights(c, score)
		scale /= float64(len(c))
	}
	if s.z0 != nil {
		for _, v := range c {
			s.mass += s.d.Eta * v
		}
	}
	if s.d.Steepest == 0 {
		s.subtractGradient(rows, c, s.d.Eta*scale)
		s.d.Potential.Inverse(s.W, s.Z)
	} else {
		clear(s.Z)
		s.subtractGradient(rows, c, scale)
		mirror.DualityMap(s.move, s.Z, mirror.Conjugate(s.d.Steepest))
		vec.Axpy(s.d.Eta, s.move, s.W)
	}
	s.T++
}

// label turns predictions into scores: times the label, or minus the target.
func (s *State) label(score []float64, rows []int, residual bool) {
	y := s.prob.Y
	switch {
	case y == nil:
	case rows == nil && residual:
		vec.Axpy(-1, y, score)
	case rows == nil:
		for i, v := range y {
			score[i] *= v
		}
	case residual:
		for k, i := range rows {
			score[k] -= y[i]
		}
	default:
		for k, i := range rows {
			score[k] *= y[i]
		}
	}
}

// subtractGradient adds eta·Xᵀ(c·y), a negative gradient, to Z; c is overwritten.
func (s *State) subtractGradient(rows []int, c []float64, eta float64) {
	vec.Scale(c, eta, c)
	if !s.d.Loss.Residual() {
		s.label(c, rows, false)
	}
	if rows == nil {
		s.prob.X.AddMulT(s.Z, c)
	} else {
		s.prob.X.AddMulTRows(s.Z, rows, c)
	}
}

// batch returns the rows of this step, nil for all. An epoch's order depends on (seed, epoch) alone.
func (s *State) batch() []int {
	if s.order == nil {
		return nil
	}
	perEpoch := (s.n + s.d.Batch - 1) / s.d.Batch
	epoch, k := s.T/perEpoch+1, s.T%perEpoch
	if epoch != s.epoch {
		for i := range s.order {
			s.order[i] = i
		}
		s.pcg.Seed(s.d.Seed, uint64(epoch))
		for i := s.n - 1; i > 0; i-- {
			j := s.rng.IntN(i + 1)
			s.order[i], s.order[j] = s.order[j], s.order[i]
		}
		s.epoch = epoch
	}
	return s.order[k*s.d.Batch : min((k+1)*s.d.Batch, s.n)]
}

// few is how many steps Run makes between checks of the context and for overflow: a thousand, or fewer if these take
// more than about a tenth of a second.
func (s *State) few() int {
	entries := s.prob.X.NNZ()
	if s.d.Batch > 0 {
		entries = entries / s.n * s.d.Batch
	}
	return min(max(50_000_000/max(entries, 1), 1), 1000)
}

// Run steps until T = steps. It stops early with the context's error,
// or with an *OverflowError that names the first step whose weights are not finite.
func (s *State) Run(ctx context.Context, steps int) error {
	few := s.few()
	for s.T < steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		from := s.T
		s.save()
		for s.T < min(steps, from+few) {
			s.Step()
		}
		if j := firstNotFinite(s.W); j >= 0 {
			return s.overflow(from, j)
		}
	}
	return nil
}

// save keeps the state, and restore returns to it.
func (s *State) save() {
	s.safeM = s.mass
	if s.d.Steepest != 0 {
		copy(s.safe, s.W)
	} else {
		copy(s.safe, s.Z)
	}
}

func (s *State) restore(step int) {
	s.T, s.mass = step, s.safeM
	if s.d.Steepest != 0 {
		copy(s.W, s.safe)
		return
	}
	copy(s.Z, s.safe)
	s.d.Potential.Inverse(s.W, s.Z)
}

// overflow returns to step from and finds the step that overflowed. It leaves the state before that step.
func (s *State) overflow(from, j int) error {
	to := s.T
	s.restore(from)
	for s.T < to {
		s.save()
		s.Step()
		if k := firstNotFinite(s.W); k >= 0 {
			err := &OverflowError{Step: s.T, Coordinate: k, Value: s.W[k]}
			s.restore(s.T - 1)
			return err
		}
	}
	return &OverflowError{Step: to, Coordinate: j, Value: math.NaN()}
}

// OverflowError reports the first step after which a weight is not finite.
type OverflowError struct {
	Step, Coordinate int
	Value            float64
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("weight %d became %v at step %d: try a smaller step size", e.Coordinate, e.Value, e.Step)
}

func firstNotFinite(w []float64) int {
	for j, v := range w {
		if v-v != 0 { // NaN and ±Inf
			return j
		}
	}
	return -1
}
