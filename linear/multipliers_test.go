package linear

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// sparseProblem is separable, and large enough for the method of multipliers if entries is 60.
func sparseProblem(t *testing.T, rows, cols, entries int) Problem {
	t.Helper()
	set, err := dataset.Synth{Rows: rows, Cols: cols, Entries: entries, Seed: 3}.Make()
	if err != nil {
		t.Fatal(err)
	}
	return Problem{X: set.X, Y: set.Y}
}

func TestMultipliersCertifyTheirWeights(t *testing.T) {
	prob := sparseProblem(t, 2000, 500, 15)
	for _, p := range []float64{1.05, 1.1, 1.5, 2, 3} {
		s := newMultipliers(prob, p)
		upper := math.Inf(1)
		for s.evaluate(); ; s.evaluate() {
			z := make([]float64, s.n)
			for k, i := range s.rows {
				if z[i] = s.z[k]; !(z[i] >= 0) {
					t.Fatalf("p = %v: the weight of example %d is %v", p, i+1, z[i])
				}
			}
			upper = min(upper, Certify(prob, p, s.best, z).Upper)
			if s.cert.Gap() <= 1e-3 || s.work > 2000 {
				break
			}
			s.step(context.Background(), 1e-3)
		}
		if !(s.cert.Gap() <= 1e-3) {
			t.Fatalf("p = %v: gap %v after %d products", p, s.cert.Gap(), s.t)
		}
		lower := Certify(prob, p, s.best, s.a).Lower
		// Sums of a few thousand products.
		if math.Abs(lower/s.cert.Lower-1) > 1e-9 || math.Abs(upper/s.cert.Upper-1) > 1e-9 {
			t.Errorf("p = %v: the bounds are %v, from w and z alone %v and %v", p, s.cert, lower, upper)
		}
		// The exact margin is between the bounds of two methods, so that these cannot exclude each other.
		r, err := Accelerated{P: p, Gap: 1e-3}.Fit(context.Background(), prob, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if s.cert.Lower > r.Upper || r.Lower > s.cert.Upper {
			t.Errorf("p = %v: multipliers found %v, the accelerated method %v", p, s.cert, r.Certificate)
		}
	}
}

// The step solves the equations of the comment: with all conjugate gradients it is where its quadratic model is least.
func TestAStepSolvesItsEquations(t *testing.T) {
	prob := sparseProblem(t, 300, 40, 10)
	for _, p := range []float64{1.1, 2, 3} {
		s := newMultipliers(prob, p)
		for range 4 {
			s.evaluate()
			s.step(context.Background(), 1e-3)
		}
		s.evaluate()
		size := mirror.Norm(s.w, p)
		s.equations(size)
		s.x = grow(s.x, len(s.rows))
		x, got := make([]float64, s.d), make([]float64, s.d)
		for j := range x {
			x[j] = math.Sin(float64(j))
		}
		s.multiply(got, x)
		var along float64
		for j := range x {
			along += math.Copysign(math.Pow(math.Abs(s.w[j]/size), p-1), s.w[j]) * x[j]
		}
		want := make([]float64, s.d)
		for j, w := range s.w {
			want[j] = math.Sqrt(p-1)*math.Pow(math.Abs(w)/size+tiny, p-2)*x[j] +
				(2-p)*math.Copysign(math.Pow(math.Abs(w)/size, p-1), w)*along
		}
		for _, i := range s.rows {
			row := make([]float64, s.d)
			one := make([]float64, s.n)
			one[i] = 1
			prob.addAbsorbed(row, one)
			var dot float64
			for j := range row {
				dot += row[j] * x[j]
			}
			for j := range row {
				want[j] += s.c * s.even[i] * dot * row[j]
			}
		}
		for j := range want {
			if math.Abs(got[j]-want[j]) > 1e-9*(1+math.Abs(want[j]))*(1+s.c) { // sums of some hundred products
				t.Fatalf("p = %v: coordinate %d of a product is %v, want %v", p, j, got[j], want[j])
			}
		}
		// The gradient, by finite differences of L along x.
		l := func(h float64) float64 {
			w, m := slices.Clone(s.w), make([]float64, s.n)
			for j := range w {
				w[j] += h * x[j]
			}
			prob.Margins(m, w)
			norm := mirror.Norm(w, p)
			sum := norm * norm / 2
			for i, v := range m {
				c := s.c * s.even[i]
				z := max(s.a[i]+c*(1-v), 0)
				sum += z * z / (2 * c)
			}
			return sum
		}
		var slope float64
		for j, g := range s.g {
			slope -= g * x[j]
		}
		// L has no second derivative where a weight or a z is 0. The difference is accurate to 1e-16/1e-8 of L.
		h := 1e-8 * size
		if diff := (l(h) - l(-h)) / (2 * h); math.Abs(diff-slope) > 1e-4*math.Abs(slope) {
			t.Errorf("p = %v: the slope is %v, by differences %v", p, slope, diff)
		}
	}
}

func TestMultipliersSeeSoonThatNoWeightsSeparate(t *testing.T) {
	prob := sparseProblem(t, 4000, 200, 20)
	for i := range prob.Y {
		if i%10 == 0 {
			prob.Y[i] = -prob.Y[i]
		}
	}
	for _, p := range []float64{1.1, 2, 3} {
		s := newMultipliers(prob, p)
		hope := hopeless * prob.RowNorm(mirror.Conjugate(p))
		for s.evaluate(); s.cert.Upper > hope; s.evaluate() {
			if s.step(context.Background(), 1e-3); s.work > 200 {
				t.Fatalf("p = %v: an upper bound of %v after %.0f passes", p, s.cert.Upper, s.work)
			}
		}
		if s.cert.Lower > 0 {
			t.Errorf("p = %v: a margin of %v", p, s.cert.Lower)
		}
	}
	none := Problem{X: matrix.FromRows([][]float64{{1, 0}, {-1, 0}})}
	if s := newMultipliers(none, 2); s != nil {
		t.Error("the sum of the examples is 0, and the method began")
	}
}

// Examples that are a hundred times as long as others are not support vectors, and would decide where the fit begins.
func TestALargeSparseFitOfExamplesOfDifferentLength(t *testing.T) {
	even := sparseProblem(t, 9000, 1000, 20)
	var x matrix.Builder
	matrix.Rows(even.X, func(i int, idx []int32, val []float64) {
		for k, v := range val {
			if i%97 == 0 {
				v *= 100
			}
			x.Add(idx[k], v)
		}
		x.EndRow()
	})
	prob := Problem{X: x.Build(1000), Y: even.Y}
	for _, p := range []float64{1.2, 2, 3} {
		r, err := Accelerated{P: p}.Fit(context.Background(), prob, Hooks{})
		if err != nil || !(r.Gap() <= 1e-3) || r.Steps > 3000 {
			t.Errorf("p = %v: gap %v after %d products, %v", p, r.Gap(), r.Steps, err)
		}
	}
}

// A gap that rounding does not allow: the fit ends, with what it has.
func TestALargeSparseFitEndsIfNothingIsLeftToImprove(t *testing.T) {
	var b matrix.Builder
	for i := range multiplierEntries + 10 {
		v := 1e7 - float64(i%40)
		if i == 0 {
			v = 1
		}
		b.Add(3, v)
		b.EndRow()
	}
	r, err := Accelerated{Gap: 1e-9, Steps: 2000}.Fit(context.Background(), Problem{X: b.Build(10)}, Hooks{})
	if err != nil || math.Abs(r.Lower-1) > 1e-5 || math.Abs(r.Upper-1) > 1e-5 {
		t.Errorf("%+v, %v", r, err)
	}
}

// largeFit is a fit by the method of multipliers.
func largeFit(t *testing.T, p float64, h Hooks) (Problem, *Result, error) {
	prob := sparseProblem(t, 18000, 4000, 60)
	if !multipliersSuit(prob, p, 0, defaultSteps) {
		t.Fatal("the problem is too small")
	}
	r, err := Accelerated{P: p}.Fit(context.Background(), prob, h)
	return prob, r, err
}

func TestALargeSparseFitIsCertifiedAndResumesBitForBit(t *testing.T) {
	for _, p := range []float64{1.3, 2, 3} {
		var states []Checkpoint
		save := func(c Checkpoint) error {
			states = append(states, c)
			return nil
		}
		prob, whole, err := largeFit(t, p, Hooks{Save: save, SaveEvery: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		margin, _ := prob.Margin(whole.W)
		if !(whole.Gap() <= 1e-3) || math.Abs(margin-1) > 1e-9 ||
			math.Abs(1/mirror.Norm(whole.W, p)/whole.Lower-1) > 1e-9 {
			t.Errorf("p = %v: gap %v, margin %v, norm %v for the bound %v", p, whole.Gap(), margin,
				mirror.Norm(whole.W, p), whole.Lower)
		}
		for _, k := range []int{1, len(states) - 2} {
			if !ofMultipliers(states[k]) {
				t.Fatalf("p = %v: the checkpoint of product %d is not one of multipliers", p, states[k].Step)
			}
			_, again, err := largeFit(t, p, Hooks{Resume: &states[k]})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(again.W, whole.W) || again.Certificate != whole.Certificate || again.Steps != whole.Steps {
				t.Errorf("p = %v, resumed at %d: %v in %d steps, want %v in %d", p, states[k].Step, again.Certificate,
					again.Steps, whole.Certificate, whole.Steps)
			}
		}
	}
}

func TestALargeSparseFitStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	prob := sparseProblem(t, 18000, 4000, 60)
	var saved []Checkpoint
	points := 0
	r, err := Accelerated{}.Fit(ctx, prob, Hooks{
		Progress: func(Point) {
			if points++; points == 3 {
				cancel()
			}
		},
		Save: func(c Checkpoint) error {
			saved = append(saved, c)
			return nil
		}})
	if !errors.Is(err, context.Canceled) || r == nil || len(r.W) != 4000 || len(saved) != 1 {
		t.Fatalf("cancelled: %v, %v, %d checkpoints", r, err, len(saved))
	}
	delete(saved[0].Vectors, "margins")
	if _, err := (Accelerated{}).Fit(context.Background(), prob, Hooks{Resume: &saved[0]}); err == nil {
		t.Error("a checkpoint without a vector was resumed")
	}
}
