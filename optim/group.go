package optim

import (
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/ml/model"
)

// Match picks parameters of a network, for [Config.Group]. [model.Variable.Path] is the path of one, such as
// "/hidden/dense/weights" or "/hidden/dense/biases". An error that lists them all is a quick way to learn them: ask for
// a group Under something that is not there.
type Match func(v *model.Variable) bool

// Kernels are the tensors of two axes or more: weights of dense layers and convolutions, embeddings.
func Kernels(v *model.Variable) bool { return v.Shape().Rank() >= 2 }

// Biases are the tensors of one axis or none: biases, and the scales and offsets of normalization.
func Biases(v *model.Variable) bool { return !Kernels(v) }

// Under picks what is in a scope, such as "hidden" or "/block1/attention", and a parameter by its whole path.
func Under(scope string) Match {
	scope = "/" + strings.Trim(scope, "/")
	return func(v *model.Variable) bool {
		rest, found := strings.CutPrefix(v.Path(), scope)
		return found && (scope == "/" || rest == "" || rest[0] == '/')
	}
}

// groupOf returns the first group that takes the variable.
func (o *Optimizer) groupOf(v *model.Variable) *group {
	for i := range o.groups {
		if o.groups[i].match(v) {
			return &o.groups[i]
		}
	}
	return o.rest()
}

// checkGroups returns an error if a group has none of the parameters, except the default, which may be left with none.
func (o *Optimizer) checkGroups(parameters []*model.Variable) error {
	for i := range o.groups[:len(o.groups)-1] {
		g := &o.groups[i]
		var paths, taken []string
		for _, v := range parameters {
			of := o.groupOf(v)
			if of == g {
				taken = nil
				paths = nil
				break
			}
			paths = append(paths, v.Path())
			if g.match(v) {
				taken = append(taken, fmt.Sprintf("%s is in group %s", v.Path(), of.name))
			}
		}
		switch {
		case len(taken) > 0:
			return fmt.Errorf("group %s has no parameters: groups before it take all that match: %s", g.name, list(taken))
		case len(paths) > 0:
			return fmt.Errorf("group %s matches none of the parameters: there are %s", g.name, list(paths))
		}
	}
	return nil
}

// list names things, not too many.
func list(names []string) string {
	const most = 40
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
