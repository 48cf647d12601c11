package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// again is the form that has the settings of a run.
type again struct {
	Command  string            `json:"command"`
	Title    string            `json:"title"` // of the run
	Settings map[string]string `json:"settings"`
	Left     []string          `json:"left"` // labels of settings that the form does not have
}

// getAgain answers with the settings of a run, for a form to begin with.
func (s *Server) getAgain(r *http.Request) (any, error) {
	if !s.settings.AllowRun {
		return nil, errNotAllowed
	}
	id := r.URL.Query().Get("id")
	run, err := s.head(id)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(commands, run.Info.Command) {
		return nil, bad("%s: a run of %q: the page starts %s", id, run.Info.Command, settings.Or(commands))
	}
	k, err := kinds.ByName(run.Info.Command)
	if err != nil {
		return nil, err
	}
	c := k.New()
	settings.Earlier(c) // of what an older program did not write
	data, err := json.Marshal(run.Info.Settings)
	if err == nil {
		err = json.Unmarshal(data, c)
	}
	if err != nil {
		return nil, bad("%s: its settings cannot be read: %w", id, err)
	}
	out := again{Command: run.Info.Command, Title: id, Settings: map[string]string{}, Left: []string{}}
	for _, one := range s.list.all() {
		if one.ID == id {
			out.Title = cmp.Or(one.Name, one.Label, one.Title)
		}
	}
	for _, v := range settings.Changed(c) {
		text := v.Text
		if v.Key == "precision" && text == command.AutoPrecision(run.Info.Engine) {
			continue // another engine may have another
		}
		if v.File {
			text = s.settings.back(v.Field, text)
		}
		if !inForm(v.Field) {
			if v.Role != settings.Place && v.Role != settings.Output {
				out.Left = append(out.Left, labelOf(v.Key))
			}
			continue
		}
		if _, err := s.settings.value(v.Field, text); err != nil {
			out.Left = append(out.Left, fmt.Sprintf("%s (%s)", labelOf(v.Key), path.Base(filepath.ToSlash(v.Text))))
			continue
		}
		out.Settings[v.Flag] = text
	}
	return out, nil
}

// back is what a form says for a file that a run names: a run in place of its weights, and a path inside the folder of
// --data. Any other stays as it is, and the form refuses it.
func (s *Serve) back(f settings.Field, value string) string {
	if f.Key == "init" {
		if id, ok := below(s.Runs, filepath.Dir(value)); ok && filepath.Base(value) == command.WeightsFile && s.isRun(id) {
			return id
		}
	}
	if set, _, _ := strings.Cut(value, ":"); slices.Contains(f.Known, set) {
		return value
	}
	if name, ok := below(s.Data, value); ok {
		return name
	}
	return value
}

// below is the path of a file inside a folder.
func below(folder, file string) (rel string, ok bool) {
	a, err := filepath.Abs(folder)
	b, err2 := filepath.Abs(file)
	if err != nil || err2 != nil {
		return "", false
	}
	rel, err = filepath.Rel(a, b)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
}
