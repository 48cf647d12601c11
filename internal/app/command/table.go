package command

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Table is part of the commands that read tables: how the columns of a CSV become features and labels.
type Table struct {
	Label    string `group:"csv" placeholder:"COLUMN" json:"label,omitempty"`
	Columns  string `group:"csv" placeholder:"COLUMN,…" json:"columns,omitempty" late:""`
	Drop     string `group:"csv" placeholder:"COLUMN,…" json:"drop,omitempty" late:""`
	NoHeader bool   `group:"csv" json:"no_header,omitempty" late:"false"`
	Missing  string `group:"csv" default:"mean" json:"missing,omitempty" late:"error"`
}

// Texts are the words for its settings.
func (*Table) Texts() settings.Texts {
	var about []string
	for _, m := range dataset.Missings {
		about = append(about, fmt.Sprintf("%s: %s", m.Name, m.About))
	}
	return settings.Texts{
		Help: map[string]string{
			"label": "Column with the labels, by name or number; default the one called label, else the last.",
			"columns": "Columns that are features, by name or number: age,3,\"height, cm\". Default all but the " +
				"label.",
			"drop":      "Columns that are not features.",
			"no_header": "The file has no line with names: columns are called 1, 2, …",
			"missing":   "What to do about missing values. " + strings.Join(about, "; ") + ".",
		},
		Choices: map[string][]string{"missing": dataset.MissingNames()},
	}
}

// CheckTable returns an error if a list of columns cannot be read.
func (t *Table) CheckTable() error {
	for key, list := range map[string]string{"columns": t.Columns, "drop": t.Drop} {
		if _, err := columns(list); err != nil {
			return settings.Errorf(key, "--%s %s: %w", key, list, err)
		}
	}
	return nil
}

// Options are those of the reader.
func (t *Table) Options() dataset.Options {
	keep, _ := columns(t.Columns)
	drop, _ := columns(t.Drop)
	return dataset.Options{Label: t.Label, Columns: keep, Drop: drop, NoHeader: t.NoHeader,
		Missing: dataset.Missing(t.Missing)}
}

// columns splits a list of columns as a line of CSV: names that hold a comma stand in quotes.
func columns(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	names, err := r.Read()
	if err != nil {
		return nil, errors.New("want names between commas, and those with a comma in quotes")
	}
	return names, nil
}
