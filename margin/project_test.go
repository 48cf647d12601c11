package margin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// projectPs are the exponents that Project is made for.
var projectPs = []float64{1.05, 1.1, 1.5, 2, 3, 6, 10, 20}

// gaussian returns d normal numbers of the given deviation.
func gaussian(seed uint64, d int, deviation float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := make([]float64, d)
	for j := range w {
		w[j] = deviation * rng.NormFloat64()
	}
	return w
}

// dualOf returns d(λ) = ⟨λ, y⟩ − ψ*(∇ψ(w₀) + Xᵀλ) + ψ*(∇ψ(w₀)), as written, its gradient y − Xv, and the size of its
// terms.
func dualOf(prob linear.Problem, p float64, w0, lambda []float64) (value float64, grad []float64, size float64) {
	psi, q := mirror.Power(p), mirror.Conjugate(p)
	conj := func(z []float64) float64 { return math.Pow(mirror.Norm(z, q), q) / q }
	z := make([]float64, len(w0))
	psi.Mirror(z, w0)
	before := conj(z)
	prob.X.AddMulT(z, lambda)
	after := conj(z)
	for i, l := range lambda {
		value += l * prob.Y[i]
	}
	size = math.Abs(value) + before + after
	psi.Inverse(z, z)
	grad = make([]float64, len(lambda))
	prob.X.Mul(grad, z)
	for i := range grad {
		grad[i] = prob.Y[i] - grad[i]
	}
	return value - after + before, grad, size
}

// The gap is recomputed from W and Lambda alone, as the difference of the two values, whose rounding is 1e-13 of their
// terms.
func TestProjectionIsCertified(t *testing.T) {
	for seed, shape := range [][2]int{{1, 1}, {1, 7}, {5, 20}, {10, 40}, {15, 100}, {30, 31}, {40, 40}, {60, 400}} {
		n, d := shape[0], shape[1]
		prob := regression(uint64(seed), n, d)
		for _, deviation := range []float64{0, 0.01, 1, 30} {
			w0 := gaussian(uint64(seed), d, deviation)
			for _, p := range projectPs {
				s, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{})
				if err != nil {
					t.Errorf("%d × %d, w0 %v, p = %v: %v", n, d, deviation, p, err)
					continue
				}
				m := make([]float64, n)
				prob.X.Mul(m, s.W)
				var off float64
				for i := range m {
					off = max(off, math.Abs(m[i]-prob.Y[i]))
				}
				least, _, size := dualOf(prob, p, w0, s.Lambda)
				gap := mirror.Divergence(mirror.Power(p), s.W, w0) - least
				if gap > 1e-8*s.Divergence+1e-13*size || gap < -1e-13*size || off > 1e-11*mirror.Norm(s.W, 2) {
					t.Errorf("%d × %d, w0 %v, p = %v: gap %.1e of %.1e, residual %.1e", n, d, deviation, p, gap,
						s.Divergence, off)
				}
				if s.Lower > least+1e-13*size {
					t.Errorf("%d × %d, w0 %v, p = %v: Lower %v, the dual value is %v", n, d, deviation, p, s.Lower, least)
				}
				if g := s.Gap(); !(g >= 0 && g <= 1e-8) || s.Residual > off+1e-13*mirror.Norm(s.W, 2) {
					t.Errorf("%d × %d, w0 %v, p = %v: gap %v, residual %v", n, d, deviation, p, g, s.Residual)
				}
			}
		}
	}
}

// Random problems: Gaussian, of integers −1, 0, 1, where rows repeat and columns may be empty, and sparse; w₀ from
// much smaller to much larger than the solutions. Nearly all are certified to 1e-8. Those that are not say so: for
// large p a weight of w₀ much above the others hides their divergence, which is the power p of theirs.
func TestProjectOnRandomProblems(t *testing.T) {
	short := 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		n, d := 1+rng.IntN(20), 1+rng.IntN(60)
		p := 1 + 0.05*math.Pow(19/0.05, rng.Float64())
		x, w, w0, y := make([]float64, n*d), make([]float64, d), make([]float64, d), make([]float64, n)
		kind := seed % 3
		for k := range x {
			switch x[k] = rng.NormFloat64(); {
			case kind == 1:
				x[k] = float64(rng.IntN(3) - 1)
			case kind == 2 && rng.IntN(4) > 0:
				x[k] = 0
			}
		}
		for i := range n {
			x[i*d+rng.IntN(d)] = 1 // no row is zero
		}
		size := math.Exp(3 * rng.NormFloat64())
		for j := range w {
			w[j], w0[j] = rng.NormFloat64(), size*rng.NormFloat64()
			if rng.IntN(5) == 0 {
				w0[j] = 0
			}
		}
		prob := linear.Problem{X: matrix.NewDense(d, x), Y: y}
		prob.X.Mul(y, w)
		s, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{})
		var gap *margin.GapError
		switch {
		case errors.As(err, &gap) && gap.Gap > 1e-8 && gap.Gap == s.Gap():
			short++
			t.Logf("seed %d, %d × %d, kind %d, w0 %.2g, p = %.3f: %v", seed, n, d, kind, size, p, err)
		case err != nil:
			t.Errorf("seed %d: %v", seed, err)
		}
		if s != nil && s.Residual > 1e-11*mirror.Norm(s.W, 2) {
			t.Errorf("seed %d: residual %v", seed, s.Residual)
		}
		// w is a solution too, so that its divergence is not below the bound
		if far := mirror.Divergence(mirror.Power(p), w, w0); s != nil && far < s.Lower*(1-1e-12) {
			t.Errorf("seed %d: a solution at %v, but Lower is %v", seed, far, s.Lower)
		}
	}
	if short > 5 {
		t.Errorf("%d of 1000 are not certified", short)
	}
}

// For p = 2 the solution is w₀ + X⁺(y − Xw₀). The condition of XXᵀ here is below 1e3, hence 1e-11.
func TestEuclideanProjectionIsOrthogonal(t *testing.T) {
	const n, d = 15, 60
	prob, w0 := regression(3, n, d), gaussian(3, d, 1)
	s, err := margin.Project(t.Context(), prob, 2, w0, margin.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	x := mat.NewDense(n, d, nil)
	for i := range n {
		_, row := prob.X.Row(i)
		x.SetRow(i, row)
	}
	var lack, step mat.VecDense
	lack.MulVec(x, mat.NewVecDense(d, w0))
	lack.SubVec(mat.NewVecDense(n, prob.Y), &lack)
	if err := step.SolveVec(x, &lack); err != nil {
		t.Fatal(err)
	}
	for j, w := range s.W {
		if want := w0[j] + step.AtVec(j); math.Abs(w-want) > 1e-11 {
			t.Errorf("w[%d] = %v, want %v", j, w, want)
		}
	}
	if half := mat.Dot(&step, &step) / 2; math.Abs(s.Divergence-half) > 1e-12*half {
		t.Errorf("divergence %v, want %v", s.Divergence, half)
	}
}

// From 0 the nearest in D is the least in norm. LeastNorm is asked for a gap of 1e-14, whose root is the error of w.
func TestProjectionOfZeroHasTheLeastNorm(t *testing.T) {
	for seed, shape := range [][2]int{{1, 7}, {5, 20}, {10, 40}, {60, 400}} {
		prob := regression(uint64(seed), shape[0], shape[1])
		for _, p := range projectPs {
			least, err := margin.LeastNorm(t.Context(), prob, p, margin.Settings{Gap: 1e-14})
			var short *margin.GapError
			if err != nil && !(errors.As(err, &short) && short.Gap < 1e-11) {
				t.Fatal(err)
			}
			s, err := margin.Project(t.Context(), prob, p, nil, margin.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for j, w := range s.W {
				if math.Abs(w-least.W[j]) > 1e-7*least.Norm {
					t.Errorf("%v, p = %v: w[%d] = %v, LeastNorm %v", shape, p, j, w, least.W[j])
				}
			}
			if want := math.Pow(least.Norm, p) / p; math.Abs(s.Divergence-want) > 1e-8*want {
				t.Errorf("%v, p = %v: divergence %v, want ‖w‖ᵖ/p = %v", shape, p, s.Divergence, want)
			}
		}
	}
}

// No interpolating w nearby is nearer to w₀: W moved along random directions of the null space, by lengths from 1e-6 to
// 10, has a larger divergence.
func TestNothingNearAProjectionIsNearer(t *testing.T) {
	const n, d = 10, 40
	prob, w0 := regression(4, n, d), gaussian(4, d, 1)
	for _, p := range projectPs {
		psi := mirror.Power(p)
		s, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range uint64(50) {
			zero := linear.Problem{X: prob.X, Y: make([]float64, n)}
			dir, err := margin.Project(t.Context(), zero, 2, gaussian(100+k, d, 1), margin.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for length := 1e-6; length <= 10; length *= 10 {
				w := make([]float64, d)
				for j := range w {
					w[j] = s.W[j] + length*dir.W[j]
				}
				// D(w, w₀) = D(w, w*) + D(w*, w₀): the excess is known, too
				far, more := mirror.Divergence(psi, w, w0), mirror.Divergence(psi, w, s.W)
				if !(far >= s.Divergence) {
					t.Errorf("p = %v, length %v: divergence %v, the least is %v", p, length, far, s.Divergence)
				}
				if want := s.Divergence + more; math.Abs(far-want) > 1e-9*want {
					t.Errorf("p = %v, length %v: D(w, w₀) = %v, D(w, w*) + D(w*, w₀) = %v", p, length, far, want)
				}
			}
		}
	}
}

// d is what the certificate says it is: its gradient at any λ is y − Xv, by central differences, and vanishes at
// Lambda. The step of 1e-5 leaves 1e-10·|d‴| and 1e-11 of the terms.
func TestTheGradientOfTheDualIsTheResidual(t *testing.T) {
	const n, d, h = 5, 20, 1e-5
	prob, w0 := regression(5, n, d), gaussian(5, d, 1)
	for _, p := range []float64{1.5, 2, 3, 6} {
		s, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		_, grad, _ := dualOf(prob, p, w0, s.Lambda)
		if off := mirror.Norm(grad, math.Inf(1)); off > 1e-7 {
			t.Errorf("p = %v: the gradient at Lambda is %v", p, grad)
		}
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = s.Lambda[i] * (0.5 + 0.3*float64(i))
		}
		_, grad, size := dualOf(prob, p, w0, lambda)
		for i := range lambda {
			at := lambda[i]
			lambda[i] = at + h
			up, _, _ := dualOf(prob, p, w0, lambda)
			lambda[i] = at - h
			down, _, _ := dualOf(prob, p, w0, lambda)
			lambda[i] = at
			if got := (up - down) / (2 * h); math.Abs(got-grad[i]) > 1e-6*(1+size) {
				t.Errorf("p = %v: ∂d/∂λ%d = %v, the residual is %v", p, i, got, grad[i])
			}
		}
	}
}

// Scaling w₀ and the targets by c scales the solution by c and its divergence by cᵖ.
func TestProjectionScales(t *testing.T) {
	const n, d, c = 5, 20, 1e6
	prob, w0 := regression(6, n, d), gaussian(6, d, 1)
	large, far := linear.Problem{X: prob.X, Y: make([]float64, n)}, make([]float64, d)
	for i, y := range prob.Y {
		large.Y[i] = c * y
	}
	for j, w := range w0 {
		far[j] = c * w
	}
	for _, p := range projectPs {
		a, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := margin.Project(t.Context(), large, p, far, margin.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if want := a.Divergence * math.Pow(c, p); math.Abs(b.Divergence-want) > 1e-8*want {
			t.Errorf("p = %v: divergence %v, want %v", p, b.Divergence, want)
		}
	}
}

func TestAStartThatInterpolatesStays(t *testing.T) {
	const n, d = 5, 20
	prob, w0 := regression(7, n, d), gaussian(7, d, 1)
	prob.X.Mul(prob.Y, w0)
	for _, p := range projectPs {
		s, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{})
		if err != nil {
			t.Fatalf("p = %v: %v", p, err)
		}
		for j, w := range s.W {
			if math.Abs(w-w0[j]) > 1e-12 {
				t.Errorf("p = %v: w[%d] = %v, from %v", p, j, w, w0[j])
			}
		}
	}
	// A feature that no example has keeps its weight.
	x := matrix.FromRows([][]float64{{1, 0, 2}})
	s, err := margin.Project(t.Context(), linear.Problem{X: x, Y: []float64{1}}, 3, []float64{1, 5, 1}, margin.Settings{})
	if err != nil || s.W[1] != 5 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestProjectRefusesWhatItCannotDo(t *testing.T) {
	x := matrix.FromRows([][]float64{{1, 2, 0}, {2, 4, 0}, {0, 0, 1}})
	good := linear.Problem{X: x, Y: []float64{1, 2, 1}}
	start := []float64{1, 1, 1}
	with := func(y ...float64) linear.Problem { return linear.Problem{X: x, Y: y} }
	for _, c := range []struct {
		name string
		prob linear.Problem
		p    float64
		w0   []float64
		want string
	}{
		{"p = 1", good, 1, start, "p = 1"},
		{"p = ∞", good, math.Inf(1), start, "p = +Inf"},
		{"p = NaN", good, math.NaN(), start, "p = NaN"},
		{"no data", linear.Problem{}, 3, nil, "no data"},
		{"no targets", linear.Problem{X: x}, 3, start, "no targets"},
		{"a target that is NaN", with(1, math.NaN(), 1), 3, start, "example 2"},
		{"a target that is infinite", with(1, 2, math.Inf(1)), 3, start, "example 3"},
		{"targets that contradict", with(1, 3, 1), 3, start, "combinations of others"},
		{"a zero row", linear.Problem{X: matrix.FromRows([][]float64{{1, 2}, {0, 0}}), Y: []float64{1, 1}}, 3, nil,
			"example 2 is zero"},
		{"an entry that is NaN", linear.Problem{X: matrix.FromRows([][]float64{{1, math.NaN()}}), Y: []float64{1}}, 3, nil,
			"example 1"},
		{"a start too short", good, 3, start[:2], "w0 has 2 weights"},
		{"a start that is NaN", good, 3, []float64{1, math.NaN(), 1}, "coordinate 1 is NaN"},
		{"a divergence that overflows", with(1e20, 2e20, 1), 20, start, "scale the targets"},
	} {
		s, err := margin.Project(t.Context(), c.prob, c.p, c.w0, margin.Settings{})
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, error %v", c.name, s, err)
		}
	}
	// The same rows with targets that agree have a solution.
	if s, err := margin.Project(t.Context(), good, 3, start, margin.Settings{}); err != nil || s.Residual > 1e-14 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What is asked for and not reached comes with the best that was found.
func TestAProjectionThatIsStoppedSaysSo(t *testing.T) {
	prob, w0 := regression(8, 10, 40), gaussian(8, 40, 1)
	for _, p := range []float64{1.1, 6} {
		s, err := margin.Project(t.Context(), prob, p, w0, margin.Settings{MaxIterations: 2})
		var short *margin.GapError
		if !errors.As(err, &short) || s == nil || short.Gap != s.Gap() || short.Rounding {
			t.Errorf("p = %v: %v, %v", p, s, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var told []margin.Iteration
		s, err = margin.Project(ctx, prob, p, w0, margin.Settings{Progress: func(it margin.Iteration) {
			told = append(told, it)
			cancel()
		}})
		if !errors.Is(err, context.Canceled) || len(told) != 1 || s == nil || s.Residual > 1e-12 {
			t.Errorf("p = %v: %v, told %v, error %v", p, s, told, err)
		}
	}
}

func ExampleProject() {
	x := matrix.FromRows([][]float64{{1, 2}})
	prob := linear.Problem{X: x, Y: []float64{1}}
	// The nearest point of the line w₁ + 2w₂ = 1 to (3, 1), for gradient descent and for p-GD with p = 3.
	for _, p := range []float64{2, 3} {
		s, err := margin.Project(context.Background(), prob, p, []float64{3, 1}, margin.Settings{})
		fmt.Printf("p = %v: %.3f, divergence %.3f %v\n", p, s.W, s.Divergence, err)
	}
	// Output:
	// p = 2: [2.200 -0.600], divergence 1.600 <nil>
	// p = 3: [2.842 -0.921], divergence 1.922 <nil>
}
