package margin

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// shifted are two clouds, so far apart that they can be separated, and far from 0 along some columns.
func shifted(rng *rand.Rand, n, d int, far float64) linear.Problem {
	rows, y := make([][]float64, n), make([]float64, n)
	u := make([]float64, d)
	for j := range u {
		u[j] = rng.NormFloat64()
	}
	size := mirror.Norm(u, 2)
	for i := range rows {
		rows[i] = make([]float64, d+1)
		y[i] = float64(2*(i%2) - 1)
		var along float64
		for j := range d {
			rows[i][j] = rng.NormFloat64()
			along += rows[i][j] * u[j] / size
		}
		for j := range d { // at least 0.1 from the plane
			rows[i][j] += (y[i]*(0.1+math.Abs(along)) - along) * u[j] / size
			if j%2 == 0 {
				rows[i][j] += far
			}
		}
		rows[i][d] = 1
	}
	return linear.Problem{X: matrix.FromRows(rows), Y: y}
}

func TestAMarginWithAnInterceptIsCertified(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, shape := range [][2]int{{20, 3}, {60, 10}, {30, 80}, {300, 20}} {
		prob := shifted(rng, shape[0], shape[1], 3)
		for _, p := range []float64{1, 1.1, 1.5, 2, 3, 10, math.Inf(1)} {
			s, err := SolveIntercept(context.Background(), prob, p, Settings{})
			if err != nil {
				t.Errorf("%v, p = %v: %v", shape, p, err)
			}
			if s == nil {
				continue
			}
			t.Logf("%v, p = %v: margin %.6g, gap %.2g, %d iterations, %s", shape, p, s.Lower, s.Gap(), s.Iterations, s.Method)
			if c := linear.CertifyIntercept(prob, p, s.W, s.Dual); c != s.Certificate || s.Gap() > 1e-6 {
				t.Errorf("%v, p = %v: gap %.2g, certificate %v, again %v", shape, p, s.Gap(), s.Certificate, c)
			}
		}
	}
}

// The intercept is free: to move all examples changes nothing, and the margin is at least that without an intercept.
func TestAnInterceptIsFree(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	near := shifted(rng, 40, 6, 0)
	n, d := near.Dims()
	var rows [][]float64
	for i := range n {
		_, row := near.X.Row(i)
		moved := append([]float64(nil), row...)
		for j := range d - 1 {
			moved[j] += 2 * float64(j)
		}
		rows = append(rows, moved)
	}
	far := linear.Problem{X: matrix.FromRows(rows), Y: near.Y}
	for _, p := range []float64{1, 1.5, 2, 10} {
		a, err := SolveIntercept(context.Background(), near, p, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := SolveIntercept(context.Background(), far, p, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(a.Lower-b.Lower) > 3e-6*a.Lower {
			t.Errorf("p = %v: margin %v, moved %v", p, a.Lower, b.Lower)
		}
		with, err := Solve(context.Background(), near, p, Settings{}) // the constant counts in the norm
		if err != nil {
			t.Fatal(err)
		}
		if a.Lower < with.Lower*(1-1e-6) {
			t.Errorf("p = %v: margin %v with a free intercept, %v with one that counts", p, a.Lower, with.Lower)
		}
	}
}

func TestDataThatNoInterceptSeparatesAreProvedSo(t *testing.T) {
	prob := linear.Problem{X: matrix.FromRows([][]float64{{0, 1}, {1, 1}, {2, 1}}), Y: []float64{1, -1, 1}}
	var not *NotSeparableError
	if _, err := SolveIntercept(context.Background(), prob, 2, Settings{}); !errors.As(err, &not) {
		t.Errorf("%v", err)
	}
	if _, err := SolveIntercept(context.Background(), linear.Problem{X: prob.X}, 2, Settings{}); err == nil {
		t.Error("one class: no error")
	}
}
