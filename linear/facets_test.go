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

// sparseProblem is separable, and large enough for facets where entries is 60.
func sparseProblem(t *testing.T, rows, cols, entries int) Problem {
	t.Helper()
	set, err := dataset.Synth{Rows: rows, Cols: cols, Entries: entries, Seed: 3}.Make()
	if err != nil {
		t.Fatal(err)
	}
	return Problem{X: set.X, Y: set.Y}
}

func TestFacetsAreCertifiedByTheirWeights(t *testing.T) {
	prob := sparseProblem(t, 2000, 500, 15)
	for _, p := range []float64{1.1, 1.5, 2} {
		s := newFacets(prob, p)
		for s.cert.Gap() > 1e-3 && !s.failing() {
			s.round()
			for i, a := range s.a {
				if !(a >= 0) {
					t.Fatalf("p = %v: the weight of example %d is %v", p, i+1, a)
				}
			}
		}
		if !(s.cert.Gap() <= 1e-3) {
			t.Fatalf("p = %v: gap %v after %d products", p, s.cert.Gap(), s.t)
		}
		c := Certify(prob, p, s.best, s.a)
		// Sums of a few thousand products; the upper bound may be that of an earlier a, which is less.
		if math.Abs(c.Lower/s.cert.Lower-1) > 1e-9 || c.Upper < s.cert.Upper*(1-1e-9) || c.Gap() > 2e-3 {
			t.Errorf("p = %v: the bounds are %v, from w and a %v", p, s.cert, c)
		}
		// The exact margin is between the bounds of two methods, so that these cannot exclude each other.
		r, err := Accelerated{P: p, Gap: 1e-3}.Fit(context.Background(), prob, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if s.cert.Lower > r.Upper || r.Lower > s.cert.Upper {
			t.Errorf("p = %v: facets found %v, the accelerated method %v", p, s.cert, r.Certificate)
		}
	}
}

func TestFacetsFailSoonWhereNoWeightsSeparate(t *testing.T) {
	prob := sparseProblem(t, 4000, 200, 20)
	for i := range prob.Y {
		if i%10 == 0 {
			prob.Y[i] = -prob.Y[i]
		}
	}
	for _, p := range []float64{1.1, 2} {
		s := newFacets(prob, p)
		for !s.failing() {
			if s.round(); s.work > 100 {
				t.Fatalf("p = %v: not given up after %.0f passes", p, s.work)
			}
		}
	}
	none := Problem{X: matrix.FromRows([][]float64{{1, 0}, {-1, 0}})}
	if s := newFacets(none, 2); s != nil {
		t.Error("the sum of the examples is 0, and facets began")
	}
}

// facetsFit is a fit that facets do.
func facetsFit(t *testing.T, p float64, h Hooks) (Problem, *Result, error) {
	prob := sparseProblem(t, 18000, 4000, 60)
	if !facetsSuit(prob, p, 0, defaultSteps) {
		t.Fatal("the problem is too small for facets")
	}
	r, err := Accelerated{P: p}.Fit(context.Background(), prob, h)
	return prob, r, err
}

func TestALargeSparseFitIsCertifiedAndResumesBitForBit(t *testing.T) {
	for _, p := range []float64{1.3, 2} {
		var states []Checkpoint
		save := func(c Checkpoint) error {
			states = append(states, c)
			return nil
		}
		prob, whole, err := facetsFit(t, p, Hooks{Save: save, SaveEvery: time.Nanosecond})
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
			if !ofFacets(states[k]) {
				t.Fatalf("p = %v: the checkpoint of product %d is not of facets", p, states[k].Step)
			}
			_, again, err := facetsFit(t, p, Hooks{Resume: &states[k]})
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
	delete(saved[0].Vectors, "sum")
	if _, err := (Accelerated{}).Fit(context.Background(), prob, Hooks{Resume: &saved[0]}); err == nil {
		t.Error("a checkpoint without a vector was resumed")
	}
}
