package bench

import (
	"math"

	"github.com/bregman-ml/bregman/matrix"
)

// Transcription is p-GD exactly as the paper's appendix writes it, in plain Go: the weights are the state, and each
// step raises every coordinate to two powers. It is the yardstick of the benchmark and of the agreement test.
type Transcription struct {
	W    []float64
	rows [][]float64
	grad []float64
	p    float64
}

// NewTranscription starts at w0 on the rows of x, labels absorbed.
func NewTranscription(x matrix.Matrix, p float64, w0 []float64) *Transcription {
	n, d := x.Dims()
	t := &Transcription{W: append([]float64(nil), w0...), grad: make([]float64, d), p: p}
	for i := range n {
		row := make([]float64, d)
		idx, val := x.Row(i)
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			row[j] = v
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// Step takes one step of size 1e-4 on the mean exponential loss.
func (t *Transcription) Step() {
	const lr = 1e-4
	clear(t.grad)
	for _, row := range t.rows {
		var m float64
		for j, v := range row {
			m += v * t.W[j]
		}
		e := math.Exp(-m) / float64(len(t.rows))
		for j, v := range row {
			t.grad[j] -= e * v
		}
	}
	for j, x := range t.W {
		update := math.Pow(math.Abs(x), t.p-1)*sign(x) - lr*t.grad[j]
		t.W[j] = sign(update) * math.Pow(math.Abs(update), 1/(t.p-1))
	}
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
