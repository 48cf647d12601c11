package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// commands are the commands that the page can start.
var commands = []string{"fit", "margin", "train"}

// inForm reports whether the page has a setting. The server decides where files go, and a page must not make it write
// or load any: of settings that are places, it has those with known values.
func inForm(f settings.Field) bool {
	switch f.Role {
	case settings.Output:
		return false
	case settings.Place:
		return f.Known != nil
	}
	return f.Stored
}

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

// forms describes all commands.
func forms() ([]form, error) {
	var out []form
	for _, name := range commands {
		k, err := kinds.ByName(name)
		if err != nil {
			return nil, err
		}
		c := k.New()
		f := form{Command: name, Help: c.(settings.Described).Texts().About}
		for _, s := range settings.Fields(c) {
			if !inForm(s) {
				continue
			}
			in := field{Name: s.Flag, Kind: string(s.Kind), Help: s.Help, Default: s.Default, Required: s.Required,
				Placeholder: strings.ToLower(s.Placeholder), Choices: s.Choices}
			if s.Role == settings.Place {
				in.Choices = s.Known
			}
			if in.Choices != nil && s.Kind != settings.List {
				in.Kind = "choice"
			}
			f.Fields = append(f.Fields, in)
		}
		out = append(out, f)
	}
	return out, nil
}

// arguments checks the settings of a form as the command line does, and returns the command, ready to run, and its
// command line.
func (s *Serve) arguments(name string, form map[string]string) (command.Command, []string, error) {
	if !slices.Contains(commands, name) {
		return nil, nil, bad("%q: choose %s", name, settings.Or(commands))
	}
	k, err := kinds.ByName(name)
	if err != nil {
		return nil, nil, err
	}
	fields := settings.Fields(k.New())
	values := map[string]string{}
	args := []string{name}
	for _, setting := range slices.Sorted(maps.Keys(form)) {
		value := form[setting]
		i := slices.IndexFunc(fields, func(f settings.Field) bool { return f.Flag == setting && inForm(f) })
		switch {
		case i < 0:
			return nil, nil, bad("%q is not a setting of %s that the page has", setting, name)
		case strings.ContainsAny(value, "\x00\n\r"):
			return nil, nil, bad("%s: a line break", setting)
		case value == "" || value == fields[i].Default:
			continue
		case fields[i].Role == settings.Place && !slices.Contains(fields[i].Known, value):
			return nil, nil, bad("%s %q: choose %s", setting, value, settings.Or(fields[i].Known))
		case fields[i].File:
			if value, err = s.dataFile(value, fields[i].Known); err != nil {
				return nil, nil, bad("%s: %w", setting, err)
			}
		}
		values[fields[i].Key] = value
		args = append(args, "--"+setting+"="+value)
	}
	c, err := k.Parse(values)
	if err != nil {
		return nil, nil, bad("%w", err)
	}
	if _, ok := settings.Find(c, "runs"); ok {
		args = append(args, "--runs="+s.Runs)
	}
	return c, args, nil
}

// dataFile returns the path of a data file, which must be inside the folder of --data, or a name that is not a file's.
func (s *Serve) dataFile(name string, known []string) (string, error) {
	set, _, _ := strings.Cut(name, ":")
	if slices.Contains(known, set) {
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
