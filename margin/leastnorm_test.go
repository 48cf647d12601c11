package margin_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

func regression(seed uint64, n, d int) linear.Problem {
	rng := rand.New(rand.NewPCG(seed, 5))
	x, y := make([]float64, n*d), make([]float64, n)
	for k := range x {
		x[k] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	return linear.Problem{X: matrix.NewDense(d, x), Y: y}
}

// The norm is bounded from below by ⟨λ, y⟩/‖Xᵀλ‖_q, here recomputed, and the residual is of the size of rounding.
func TestLeastNormIsCertified(t *testing.T) {
	for seed, shape := range [][2]int{{1, 1}, {1, 7}, {5, 20}, {15, 100}, {30, 31}, {40, 40}, {60, 400}} {
		n, d := shape[0], shape[1]
		prob := regression(uint64(seed), n, d)
		for _, p := range []float64{1.01, 1.1, 1.5, 2, 3, 6, 10, 50} {
			s, err := margin.LeastNorm(context.Background(), prob, p, margin.Settings{})
			if err != nil {
				t.Errorf("%d × %d, p = %v: %v", n, d, p, err)
				continue
			}
			v, m := make([]float64, d), make([]float64, n)
			prob.X.AddMulT(v, s.Lambda)
			var product, off float64
			prob.X.Mul(m, s.W)
			for i := range m {
				product += s.Lambda[i] * prob.Y[i]
				off = max(off, math.Abs(m[i]-prob.Y[i]))
			}
			lower := product / mirror.Norm(v, mirror.Conjugate(p))
			if gap := mirror.Norm(s.W, p)/lower - 1; gap > 1e-9 || off > 1e-9*mirror.Norm(s.W, 2) {
				t.Errorf("%d × %d, p = %v: gap %.1e, residual %.1e", n, d, p, gap, off)
			}
			t.Logf("%d × %d, p = %v: %d iterations, gap %.1e, residual %.1e", n, d, p, s.Iterations, s.Gap(), off)
		}
	}
}

// For p = 2 the solution is Xᵀ(XXᵀ)⁻¹y. The condition of XXᵀ here is below 1e3, hence 1e-11.
func TestLeastEuclideanNormIsThePseudoInverse(t *testing.T) {
	const n, d = 15, 60
	prob := regression(3, n, d)
	s, err := margin.LeastNorm(context.Background(), prob, 2, margin.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	x := mat.NewDense(n, d, nil)
	for i := range n {
		_, row := prob.X.Row(i)
		x.SetRow(i, row)
	}
	var want mat.VecDense
	if err := want.SolveVec(x, mat.NewVecDense(n, prob.Y)); err != nil {
		t.Fatal(err)
	}
	for j, w := range s.W {
		if math.Abs(w-want.AtVec(j)) > 1e-11 {
			t.Errorf("w[%d] = %v, want %v", j, w, want.AtVec(j))
		}
	}
}

func TestLeastNormRefusesTargetsThatContradict(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 2, 0}, {2, 4, 0}, {0, 0, 1}})
	if _, err := margin.LeastNorm(context.Background(), linear.Problem{X: x, Y: []float64{1, 3, 1}}, 3,
		margin.Settings{}); err == nil {
		t.Error("no error for the same example with two targets")
	}
	// The same rows with targets that agree have a solution.
	s, err := margin.LeastNorm(context.Background(), linear.Problem{X: x, Y: []float64{1, 2, 1}}, 3, margin.Settings{})
	if err != nil || s.Residual > 1e-10 {
		t.Errorf("residual %v, %v", s, err)
	}
}

func ExampleLeastNorm() {
	x := matrix.FromRows([][]float64{{1, 2}})
	s, err := margin.LeastNorm(context.Background(), linear.Problem{X: x, Y: []float64{1}}, 2, margin.Settings{})
	fmt.Printf("%.3f %v\n", s.W, err)
	// Output: [0.200 0.400] <nil>
}
