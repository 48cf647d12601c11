package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/command"
)

// kind is a job that can be swept. Settings go in as the flags of its command, so that a sweep file, the command line and the defaults cannot differ.
type kind struct {
	fresh  func() any // its settings struct
	result any        // what a run leaves in tables/result.json
	metric string     // compared where the file names none
}

var kinds = map[string]kind{
	"train":  {func() any { return new(command.Train) }, command.TrainResult{}, "test_accuracy"},
	"fit":    {func() any { return new(command.Fit) }, command.FitResult{}, "norm"},
	"margin": {func() any { return new(command.Margin) }, command.MarginResult{}, "norm"},
	"path":   {func() any { return new(command.Path) }, pathEnd{}, "angle"},
}

// where are the settings that say where a run runs and not what it is: no part of its identity.
var where = map[string]string{
	"engine":   "use --engine on the command line",
	"data_dir": "use --data-dir on the command line",
	"runs":     "a sweep's runs are inside its folder, which --out names",
	"out":      "a run's model is in its folder",
	"seed":     "write seed = N at the top of the file: trials count on from it",
	"trials":   "write trials = N at the top of the file",
}

// later are settings that were added when people had finished runs. At its zero value such a setting is not
// part of a run's identity, so that those runs still count.
var later = []string{"zero_based"}

// keys are the settings of a kind that a sweep may set.
func (k kind) keys() []string {
	t := reflect.TypeOf(k.fresh()).Elem()
	var out []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("toml"); key != "" && key != "-" && where[key] == "" {
			out = append(out, key)
		}
	}
	return out
}

// has says whether the settings struct has a key, also one of where.
func (k kind) has(key string) bool {
	t := reflect.TypeOf(k.fresh()).Elem()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("toml") == key {
			return true
		}
	}
	return false
}

// metrics are the numbers of a result.
func (k kind) metrics() []string {
	t := reflect.TypeOf(k.result)
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		ft := t.Field(i).Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if slices.Contains([]reflect.Kind{reflect.Float64, reflect.Int}, ft.Kind()) && !slices.Contains([]string{"p", "n", "d"}, name) {
			out = append(out, name)
		}
	}
	return out
}

// lowIsBetter are the metrics one wants small.
var lowIsBetter = []string{"norm", "gap", "loss", "train_loss", "test_loss", "seconds", "total_seconds", "angle", "divergence", "steps", "iterations", "nonzero", "upper", "objective", "excess"}

// parser reads flags into a settings struct, again and again: making one is slow beside a run of a millisecond.
type parser struct {
	kong     *kong.Kong
	settings any
}

var parsers sync.Map // by job: a *sync.Pool of *parser

func takeParser(name string) (*parser, func(), error) {
	pool, _ := parsers.LoadOrStore(name, new(sync.Pool))
	free := func(p *parser) func() { return func() { pool.(*sync.Pool).Put(p) } }
	if p, ok := pool.(*sync.Pool).Get().(*parser); ok {
		return p, free(p), nil
	}
	settings := kinds[name].fresh()
	k, err := kong.New(settings, kong.Name(name), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		return nil, nil, err
	}
	p := &parser{k, settings}
	return p, free(p), nil
}

// parse makes the settings of a job from texts by key.
func parse(name string, settings map[string]string) (any, error) {
	k, ok := kinds[name]
	if !ok {
		return nil, fmt.Errorf("job %q: choose train, fit, margin or path", name)
	}
	t := reflect.TypeOf(k.fresh()).Elem()
	for i := range t.NumField() { // kong names flags, and a parser that is used again takes a required one for given
		tag := t.Field(i).Tag
		if key := tag.Get("toml"); strings.HasPrefix(tag.Get("kong"), "required") && key != "-" && settings[key] == "" {
			return nil, fmt.Errorf("missing setting: %s", key)
		}
	}
	p, free, err := takeParser(name)
	if err != nil {
		return nil, err
	}
	defer free()
	var args []string
	for key, v := range settings {
		args = append(args, "--"+strings.ReplaceAll(key, "_", "-")+"="+v)
	}
	slices.Sort(args)
	if _, err := p.kong.Parse(args); err != nil {
		var wrong *kong.ParseError
		if errors.As(err, &wrong) {
			err = wrong.Unwrap()
		}
		return nil, err
	}
	out := k.fresh()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(p.settings).Elem())
	return out, nil
}

// canonical is every setting that makes the result, with the defaults, as texts.
func canonical(settings any) map[string]string {
	v := reflect.ValueOf(settings).Elem()
	out := map[string]string{}
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("toml")
		if key == "" || key == "-" || where[key] != "" && key != "seed" {
			continue
		}
		if slices.Contains(later, key) && v.Field(i).IsZero() {
			continue
		}
		if s := plain(v.Field(i)); s != "" {
			out[key] = s
		}
	}
	return out
}

func plain(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	switch v.Kind() {
	case reflect.Float64:
		return number(v.Float())
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, plain(v.Index(i)))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}

// canonicalJSON has its keys sorted, as encoding/json writes a map.
func canonicalJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts only
	}
	return b
}
