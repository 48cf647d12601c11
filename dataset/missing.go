package dataset

import (
	"bytes"
	"slices"
	"strings"
)

// Missing says what to do about missing values in a CSV or Parquet file.
type Missing string

const (
	// MissingError makes them an error. "" means the same.
	MissingError Missing = "error"
	// MissingMean fills them in with the mean of their column.
	MissingMean Missing = "mean"
	// MissingDrop leaves out the examples that have some. A table that is read alike keeps them, filled in with the means
	// of the others: every example gets its prediction.
	MissingDrop Missing = "drop"
)

// MissingInfo is a choice about missing values and a description of it.
type MissingInfo struct {
	Name  Missing
	About string // one line for a list of choices
}

// Missings are all choices about missing values.
var Missings = []MissingInfo{
	{MissingError, "missing values are an error"},
	{MissingMean, "the mean of the column stands for them"},
	{MissingDrop, "examples with missing values are left out"},
}

// MissingNames lists the names of the choices.
func MissingNames() []string {
	names := make([]string, len(Missings))
	for i, m := range Missings {
		names[i] = string(m.Name)
	}
	return names
}

func (m Missing) known() bool { return m == "" || slices.Contains(MissingNames(), string(m)) }

// isMissing reports whether a field stands for a missing value. One of several lines is read as one line.
func isMissing(tok []byte) bool {
	if bytes.ContainsAny(tok, "\r\n") {
		tok = []byte(valid(string(tok)))
	}
	if len(tok) > 4 {
		return false
	}
	switch strings.ToLower(string(tok)) {
	case "", "?", "na", "n/a", "nan", "+nan", "-nan", "null", "none", "<na>", "#n/a":
		return true
	}
	return false
}
