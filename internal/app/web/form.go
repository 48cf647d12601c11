package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bregman-ml/bregman/internal/app/command"
)

// startable is a command that the page can start.
type startable struct {
	name, help string
	make       func() any
}

// commands are what the page can start, with their settings and the command line's words for them.
var commands = []startable{
	{"fit", "Train a linear classifier in a chosen geometry, with a certificate on its margin.", func() any { return new(command.Fit) }},
	{"margin", "The exact maximum lp margin, with certificate.", func() any { return new(command.Margin) }},
	{"train", "Train a network by stochastic p-GD.", func() any { return new(command.Train) }},
}

// kept are the settings the page does not have: where files go is the server's business, and a page must not make it write or load any.
var kept = []string{"runs", "out", "json", "resume", "data-dir"}

// files are the settings that may name a file, which must lie in the folder of --data.
var files = []string{"data", "test", "init"}

// builtIn are the values of those settings that name no file.
var builtIn = []string{"r2", "r2var", "r100", "cifar10", "fashion-mnist", "fashion-sample", "zero"}

// engines are those a page may choose: the path of a plugin would be code to load.
var engines = []string{"auto", "cuda", "cpu", "go"}

// field is an input of a form.
type field struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"` // text, number, list, flag, choice
	Help        string   `json:"help"`
	Default     string   `json:"default"`
	Choices     []string `json:"choices,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	Required    bool     `json:"required"`
}

type form struct {
	Command string  `json:"command"`
	Help    string  `json:"help"`
	Fields  []field `json:"fields"`
}

// settingsOf are the flags of a settings struct, read from its tags as the command line reads them.
func settingsOf(settings any) (*kong.Kong, []*kong.Flag, error) {
	k, err := kong.New(settings, kong.Exit(func(int) {}), kong.Writers(new(strings.Builder), new(strings.Builder)))
	if err != nil {
		return nil, nil, err
	}
	var flags []*kong.Flag
	for _, f := range k.Model.Flags {
		if f.Name != "help" && !slices.Contains(kept, f.Name) {
			flags = append(flags, f)
		}
	}
	return k, flags, nil
}

// forms describes all commands.
func forms() ([]form, error) {
	var out []form
	for _, c := range commands {
		_, flags, err := settingsOf(c.make())
		if err != nil {
			return nil, err
		}
		f := form{Command: c.name, Help: c.help}
		for _, flag := range flags {
			in := field{Name: flag.Name, Kind: "text", Help: flag.Help, Default: flag.Default, Required: flag.Required}
			if flag.PlaceHolder != "" {
				in.Placeholder = strings.ToLower(flag.PlaceHolder)
			}
			kind := flag.Target.Kind()
			switch {
			case flag.Enum != "":
				in.Kind, in.Choices = "choice", strings.Split(flag.Enum, ",")
			case flag.Name == "engine":
				in.Kind, in.Choices = "choice", engines
			case flag.IsBool():
				in.Kind = "flag"
			case kind == reflect.Slice:
				in.Kind = "list"
			case kind >= reflect.Int && kind <= reflect.Float64:
				in.Kind = "number"
			}
			f.Fields = append(f.Fields, in)
		}
		out = append(out, f)
	}
	return out, nil
}

// arguments checks the settings of a form as the command line does, and returns the command line.
func (s *Serve) arguments(name string, settings map[string]string) ([]string, error) {
	at := slices.IndexFunc(commands, func(c startable) bool { return c.name == name })
	if at < 0 {
		return nil, bad("%q: choose fit, margin or train", name)
	}
	target := commands[at].make()
	k, flags, err := settingsOf(target)
	if err != nil {
		return nil, err
	}
	var args []string
	for _, setting := range slices.Sorted(maps.Keys(settings)) {
		value := settings[setting]
		i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == setting })
		switch {
		case i < 0:
			return nil, bad("%q is not a setting of %s that the page has", setting, name)
		case strings.ContainsAny(value, "\x00\n\r"):
			return nil, bad("%s: a line break", setting)
		case value == "" || value == flags[i].Default:
			continue
		case setting == "engine" && !slices.Contains(engines, value):
			return nil, bad("engine %q: choose one of %s", value, strings.Join(engines, ", "))
		case slices.Contains(files, setting):
			if value, err = s.dataFile(value); err != nil {
				return nil, bad("%s: %w", setting, err)
			}
		}
		args = append(args, "--"+setting+"="+value)
	}
	if _, err := k.Parse(args); err != nil {
		return nil, bad("%w", err)
	}
	if err := command.CheckUsage(target); err != nil {
		return nil, bad("%w", err)
	}
	if _, ok := reflect.TypeOf(target).Elem().FieldByName("Runs"); ok {
		args = append(args, "--runs="+s.Runs)
	}
	return append([]string{name}, args...), nil
}

// dataFile returns the path of a data file, which must be inside the folder of --data, or the name of a built-in set.
func (s *Serve) dataFile(name string) (string, error) {
	set, _, _ := strings.Cut(name, ":")
	if slices.Contains(builtIn, set) || set == "normal" {
		return name, nil
	}
	root, err := os.OpenRoot(s.Data)
	if err != nil {
		return "", fmt.Errorf("the folder of data files: %w", err)
	}
	defer root.Close()
	if !filepath.IsLocal(name) {
		return "", errors.New("name a built-in set, or a file inside the folder that serve was given with --data")
	}
	if _, err := root.Stat(name); err != nil {
		return "", errors.New("no such file in the folder that serve was given with --data, and no built-in set")
	}
	return filepath.Join(s.Data, name), nil
}

func (s *Server) getForms(*http.Request) (any, error) {
	if !s.settings.AllowRun {
		return nil, errNotAllowed
	}
	f, err := forms()
	return map[string]any{"forms": f}, err
}
