package margin_test

import (
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

var pathLosses = []margin.Curved{linear.Exponential{}, linear.Logistic{}, linear.PolynomialTail{}}

// meanLoss is the loss by its definition.
func meanLoss(prob linear.Problem, l linear.Loss, w []float64) float64 {
	n, _ := prob.Dims()
	m := make([]float64, n)
	prob.Margins(m, w)
	return l.Sum(m) / float64(n)
}

// In the plane the least loss on the sphere ‖w‖ₚ = B can be found by trying all directions.
func TestPathIsOptimalInThePlane(t *testing.T) {
	prob := linear.Problem{X: dataset.R2(4, dataset.Deviation).X}
	for _, l := range pathLosses {
		for _, p := range []float64{1.1, 1.5, 2, 3, 10} {
			points, err := margin.Path{P: p, Loss: l, To: 60, PerDecade: 4}.Run(t.Context(), prob)
			if err != nil {
				t.Fatalf("%v, p = %v: %v", l, p, err)
			}
			for _, pt := range points {
				best := math.Inf(1)
				at := func(angle float64) float64 {
					w := []float64{math.Cos(angle), math.Sin(angle)}
					s := pt.B / mirror.Norm(w, p)
					return meanLoss(prob, l, []float64{s * w[0], s * w[1]})
				}
				step, centre := 2*math.Pi/720, 0.0
				for range 8 { // a grid, again and again finer around its best: to 1e-10 radians
					found := centre
					for k := -360.0; k < 360; k++ {
						if v := at(centre + k*step); v < best {
							best, found = v, centre+k*step
						}
					}
					centre, step = found, step/100
				}
				// The certified gap is 1e-8 of the loss; the grid errs by a second-order amount, far less.
				if pt.Loss > best*(1+2e-8) || best > pt.Loss*(1+1e-12) && best-pt.Loss > 1e-8*best {
					t.Errorf("%v, p = %v, B = %.3g: loss %v, the grid has %v", l, p, pt.B, pt.Loss, best)
				}
			}
		}
	}
}

func TestEveryPointOfAPathIsCertified(t *testing.T) {
	for seed := uint64(1); seed <= 2; seed++ {
		prob := linear.Problem{X: dataset.R100(seed).X}
		for _, l := range pathLosses {
			for _, p := range []float64{1.05, 1.1, 1.5, 2, 3, 6, 10, 20} {
				var last margin.PathPoint
				points, err := margin.Path{P: p, Loss: l, To: 30, PerDecade: 5}.Run(t.Context(), prob)
				if err != nil || len(points) < 5 {
					t.Fatalf("%v, p = %v: %d points, %v", l, p, len(points), err)
				}
				for _, pt := range points {
					// The gap again, from w alone: B‖v‖_q − ⟨v, w⟩ for v = −∇L(w).
					n, d := prob.Dims()
					a, v := make([]float64, n), make([]float64, d)
					prob.Margins(a, pt.W)
					l.Weights(a, a)
					prob.X.AddMulT(v, a)
					var inner float64
					for j := range v {
						inner += v[j] * pt.W[j]
					}
					gap := (pt.B*mirror.Norm(v, mirror.Conjugate(p)) - inner) / float64(n) / meanLoss(prob, l, pt.W)
					if !(gap <= 1e-6) || math.Abs(mirror.Norm(pt.W, p)-pt.B) > 1e-12*pt.B {
						t.Errorf("seed %d, %v, p = %v, B = %.3g: gap %.1e, reported %.1e", seed, l, p, pt.B, gap, pt.Gap)
					}
					if pt.B <= last.B || last.B > 0 && pt.Loss >= last.Loss {
						t.Errorf("seed %d, %v, p = %v: from B = %v, loss %v to B = %v, loss %v", seed, l, p, last.B, last.Loss, pt.B,
							pt.Loss)
					}
					last = pt
				}
			}
		}
	}
}

func TestPathEndsAtTheMinimumOfDataThatCannotBeSeparated(t *testing.T) {
	prob := linear.Problem{X: matrix.FromRows([][]float64{{1, 0.2}, {-0.5, 0.1}, {0.3, 1}, {0.2, -0.8}})}
	points, err := margin.Path{P: 3, Loss: linear.Logistic{}, To: 1e6}.Run(t.Context(), prob)
	if err != nil || len(points) < 3 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	end := points[len(points)-1]
	for j := range end.W { // no direction lowers the loss
		for _, h := range []float64{1e-4, -1e-4} {
			w := append([]float64(nil), end.W...)
			w[j] += h
			if meanLoss(prob, linear.Logistic{}, w) < end.Loss {
				t.Errorf("at %v the loss still falls in coordinate %d", end.W, j)
			}
		}
	}
}

func TestPathRefusesWhatItCannotFollow(t *testing.T) {
	prob := linear.Problem{X: dataset.R100(1).X}
	for _, c := range []struct {
		path margin.Path
		want string
	}{{margin.Path{P: 1, Loss: linear.Exponential{}}, "above 1"}, {margin.Path{P: 2}, "needs a classification loss"}} {
		if _, err := c.path.Run(t.Context(), prob); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}
