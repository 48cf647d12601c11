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

// clouds are n examples of k classes in d dimensions, and a constant.
func clouds(rng *rand.Rand, n, d, k int) (matrix.Matrix, []int) {
	rows, class := make([][]float64, n), make([]int, n)
	for i := range rows {
		class[i] = i % k
		rows[i] = make([]float64, d+1)
		for j := range d {
			rows[i][j] = rng.NormFloat64() * (1 + float64(j%3))
			if j%k == class[i] {
				rows[i][j]++
			}
		}
		rows[i][d] = 1
	}
	return matrix.FromRows(rows), class
}

func signsOf(class []int, k int) []float64 {
	y := make([]float64, len(class))
	for i, c := range class {
		if y[i] = -1; c == k {
			y[i] = 1
		}
	}
	return y
}

// slowObjective is the objective of a path, written as its formula.
func slowObjective(prob Penalised, lambda, p float64, w [][]float64) float64 {
	n, d := prob.X.Dims()
	penalised := d
	if prob.Intercept {
		penalised--
	}
	var all []float64
	var sum float64
	for i := range n {
		_, row := prob.X.Row(i)
		weight := 1.0
		if prob.Weight != nil {
			weight = prob.Weight[i]
		}
		var each float64
		for k, w := range w {
			var s float64
			for j, v := range row {
				s += v * w[j]
			}
			switch {
			case prob.Class != nil:
				each += math.Exp(s)
				if prob.Class[i] == k {
					sum -= weight * s
				}
			case prob.loss().Residual():
				sum += weight * prob.loss().Sum([]float64{s - prob.Y[k][i]})
			default:
				sum += weight * prob.loss().Sum([]float64{prob.Y[k][i] * s})
			}
		}
		if prob.Class != nil {
			sum += weight * math.Log(each)
		}
	}
	for _, w := range w {
		all = append(all, w[:penalised]...)
	}
	norm := mirror.Norm(all, p)
	return sum/float64(n) + lambda/2*norm*norm
}

func TestPenaltyPathsEndAtTheirGap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	x, class := clouds(rng, 60, 7, 3)
	target := make([]float64, 60)
	for i := range target {
		_, row := x.Row(i)
		target[i] = 3 + row[0] - 2*row[2] + 0.3*rng.NormFloat64()
	}
	weight := make([]float64, 60)
	for i := range weight {
		weight[i] = 0.5 + float64(i%3)/2
	}
	y := signsOf(class, 0)
	problems := map[string]Penalised{
		"two classes":       {X: x, Y: [][]float64{y}},
		"intercept":         {X: x, Y: [][]float64{y}, Intercept: true},
		"exponential":       {X: x, Y: [][]float64{y}, Loss: Exponential{}, Intercept: true},
		"weighted":          {X: x, Y: [][]float64{y}, Weight: weight, Intercept: true},
		"regression":        {X: x, Y: [][]float64{target}, Loss: Square{}, Intercept: true},
		"softmax":           {X: x, Class: class, Classes: 3, Intercept: true},
		"softmax, weighted": {X: x, Class: class, Classes: 3, Weight: weight},
		"against the rest": {X: x, Y: [][]float64{y, signsOf(class, 1), signsOf(class, 2)}, Intercept: true,
			Weight: weight},
	}
	for name, prob := range problems {
		for _, p := range []float64{1, 1.1, 1.5, 2, 3, 10, math.Inf(1)} {
			t.Run(fmt.Sprintf("%s, p=%v", name, p), func(t *testing.T) {
				path, err := NewPenaltyPath(prob, p)
				if err != nil {
					t.Fatal(err)
				}
				const gap = 1e-5
				steps := 0
				for _, penalty := range []float64{3, 0.3, 0.03, 1e-3, 1e-4} {
					f, err := path.Fit(context.Background(), penalty, gap)
					if err != nil {
						t.Fatal(err)
					}
					steps += f.Steps
					objective := slowObjective(prob, f.Lambda, p, f.W)
					if math.Abs(objective-f.Objective) > 1e-12*(1+objective) {
						t.Errorf("penalty %v: objective %v, by its formula %v", penalty, f.Objective, objective)
					}
					if !(f.Excess <= gap*f.Objective) || f.Excess < -1e-13 {
						t.Errorf("penalty %v: excess %v of %v after %d steps", penalty, f.Excess, f.Objective, f.Steps)
					}
					// No other weights are better than the gap allows.
					for range 20 {
						other := make([][]float64, len(f.W))
						size := math.Pow(10, -4*rng.Float64())
						for k := range other {
							for _, v := range f.W[k] {
								other[k] = append(other[k], v+size*rng.NormFloat64())
							}
						}
						if o := slowObjective(prob, f.Lambda, p, other); o < f.Objective-f.Excess-1e-13 {
							t.Errorf("penalty %v: objective %v, proved at least %v", penalty, o, f.Objective-f.Excess)
						}
					}
				}
				t.Logf("%d steps", steps)
			})
		}
	}
}

func TestWeightsOfALassoAreZero(t *testing.T) {
	x, class := clouds(rand.New(rand.NewPCG(1, 2)), 80, 12, 2)
	path, err := NewPenaltyPath(Penalised{X: x, Y: [][]float64{signsOf(class, 0)}, Intercept: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := path.Fit(context.Background(), 1, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	for _, v := range f.W[0][:12] {
		if v == 0 {
			zero++
		}
	}
	if zero == 0 || zero == 12 {
		t.Errorf("%d of 12 weights are 0: %v", zero, f.W[0])
	}
}

func TestAProblemThatIsNoneIsRefused(t *testing.T) {
	x, class := clouds(rand.New(rand.NewPCG(1, 2)), 10, 2, 2)
	y := signsOf(class, 0)
	for name, prob := range map[string]Penalised{
		"no labels":      {X: x},
		"both":           {X: x, Y: [][]float64{y}, Class: class, Classes: 2},
		"short":          {X: x, Y: [][]float64{y[1:]}},
		"class too high": {X: x, Class: class, Classes: 1},
		"no signs":       {X: x, Y: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
		"weights":        {X: x, Y: [][]float64{y}, Weight: y[:3]},
	} {
		if _, err := NewPenaltyPath(prob, 2); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewPenaltyPath(Penalised{X: x, Y: [][]float64{y}}, 0.5); err == nil {
		t.Error("p = 0.5: no error")
	}
}
