package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// Folder is a sweep's folder. It alone decides what is done: nothing is lost with the queue.
//
//	run.json metrics.jsonl tables/ figures/ report.html   as in every run folder
//	plan.json        the runs
//	trials/NAME-ID/  the runs that are done, renamed into place whole; ID alone says which run it is
//	work/NAME-ID/    the runs that are running, with their checkpoints
//	failed/ID.json   the runs that failed
//	running.json     which worker runs what
//	queue/           JetStream's files, of a sweep on one machine
//	stop             a request to stop the sweep
type Folder struct{ Dir string }

func (f Folder) path(parts ...string) string {
	return filepath.Join(append([]string{f.Dir}, parts...)...)
}

// Trial is the folder of a finished run, work that of an unfinished one.
func (f Folder) Trial(s *Spec) string { return f.at("trials", s) }
func (f Folder) work(s *Spec) string  { return f.at("work", s) }

// Result is the content of tables/result.json of a run.
type Result map[string]any

// Diverged reports whether the loss of the run was not finite, and where. That is a result, too, without other numbers.
func (r Result) Diverged() (why string, ok bool) {
	why, ok = r["diverged"].(string)
	return why, ok
}

// number returns a number of the result; ok is false if it is missing or null.
func (r Result) number(key string) (float64, bool) {
	v, ok := r[key].(float64)
	return v, ok
}

// number returns a number of a run that is done: of its result, or an accuracy that the study of its weights measured.
func (f Folder) number(s *Spec, r Result, metric string) (float64, bool) {
	if v, ok := r.number(metric); ok {
		return v, true
	}
	m, ok := train.StudyMetricByName(metric)
	if !ok || s.Job != "train" {
		return 0, false
	}
	study, err := command.ReadStudy(f.Trial(s))
	if err != nil {
		return 0, false
	}
	return m.Of(&study)
}

// Result reads a run that is done.
func (f Folder) Result(s *Spec) (Result, bool) {
	r, err := f.read(s)
	return r, err == nil
}

// errTorn is the error of a result that is not JSON.
var errTorn = errors.New("not a result")

func (f Folder) read(s *Spec) (r Result, err error) {
	data, err := os.ReadFile(filepath.Join(f.Trial(s), "tables", "result.json"))
	if errors.Is(err, fs.ErrNotExist) && s.Recorded != nil {
		return s.Recorded, nil
	}
	if err == nil && json.Unmarshal(data, &r) != nil {
		err = errTorn
	}
	return r, err
}

// removeTorn removes the folder of a run without a result, or with half of one after a power cut, so that the run is
// repeated. A complete result that cannot be read is an error and stays. The caller must hold the lock of the folder.
func (f Folder) removeTorn(s *Spec) error {
	_, err := f.read(s)
	if err == nil || !errors.Is(err, errTorn) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(f.Trial(s))
}

// has reports whether a run is done, here or by the row of a results file.
func (f Folder) has(s *Spec) bool {
	return s.Recorded != nil || f.HasFolder(s)
}

// HasFolder reports whether the folder of a finished run is here.
func (f Folder) HasFolder(s *Spec) bool {
	_, err := os.Stat(filepath.Join(f.Trial(s), "tables", "result.json"))
	return err == nil
}

// place renames a finished run into place. If it is there already, this one is removed: they are the same.
func (f Folder) place(s *Spec, dir string) error {
	if err := os.MkdirAll(f.path("trials"), 0o777); err != nil {
		return err
	}
	to := f.Trial(s)
	var before time.Time
	if st, err := os.Stat(f.path("trials")); err == nil {
		before = st.ModTime()
	}
	err := os.Rename(dir, to)
	if err == nil {
		f.added("trials", filepath.Base(to), before)
	}
	if err != nil && f.has(s) {
		err = os.RemoveAll(dir)
	}
	return err
}

// failure is why a run failed.
type failure struct {
	ID       string    `json:"id"`
	Run      string    `json:"run"`
	Error    string    `json:"error"`
	Attempts int       `json:"attempts"`
	Worker   string    `json:"worker"`
	When     time.Time `json:"when"`
}

func (f Folder) writeFailure(x failure) error {
	data, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return runlog.WriteFile(f.path("failed", x.ID+".json"), append(data, '\n'))
}

// failures reads those of a plan, by run.
func (f Folder) failures(p *Plan) map[string]failure {
	out := map[string]failure{}
	for _, name := range f.names("failed") {
		var x failure
		if data, err := os.ReadFile(f.path("failed", name)); err == nil && json.Unmarshal(data, &x) == nil {
			out[x.ID] = x
		}
	}
	if p != nil {
		mine := map[string]bool{}
		for _, s := range p.Runs {
			mine[s.ID] = true
		}
		for id := range out {
			if !mine[id] {
				delete(out, id)
			}
		}
	}
	return out
}

// names lists a folder, but for hidden files.
func (f Folder) names(sub string) []string {
	entries, _ := os.ReadDir(f.path(sub))
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out
}

// readPlan reads the plan of a sweep's folder.
func (f Folder) readPlan() (*Plan, error) {
	data, err := os.ReadFile(f.path("plan.json"))
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := runlog.ReadInfo(f.Dir); err == nil && info.Command != "" {
			return nil, fmt.Errorf("%s: a run of %q, not a sweep: name the folder that “bregman sweep FILE.toml” printed", f.Dir,
				info.Command)
		}
		return nil, fmt.Errorf("%s: not the folder of a sweep: name the folder that “bregman sweep FILE.toml” printed", f.Dir)
	}
	if err != nil {
		return nil, err
	}
	p := new(Plan)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path("plan.json"), err)
	}
	if p.File == nil || len(p.Runs) == 0 || slices.Contains(p.Runs, nil) {
		return nil, fmt.Errorf("%s: not the plan of a sweep: it has no runs; run the sweep file again", f.path("plan.json"))
	}
	p.label()
	return p, nil
}

// ReadPlan reads the plan of a sweep's folder, to resume it.
func ReadPlan(dir string) (*Plan, error) {
	plan, err := Folder{dir}.readPlan()
	if err != nil {
		return nil, err
	}
	if n := plan.results(); n != ResultsVersion {
		return nil, fmt.Errorf("%s: %w", dir, otherResults(n, plan.Version))
	}
	plan.Results, plan.ID = ResultsVersion, plan.identity() // an older program derived it from its own version
	return plan, nil
}

// otherResults is the error of a sweep whose runs cannot be compared with those of this program.
func otherResults(n int, version string) error {
	return fmt.Errorf("its runs are by bregman %s, whose numbers are of version %d, and this program's of version %d: "+
		"finish it with that program, or choose another folder with --out", version, n, ResultsVersion)
}

func (f Folder) writePlan(p *Plan) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return runlog.WriteFile(f.path("plan.json"), append(data, '\n'))
}

// active is a running run, as in running.json.
type active struct {
	ID     string    `json:"id"`
	Run    string    `json:"run"`
	Worker string    `json:"worker"`
	Since  time.Time `json:"since"`
}

// Status is what `bregman sweep status` prints. It is read from the folder alone, so that it needs no running process.
type Status struct {
	Sweep   string    `json:"sweep"`
	State   string    `json:"state"` // running, stopped, done, or failed: nothing runs, and runs failed
	Runs    int       `json:"runs"`
	Done    int       `json:"done"`
	Failed  []failure `json:"failed,omitempty"`
	Running []active  `json:"running,omitempty"`
	Queued  int       `json:"queued"`
}

// Status counts.
func (f Folder) Status() (Status, error) {
	p, err := f.readPlan()
	if err != nil {
		return Status{}, err
	}
	s := Status{Sweep: f.Dir, Runs: len(p.Runs), State: "stopped"}
	done := f.byID("trials")
	failed, open := f.failures(p), map[string]bool{}
	for _, r := range p.Runs {
		if _, ok := done[r.ID]; ok || r.Recorded != nil {
			s.Done++
		} else if x, ok := failed[r.ID]; ok {
			s.Failed = append(s.Failed, x)
		} else {
			open[r.ID] = true
		}
	}
	if busy, err := runlog.Busy(f.Dir); err == nil && busy {
		s.State = "running"
		if data, err := os.ReadFile(f.path("running.json")); err == nil {
			json.Unmarshal(data, &s.Running) // whole or absent
		}
		// the file may be older than the folder: runs have ended since
		s.Running = slices.DeleteFunc(s.Running, func(a active) bool { return !open[a.ID] })
	} else if s.Done == s.Runs {
		s.State = "done"
	} else if s.Done+len(s.Failed) == s.Runs {
		s.State = "failed"
	}
	s.Queued = s.Runs - s.Done - len(s.Failed) - len(s.Running)
	return s, nil
}
