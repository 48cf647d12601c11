package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

// What pull and shift say of the intercepts is what descent and product say of all weights. The sums are of 40 terms
// around 1/40, in another order: 1e-14.
func TestInterceptsAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d, classes = 40, 4, 3
	for _, one := range []float64{1, 3} {
		data, class, signs := make([]float64, n*d), make([]int, n), make([]float64, n)
		for i := range n {
			for j := range d - 1 {
				data[i*d+j] = rng.NormFloat64()
			}
			data[i*d+d-1] = one
			class[i], signs[i] = rng.IntN(classes), float64(2*rng.IntN(2)-1)
		}
		for _, x := range []matrix.Matrix{matrix.NewDense(d, data), sparse(d, data)} {
			for name, l := range map[string]meanLoss{
				"softmax": newSoftmaxLoss(newLayout(x, classes, true), class, nil),
				"rest":    newSeparate(newLayout(x, 2, true), [][]float64{signs, signs}, Logistic{}, nil),
				"single":  newSeparate(newLayout(x, 1, true), [][]float64{signs}, Logistic{}, nil),
			} {
				size, m, scores := l.dims()
				w, step := make([]float64, size), make([]float64, size)
				for j := range w {
					if w[j] = rng.NormFloat64(); j >= m {
						step[j] = rng.NormFloat64()
					}
				}
				score, c, v, own := make([]float64, scores), make([]float64, scores), make([]float64, size), make([]float64, size-m)
				l.scores(score, w)
				l.mean(score)
				mass := l.descent(v, c, score)
				if got := l.pull(own, c, score); got != mass {
					t.Errorf("%s: mass %v, of all weights %v", name, got, mass)
				}
				for k, g := range own {
					if math.Abs(g-v[m+k]) > 1e-14 {
						t.Errorf("%s, constant %v: pull %v, descent %v", name, one, g, v[m+k])
					}
				}
				want := make([]float64, scores)
				l.product(want, step)
				l.shift(score, step[m:])
				for i, s := range score {
					if s != want[i] {
						t.Fatalf("%s, constant %v: score %d shifts by %v, want %v", name, one, i, s, want[i])
					}
				}
			}
		}
	}
}

// sparse is dense data of d columns as CSR.
func sparse(d int, data []float64) matrix.Matrix {
	var b matrix.Builder
	for i, v := range data {
		b.Add(int32(i%d), v)
		if i%d == d-1 {
			b.EndRow()
		}
	}
	return b.Build(d)
}
