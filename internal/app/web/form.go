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
		return saidOfRun(f)
	case settings.Place:
		return f.Known != nil
	}
	return f.Stored
}

// saidOfRun reports whether a setting is what people say of a run.
func saidOfRun(f settings.Field) bool {
	return !f.Stored && slices.Contains([]string{"name", "tag", "note"}, f.Key)
}

// field is an input of a form.
type field struct {
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Basic       int      `json:"basic,omitempty"` // its place among those that are shown first; 0: it is folded
	Kind        string   `json:"kind"`            // text, number, list, flag, choice
	Help        string   `json:"help"`
	Default     string   `json:"default"`
	Choices     []string `json:"choices,omitempty"`
	Known       []string `json:"known,omitempty"` // values with names, of a file
	Unset       string   `json:"unset,omitempty"` // what it means without a value
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
		all := settings.Fields(c)
		for _, s := range all {
			if !inForm(s) {
				continue
			}
			in := field{Name: s.Flag, Label: labelOf(s.Key), Basic: slices.Index(basics[name], s.Key) + 1,
				Kind: string(s.Kind), Help: flagsInWords(all, s.Help), Default: s.Default, Required: s.Required,
				Placeholder: strings.ToLower(s.Placeholder), Choices: s.Choices}
			if s.Default == "" && !s.Required {
				in.Unset = unset[s.Key]
			}
			if s.File {
				in.Known = s.Known
			}
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

// prepared is a command that is ready to run.
type prepared struct {
	command command.Command
	args    []string
	line    string // as one would type it
}

// arguments checks the settings of a form as the command line does. An error about a setting is in the form's words.
func (s *Serve) arguments(name string, form map[string]string) (prepared, error) {
	if !slices.Contains(commands, name) {
		return prepared{}, bad("%q: choose %s", name, settings.Or(commands))
	}
	k, err := kinds.ByName(name)
	if err != nil {
		return prepared{}, err
	}
	fields := settings.Fields(k.New())
	values := map[string]string{}
	out := prepared{args: []string{name}, line: "bregman " + name}
	for _, setting := range slices.Sorted(maps.Keys(form)) {
		i := slices.IndexFunc(fields, func(f settings.Field) bool { return f.Flag == setting && inForm(f) })
		if i < 0 {
			return prepared{}, bad("%q is not a setting of %s that the page has", setting, name)
		}
		if form[setting] == "" || form[setting] == fields[i].Default {
			continue
		}
		value, err := s.value(fields[i], form[setting])
		if err != nil {
			return prepared{}, inWords(fields, settings.At(fields[i].Key, err))
		}
		values[fields[i].Key] = value
		out.args = append(out.args, "--"+setting+"="+value)
		out.line += word(fields[i], value)
	}
	if out.command, err = k.Parse(values); err != nil {
		return prepared{}, inWords(fields, err)
	}
	if f, ok := settings.Find(out.command, "runs"); ok {
		out.args = append(out.args, "--runs="+s.Runs)
		if s.Runs != f.Default {
			out.line += word(f, s.Runs)
		}
	}
	return out, nil
}

// value checks what a page may say of a setting, and returns it as the command line has it.
func (s *Serve) value(f settings.Field, value string) (string, error) {
	switch {
	case strings.ContainsAny(value, "\x00\n\r"):
		return "", fmt.Errorf("--%s: a line break", f.Flag)
	case f.Role == settings.Place && !slices.Contains(f.Known, value):
		return "", fmt.Errorf("--%s %q: choose %s", f.Flag, value, settings.Or(f.Known))
	case f.Key == "init" && s.isRun(value): // from the weights of a run
		return filepath.Join(s.Runs, filepath.FromSlash(value)), nil
	case f.File:
		path, err := s.dataFile(value, f.Known)
		if err != nil {
			return "", fmt.Errorf("--%s: %w", f.Flag, err)
		}
		return path, nil
	}
	return value, nil
}

// word writes a setting for a shell.
func word(f settings.Field, value string) string {
	switch {
	case f.Kind == settings.Switch && value == "true":
		return " --" + f.Flag
	case f.Kind == settings.Switch, strings.HasPrefix(value, "-"): // else it would be read as a flag
		return " --" + f.Flag + "=" + settings.Quote(value)
	}
	return " --" + f.Flag + " " + settings.Quote(value)
}

// isRun reports whether there is a run of this ID.
func (s *Serve) isRun(id string) bool {
	root, err := os.OpenRoot(s.Runs)
	if err != nil || !filepath.IsLocal(id) || id == "." {
		return false
	}
	defer root.Close()
	info, err := root.Stat(filepath.Join(filepath.FromSlash(id), "run.json"))
	return err == nil && info.Mode().IsRegular()
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
