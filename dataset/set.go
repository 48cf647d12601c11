// Package dataset reads tables of examples for linear models: a file becomes a matrix and its labels. Open also
// knows sets by name: the paper's synthetic ones, and sets of images.
//
// It reads svmlight text, CSV, Parquet and NumPy's .npy and .npz, each also gzipped, and tells them apart by itself.
// Texts in a table become categories, and an Encoding says how, to read another table alike. What it cannot read it
// refuses with the place in the file and what to do about it; what it returns holds finite numbers only.
package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/matrix"
)

// Set is a table of examples: X is n × d, Y has n labels as they stood in the file, or codes of their texts.
type Set struct {
	Name     string        // where it came from
	X        matrix.Matrix // *matrix.CSR or *matrix.Dense
	Y        []float64
	Features []string // column names, nil if the file has none
	Label    string   // the name of the column of labels, if it has one
	Hash     string   // "sha256:…" of the file's bytes as stored, or what names the data; empty for R2, R100 and Synth

	Encoding  *Encoding // of a CSV or Parquet file: how its columns became X and Y; else nil
	Unlabeled bool      // the file has no labels: Y is 0
	Notes     []string  // what was done with columns, a short sentence each

	Indexed   bool // svmlight text, whose columns are known by their index
	ZeroBased bool // those indices were read as counted from 0
}

// Classes returns the distinct labels in ascending order.
func (s *Set) Classes() []float64 {
	seen := make(map[float64]struct{})
	for _, y := range s.Y {
		seen[y] = struct{}{}
	}
	classes := make([]float64, 0, len(seen))
	for y := range seen {
		classes = append(classes, y+0) // -0 and 0 are one label; which was seen first must not show
	}
	slices.Sort(classes)
	return classes
}

// ClassName returns the text of a label: that in the file if labels are texts, else the number.
func (s *Set) ClassName(y float64) string { return s.Encoding.ClassName(y) }

// Signs maps two labels to ±1, the larger to +1. A set with one label only is one whose labels are already
// absorbed into X: y is all +1 and classes has one element.
func (s *Set) Signs() (y []float64, classes []float64, err error) {
	classes = s.Classes()
	switch {
	case s.Encoding != nil && len(s.Encoding.Classes) == 1:
		return nil, nil, &Error{Name: s.Name, Msg: fmt.Sprintf("one class only, %s: want examples of two",
			quoted(s.Encoding.Classes[0]))}
	case len(classes) == 0:
		return nil, nil, &Error{Name: s.Name, Msg: noExamples}
	case len(classes) > 2:
		return nil, classes, &Error{Name: s.Name, Msg: fmt.Sprintf(
			"%d different labels (%s), want two: keep the examples of two classes", len(classes), listed(classes))}
	}
	top := classes[len(classes)-1]
	y = make([]float64, len(s.Y))
	for i, v := range s.Y {
		y[i] = -1
		if v == top {
			y[i] = 1
		}
	}
	return y, classes, nil
}

// listed names the first few of the labels.
func listed(labels []float64) string {
	const few = 5
	var names []string
	for i, v := range labels {
		if i == few {
			names = append(names, "…")
			break
		}
		names = append(names, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strings.Join(names, ", ")
}

// check catches sets made by hand that no file could hold.
func (s *Set) check() error {
	n, _ := s.X.Dims()
	if n != len(s.Y) {
		return fmt.Errorf("%d examples but %d labels", n, len(s.Y))
	}
	if n == 0 {
		return errors.New(noExamples)
	}
	return nil
}
