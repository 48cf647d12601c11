package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/matrix"
)

// Scalings are the kinds of scalers.
var Scalings = []string{"std", "max"}

// Scaler brings features to one scale: x ↦ (x − Center)·Factor. Both are learned from the training data and belong to
// the model.
type Scaler struct {
	Kind   string    `json:"kind"`             // std or max
	Center []float64 `json:"center,omitempty"` // none for sparse data, which would not stay sparse
	Factor []float64 `json:"factor"`
}

// NewScaler learns a scaler: std makes each feature's standard deviation 1, and its mean 0 where the data is dense; max
// makes its largest magnitude 1. A feature that does not vary keeps its scale, and with bias so does the last one.
func NewScaler(kind string, x matrix.Matrix, bias bool) (*Scaler, error) {
	n, d := x.Dims()
	if !slices.Contains(Scalings, kind) {
		return nil, fmt.Errorf("scale %q: choose one of %s", kind, strings.Join(Scalings, ", "))
	}
	sum, largest := make([]float64, d), make([]float64, d)
	each(x, func(j int, v float64) {
		sum[j] += v / float64(n)
		largest[j] = max(largest[j], math.Abs(v))
	})
	for j, v := range largest {
		if v > mostScaled || v > 0 && v < 1/mostScaled {
			return nil, &ScaleError{Feature: j, Largest: v}
		}
	}
	s := &Scaler{Kind: kind, Factor: make([]float64, d)}
	switch kind {
	case "max":
		copy(s.Factor, largest)
	case "std": // Σ(x−m)² = Σ over the entries there are + m² for each that is not
		square, count := make([]float64, d), make([]int, d)
		each(x, func(j int, v float64) {
			if largest[j] > 0 { // relative to it: squares neither overflow nor vanish
				off := (v - sum[j]) / largest[j]
				square[j] += off * off
			}
			count[j]++
		})
		for j := range s.Factor {
			if largest[j] == 0 {
				continue
			}
			mean := sum[j] / largest[j]
			s.Factor[j] = largest[j] * math.Sqrt((square[j]+float64(n-count[j])*mean*mean)/float64(n))
			if s.Factor[j] <= 1e-12*largest[j] {
				s.Factor[j] = 0
			}
		}
		if _, dense := x.(*matrix.Dense); dense {
			s.Center = sum
		}
	}
	for j, f := range s.Factor {
		if s.Factor[j] = 1 / f; f == 0 || math.IsInf(1/f, 0) {
			s.Factor[j] = 1
		}
	}
	if bias {
		s.Factor[d-1] = 1
		if s.Center != nil {
			s.Center[d-1] = 0
		}
	}
	return s, nil
}

// mostScaled is the largest magnitude of a feature, and the inverse of the least, that can be inverted and centred.
const mostScaled = 1e300

// ScaleError says that a feature is too large or too small to be scaled.
type ScaleError struct {
	Feature int // counted from 0
	Largest float64
}

func (e *ScaleError) Error() string {
	return fmt.Sprintf("feature %d has values up to %.3g, which cannot be scaled in float64: multiply it by a "+
		"constant in the file",
		e.Feature+1, e.Largest)
}

func each(x matrix.Matrix, f func(j int, v float64)) {
	matrix.Rows(x, func(_ int, idx []int32, val []float64) {
		for k, v := range val {
			j := k
			if idx != nil {
				j = int(idx[k])
			}
			f(j, v)
		}
	})
}

// Apply scales the data in place.
func (s *Scaler) Apply(x matrix.Matrix) error {
	if _, sparse := x.(*matrix.CSR); sparse && s.Center != nil {
		return fmt.Errorf("the model was fitted to dense, centred data, and this is sparse: convert it")
	}
	if _, d := x.Dims(); d != len(s.Factor) {
		return fmt.Errorf("the data has %d features, the model %d", d, len(s.Factor))
	}
	matrix.ScaleColumns(x, s.Center, s.Factor)
	return nil
}

// fold returns the weights and the offset that give on data as it is what w gives on scaled data: ⟨(x−c)·f, w⟩ = ⟨x,
// f·w⟩ − ⟨c, f·w⟩.
func (s *Scaler) fold(w []float64) (folded []float64, offset float64) {
	folded = make([]float64, len(w))
	for j, v := range w {
		folded[j] = v * s.Factor[j]
		if s.Center != nil {
			offset -= s.Center[j] * folded[j]
		}
	}
	return folded, offset
}
