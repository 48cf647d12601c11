package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// plan is what a sweep's plan.json says of its runs.
type plan struct {
	Version string `json:"version"`
	Results int    `json:"results_version"`
	Runs    []struct {
		ID string `json:"id"`
		Identity
	} `json:"runs"`
}

// maxStudy is more than the study of a network with a thousand layers takes.
const maxStudy = 1 << 24

// maxPlan is more than the plan of 200,000 runs takes.
const maxPlan = 1 << 28

// find returns the run with a folder of this name, which ends with its identity.
func (p *plan) find(name string) *Identity {
	id := name[strings.LastIndexByte(name, '-')+1:]
	for k, r := range p.Runs {
		if r.ID == id {
			return &p.Runs[k].Identity
		}
	}
	return nil
}

func readPlan(dir string) (*plan, error) {
	f, err := runlog.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := new(plan)
	if err := f.ReadJSON("plan.json", maxPlan, p); err != nil {
		return nil, err
	}
	p.Results = max(p.Results, 1) // older plans do not record it
	return p, nil
}

// Folder reads the runs of a folder: of a sweep all its trials, else the folder's own. A run that has no row comes back
// as an error, which says why; the others are still read.
func Folder(dir, program string) (runs []Run, skipped []error) {
	p, err := readPlan(dir)
	if errors.Is(err, fs.ErrNotExist) {
		r, err := one(dir, program)
		if err != nil {
			return nil, []error{err}
		}
		return []Run{r}, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("%s: %w", dir, err)}
	}
	f, err := runlog.OpenFolder(dir)
	if err != nil {
		return nil, []error{err}
	}
	defer f.Close()
	entries, err := f.ReadDir("trials")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []error{fmt.Errorf("%s: %w", dir, err)}
	}
	there := map[string]bool{}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		trial := filepath.Join(dir, "trials", e.Name())
		id := p.find(e.Name())
		if id != nil {
			there[id.ID()] = true
		}
		r, err := ReadRun(trial, Known{id, p.Results, p.Version})
		if err != nil {
			skipped = append(skipped, err)
			continue
		}
		runs = append(runs, r)
	}
	if n := len(p.Runs) - len(there); n > 0 {
		skipped = append(skipped, fmt.Errorf("%s: %d of %d runs have no finished folder here", dir, n, len(p.Runs)))
	}
	return runs, skipped
}

// one reads a run folder, which may be a trial of a sweep.
func one(dir, program string) (Run, error) {
	known := Known{Program: program}
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(filepath.Dir(abs)) == "trials" {
		if p, err := readPlan(filepath.Dir(filepath.Dir(abs))); err == nil {
			known.Identity, known.Results = p.find(filepath.Base(abs)), p.Results
		}
	}
	return ReadRun(dir, known)
}

// Known is what is known of a run beside its folder: of a trial its identity in the sweep, and the version of its
// numbers. Without the latter, a run of this program has this program's, and as long as there has been only one
// version, every run has that.
type Known struct {
	Identity *Identity
	Results  int
	Program  string // the version of this program, or of the sweep's
}

// ReadRun reads a run of train that is done or has diverged. Others are an error, which says why.
func ReadRun(dir string, known Known) (Run, error) {
	f, err := runlog.OpenFolder(dir)
	if err != nil {
		return Run{}, fmt.Errorf("%w: name run folders, such as those in runs/", err)
	}
	defer f.Close()
	info, err := f.Info()
	none := errors.Is(err, fs.ErrNotExist)
	if err != nil && !none {
		return Run{}, fmt.Errorf("%s: %w", dir, err)
	}
	var result map[string]any
	err = f.ReadJSON("tables/result.json", 1<<20, &result)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Run{}, fmt.Errorf("%s: %w", dir, err)
	}
	_, diverged := result["diverged"]
	if diverged = diverged || info.Diverged; none && diverged && known.Identity != nil {
		info.Command, info.Version = job, known.Program // it diverged in the search for a learning rate, before its run.json
		if st, err := f.Stat("tables/result.json"); err == nil {
			info.Finished = st.ModTime()
		}
	} else if none {
		return Run{}, fmt.Errorf("%s is not a run folder: it has no run.json", dir)
	}
	switch status := f.Status(info); {
	case info.Command != job:
		return Run{}, fmt.Errorf("%s: a run of %s: only runs of %s have rows", dir, info.Command, job)
	case diverged:
	case status == runlog.Failed:
		return Run{}, fmt.Errorf("%s: failed: %s", dir, info.Error)
	case status != runlog.Done:
		return Run{}, fmt.Errorf("%s: %s: it is not done", dir, status)
	case result == nil:
		return Run{}, fmt.Errorf("%s: it has no tables/result.json", dir)
	}
	r := Run{Row: Row{Status: Done, Engine: info.Engine, Version: info.Version, Results: known.Results,
		Date: info.Finished, Run: filepath.Base(filepath.Clean(dir))}}
	if abs, err := filepath.Abs(dir); err == nil {
		r.Run = filepath.Base(abs)
	}
	if r.Date.IsZero() {
		r.Date = info.Started
	}
	if r.Results == 0 && (Version == 1 || info.Version == known.Program) {
		r.Results = Version
	}
	if err := r.describe(info, known.Identity); err != nil {
		return Run{}, fmt.Errorf("%s: %w", dir, err)
	}
	of := func(name string) float64 {
		if v, ok := result[name].(float64); ok {
			return v
		}
		return math.NaN()
	}
	if diverged {
		r.Status = Diverged
		for _, v := range []*float64{&r.Validation, &r.Test, &r.Flips, &r.Shifts, &r.Loss, &r.Train} {
			*v = math.NaN()
		}
		return r, nil
	}
	r.Rate, r.Validation, r.Test, r.Flips = of("lr"), of("validation_accuracy"), of("test_accuracy"),
		of("test_accuracy_flip")
	r.Shifts, r.Loss, r.Train = of("test_accuracy_shift"), of("train_loss"), of("train_accuracy")
	if math.IsNaN(r.Test) {
		return Run{}, fmt.Errorf("%s: its tables/result.json has no test_accuracy", dir)
	}
	file, st, err := f.Open("weights.safetensors")
	if err == nil {
		defer file.Close()
		r.Weights, err = readWeights(file, st.Size())
	}
	var study train.Study
	if err == nil && f.ReadJSON(command.StudyFile, maxStudy, &study) == nil {
		if levels := newLevels(&study); levels.check() == nil {
			r.Weights.Levels = levels
		}
	}
	if err != nil {
		r.Note = fmt.Sprintf("%s: no histogram: weights.safetensors: %v", dir, err) // the row is worth more
	}
	return r, nil
}

// describe fills in the identity, the learning rate and the precision. A run of train records the precision that auto
// stands for on its engine: in its identity it is auto again, as in that of the same run of a sweep.
func (r *Run) describe(info runlog.Info, known *Identity) error {
	t := new(command.Train)
	settings.Earlier(t)
	data, err := json.Marshal(info.Settings)
	if err == nil {
		err = json.Unmarshal(data, t)
	}
	if err == nil && info.Settings != nil && len(t.P) != 1 {
		err = fmt.Errorf("%d values of p: a run has one", len(t.P))
	}
	if err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	r.Rate = math.NaN()
	if info.Settings != nil {
		r.Precision = t.Precision
		if t.LR > 0 {
			r.Rate = float64(t.LR)
		}
	}
	if known != nil {
		r.Identity = *known
	} else {
		if t.Precision == command.AutoPrecision(info.Engine) {
			t.Precision = "auto"
		}
		c, err := command.Ready(t)
		if err != nil {
			return fmt.Errorf("its settings: %w", err)
		}
		r.Identity = Identity{Job: job, Settings: settings.Identity(c)}
	}
	r.Identity = r.Identity.Portable()
	if _, err := parseIdentity(string(r.Identity.json())); err != nil {
		return err
	}
	return nil
}
