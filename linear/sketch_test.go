package linear

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// images are n rows of d correlated features, as neighbouring pixels are, and a constant; of two or more classes that
// overlap.
func images(n, d, classes int) (matrix.Matrix, []int) {
	rng := rand.New(rand.NewPCG(6, 10))
	class := make([]int, n)
	flat := make([]float64, 0, n*(d+1))
	for i := range class {
		class[i] = rng.IntN(classes)
		before := rng.NormFloat64()
		for j := range d {
			before = 0.97*before + 0.25*rng.NormFloat64()
			flat = append(flat, before+0.8*math.Sin(float64((j+1)*(class[i]+1))/7))
		}
		flat = append(flat, 1)
	}
	return matrix.NewDense(d+1, flat), class
}

// problems of correlated features: one vector of scores, several, and the softmax.
func correlated(n, d int) map[string]Penalised {
	x, two := images(n, d, 2)
	x3, three := images(n, d, 3)
	return map[string]Penalised{
		"two classes": {X: x, Y: [][]float64{signsOf(two, 0)}, Intercept: true},
		"rest":        {X: x3, Y: [][]float64{signsOf(three, 0), signsOf(three, 1), signsOf(three, 2)}, Intercept: true},
		"softmax":     {X: x3, Class: three, Classes: 3, Intercept: true},
	}
}

// The sketch is a preconditioner: with it the same minimum is found, whatever the moment it is made at. Both fits prove
// a gap of 1e-9, so that their objectives differ by no more.
func TestASketchDoesNotChangeTheMinimum(t *testing.T) {
	const gap = 1e-9
	for name, prob := range correlated(900, 40) {
		for _, p := range []float64{1, 1.1, 1.5, 2, 3, 6, 10, 30, math.Inf(1)} {
			t.Run(fmt.Sprintf("%s, p=%v", name, p), func(t *testing.T) {
				t.Parallel()
				for _, strength := range []float64{1, 0.01, 1e-3} {
					var objective []float64
					for _, after := range []int{newtonInner, 0, 5} {
						path, err := NewPenaltyPath(prob, p)
						if err != nil {
							t.Fatal(err)
						}
						var f *PenaltyFit
						if p > 1 && p < 100 {
							goal := penalty{p, strength * path.unit}
							s := newNewton(path.loss, goal, nil)
							if s.after = after; p == 2 {
								s.after = newtonInner
							}
							for !s.done(gap) && s.t < 500 {
								s.step(context.Background())
							}
							if after == 0 && p != 2 && s.sketches == 0 {
								t.Error("no sketch")
							}
							f = &PenaltyFit{Objective: s.f, Excess: s.bound}
						} else if f, err = path.Fit(context.Background(), strength, 1e-6); err != nil {
							t.Fatal(err)
						}
						if want := gap; f.Excess > want*f.Objective && p > 1 && p < 100 || f.Excess > 1e-6*f.Objective {
							t.Errorf("penalty %v, after %d: excess %.2e of %v", strength, after, f.Excess, f.Objective)
						}
						objective = append(objective, f.Objective)
					}
					for _, f := range objective[1:] {
						if math.Abs(f-objective[0]) > 1e-9*objective[0] {
							t.Errorf("penalty %v: objectives %v", strength, objective)
						}
					}
				}
			})
		}
	}
}

// A fit for p = 10 takes at most five times the work of one for p = 2, down a path to a weak penalty. The unit is a
// product with the matrix; a sketch costs what sketchAfter counts twice.
func TestALargePCostsAtMostFiveTimesAsMuchAsTwo(t *testing.T) {
	x, class := images(12000, 60, 2)
	prob := Penalised{X: x, Y: [][]float64{signsOf(class, 0)}, Intercept: true}
	work := map[float64]float64{}
	for _, p := range []float64{2, 10} {
		path, err := NewPenaltyPath(prob, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, strength := range []float64{1, 0.1, 0.01, 1e-3, 1e-4} {
			if _, err := path.Fit(t.Context(), strength, 1e-6); err != nil {
				t.Fatal(err)
			}
		}
		s := path.newton
		work[p] = float64(s.products + 2*s.sketches*sketchAfter(path.loss))
		t.Logf("p = %v: %d steps, %d products, %d sketches", p, s.t, s.products, s.sketches)
	}
	if work[10] > 5*work[2] {
		t.Errorf("p = 10 costs %v products, p = 2 %v", work[10], work[2])
	}
}

// With all examples in the sample and one vector of scores the sketch is the system itself.
func TestASketchOfAllExamplesIsTheSystem(t *testing.T) {
	x, class := images(50, 12, 2)
	prob := Penalised{X: x, Y: [][]float64{signsOf(class, 0)}, Intercept: true}
	path, err := NewPenaltyPath(prob, 6)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := path.Fit(t.Context(), 0.1, 1e-3); err != nil {
		t.Fatal(err)
	}
	s := path.newton
	s.curvature()
	k := newSketch(path.loss)
	k.update(path.loss)
	k.factor(s.diagonal, s.inverse)
	r, z, back := make([]float64, s.d), make([]float64, s.d), make([]float64, s.d)
	for j := range r {
		r[j] = math.Sin(float64(j))
	}
	k.solve(z, r)
	path.loss.apply(back, z)
	for j := range back {
		back[j] += s.diagonal[j]*z[j] - r[j]
	}
	// The ridge of 1e-12 is divided by the least eigenvalue of the system, scaled to a diagonal of 1, above 1e-4.
	if off := mirror.Norm(back, 2); off > 1e-7*mirror.Norm(r, 2) {
		t.Errorf("the residual is %v of %v", off, mirror.Norm(r, 2))
	}
}
