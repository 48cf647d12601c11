package fit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/measure"
	"github.com/bregman-ml/bregman/mirror"
)

// ModelFormat and ModelVersion mark a model file. Version 2 may have a scaler, version 3 is of svmlight text
// that counts columns from 0: a program that does not know of it would read test data shifted by one. Version 4 is of a
// CSV with texts, or without a header.
const (
	ModelFormat  = "bregman-linear"
	ModelVersion = 4
)

// Model is a trained linear model as it is stored: one weight vector for two classes or a regression,
// one per class (one against the rest) for more.
type Model struct {
	Format   string          `json:"format"`
	Version  int             `json:"version"`
	P        mirror.Exponent `json:"p"`
	Loss     string          `json:"loss"`
	Method   string          `json:"method"`
	Steps    int             `json:"steps"`
	Bias     bool            `json:"bias"`              // the last weight belongs to a constant feature 1
	Classes  []float64       `json:"classes,omitempty"` // labels in ascending order; none for a regression
	Features []string        `json:"features,omitempty"`
	Scale    *Scaler         `json:"scale,omitempty"` // what the data goes through before the weights
	Weights  [][]float64     `json:"weights"`

	Intercept bool             `json:"intercept,omitempty"` // the bias is an intercept: no penalty held it back
	Link      Link             `json:"link,omitempty"`      // how scores become probabilities
	Sigmoid   *measure.Sigmoid `json:"sigmoid,omitempty"`   // of LinkSigmoid

	ZeroBased bool `json:"zero_based,omitempty"` // svmlight text for the model counts columns from 0

	Encoding *dataset.Encoding `json:"encoding,omitempty"` // how columns of a CSV become features and labels
}

// ClassName returns the text of a label: that of the training data if they had texts, else the number.
func (m Model) ClassName(y float64) string { return m.Encoding.ClassName(y) }

// ClassNames are the texts of Classes.
func (m Model) ClassNames() []string {
	var names []string
	for _, y := range m.Classes {
		names = append(names, m.ClassName(y))
	}
	return names
}

// Encode returns the model as JSON, in version 2 if that holds it: older programs read it, too.
func (m Model) Encode() ([]byte, error) {
	m.Format, m.Version = ModelFormat, 2
	if m.ZeroBased {
		m.Version = 3
	}
	if e := m.Encoding; e != nil && (e.NoHeader || e.Texts()) {
		m.Version = 4
	}
	data, err := json.Marshal(m)
	return append(data, '\n'), err
}

// DecodeModel reads what Encode wrote, and refuses what it does not know.
func DecodeModel(data []byte) (Model, error) {
	var stored struct {
		Model
		Weights [][]*float64 `json:"weights"` // a null among them must not read as 0
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) && len(data) > 0 && data[0] == '{' {
			return Model{}, errors.New("the model file is cut short: write it again with fit")
		}
		return Model{}, fmt.Errorf("not a model file: %w", err)
	}
	m := stored.Model
	if key := nullIn(data); key != "" {
		return m, fmt.Errorf("not a model file: a null in %s", key)
	}
	for _, row := range stored.Weights {
		w := make([]float64, len(row))
		for j, v := range row {
			if v == nil {
				return m, fmt.Errorf("not a model file: weight %d is null", j)
			}
			w[j] = *v
		}
		m.Weights = append(m.Weights, w)
	}
	switch {
	case m.Format != ModelFormat:
		return m, fmt.Errorf("not a model file: its format is %q, want %q", m.Format, ModelFormat)
	case m.Version > ModelVersion:
		return m, fmt.Errorf("model version %d is newer than this program, which reads up to version %d: update it",
			m.Version, ModelVersion)
	case m.Version < 1:
		return m, fmt.Errorf("model version %d: this program reads versions 1 to %d", m.Version, ModelVersion)
	case len(m.Weights) == 0 || len(m.Weights[0]) == 0:
		return m, errors.New("the model has no weights")
	case len(m.Classes) == 1 && (m.Intercept || m.Link != ""):
		return m, fmt.Errorf("the model has the class %v alone, and an intercept or probabilities", m.Classes[0])
	case len(m.Classes) <= 2 && len(m.Weights) != 1, len(m.Classes) > 2 && len(m.Weights) != len(m.Classes):
		return m, fmt.Errorf("the model has %d weight vectors for %d classes", len(m.Weights), len(m.Classes))
	}
	if (len(m.Classes) == 0) != (m.Loss == linear.Square{}.String()) || !slices.IsSorted(m.Classes) {
		return m, fmt.Errorf("the model's classes %v do not go with its loss %q, or are not in order", m.Classes, m.Loss)
	}
	for _, w := range m.Weights {
		if len(w) != len(m.Weights[0]) {
			return m, errors.New("the model's weight vectors differ in length")
		}
	}
	if d := m.Dim(); m.Features != nil && len(m.Features) != d {
		return m, fmt.Errorf("the model has %d names for %d features", len(m.Features), d)
	}
	if err := m.checkEncoding(); err != nil {
		return m, err
	}
	if s := m.Scale; s != nil && (len(s.Factor) != m.Dim() || s.Center != nil && len(s.Center) != m.Dim()) {
		return m, fmt.Errorf("the model's scaler is for %d features, its weights for %d", len(s.Factor), m.Dim())
	}
	return m, nil
}

// nullIn returns the first key of a JSON object below which there is a null, which would be read as 0. It leaves out
// the weights.
func nullIn(data []byte) string {
	var all map[string]any
	if json.Unmarshal(data, &all) != nil {
		return ""
	}
	delete(all, "weights") // which have a message of their own
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != nil && hasNull(all[key]) {
			return key
		}
	}
	return ""
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, hasNull)
	case map[string]any:
		for _, e := range v {
			if hasNull(e) {
				return true
			}
		}
	}
	return false
}

// checkEncoding returns an error if the encoding is not one, or is of other features or classes.
func (m Model) checkEncoding() error {
	e := m.Encoding
	if e == nil {
		return nil
	}
	if err := e.Check(); err != nil {
		return fmt.Errorf("not a model file: %w", err)
	}
	want := m.Dim()
	if m.Bias {
		want--
	}
	if d := len(e.Features()); d != want {
		return fmt.Errorf("the model's columns have %d features, its weights are for %d", d, want)
	}
	for _, y := range m.Classes {
		if k := int(y); len(e.Classes) > 0 && (float64(k) != y || k < 0 || k >= len(e.Classes)) {
			return fmt.Errorf("the model's class %v has no text among its %d", y, len(e.Classes))
		}
	}
	return nil
}

// Dim returns the number of weights per vector.
func (m Model) Dim() int { return len(m.Weights[0]) }

// Nonzero returns the number of weights above a thousandth of the largest, the mean over weight vectors.
func (m Model) Nonzero() int {
	var count float64
	for _, w := range m.Weights {
		var top float64
		for _, v := range w {
			top = max(top, math.Abs(v))
		}
		for _, v := range w {
			if math.Abs(v) > 1e-3*top {
				count++
			}
		}
	}
	return int(math.Round(count / float64(max(len(m.Weights), 1))))
}

// Predict returns for each row of x, as it was before any scaling and with or without the constant, a label, or a value
// for a regression, and the scores
// ⟨x, w⟩ of each weight vector. With one class only, whose labels were absorbed, the label is the sign of the score.
func (m Model) Predict(x matrix.Matrix) (labels []float64, scores [][]float64, err error) {
	n, d := x.Dims()
	if m.Bias && d == m.Dim()-1 {
		x, d = matrix.AppendConstant(x), d+1
	}
	if d != m.Dim() {
		return nil, nil, fmt.Errorf("the data has %d features, the model %d", d, m.Dim())
	}
	labels, scores = make([]float64, n), make([][]float64, len(m.Weights))
	for k, w := range m.Weights {
		scores[k] = make([]float64, n)
		var offset float64
		if m.Scale != nil {
			w, offset = m.Scale.fold(w)
		}
		x.Mul(scores[k], w)
		for i := range scores[k] {
			if scores[k][i] += offset; scores[k][i]-scores[k][i] != 0 {
				return nil, nil, fmt.Errorf("the score of example %d is not finite: its values are too large for the model", i+1)
			}
		}
	}
	for i := range labels {
		switch s := scores[0][i]; {
		case len(m.Classes) > 2:
			best := 0
			for k := range scores {
				if scores[k][i] > scores[best][i] {
					best = k
				}
			}
			labels[i] = m.Classes[best]
		case len(m.Classes) == 2 && s > 0:
			labels[i] = m.Classes[1]
		case len(m.Classes) == 2:
			labels[i] = m.Classes[0]
		case len(m.Classes) == 1 && s > 0:
			labels[i] = 1
		case len(m.Classes) == 1:
			labels[i] = -1
		default:
			labels[i] = s
		}
	}
	return labels, scores, nil
}
