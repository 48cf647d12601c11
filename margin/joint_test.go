package margin_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// clouds are examples of several classes around points of a sphere, moved by far: with a constant last column.
func clouds(rng *rand.Rand, n, d, classes int, far float64) ([][]float64, []int) {
	center := make([][]float64, classes)
	for c := range center {
		center[c] = make([]float64, d)
		for j := range d {
			center[c][j] = rng.NormFloat64()
		}
		size := mirror.Norm(center[c], 2)
		for j := range d {
			center[c][j] *= 3 / size
		}
	}
	rows, class := make([][]float64, n), make([]int, n)
	for i := range rows {
		class[i] = i % classes
		rows[i] = make([]float64, d+1)
		for j := range d {
			rows[i][j] = center[class[i]][j] + 0.3*rng.NormFloat64()/math.Sqrt(float64(d)) + far
		}
		rows[i][d] = 1
	}
	return rows, class
}

func TestAJointMarginIsCertified(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for _, shape := range [][3]int{{20, 3, 3}, {60, 10, 4}, {30, 80, 5}, {300, 20, 3}, {400, 8, 10}} {
		rows, class := clouds(rng, shape[0], shape[1], shape[2], 0.5)
		for _, sparse := range []bool{false, true} {
			var x matrix.Matrix = matrix.FromRows(rows)
			if sparse {
				x = sparseOf(rows)
			}
			prob, _ := linear.Joint(x, class, shape[2])
			for _, p := range []float64{1, 1.1, 1.5, 2, 3, 10, math.Inf(1)} {
				s, err := margin.Solve(context.Background(), prob, p, margin.Settings{})
				if err != nil {
					t.Errorf("%v, p = %v: %v", shape, p, err)
					continue
				}
				t.Logf("%v, p = %v: margin %.6g, gap %.2g, %d support, %d iterations, %s", shape, p, s.Lower, s.Gap(),
					len(s.Support), s.Iterations, s.Method)
				if s.Gap() > 1e-8 {
					t.Errorf("%v, p = %v: gap %.2g", shape, p, s.Gap())
				}
			}
		}
	}
}

func sparseOf(rows [][]float64) matrix.Matrix {
	var b matrix.Builder
	for _, r := range rows {
		for j, v := range r {
			if v != 0 {
				b.Add(int32(j), v)
			}
		}
		b.EndRow()
	}
	return b.Build(len(rows[0]))
}

// Nothing of the solver is used to check its proof: from W and the dual weights alone, and the definitions.
func TestTheProofOfAJointMarginIsOneByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	rows, class := clouds(rng, 40, 6, 4, 0.2)
	for _, p := range []float64{1, 1.5, 2, 3, math.Inf(1)} {
		prob, pairs := linear.Joint(matrix.FromRows(rows), class, 4)
		s := solve(t, prob, p)
		w := pairs.Split(s.W)
		least, total := math.Inf(1), 0.0
		sum := make([]float64, 4*len(rows[0]))
		for r, a := range s.Dual {
			i, k := pairs.Pair(r)
			if a < 0 || k == class[i] {
				t.Fatalf("weight %v of example %d against class %d", a, i, k)
			}
			total += a
			ahead := 0.0
			for j, v := range rows[i] {
				ahead += (w[class[i]][j] - w[k][j]) * v
				sum[class[i]*len(rows[i])+j] += a * v
				sum[k*len(rows[i])+j] -= a * v
			}
			least = min(least, ahead)
		}
		lower := least / mirror.Norm(s.W, p)
		upper := mirror.Norm(sum, mirror.Conjugate(p)) / total
		if !(lower > 0) || upper/lower-1 > 1e-8 || math.Abs(lower-s.Lower) > 1e-12*lower ||
			math.Abs(upper-s.Upper) > 1e-12*upper {
			t.Errorf("p = %v: %v ≤ margin ≤ %v, certificate %v", p, lower, upper, s.Certificate)
		}
	}
}

// Of two classes, w₁ = −w₀ by symmetry: the joint margin is 2^(1−1/p) times the margin.
func TestTheJointMarginOfTwoClassesIsThatOfTwo(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	rows, class := clouds(rng, 30, 8, 2, 0.1)
	y := make([]float64, len(class))
	for i, c := range class {
		y[i] = float64(2*c - 1)
	}
	for _, p := range []float64{1, 1.3, 2, 4, math.Inf(1)} {
		prob, _ := linear.Joint(matrix.FromRows(rows), class, 2)
		joint := solve(t, prob, p)
		two := solve(t, linear.Problem{X: matrix.FromRows(rows), Y: y}, p)
		if want := math.Pow(2, 1-1/p) * two.Lower; math.Abs(joint.Lower-want) > 2e-8*want {
			t.Errorf("p = %v: joint margin %v, want %v", p, joint.Lower, want)
		}
	}
}

func TestAJointMarginWithInterceptsIsCertified(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, shape := range [][3]int{{20, 5, 3}, {60, 10, 4}, {30, 40, 5}} {
		near, class := clouds(rng, shape[0], shape[1], shape[2], 0)
		far := make([][]float64, len(near))
		for i, r := range near {
			for j, v := range r[:shape[1]] {
				far[i] = append(far[i], v+2*float64(j))
			}
			far[i] = append(far[i], 1)
		}
		for _, p := range []float64{1, 1.1, 2, 3, 10, math.Inf(1)} {
			prob, _ := linear.Joint(matrix.FromRows(near), class, shape[2])
			s, err := margin.SolveIntercept(context.Background(), prob, p, margin.Settings{})
			if err != nil {
				t.Errorf("%v, p = %v: %v", shape, p, err)
				continue
			}
			moved, _ := linear.Joint(matrix.FromRows(far), class, shape[2])
			other, err := margin.SolveIntercept(context.Background(), moved, p, margin.Settings{})
			if err != nil {
				t.Errorf("%v, p = %v, moved: %v", shape, p, err)
				continue
			}
			if c := linear.CertifyIntercept(prob, p, s.W, s.Dual); c != s.Certificate || s.Gap() > 1e-6 {
				t.Errorf("%v, p = %v: gap %.2g, certificate %v, again %v", shape, p, s.Gap(), s.Certificate, c)
			}
			if math.Abs(s.Lower-other.Lower) > 3e-6*s.Lower {
				t.Errorf("%v, p = %v: margin %v, moved %v", shape, p, s.Lower, other.Lower)
			}
		}
	}
}

func TestClassesThatNoWeightsSeparateAreProvedSo(t *testing.T) {
	// the third class is between the others, and without a constant no score of its own is the largest there
	prob, _ := linear.Joint(matrix.FromRows([][]float64{{1}, {2}, {3}, {4}}), []int{0, 1, 2, 1}, 3)
	var not *margin.NotSeparableError
	_, err := margin.Solve(context.Background(), prob, 2, margin.Settings{})
	if !errors.As(err, &not) || !not.Verify(prob) || len(not.Examples()) == 0 {
		t.Errorf("%v", err)
	}
	with, _ := linear.Joint(matrix.FromRows([][]float64{{0, 1}, {1, 1}, {2, 1}, {3, 1}}), []int{0, 1, 2, 1}, 3)
	_, err = margin.SolveIntercept(context.Background(), with, 2, margin.Settings{})
	if !errors.As(err, &not) || !not.Verify(with) {
		t.Errorf("%v", err)
	}
	zero, _ := linear.Joint(matrix.FromRows([][]float64{{1}, {0}, {3}}), []int{0, 1, 2}, 3)
	_, err = margin.Solve(context.Background(), zero, 2, margin.Settings{})
	if !errors.As(err, &not) || !not.Verify(zero) || not.Examples()[0] != 1 {
		t.Errorf("%v", err)
	}
}

// Linear programs (HiGHS) for p = 1 and ∞, a quadratic program and a general convex solver (cvxopt) for the others:
// scripts/joint_fixture.py. The convex solver stops at 1e-9 to 1e-8.
func TestJointMarginsAreThoseOfGenericSolvers(t *testing.T) {
	var cases []struct {
		X       [][]float64
		Class   []int
		Classes int
		Margins []struct {
			P         mirror.Exponent
			Margin    float64
			Intercept float64
		}
	}
	data, err := os.ReadFile("testdata/joint.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range cases {
		x := matrix.FromRows(c.X)
		prob, _ := linear.Joint(x, c.Class, c.Classes)
		with, _ := linear.Joint(matrix.AppendConstant(x), c.Class, c.Classes)
		for _, m := range c.Margins {
			s := solve(t, prob, float64(m.P))
			if off := s.Lower/m.Margin - 1; math.Abs(off) > 1e-8 {
				t.Errorf("problem %d, p = %v: margin %.12g, want %.12g, off by %.1e", k, m.P, s.Lower, m.Margin, off)
			}
			free, err := margin.SolveIntercept(context.Background(), with, float64(m.P), margin.Settings{Gap: 1e-7})
			if free == nil {
				t.Errorf("problem %d, p = %v: %v", k, m.P, err)
				continue
			}
			if off := free.Lower/m.Intercept - 1; off > 1e-8 || off < -free.Gap()-1e-8 || free.Gap() > 1e-6 {
				t.Errorf("problem %d, p = %v, intercepts: margin %.12g, want %.12g, off by %.1e, gap %.1e", k, m.P, free.Lower,
					m.Intercept, off, free.Gap())
			}
		}
	}
}
