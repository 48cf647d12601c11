package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Encoding says how the columns of a table became features and labels: what a model keeps to read another table alike.
type Encoding struct {
	Label    string   `json:"label,omitempty"`     // name of the column of labels; "": there is none
	Classes  []string `json:"classes,omitempty"`   // texts of the labels, by their code 0, 1, … in Y; nil: numbers
	NoHeader bool     `json:"no_header,omitempty"` // the columns are known by their numbers, counted from 1
	Width    int      `json:"width,omitempty"`     // without a header: how many columns the file had, used or not
	Missing  Missing  `json:"missing,omitempty"`
	Columns  []Column `json:"columns"` // in the order of their features
}

// Column says how a column became one or more features.
type Column struct {
	Name string `json:"name"`

	// Categories are the texts of the column, sorted; nil: it holds numbers. Each is a feature "name=category" that is
	// 0 or 1. Of exactly two only the second is a feature.
	Categories []string `json:"categories,omitempty"`

	// Absent is the category of missing values; "": they have none.
	Absent string `json:"absent,omitempty"`

	// Fill stands for a missing value, one number for each feature: the mean of the training data, which for a category
	// is its frequency. nil: a missing value is an error.
	Fill []float64 `json:"fill,omitempty"`
}

// width is the number of features of the column.
func (c *Column) width() int {
	switch len(c.Categories) {
	case 0, 2:
		return 1
	}
	return len(c.Categories)
}

// put writes the features of a cell, which is a number or the code of a category. NaN is a missing value.
func (c *Column) put(dst []float64, cell float64) {
	switch {
	case cell != cell:
		copy(dst, c.Fill)
	case len(c.Categories) == 0 || len(c.Categories) == 2:
		dst[0] = cell
	default:
		clear(dst)
		dst[int(cell)] = 1
	}
}

// width is the number of features, without the bias.
func (e *Encoding) width() int {
	n := 0
	for i := range e.Columns {
		n += e.Columns[i].width()
	}
	return n
}

// Features returns the names of the features, without the bias.
func (e *Encoding) Features() []string {
	names := make([]string, 0, len(e.Columns))
	for _, c := range e.Columns {
		switch len(c.Categories) {
		case 0:
			names = append(names, c.Name)
		case 2:
			names = append(names, c.Name+"="+c.Categories[1])
		default:
			for _, text := range c.Categories {
				names = append(names, c.Name+"="+text)
			}
		}
	}
	return names
}

// ClassName returns the text of a label: that in the file if labels are texts, else the number. A nil encoding has no
// texts.
func (e *Encoding) ClassName(y float64) string {
	if e != nil {
		if k := int(y); float64(k) == y && k >= 0 && k < len(e.Classes) {
			return e.Classes[k]
		}
	}
	return strconv.FormatFloat(y, 'g', -1, 64)
}

// Texts reports whether some features or the labels were texts.
func (e *Encoding) Texts() bool {
	return len(e.Classes) > 0 || slices.ContainsFunc(e.Columns, func(c Column) bool { return len(c.Categories) > 0 })
}

// Plain reports whether the features and labels are nothing but the numbers in the file.
func (e *Encoding) Plain() bool {
	return len(e.Classes) == 0 && !slices.ContainsFunc(e.Columns, func(c Column) bool {
		return len(c.Categories) > 0 || c.Fill != nil
	})
}

// Check returns the first thing wrong with an encoding, which comes from a model file that anybody may have edited.
func (e *Encoding) Check() error {
	if len(e.Columns) == 0 {
		return fmt.Errorf("the encoding has no columns")
	}
	if !e.Missing.known() {
		return fmt.Errorf("the encoding has missing %s: want one of %s", quoted(string(e.Missing)), some(MissingNames()))
	}
	if text, ok := twice(e.Classes); ok {
		return fmt.Errorf("the encoding has the class %s twice", quoted(text))
	}
	d := 0
	for i := range e.Columns {
		c := &e.Columns[i]
		if text, ok := twice(c.Categories); ok {
			return fmt.Errorf("column %s of the encoding has the category %s twice", quoted(c.Name), quoted(text))
		}
		if c.Absent != "" && !slices.Contains(c.Categories, c.Absent) {
			return fmt.Errorf("column %s of the encoding has no category %s, which it names for missing values",
				quoted(c.Name), quoted(c.Absent))
		}
		if d += c.width(); d > maxFeatures {
			return fmt.Errorf("the encoding has more than %d features", maxFeatures)
		}
		if c.Fill != nil && len(c.Fill) != c.width() {
			return fmt.Errorf("column %s of the encoding has %d features and fills in %d", quoted(c.Name), c.width(),
				len(c.Fill))
		}
		for _, v := range c.Fill {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("column %s of the encoding fills in %v: want a finite number", quoted(c.Name), v)
			}
		}
	}
	if e.NoHeader {
		return e.checkNumbers()
	}
	return nil
}

// checkNumbers checks the numbers that name the columns of a table without a header.
func (e *Encoding) checkNumbers() error {
	seen := map[string]bool{}
	names := make([]string, 0, len(e.Columns)+1)
	for _, c := range e.Columns {
		names = append(names, c.Name)
	}
	if e.Label != "" {
		names = append(names, e.Label)
	}
	for _, name := range names {
		k, err := strconv.Atoi(name)
		if err != nil || k < 1 || k > e.Width || strconv.Itoa(k) != name || seen[name] {
			return fmt.Errorf("the encoding of a table without a header names the column %s: want each number from 1 to "+
				"its width %d at most once", quoted(name), e.Width)
		}
		seen[name] = true
	}
	return nil
}

// twice returns a text that occurs more than once.
func twice(texts []string) (string, bool) {
	seen := make(map[string]bool, len(texts))
	for _, s := range texts {
		if seen[s] {
			return s, true
		}
		seen[s] = true
	}
	return "", false
}
