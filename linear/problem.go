// Package linear trains linear models by mirror descent and proves how good they are.
//
// A Problem is a set of examples with labels. A Method fits a model to it: Accelerated finds the classifier of largest
// ℓₚ margin, certified, in some hundred iterations; Newton minimises a loss with a penalty; MirrorDescent and
// SteepestDescent are the algorithms of the paper and its relatives. Fit chooses the method from flat Settings.
//
// Below that, a Descent makes one step at a time; its state is the dual vector z = ∇ψ(w). A Trace records loss, margin,
// norm, divergence and angle at logarithmically spaced steps. Certify bounds the maximum ℓₚ margin from both sides.
package linear

import (
	"errors"
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/twofold"
	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// Problem is a set of examples: row i of X with label or target Y[i].
// A nil Y means labels already absorbed: every label is +1.
type Problem struct {
	X matrix.Matrix
	Y []float64
}

// Dims returns the number of examples and features.
func (p Problem) Dims() (n, d int) { return p.X.Dims() }

// Check returns an error if the problem is empty, its labels do not match its rows, or a number is not finite.
func (p Problem) Check() error {
	if p.X == nil {
		return errors.New("no data: the problem has no examples")
	}
	n, d := p.Dims()
	if n == 0 || d == 0 {
		return fmt.Errorf("no data: %d examples of %d features", n, d)
	}
	if p.Y != nil && len(p.Y) != n {
		return fmt.Errorf("%d labels for %d examples", len(p.Y), n)
	}
	if m, ok := p.X.(*matrix.Pairs); ok {
		return checkPairs(m)
	}
	for i, y := range p.Y {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("example %d has the label %v: want a finite number", i+1, y)
		}
	}
	var bad error
	matrix.Rows(p.X, func(i int, idx []int32, val []float64) {
		square := vec.Dot(val, val)
		for k := 0; square-square != 0 && bad == nil && k < len(val); k++ {
			if v := val[k]; math.IsNaN(v) || math.IsInf(v, 0) {
				j := k
				if idx != nil {
					j = int(idx[k])
				}
				bad = fmt.Errorf("example %d has the value %v in feature %d: want finite numbers", i+1, v, j+1)
			}
		}
	})
	return bad
}

// CheckLabels is Check for a problem of two classes: labels are 1 and −1, or absorbed.
func (p Problem) CheckLabels() error {
	if err := p.Check(); err != nil {
		return err
	}
	return p.checkSigns()
}

// checkSigns returns an error if a label is not 1 or −1.
func (p Problem) checkSigns() error {
	for i, y := range p.Y {
		if y != 1 && y != -1 {
			return fmt.Errorf("example %d has the label %v: want 1 or -1", i+1, y)
		}
	}
	return nil
}

// Margins sets dst[i] = yᵢ⟨xᵢ, w⟩.
func (p Problem) Margins(dst, w []float64) {
	p.X.Mul(dst, w)
	for i, y := range p.Y {
		dst[i] *= y
	}
}

// Margin returns γ(w) = minᵢ yᵢ⟨xᵢ, w⟩ and the share of examples with a positive margin, the accuracy.
func (p Problem) Margin(w []float64) (margin, accuracy float64) {
	n, _ := p.Dims()
	m := make([]float64, n)
	p.Margins(m, w)
	return minOf(m), positive(m)
}

// LeastMargin returns γ(w) with sums in twice the precision of float64, less the most that rounding may have added.
func (p Problem) LeastMargin(w []float64) float64 {
	if m, ok := p.X.(*matrix.Pairs); ok {
		return leastLead(m, w)
	}
	least := math.Inf(1)
	matrix.Rows(p.X, func(i int, idx []int32, val []float64) {
		m := product(idx, val, w)
		value, off := m.Value(), m.Error()
		if p.Y != nil {
			value, off = p.Y[i]*value, math.Abs(p.Y[i])*off
		}
		least = min(least, value-off)
	})
	return least
}

// product returns ⟨x, w⟩ for the entries val of x in the columns idx, nil meaning all.
func product(idx []int32, val, w []float64) twofold.Sum {
	if twofold.Whole(idx, len(val), len(w)) {
		return twofold.Dot(val, w)
	}
	var m twofold.Sum
	for k, x := range val {
		m.AddProduct(x, w[idx[k]])
	}
	return m
}

// addAbsorbed adds Σ c[i]·yᵢ·xᵢ to dst, and turns c into c·y.
func (p Problem) addAbsorbed(dst, c []float64) {
	for i, y := range p.Y {
		c[i] *= y
	}
	p.X.AddMulT(dst, c)
}

func minOf(x []float64) float64 {
	m := math.Inf(1)
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

func positive(m []float64) float64 {
	k := 0
	for _, v := range m {
		if v > 0 {
			k++
		}
	}
	return float64(k) / float64(len(m))
}

// RowNorm returns C = maxᵢ ‖xᵢ‖_q, the paper's bound on the data.
func (p Problem) RowNorm(q float64) float64 {
	if m, ok := p.X.(*matrix.Pairs); ok {
		x, _, _ := m.Examples()
		return math.Pow(2, 1/q) * Problem{X: x}.RowNorm(q)
	}
	var c float64
	matrix.Rows(p.X, func(_ int, _ []int32, val []float64) { c = max(c, mirror.Norm(val, q)) })
	return c
}
