// Package linear trains linear models by mirror descent and proves how good they are.
//
// A Problem is examples with labels, and Fit finds a classifier for it: the one of largest ℓₚ margin, certified, in some hundred iterations,
// or the minimiser of a regularised loss. Below that, a Descent runs from a start, its state the dual vector z = ∇ψ(w);
// a Trace records loss, margin, norm, divergence and angle at logarithmically spaced steps; Certify bounds the
// maximum ℓₚ margin from both sides.
package linear

import (
	"fmt"
	"math"

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

// Check returns an error where the problem is empty or its labels do not match its rows.
func (p Problem) Check() error {
	n, d := p.Dims()
	if n == 0 || d == 0 {
		return fmt.Errorf("no data: %d examples of %d features", n, d)
	}
	if p.Y != nil && len(p.Y) != n {
		return fmt.Errorf("%d labels for %d examples", len(p.Y), n)
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
	var c float64
	matrix.Rows(p.X, func(_ int, _ []int32, val []float64) { c = max(c, mirror.Norm(val, q)) })
	return c
}
