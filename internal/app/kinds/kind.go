// Package kinds lists the commands that a sweep can repeat and the dashboard can start.
package kinds

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Kind is a command that a sweep can repeat.
type Kind struct {
	Name   string
	New    func() command.Command
	Metric string // of its result: what a sweep compares by default
	Out    string // the file of a run folder for what --out names; "": it has none

	result any                                                                 // the content of tables/result.json
	trial  func(command.Result) (result any, tables map[string]any, err error) // nil: it writes its run folder itself
}

// All are the commands that a sweep can repeat.
var All = []Kind{
	{Name: "train", New: func() command.Command { return new(command.Train) }, Metric: "test_accuracy",
		result: command.TrainResult{}},
	{Name: "fit", New: func() command.Command { return new(linearmodel.Fit) }, Metric: "norm", Out: "model.json",
		result: linearmodel.FitResult{},
		trial:  fitTrial},
	{Name: "margin", New: func() command.Command { return new(linearmodel.Margin) }, Metric: "norm", Out: "w.npy",
		result: linearmodel.MarginResult{},
		trial:  marginTrial},
	{Name: "path", New: func() command.Command { return new(linearmodel.Path) }, Metric: "angle",
		result: linearmodel.PathEnd{}, trial: pathTrial},
}

// ByName returns a kind.
func ByName(name string) (Kind, error) {
	var names []string
	for _, k := range All {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("%q: choose %s", name, settings.Or(names))
}

// Role is what a key of run.json is for. A key means the same in every command.
func Role(key string) settings.Role {
	for _, k := range All {
		if f, ok := settings.Find(k.New(), key); ok {
			return f.Role
		}
	}
	return settings.Result
}

// ParseStored is Parse for settings from a file, which may be older than some of them: one that is missing means what
// was done before it was added.
func (k Kind) ParseStored(values map[string]string) (command.Command, error) {
	all := settings.Late(k.New())
	maps.Copy(all, values)
	return k.parse(all, slices.Collect(maps.Keys(values)))
}

// Parse returns the command with these settings, resolved and checked.
func (k Kind) Parse(values map[string]string) (command.Command, error) {
	return k.parse(values, slices.Collect(maps.Keys(values)))
}

// parse takes settings that are not said from the run that the command names, if it names one.
func (k Kind) parse(values map[string]string, said []string) (command.Command, error) {
	c := k.New()
	err := settings.Parse(c, values)
	if err == nil {
		err = settings.CheckZero(c, values)
	}
	if err == nil {
		c, err = command.Follow(c, said)
	}
	if err != nil {
		return nil, err
	}
	return command.Ready(c)
}

// Metrics are the numbers of a result.
func (k Kind) Metrics() []string {
	t := reflect.TypeOf(k.result)
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		ft := t.Field(i).Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if (ft.Kind() == reflect.Float64 || ft.Kind() == reflect.Int) && !slices.Contains([]string{"p", "n", "d"}, name) {
			out = append(out, name)
		}
	}
	return out
}

// Trial returns what a run of a sweep stores of a result: tables/result.json, and other tables by their file names.
func (k Kind) Trial(r command.Result) (result any, tables map[string]any, err error) {
	if k.trial == nil {
		return nil, nil, fmt.Errorf("%s writes its run folder itself", k.Name)
	}
	return k.trial(r)
}

func fitTrial(r command.Result) (any, map[string]any, error) {
	out := r.(*linearmodel.Fitted).FitResult
	out.Model = "" // it is in the folder
	return out, nil, nil
}

func marginTrial(r command.Result) (any, map[string]any, error) {
	return r.(*linearmodel.Margins).Results[0], nil, nil
}

func pathTrial(r command.Result) (any, map[string]any, error) {
	paths := r.(*linearmodel.Paths).Paths
	if len(paths) != 1 || len(paths[0].Points) == 0 {
		return nil, nil, errors.New("the path has no points")
	}
	return paths[0].End(), map[string]any{"path.json": paths[0]}, nil
}
