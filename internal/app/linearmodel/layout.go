package linearmodel

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Layout says how the columns of a CSV become features and labels.
type Layout struct {
	Label    string `group:"csv" placeholder:"COLUMN" json:"label,omitempty"`
	Columns  string `group:"csv" placeholder:"COLUMN,…" json:"columns,omitempty" late:""`
	Drop     string `group:"csv" placeholder:"COLUMN,…" json:"drop,omitempty" late:""`
	NoHeader bool   `group:"csv" json:"no_header,omitempty" late:"false"`
	Missing  string `group:"csv" default:"mean" json:"missing,omitempty" late:"error"`
}

// Texts are the words for them.
func (*Layout) Texts() settings.Texts {
	var about []string
	for _, m := range dataset.Missings {
		about = append(about, fmt.Sprintf("%s: %s", m.Name, m.About))
	}
	return settings.Texts{
		Help: map[string]string{
			"label": "CSV column with the labels, by name or number; default the one called label, else the last.",
			"columns": "CSV columns that are features, by name or number: age,3,\"height, cm\". Default all but the " +
				"label.",
			"drop":      "CSV columns that are not features.",
			"no_header": "The CSV has no line with names: columns are called 1, 2, …",
			"missing":   "Missing values in a CSV. " + strings.Join(about, "; ") + ".",
		},
		Choices: map[string][]string{"missing": dataset.MissingNames()},
	}
}

// check returns an error if a list of columns cannot be read.
func (l *Layout) check() error {
	for key, list := range map[string]string{"columns": l.Columns, "drop": l.Drop} {
		if _, err := names(list); err != nil {
			return settings.Errorf(key, "--%s %s: %w", key, list, err)
		}
	}
	return nil
}

// options are those of the reader.
func (l *Layout) options() dataset.Options {
	columns, _ := names(l.Columns)
	drop, _ := names(l.Drop)
	return dataset.Options{Label: l.Label, Columns: columns, Drop: drop, NoHeader: l.NoHeader,
		Missing: dataset.Missing(l.Missing)}
}

// names splits a list of columns as a line of CSV: names that hold a comma stand in quotes.
func names(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	fields, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("want names between commas, those with a comma in quotes")
	}
	return fields, nil
}
