package trials

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// addResults adds the rows of runs to a results file.
func (e *Export) addResults(env *command.Env) (command.Result, error) {
	out := cmp.Or(e.Out, "results.csv")
	var runs []record.Run
	var skipped []error
	seen := map[string]bool{}
	for _, dir := range e.Folders {
		if seen[filepath.Clean(dir)] {
			continue
		}
		seen[filepath.Clean(dir)] = true
		more, without := record.Folder(dir, env.Version)
		runs, skipped = append(runs, more...), append(skipped, without...)
	}
	if len(runs) == 0 {
		return nil, errors.Join(skipped...)
	}
	if err := command.CheckOut(out); err != nil {
		return nil, err
	}
	added, err := record.Append(out, runs...)
	if err != nil {
		return nil, err
	}
	for _, err := range skipped {
		env.Say("no row: %v", err)
	}
	for _, r := range added {
		if r.Note != "" {
			env.Say("%s", r.Note)
		}
	}
	there := ""
	if n := len(runs) - len(added); n > 0 {
		there = fmt.Sprintf("; of %s it has a row already", render.Count(n, "run"))
	}
	env.Say("%s added to %s%s", render.Count(len(added), "row"), out, there)
	return exported{}, nil
}
