package matrix

import (
	"math/rand/v2"
	"testing"
)

func TestAGramMatrixIsTheSumOverItsRows(t *testing.T) {
	for name, m := range wide(5) {
		n, d := m.Dims()
		rng := rand.New(rand.NewPCG(8, 2))
		var rows []int
		var c []float64
		for i := range n {
			if i%3 != 1 {
				rows, c = append(rows, i), append(c, rng.Float64()/8)
			}
		}
		got, want := make([]float64, d*d), make([]float64, d*d)
		for i := range got {
			got[i] = float64(i % 7)
		}
		copy(want, got)
		x := make([]float64, d)
		for k, i := range rows {
			idx, val := m.Row(i)
			clear(x)
			for e, v := range val {
				if idx != nil {
					x[idx[e]] = v
				} else {
					x[e] = v
				}
			}
			for j := range d {
				for l := range j + 1 {
					want[j*d+l] += c[k] * x[j] * x[l]
				}
			}
		}
		AddGramT(got, m, rows, c)
		near(t, name, got, want)
	}
}

func BenchmarkGram(b *testing.B) {
	const n, d = 3136, 785
	rng := rand.New(rand.NewPCG(8, 2))
	data := make([]float64, n*d)
	for i := range data {
		data[i] = rng.NormFloat64()
	}
	m, rows, c := NewDense(d, data), make([]int, n), make([]float64, n)
	for i := range rows {
		rows[i], c[i] = i, 1
	}
	dst := make([]float64, d*d)
	for b.Loop() {
		AddGramT(dst, m, rows, c)
	}
	b.ReportMetric(float64(b.N)*n*d*d/b.Elapsed().Seconds()/1e9, "GFlop/s")
}
