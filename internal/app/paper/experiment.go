package paper

import "github.com/bregman-ml/bregman/internal/app/render"

// experiment is a figure, a table or a claim of the paper that `reproduce linear` runs again. Its tasks come first;
// the rest is about their results.
type experiment interface {
	tasks() []task
	tables() []render.Table             // those that are printed
	findings() []string                 // sentences about the numbers of this run, for the top of the report
	section(doc *render.Document) error // of the report
	differences() []string              // where paper and measurement differ
	json() map[string]any               // its keys of --json
}
