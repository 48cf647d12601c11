package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

//go:embed assets
var assets embed.FS

// page sends the one HTML page; its script shows what the address asks for. It links to the forms if runs are allowed.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	data, _ := assets.ReadFile("assets/index.html")
	if s.settings.AllowRun {
		data = bytes.Replace(data, []byte(`id="nav-start" hidden`), []byte(`id="nav-start"`), 1)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(data)
}

// shown are the files a browser may show, by the ending of their names. All others are only saved.
var shown = map[string]string{
	".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".css": "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json", ".csv": "text/csv; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".tex": "text/plain; charset=utf-8",
}

// static sends an embedded file.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	data, err := assets.ReadFile("assets/" + r.PathValue("name"))
	if err != nil {
		failed(w, fs.ErrNotExist)
		return
	}
	w.Header().Set("Content-Type", cmp.Or(shown[path.Ext(r.PathValue("name"))], "text/plain; charset=utf-8"))
	sum := sha256.Sum256(data)
	data = compress(w, r, data)
	// kept by the browser, which asks whether it has changed: another version of the program has other files
	w.Header().Set("ETag", fmt.Sprintf(`"%x%s"`, sum[:12], w.Header().Get("Content-Encoding")))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// send sends bytes with the content of runs: a browser must not execute them. With a name they are a download.
func send(w http.ResponseWriter, kind, name string, data []byte) {
	w.Header().Set("Content-Security-Policy", filePolicy)
	w.Header().Set("Content-Type", kind)
	if name != "" {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	w.Write(data)
}

// file sends a file of a run.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	run, err := s.root.Sub(q.Get("id"))
	if err != nil {
		failed(w, err)
		return
	}
	defer run.Close()
	name := q.Get("name")
	if q.Get("id") == "." || hidden(name) {
		failed(w, fs.ErrNotExist)
		return
	}
	f, st, err := run.Open(name)
	if err != nil {
		failed(w, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Security-Policy", filePolicy)
	kind := shown[path.Ext(name)]
	if kind == "" || strings.HasPrefix(kind, "text/javascript") || strings.HasPrefix(kind, "text/css") {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	if show := slices.Contains([]string{".html", ".svg", ".png"}, path.Ext(name)); !show {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
			map[string]string{"filename": path.Base(name)}))
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(10 * time.Minute)) // weights are large
	http.ServeContent(w, r, "", st.ModTime(), f)
}

// hidden reports whether part of a path begins with a dot: locks, and files that are being written.
func hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

type fileAnswer struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// maxFiles is how many files of a run are listed.
const maxFiles = 500

// filesOf lists the files of a run and of the folders in it.
func filesOf(f *runlog.Folder) []fileAnswer {
	out := []fileAnswer{}
	for _, dir := range []string{".", "tables", "figures", "checkpoints"} {
		entries, _ := f.ReadDir(dir)
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !hidden(e.Name()) && len(out) < maxFiles {
				out = append(out, fileAnswer{path.Join(dir, e.Name()), info.Size()})
			}
		}
	}
	return out
}

// getRun returns what the page of a run shows besides its curves.
func (s *Server) getRun(r *http.Request) (any, error) {
	id := r.URL.Query().Get("id")
	f, err := s.root.Sub(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if id == "." {
		return nil, fs.ErrNotExist
	}
	out := map[string]any{"summary": s.list.named(summarise(f, id)), "files": filesOf(f), "trouble": []string{},
		"allow_run": s.settings.AllowRun}
	run, err := trials.ReadHead(f, id)
	if err != nil { // a corrupt run has a page, too
		return out, nil
	}
	out["info"], out["result"] = run.Info, run.Result
	if run.Trouble != nil {
		out["trouble"] = run.Trouble
	}
	if run.Study != nil {
		out["histograms"] = map[string]any{"sizes": run.Study.Histogram, "scaled": run.Study.ScaledHistogram}
	}
	if fit, ok := run.Fit(); ok {
		out["replay"] = replayable(fit)
	}
	if text := pages.PaperSays(run); text != "" {
		out["paper"] = text
	}
	if why := ended(f, run); why != "" {
		out["ended"] = why
	}
	if line := s.resume(f, id, run); line != "" {
		out["resume"] = line
	}
	out["inner"], out["differ"], out["hidden"] = s.inner(id)
	if run.Info.Command == "sweep" {
		if a := readSweep(f, run); a != nil {
			out["sweep"] = a
		}
	} else if lead := leadOf(pages.LeadOf(f, run.Info)); lead != nil {
		out["lead"] = lead
	}
	out["chips"] = chips(run)
	return out, nil
}

// settingsOf reads a run's settings and nothing else of it.
func (s *Server) settingsOf(id string) *trials.Run {
	r := &trials.Run{ID: id}
	f, err := s.root.Sub(id)
	if err != nil {
		return r
	}
	defer f.Close()
	if r.Info, err = f.Info(); err == nil {
		r.Settings, _ = r.Info.Settings.(map[string]any)
	}
	return r
}

// shownInner is how many of a run's inner runs its page lists.
const shownInner = 200

// inner lists the runs inside a run, the oldest first, and the settings in which they differ.
func (s *Server) inner(id string) (runs []summary, differ []trials.Difference, hidden int) {
	var heads []*trials.Run
	runs = []summary{}
	for _, r := range slices.Backward(s.list.all()) {
		if r.Inside != id {
			continue
		}
		if len(runs) == shownInner {
			hidden++
			continue
		}
		runs = append(runs, r)
		heads = append(heads, s.settingsOf(r.ID))
	}
	return runs, trials.Differences(heads), hidden
}

// chip is a setting that was chosen.
type chip struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// apart are settings that the head of a run's page has elsewhere.
var apart = []string{"p", "data", "model", "name", "tag", "note", "seed"}

// chips are the settings of a run that are not at their defaults.
func chips(run *trials.Run) []chip {
	out := []chip{}
	k, err := kinds.ByName(run.Info.Command)
	if err != nil {
		return out
	}
	c := k.New()
	settings.Earlier(c)
	data, err := json.Marshal(run.Info.Settings)
	if err != nil {
		return out
	}
	var strange *json.UnmarshalTypeError // costs one setting of another program's run, not the others
	if err := json.Unmarshal(data, c); err != nil && !errors.As(err, &strange) {
		return out
	}
	for _, v := range settings.Changed(c) {
		if v.Role == settings.Result && !slices.Contains(apart, v.Key) && v.Text != "0" && v.Text != "false" {
			out = append(out, chip{v.Key, v.Text})
		}
	}
	return out
}
