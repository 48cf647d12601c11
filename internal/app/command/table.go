package command

import (
	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Table is part of the commands that read a CSV: which of its columns are features, and what stands for missing values.
type Table struct {
	Columns  []string `placeholder:"NAME" json:"columns,omitempty" late:""`
	Drop     []string `placeholder:"NAME" json:"drop,omitempty" late:""`
	Missing  string   `default:"mean" json:"missing,omitempty" late:"error"`
	NoHeader bool     `json:"no_header,omitempty" late:"false"`
}

// Texts are the words for its settings.
func (*Table) Texts() settings.Texts {
	return settings.Texts{
		Help: map[string]string{
			"columns":   "CSV: only these columns are features, by name or number.",
			"drop":      "CSV: these columns are no features.",
			"missing":   "CSV: missing values are an error, are filled in with the mean, or their examples are left out (drop).",
			"no_header": "CSV: the first line is data; columns are called 1, 2, ….",
		},
		Choices: map[string][]string{"missing": dataset.MissingNames()},
	}
}

// set puts the settings into the options of a data set.
func (t *Table) set(opt dataset.Options) dataset.Options {
	opt.Columns, opt.Drop, opt.NoHeader = t.Columns, t.Drop, t.NoHeader
	opt.Missing = dataset.Missing(t.Missing)
	return opt
}
