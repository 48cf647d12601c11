package linearmodel

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/matrix"
)

// Effect is how much a feature counts for the score of a class, or for the value of a regression.
type Effect struct {
	Feature string  `json:"feature"`
	Class   string  `json:"class,omitempty"` // none in a regression; of two classes the second
	Weight  float64 `json:"weight"`          // of the column as it is in the data, before any scaling
	Effect  float64 `json:"effect"`          // of one standard deviation of the column: the weight times it
}

// The most effects of a class, and of all classes together.
const (
	mostEffects = 30
	allEffects  = 6000
)

// Effects returns for each class the features of the largest effects, the largest first, for a model and the data
// that it predicts. The intercept is not a feature, and a column that does not vary has no effect. It takes one pass
// over the rows.
func Effects(m fit.Model, x matrix.Matrix) []Effect {
	return effectsOf(m, deviations(x))
}

// effects are those of the fitted model. Data that was scaled in place has the deviations of the scaled columns.
func (w *fitting) effects() []Effect {
	m := w.result.Model
	dev := deviations(w.set.X)
	if m.Scale != nil && w.lib.InPlace {
		for j := range dev {
			dev[j] /= m.Scale.Factor[j]
		}
	}
	return effectsOf(m, dev)
}

func effectsOf(m fit.Model, deviation []float64) []Effect {
	classes := m.ClassNames()
	d := m.Dim()
	if m.Bias {
		d--
	}
	d = min(d, len(deviation))
	most := min(mostEffects, max(1, allEffects/len(m.Weights)))
	var out []Effect
	for k, w := range m.Weights {
		class := ""
		switch len(classes) {
		case 0:
		case 2:
			class = classes[1]
		default:
			class = classes[k]
		}
		var own []Effect
		for j := range d {
			v := w[j]
			if m.Scale != nil {
				v *= m.Scale.Factor[j]
			}
			e := v * deviation[j]
			if e == 0 || e-e != 0 {
				continue
			}
			own = append(own, Effect{Feature: featureName(m, j), Class: class, Weight: v, Effect: e})
		}
		slices.SortStableFunc(own, func(a, b Effect) int { return cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect)) })
		out = append(out, own[:min(most, len(own))]...)
	}
	return out
}

// featureName is the name of a column, or its number counted as in the file.
func featureName(m fit.Model, j int) string {
	switch {
	case m.Features != nil:
		return m.Features[j]
	case m.Bias && j == m.Dim()-1:
		return "bias"
	case m.ZeroBased:
		return strconv.Itoa(j)
	}
	return strconv.Itoa(j + 1)
}

// deviations are the standard deviations of the columns, in one pass over the rows: by Welford's updates of the mean
// and of the sum of squares about it. The zeros that a sparse matrix does not hold are c more values: k entries with
// mean m and sum of squares S become k + c with S + m²·k·c/(k + c).
func deviations(x matrix.Matrix) []float64 {
	n, d := x.Dims()
	count, mean, square := make([]float64, d), make([]float64, d), make([]float64, d)
	matrix.Rows(x, func(_ int, idx []int32, val []float64) {
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			count[j]++
			off := v - mean[j]
			mean[j] += off / count[j]
			square[j] += off * (v - mean[j])
		}
	})
	out := make([]float64, d)
	for j := range out {
		zeros := float64(n) - count[j]
		out[j] = math.Sqrt((square[j] + mean[j]*mean[j]*count[j]*zeros/float64(n)) / float64(n))
	}
	return out
}
