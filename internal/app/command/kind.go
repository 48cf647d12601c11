package command

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// Kind is a command that a sweep can repeat.
type Kind struct {
	Name   string
	New    func() Command
	Metric string // of its result: what a sweep compares by default
	Out    string // the file of a run folder for what --out names; "": it has none

	result any                                                         // the content of tables/result.json
	trial  func(Result) (result any, tables map[string]any, err error) // nil: it writes its run folder itself
}

// Kinds are the commands that a sweep can repeat.
var Kinds = []Kind{
	{Name: "train", New: func() Command { return new(Train) }, Metric: "test_accuracy", result: TrainResult{}},
	{Name: "fit", New: func() Command { return new(Fit) }, Metric: "norm", Out: "model.json", result: FitResult{},
		trial: fitTrial},
	{Name: "margin", New: func() Command { return new(Margin) }, Metric: "norm", Out: "w.npy", result: MarginResult{},
		trial: marginTrial},
	{Name: "path", New: func() Command { return new(Path) }, Metric: "angle", result: PathEnd{}, trial: pathTrial},
}

// KindByName returns a kind.
func KindByName(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("%q: choose %s", name, settings.Or(names))
}

// Role is what a key of run.json is for. A key means the same in every command.
func Role(key string) settings.Role {
	for _, k := range Kinds {
		if f, ok := settings.Find(k.New(), key); ok {
			return f.Role
		}
	}
	return settings.Result
}

// Parse returns the command with these settings, resolved and checked.
func (k Kind) Parse(values map[string]string) (Command, error) {
	c := k.New()
	err := settings.Parse(c, values)
	if err == nil {
		err = settings.CheckZero(c, values)
	}
	if err != nil {
		return nil, err
	}
	return Ready(c)
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
func (k Kind) Trial(r Result) (result any, tables map[string]any, err error) {
	if k.trial == nil {
		return nil, nil, fmt.Errorf("%s writes its run folder itself", k.Name)
	}
	return k.trial(r)
}

func fitTrial(r Result) (any, map[string]any, error) {
	out := r.(*Fitted).FitResult
	out.Model = "" // it is in the folder
	return out, nil, nil
}

func marginTrial(r Result) (any, map[string]any, error) { return r.(*Margins).Results[0], nil, nil }

func pathTrial(r Result) (any, map[string]any, error) {
	paths := r.(*Paths).Paths
	if len(paths) != 1 || len(paths[0].Points) == 0 {
		return nil, nil, errors.New("the path has no points")
	}
	return paths[0].End(), map[string]any{"path.json": paths[0]}, nil
}
