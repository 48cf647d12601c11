package web

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// corrupt is a status besides those of runlog: run.json cannot be read.
const corrupt = "corrupt"

// summary is a run in the list.
type summary struct {
	ID       string    `json:"id"`
	Name     string    `json:"name,omitempty"` // what people say of it
	Title    string    `json:"title"`          // what it is, in words
	Tags     []string  `json:"tags,omitempty"`
	Note     string    `json:"note,omitempty"`
	Command  string    `json:"command"`
	Data     string    `json:"data"`
	Model    string    `json:"model,omitempty"`
	P        numbers   `json:"p"`
	Color    [2]string `json:"color"` // light and dark
	Seed     uint64    `json:"seed"`
	Status   string    `json:"status"`
	Started  time.Time `json:"started,omitzero"`
	Seconds  number    `json:"seconds"`
	Progress number    `json:"progress"` // 0 to 1, null if it is not known
	Left     number    `json:"left"`     // seconds to its end, about; null if it is not known
	Loss     number    `json:"loss"`
	Accuracy number    `json:"accuracy"` // of test images or examples, else of what was held out, else of training
	Margin   number    `json:"margin"`
	Gap      number    `json:"gap"`
	Error    string    `json:"error,omitempty"`
	Inside   string    `json:"inside,omitempty"` // the run that it is a part of
	Archived bool      `json:"archived,omitempty"`
	Best     *best     `json:"best,omitempty"`  // of a sweep
	Label    string    `json:"label,omitempty"` // what varies, of a trial of a sweep: p1.5-lr0.2-s1
	From     string    `json:"from,omitempty"`  // the run whose weights it started from: an ID, or a folder's name
	settings map[string]any
	texts    map[string]string // the settings as one would type them
	estimate *float64          // Left, when it was written
	written  time.Time
}

// lister caches the summaries of runs and reads again what changed.
type lister struct {
	root *runlog.Folder

	mu    sync.Mutex
	last  time.Time // of the last look
	soon  bool      // look again, however recent that was
	known map[string]known
	plans map[string]labels // of sweeps
	runs  []summary
}

type known struct {
	stamp stamp
	summary
}

// stamp identifies a version of a run's files.
type stamp struct {
	info, result, about, metrics, steps    time.Time
	infoSize, resultSize, aboutSize, lines int64
}

// Bounds of the search for runs.
const (
	maxDepth  = 4
	maxRuns   = 20_000
	lookEvery = 500 * time.Millisecond // however many pages ask
)

// all returns the runs, the newest first.
func (l *lister) all() []summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.last) < lookEvery && !l.soon {
		return l.runs
	}
	l.soon = false
	now := map[string]known{}
	l.walk(".", 0, now)
	l.known = now
	runs := make([]summary, 0, len(now))
	for id, k := range now {
		k.Inside = ""
		for up := path.Dir(id); up != "."; up = path.Dir(up) {
			if _, ok := now[up]; ok {
				k.Inside = up
			}
		}
		runs = append(runs, k.summary)
	}
	l.label(runs)
	linkOrigins(runs)
	slices.SortFunc(runs, func(a, b summary) int {
		return cmp.Or(b.Started.Compare(a.Started),
			strings.Compare(b.ID, a.ID))
	})
	l.runs, l.last = runs, time.Now()
	return runs
}

// walk looks into a folder and the folders in it. Links are not followed.
func (l *lister) walk(dir string, depth int, found map[string]known) {
	entries, err := l.root.ReadDir(dir)
	if err != nil {
		return
	}
	isRun, below := false, []string{}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "run.json" || name == "metrics.jsonl":
			isRun = true
		case e.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains([]string{"tables", "figures", "checkpoints"},
			name):
			below = append(below, path.Join(dir, name))
		}
	}
	if isRun && dir != "." && len(found) < maxRuns {
		found[dir] = l.look(dir)
	}
	if depth < maxDepth {
		for _, b := range below {
			l.walk(b, depth+1, found)
		}
	}
}

// look summarises a run, from the cache if none of its files changed.
func (l *lister) look(id string) known {
	f, err := l.root.Sub(id)
	if err != nil {
		return known{summary: corruptRun(id, err)}
	}
	defer f.Close()
	var s stamp
	s.info, s.infoSize = version(f, "run.json")
	s.result, s.resultSize = version(f, "tables/result.json")
	s.about, s.aboutSize = version(f, "about.json")
	old, ok := l.known[id]
	if ok && (old.Status == runlog.Running || old.Command == "sweep") {
		s.metrics, s.lines = version(f, "metrics.jsonl")
		s.steps, _ = version(f, train.StepsFile)
		if old.Status == runlog.Running && !f.Busy() {
			ok = false
		}
	} else if ok {
		s.metrics, s.lines, s.steps = old.stamp.metrics, old.stamp.lines, old.stamp.steps
	}
	if ok && old.stamp == s {
		if old.Status == runlog.Running {
			old.Seconds, old.Left = since(old.Started), leftNow(old.estimate, old.written)
		}
		return old
	}
	return known{s, summarise(f, id)}
}

func version(f *runlog.Folder, name string) (time.Time, int64) {
	st, err := f.Stat(name)
	if err != nil {
		return time.Time{}, 0
	}
	return st.ModTime(), st.Size()
}

func corruptRun(id string, err error) summary {
	why := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		why = "it has no run.json"
	}
	nan := number(math.NaN())
	return summary{ID: id, Title: id, Status: corrupt, Error: why, Color: colours(math.NaN()), Seconds: nan,
		Progress: nan, Left: nan, Loss: nan, Accuracy: nan, Margin: nan, Gap: nan}
}

// summarise reads a run as far as the list needs it: of a running one the end of its metrics.
func summarise(f *runlog.Folder, id string) summary {
	r, err := trials.ReadHead(f, id)
	if err != nil {
		return corruptRun(id, err)
	}
	s := summary{ID: id, Command: r.Info.Command, Data: r.Info.Data, P: trials.Ps(r.Settings), Color: colours(r.P()),
		Seed: r.Info.Seed, Status: r.Status, Started: r.Info.Started, From: r.Info.From,
		Seconds: number(r.Seconds()), Error: r.Info.Error, Progress: number(nan), Left: number(nan)}
	s.Model, _ = r.Settings["model"].(string)
	s.settings, s.texts = r.Settings, map[string]string{}
	for k, v := range r.Settings {
		if v != nil {
			s.texts[k] = trials.SettingText(v)
		}
	}
	s.Title = s.describe()
	if a, err := f.About(); err == nil { // a broken one costs the name, not the run
		s.Name, s.Tags, s.Note, s.Archived = a.Name, a.Tags, a.Note, a.Archived
	}
	if s.Command == "sweep" {
		s.Best = readSweep(f, r).best()
	}
	if s.Status == runlog.Running {
		s.Seconds = since(s.Started)
	}
	if r.Result == nil && r.OneLine() {
		r.Log = tail(f)
		s.Progress = number(progress(r))
		if s.Status == runlog.Running {
			s.follow(f, r)
		}
	} else if r.Result != nil && s.Status == runlog.Running { // it is about to end
		s.Progress = 1
	}
	for k, to := range []*number{&s.Loss, &s.Accuracy, &s.Margin, &s.Gap} {
		*to = number(r.Listed(trials.ListColumns[k]))
	}
	return s
}

// follow takes progress and the time left from the steps of a network that trains.
func (s *summary) follow(f *runlog.Folder, r *trials.Run) {
	last, written, ok := lastStep(f)
	if epochs, _ := r.Settings["epochs"].(float64); ok && epochs > 0 {
		s.Progress = number(min(1, last.Epoch/epochs))
		s.estimate, s.written = last.Left, written
		s.Left = leftNow(s.estimate, s.written)
	}
}

// since is how many seconds ago that was, NaN if that is in the future.
func since(start time.Time) number {
	if s := time.Since(start).Seconds(); s >= 0 {
		return number(s)
	}
	return number(math.NaN())
}

// tail reads the last lines of the metrics.
func tail(f *runlog.Folder) *runlog.Log {
	l := &runlog.Log{}
	file, st, err := f.Open("metrics.jsonl")
	if err != nil {
		return l
	}
	defer file.Close()
	if l.Offset = st.Size() - 4096; l.Offset > 0 {
		buf := make([]byte, 4096)
		n, _ := file.ReadAt(buf, l.Offset)
		for k, c := range buf[:n] {
			if c == '\n' { // at the start of a line
				l.Offset += int64(k) + 1
				break
			}
		}
	}
	l.Offset = max(l.Offset, 0)
	l.Read(file, st.Size())
	return l
}

// progress is the share of the steps or epochs that are done.
func progress(r *trials.Run) float64 {
	for _, pair := range [][2]string{{"step", "steps"}, {"epoch", "epochs"}} {
		if total, ok := r.Settings[pair[1]].(float64); ok && total > 0 {
			return min(1, r.Last(pair[0])/total)
		}
	}
	return math.NaN()
}

// colours are the colour of p on a light and on a dark page.
func colours(p float64) [2]string {
	c := render.Color(p)
	return [2]string{render.Hex(c), render.Hex(render.Dark(c))}
}
