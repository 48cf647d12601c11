package web

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/runlog"
)

// What people say of runs, and where they keep them, is changed from the page with --allow-run only.

var errNoEdits = &problem{http.StatusForbidden,
	fmt.Errorf("this server changes nothing: use bregman serve --allow-run")}

// maxEdits is how many runs one request changes.
const maxEdits = 500

// folders are the paths of the runs that a request names. Each is inside the folder of runs, and no link leads out.
func (s *Server) folders(ids []string) ([]string, error) {
	if !s.settings.AllowRun {
		return nil, errNoEdits
	}
	if len(ids) == 0 || len(ids) > maxEdits {
		return nil, bad("runs: name 1 to %d", maxEdits)
	}
	var out []string
	for _, id := range ids {
		f, err := s.root.Sub(id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		f.Close()
		if id == "." {
			return nil, bad("runs: %q is not a run", id)
		}
		out = append(out, filepath.Join(s.settings.Runs, filepath.FromSlash(id)))
	}
	return out, nil
}

// edited is what became of the runs of a request: one that cannot be changed stops none of the others.
type edited struct {
	Done   []string `json:"done"`             // ids
	Trash  []string `json:"trash,omitempty"`  // where deleted runs are now
	Failed []string `json:"failed,omitempty"` // why others were not changed
}

// postAbout changes what people say of runs: what the request leaves out stays.
func (s *Server) postAbout(r *http.Request) (any, error) {
	var in struct {
		Runs     []string `json:"runs"`
		Name     *string  `json:"name"`
		Note     *string  `json:"note"`
		Add      []string `json:"add"`    // tags
		Remove   []string `json:"remove"` // tags
		Archived *bool    `json:"archived"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	dirs, err := s.folders(in.Runs)
	if err != nil {
		return nil, err
	}
	if in.Name != nil && len(dirs) > 1 {
		return nil, bad("name: one run at a time")
	}
	return s.each(in.Runs, dirs, func(dir string) (string, error) {
		return "", runlog.UpdateAbout(dir, func(a *runlog.About) {
			if in.Name != nil {
				a.Name = strings.TrimSpace(*in.Name)
			}
			if in.Note != nil {
				a.Note = strings.TrimSpace(*in.Note)
			}
			if in.Archived != nil {
				a.Archived = *in.Archived
			}
			a.Tags = slices.DeleteFunc(append(a.Tags, in.Add...), func(t string) bool { return slices.Contains(in.Remove, t) })
		})
	})
}

// postDelete moves runs into the trash.
func (s *Server) postDelete(r *http.Request) (any, error) {
	var in struct {
		Runs []string `json:"runs"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	dirs, err := s.folders(in.Runs)
	if err != nil {
		return nil, err
	}
	return s.each(in.Runs, dirs, runlog.Trash)
}

// postRestore moves runs out of the trash.
func (s *Server) postRestore(r *http.Request) (any, error) {
	var in struct {
		Trash []string `json:"trash"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	dirs, err := s.folders(in.Trash)
	if err != nil {
		return nil, err
	}
	return s.each(in.Trash, dirs, func(dir string) (string, error) {
		_, err := runlog.Restore(dir)
		return "", err
	})
}

// each changes runs one by one. If none could be changed, that is an error.
func (s *Server) each(ids, dirs []string, change func(dir string) (trashed string, err error)) (any, error) {
	out := edited{Done: []string{}}
	for k, dir := range dirs {
		trashed, err := change(dir)
		if err != nil { // paths of the server are not the page's business
			text := strings.ReplaceAll(err.Error(), s.settings.Runs+string(filepath.Separator), "")
			out.Failed = append(out.Failed, text)
			continue
		}
		out.Done = append(out.Done, ids[k])
		if rel, err := filepath.Rel(s.settings.Runs, trashed); trashed != "" && err == nil {
			out.Trash = append(out.Trash, filepath.ToSlash(rel))
		}
	}
	s.list.again()
	if len(out.Done) == 0 {
		return nil, bad("%s", out.Failed[0])
	}
	return out, nil
}

// again makes the next list read the folder, however recent the last is.
func (l *lister) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.soon = true
}
