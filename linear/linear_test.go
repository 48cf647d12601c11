package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/vec"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// random makes a separable problem with labels, the same data dense and sparse.
func random(seed uint64, n, d int) (dense, sparse Problem) {
	rng := rand.New(rand.NewPCG(seed, 1))
	truth := make([]float64, d)
	for j := range truth {
		truth[j] = rng.NormFloat64()
	}
	rows, y := make([][]float64, n), make([]float64, n)
	var b matrix.Builder
	for i := range rows {
		rows[i] = make([]float64, d)
		var s float64
		for j := range rows[i] {
			if rng.IntN(3) > 0 {
				rows[i][j] = rng.NormFloat64()
				b.Add(int32(j), rows[i][j])
				s += rows[i][j] * truth[j]
			}
		}
		b.EndRow()
		y[i] = math.Copysign(1, s)
	}
	return Problem{matrix.FromRows(rows), y}, Problem{b.Build(d), y}
}

var losses = []Loss{Exponential{}, Logistic{}, PolynomialTail{}, PolynomialTail{Degree: 3}, Square{}}

func TestLossWeightsAreTheNegativeDerivative(t *testing.T) {
	for _, l := range losses {
		for _, s := range []float64{-30, -2, -0.5, 1e-3, 0.7, 5, 30} {
			h := 1e-5 * math.Max(1, math.Abs(s))
			slope := (l.Sum([]float64{s + h}) - l.Sum([]float64{s - h})) / (2 * h)
			w := make([]float64, 1)
			l.Weights(w, []float64{s})
			// Truncation h²ℓ‴/6 ≤ 1e-9·ℓ for the exponential at −30 (h = 3e-4), rounding 1e-16·ℓ/h.
			tol := 1e-7*math.Abs(w[0]) + 1e-10*l.Sum([]float64{s})
			if math.Abs(slope+w[0]) > tol {
				t.Errorf("%v at %v: weight %v, slope %v", l, s, w[0], slope)
			}
		}
	}
}

func TestNormalizedIsWeightsOverSum(t *testing.T) {
	for _, l := range losses {
		s := []float64{-1, 0.5, 2, 39}
		want, got := make([]float64, 4), make([]float64, 4)
		l.Weights(want, s)
		l.Normalized(got, s)
		for i := range want {
			if w := want[i] / l.Sum(s); math.Abs(got[i]-w) > 1e-14*math.Abs(w) {
				t.Errorf("%v: %v, want %v", l, got[i], w)
			}
		}
	}
	for _, l := range []Loss{Exponential{}, Logistic{}} { // where e^(−s) is 0 or infinite
		for _, shift := range []float64{2000, -2000} {
			got := make([]float64, 2)
			l.Normalized(got, []float64{shift, shift + 1})
			sum := got[0] + got[1]
			if l == (Logistic{}) && shift < 0 {
				// Both weights are 1, the losses 2000 and 1999.
				if want := 2 / (2*2000 - 1.0); math.Abs(sum-want) > 1e-12 {
					t.Errorf("logistic at %v: %v, want a sum of %v", shift, got, want)
				}
				continue
			}
			if want := 1 / (1 + math.Exp(-1)); math.Abs(got[0]-want) > 1e-14 || math.Abs(sum-1) > 1e-14 {
				t.Errorf("%v at %v: %v", l, shift, got)
			}
		}
	}
}

// gradient is ∇L by central differences.
func gradient(p Problem, l Loss, w []float64) []float64 {
	n, d := p.Dims()
	at := func(w []float64) float64 {
		f := make([]float64, n)
		p.X.Mul(f, w)
		for i := range f {
			if l.Residual() {
				f[i] -= p.Y[i]
			} else {
				f[i] *= p.Y[i]
			}
		}
		return l.Sum(f) / float64(n)
	}
	g := make([]float64, d)
	v := slices.Clone(w)
	for j := range g {
		const h = 1e-5
		v[j] = w[j] + h
		up := at(v)
		v[j] = w[j] - h
		g[j] = (up - at(v)) / (2 * h)
		v[j] = w[j]
	}
	return g
}

func TestOneStepSubtractsTheGradient(t *testing.T) {
	dense, sparse := random(1, 12, 7)
	rng := rand.New(rand.NewPCG(5, 5))
	w := make([]float64, 7)
	for j := range w {
		w[j] = 0.3 * rng.NormFloat64()
	}
	for _, l := range losses {
		g := gradient(dense, l, w)
		for name, prob := range map[string]Problem{"dense": dense, "sparse": sparse} {
			s, err := Descent{Potential: mirror.Power(3), Loss: l, Eta: 0.1}.Start(prob, w)
			if err != nil {
				t.Fatal(err)
			}
			z := slices.Clone(s.Z)
			s.Step()
			for j := range z {
				// The difference quotient is good to h² = 1e-10 times third derivatives of at most 100.
				if got := (z[j] - s.Z[j]) / 0.1; math.Abs(got-g[j]) > 1e-8*(1+mirror.Norm(g, math.Inf(1))) {
					t.Errorf("%v, %s: step of %v in coordinate %d, gradient %v", l, name, got, j, g[j])
				}
			}
		}
	}
}

func TestABatchOfEverythingIsTheFullGradient(t *testing.T) {
	prob, sparse := random(2, 9, 5)
	for _, pr := range []Problem{prob, sparse} {
		full := start(t, Descent{Potential: mirror.Power(1.5), Eta: 0.01}, pr)
		batch := start(t, Descent{Potential: mirror.Power(1.5), Eta: 0.01, Batch: 9}, pr)
		for range 50 {
			full.Step()
			batch.Step()
		}
		for j := range full.W { // the order of summation differs
			if math.Abs(full.W[j]-batch.W[j]) > 1e-12 {
				t.Errorf("coordinate %d: %v and %v", j, full.W[j], batch.W[j])
			}
		}
	}
}

func TestAnEpochOfMiniBatchesSeesEveryExampleOnce(t *testing.T) {
	prob, _ := random(3, 10, 4)
	s := start(t, Descent{Batch: 3, Seed: 7}, prob)
	first := map[int]int{}
	var orders []string
	for epoch := range 3 {
		var order []int
		for range 4 { // 3 + 3 + 3 + 1
			rows := s.batch()
			order = append(order, rows...)
			s.Step()
		}
		for _, i := range order {
			first[i]++
		}
		for i := range 10 {
			if first[i] != epoch+1 {
				t.Fatalf("epoch %d: example %d was seen %d times", epoch, i, first[i])
			}
		}
		orders = append(orders, fmt.Sprint(order))
	}
	if orders[0] == orders[1] || orders[1] == orders[2] {
		t.Errorf("epochs have the same order: %v", orders)
	}
}

func TestSteepestDescentInL2IsGradientDescent(t *testing.T) {
	prob, _ := random(4, 9, 5)
	gd := start(t, Descent{Eta: 0.05}, prob)
	steepest := start(t, Descent{Eta: 0.05, Steepest: 2}, prob)
	for range 100 {
		gd.Step()
		steepest.Step()
	}
	for j := range gd.W {
		if math.Abs(gd.W[j]-steepest.W[j]) > 1e-12*mirror.Norm(gd.W, 2) {
			t.Errorf("coordinate %d: %v and %v", j, gd.W[j], steepest.W[j])
		}
	}
}

// Steepest descent moves by η times the v of ‖v‖ₚ = ‖∇L‖_q that lowers the loss fastest.
func TestSteepestDescentMovesAlongTheDualGradient(t *testing.T) {
	prob, _ := random(5, 9, 5)
	for _, p := range []float64{1.3, 3} {
		s := start(t, Descent{Eta: 0.1, Steepest: p}, prob)
		g := gradient(prob, Exponential{}, s.W)
		s.Step()
		var inner float64
		for j := range g {
			inner -= g[j] * s.W[j] / 0.1
		}
		n := mirror.Norm(g, mirror.Conjugate(p))
		if math.Abs(inner-n*n) > 1e-7*n*n || math.Abs(mirror.Norm(s.W, p)/0.1-n) > 1e-7*n {
			t.Errorf("p = %v: ⟨−g, v⟩ = %v, ‖g‖_q² = %v, ‖v‖ₚ = %v", p, inner, n*n, mirror.Norm(s.W, p)/0.1)
		}
	}
}

func TestLabelsMayBeAbsorbedOrApart(t *testing.T) {
	prob, _ := random(6, 8, 4)
	rows := make([][]float64, 8)
	for i := range rows {
		_, x := prob.X.Row(i)
		for _, v := range x {
			rows[i] = append(rows[i], v*prob.Y[i])
		}
	}
	a := start(t, Descent{Potential: mirror.Power(3)}, prob)
	b := start(t, Descent{Potential: mirror.Power(3)}, Problem{X: matrix.FromRows(rows)})
	for range 1000 {
		a.Step()
		b.Step()
	}
	for j := range a.W {
		if math.Abs(a.W[j]-b.W[j]) > 1e-12 {
			t.Errorf("coordinate %d: %v and %v", j, a.W[j], b.W[j])
		}
	}
}

func TestNoStepAllocates(t *testing.T) {
	dense, sparse := random(7, 20, 150)
	for _, d := range []Descent{
		{}, {Potential: mirror.Power(6)}, {Potential: mirror.SquaredNorm(3)}, {Normalized: true}, {Steepest: 3},
		{Batch: 7}, {Loss: Logistic{}}, {Loss: PolynomialTail{}}, {Loss: Square{}},
		{Potential: mirror.HyperbolicEntropy(1)},
	} {
		for _, prob := range []Problem{dense, sparse} {
			s := start(t, d, prob)
			if n := testing.AllocsPerRun(50, s.Step); n != 0 {
				t.Errorf("%+v: %v allocations a step", d, n)
			}
		}
	}
}

func TestOverflowNamesTheStepAndKeepsTheLastGoodState(t *testing.T) {
	prob, _ := random(8, 10, 4)
	s := start(t, Descent{Loss: Square{}, Eta: 50}, prob)
	err := s.Run(t.Context(), 5000)
	var over *OverflowError
	if !errors.As(err, &over) {
		t.Fatalf("error %v, want an overflow", err)
	}
	if over.Step < 2 || over.Step > 1000 || s.T != over.Step-1 {
		t.Errorf("overflow at step %d, state at %d", over.Step, s.T)
	}
	if j := firstNotFinite(s.W); j >= 0 {
		t.Errorf("the state kept has weight %d = %v", j, s.W[j])
	}
	s.Step()
	if firstNotFinite(s.W) < 0 {
		t.Error("one more step is finite: the wrong step was named")
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("at step %d", over.Step)) {
		t.Errorf("%q does not name the step", err)
	}
}

func TestCancellingStopsARunWithItsState(t *testing.T) {
	prob, _ := random(9, 10, 4)
	s := start(t, Descent{}, prob)
	ctx, cancel := context.WithCancel(t.Context())
	tr := Trace{Each: func(pt Point) {
		if pt.Step >= 5000 {
			cancel()
		}
	}}
	if err := tr.Run(ctx, s, 10_000_000); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if s.T < 5000 || s.T > 20_000 || tr.Points[len(tr.Points)-1].Step != s.T {
		t.Errorf("stopped at %d, last point at %d", s.T, tr.Points[len(tr.Points)-1].Step)
	}
}

func TestTraceMeasuresWhatItSays(t *testing.T) {
	x := matrix.FromRows([][]float64{{0.2, 0.6}, {0.5, 0.1}, {-0.4, -0.4}, {0.9, 0.7}})
	prob := Problem{X: x, Y: []float64{1, 1, -1, 1}}
	u := []float64{1, 0.9} // any direction will do, near the best one
	vec.Scale(u, 1/mirror.Norm(u, 3), u)
	s := start(t, Descent{Potential: mirror.Power(3), Eta: 0.1}, prob)
	tr := Trace{P: 3, Reference: u, Certify: true, PerDecade: 5}
	if err := tr.Run(t.Context(), s, 20_000); err != nil {
		t.Fatal(err)
	}
	steps := []int{}
	for _, pt := range tr.Points {
		steps = append(steps, pt.Step)
	}
	if steps[0] != 0 || steps[len(steps)-1] != 20_000 || !slices.IsSorted(steps) || len(steps) < 18 || len(steps) > 24 {
		t.Errorf("steps %v", steps)
	}
	last := tr.Points[len(tr.Points)-1]
	m, _ := prob.Margin(s.W)
	n := mirror.Norm(s.W, 3)
	if math.Abs(last.Margin-m/n) > 1e-14 || last.Norm != n {
		t.Errorf("margin %v, norm %v", last.Margin, last.Norm)
	}
	// For unit vectors D(u, w̃) = 1 − ⟨∇ψ(w̃), u⟩, and a cosine gives the angle.
	var inner, dot float64
	for j := range u {
		v := s.W[j] / n
		inner += math.Copysign(v*v, v) * u[j]
		dot += u[j] * s.W[j]
	}
	if math.Abs(last.Divergence-(1-inner)) > 1e-14 {
		t.Errorf("divergence %v, want %v", last.Divergence, 1-inner)
	}
	if want := math.Acos(dot / mirror.Norm(u, 2) / mirror.Norm(s.W, 2)); math.Abs(last.Angle-want) > 1e-6 {
		t.Errorf("angle %v, want %v", last.Angle, want)
	}
	if tr.Points[5].Divergence < last.Divergence || !(last.Gap > 0) {
		t.Errorf("divergence went from %v to %v, gap %v", tr.Points[5].Divergence, last.Divergence, last.Gap)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	prob, _ := random(11, 5, 3)
	absorbed := Problem{X: prob.X}
	for _, c := range []struct {
		d    Descent
		prob Problem
		w0   []float64
		want string
	}{
		{Descent{Eta: -1}, prob, nil, "step size"},
		{Descent{Eta: math.NaN()}, prob, nil, "step size"},
		{Descent{Batch: 6}, prob, nil, "batch of 6"},
		{Descent{Steepest: 0.5}, prob, nil, "p = 0.5"},
		{Descent{}, prob, []float64{1}, "1 weights"},
		{Descent{}, prob, []float64{1, math.NaN(), 1}, "coordinate 1"},
		{Descent{Potential: mirror.Entropy()}, prob, []float64{1, -1, 1}, "domain"},
		{Descent{Loss: Square{}}, absorbed, nil, "needs targets"},
		{Descent{}, Problem{X: matrix.NewDense(3)}, nil, "no data"},
		{Descent{}, Problem{X: prob.X, Y: []float64{1}}, nil, "1 labels"},
	} {
		if _, err := c.d.Start(c.prob, c.w0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q in it", c.d, err, c.want)
		}
	}
}

func start(t *testing.T, d Descent, prob Problem) *State {
	t.Helper()
	s, err := d.Start(prob, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
