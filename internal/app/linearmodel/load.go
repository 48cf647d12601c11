package linearmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/matrix"
)

// loadToLearn is dataset.Open for data that a model is fitted to. It says what was done with columns.
func loadToLearn(ctx context.Context, env *command.Env, spec string, opt dataset.Options) (*dataset.Set, error) {
	set, err := dataset.Open(ctx, spec, opt)
	if err != nil {
		return nil, err
	}
	for _, n := range set.Notes {
		env.Say("%s: %s", set.Name, n)
	}
	if opt.Bias && len(set.Classes()) == 1 {
		return nil, fmt.Errorf("%s: all labels are %s, so they count as absorbed, and --bias makes no sense there",
			set.Name, set.ClassName(set.Y[0]))
	}
	return set, nil
}

// counted says in brackets whether the columns of svmlight text are counted from 0 or 1. It is empty for other data.
func counted(set *dataset.Set) string {
	switch {
	case !set.Indexed:
		return ""
	case set.ZeroBased:
		return " (columns counted from 0)"
	}
	return " (columns counted from 1)"
}

// loadFor reads data for a model. Columns are matched by name if both have names. Sparse text is as wide as the
// model and counts its columns as the model does.
func loadFor(ctx context.Context, env *command.Env, m fit.Model, spec string, opt dataset.Options) (*dataset.Set,
	error) {
	opt.Bias, opt.Cols, opt.ZeroBased, opt.Like = m.Bias, m.Dim(), m.ZeroBased, m.Encoding
	set, err := dataset.Open(ctx, spec, opt)
	if err == nil {
		for _, n := range set.Notes {
			env.Say("%s: %s", set.Name, n)
		}
	}
	if err != nil || m.Features == nil || set.Features == nil || slices.Equal(m.Features, set.Features) {
		return set, err
	}
	at := map[string]int{}
	for j, name := range set.Features {
		at[name] = j
	}
	from := make([]int, len(m.Features))
	var missing []string
	for j, name := range m.Features {
		k, ok := at[name]
		if !ok {
			missing = append(missing, name)
		}
		from[j] = k
	}
	if slices.Contains(missing, set.Label) {
		return nil, fmt.Errorf("%s: column %q was taken for the labels, and is a feature of the model: "+
			"name the column of labels with --label, or predict with --unlabeled if there is none", set.Name, set.Label)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s lacks columns the model has: %s", set.Name, strings.Join(missing[:min(len(missing), 5)],
			", "))
	}
	n, _ := set.X.Dims()
	data := make([]float64, 0, n*len(from))
	for i := range n {
		_, row := set.X.Row(i) // files with names are dense
		for _, k := range from {
			data = append(data, row[k])
		}
	}
	set.X, set.Features = matrix.NewDense(len(from), data), m.Features
	return set, nil
}
