package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/record"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/train"
)

// Spec is one run of a sweep.
type Spec struct {
	ID       string            `json:"id"` // the hash of all below but Vary: see identity
	Job      string            `json:"job"`
	Settings map[string]string `json:"settings"` // all that make the result, by key
	// if the learning rate is found by short runs: the seed that decides it for all trials
	First uint64 `json:"first,omitempty"`
	Seed  uint64 `json:"seed"`
	Vary  []pair `json:"vary"` // what is different from run to run, but the seed
	// which of the file's entries it is from, counted from 1; 0: the file has none
	Entry int `json:"entry,omitempty"`
	// the numbers of a results file that has a row for this run: it is done, without a folder
	Recorded Result `json:"recorded,omitempty"`

	label string // see Label; "": of a run alone, such as a worker gets
}

// Identity is everything that makes the result.
func (s *Spec) Identity() record.Identity {
	return record.Identity{First: s.First, Job: s.Job, Settings: s.Settings}
}

// identity is a hash of the settings. It does not depend on the sweep a run is part of.
func (s *Spec) identity() string { return s.Identity().ID() }

// String describes the run by what varies.
func (s *Spec) String() string {
	var parts []string
	for _, v := range s.Vary {
		parts = append(parts, v.Key+" = "+printable(v.Value))
	}
	return strings.Join(append(parts, fmt.Sprintf("seed %d", s.Seed)), ", ")
}

// printable returns a text as it is, or quoted if it has a line break or the like.
func printable(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return text
}

// get returns a setting that varies.
func (s *Spec) get(key string) string {
	for _, v := range s.Vary {
		if v.Key == key {
			return v.Value
		}
	}
	return ""
}

// graph names what one compiled step serves; "": nothing is compiled.
func (s *Spec) graph() string {
	k, err := kinds.ByName(s.Job)
	if err != nil {
		return ""
	}
	var served []string
	compiled := false
	for _, f := range settings.Fields(k.New()) {
		compiled = compiled || f.Live
		if f.Live || f.Role == settings.Seed {
			served = append(served, f.Key)
		}
	}
	if !compiled {
		return ""
	}
	return s.without(served...)
}

// rates names the runs that may share the learning rates that short runs found, one for each p.
func (s *Spec) rates() string { return s.without("p", "seed") + strconv.FormatUint(s.First, 10) }

// without is the settings but some.
func (s *Spec) without(keys ...string) string {
	m := map[string]string{}
	for k, v := range s.Settings {
		if !slices.Contains(keys, k) {
			m[k] = v
		}
	}
	return string(canonicalJSON(m))
}

// Plan is the runs of a sweep, in the order they are queued.
type Plan struct {
	ID      string  `json:"id"`                        // of these runs, with this results version
	Version string  `json:"version"`                   // of the program that made the plan
	Results int     `json:"results_version,omitempty"` // see ResultsVersion; 0 counts as 1
	File    *File   `json:"file"`
	Runs    []*Spec `json:"runs"`
	Command string  `json:"command,omitempty"`  // what was typed for it
	DataDir string  `json:"data_dir,omitempty"` // where the data were: the sweep is resumed with the same folder
}

// ResultsVersion is the version of the numbers. What two programs must share to work on one sweep is this, not the
// commit that they were built from.
const ResultsVersion = record.Version

// results is the results version of a plan: 1 for older plans, which do not record it.
func (p *Plan) results() int { return max(p.Results, 1) }

// NewPlan lists the runs of a file and checks the settings of each.
func NewPlan(f *File, version string) (*Plan, error) {
	k, err := kinds.ByName(f.Job)
	if err != nil {
		return nil, fmt.Errorf("%s = %w", f.at("job"), err)
	}
	if err := f.check(k); err != nil {
		return nil, err
	}
	p := &Plan{Version: version, Results: ResultsVersion, File: f}
	if len(f.Entries) > 0 {
		err = p.queue(f, k)
	} else {
		p.Runs, err = f.runs(k)
		p.group()
	}
	if err != nil {
		return nil, err
	}
	p.ID = p.identity()
	p.label()
	return p, nil
}

// Keep drops the runs that are not wanted.
func (p *Plan) Keep(wanted func(*Spec) bool) {
	p.Runs = slices.DeleteFunc(p.Runs, func(s *Spec) bool { return !wanted(s) })
	p.ID = p.identity()
	p.label()
}

// runs are every combination with every seed.
func (f *File) runs(k kinds.Kind) (runs []*Spec, err error) {
	combos, err := f.combinations()
	if err != nil {
		return nil, err
	}
	if f.Trials > maxRuns/len(combos) {
		return nil, fmt.Errorf("%s = %d: with %s more than the %d runs a sweep may have", f.at("trials"), f.Trials,
			render.Count(len(combos), "combination"), maxRuns)
	}
	fixed := map[string]string{}
	for key, v := range f.Settings {
		if fixed[key], err = f.text("settings."+key, v); err != nil {
			return nil, err
		}
	}
	seen := map[string]*Spec{}
	for trial := range f.Trials {
		for _, vary := range combos {
			s, err := f.spec(k, fixed, vary, f.Seed+uint64(trial))
			if err != nil {
				return nil, err
			}
			if other := seen[s.ID]; other != nil {
				return nil, fmt.Errorf("%s: “%v” and “%v” are the same run: nothing in its settings differs. Trials of a job "+
					"without random numbers need data with a seed, such as data = \"r100:{seed}\"", f.path, other, s)
			}
			seen[s.ID] = s
			runs = append(runs, s)
		}
	}
	return runs, nil
}

// identity is the hash of the name, the results version and the runs.
func (p *Plan) identity() string {
	h := sha256.New()
	fmt.Fprintln(h, p.File.Name, p.results())
	for _, s := range p.Runs {
		fmt.Fprintln(h, s.ID)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// check checks everything but the settings of single runs.
func (f *File) check(k kinds.Kind) error {
	if f.Metric == "" {
		f.Metric = k.Metric
		if o, ok := f.Settings["objective"]; ok && f.Job == "fit" && fmt.Sprint(o) != "margin" {
			f.Metric = "held_out_accuracy" // a norm is of a margin
		}
		if v, ok := f.Settings["validate"]; ok && f.Job == "train" && fmt.Sprint(v) != "0" {
			f.Metric = "validation_accuracy"
		}
	}
	if err := f.checkMetric(k); err != nil {
		return err
	}
	if f.Better == "" {
		f.Better = "high"
		if trials.LowIsBetter(f.Metric) {
			f.Better = "low"
		}
	}
	switch {
	case f.Better != "high" && f.Better != "low":
		return fmt.Errorf("%s = %q: want \"high\" or \"low\"", f.at("better"), f.Better)
	case f.Trials < 1:
		return fmt.Errorf("%s = %d: want at least 1", f.at("trials"), f.Trials)
	case f.Name != slug(f.Name) || f.Name == "":
		return fmt.Errorf("%s = %q: it names a folder: use letters, digits and the signs . - _ only", f.at("name"), f.Name)
	}
	for table, set := range f.tables() {
		for key := range set {
			if say := instead(k, key); say != "" {
				return fmt.Errorf("%s: %s", f.at(table+"."+key), say)
			}
			if !slices.Contains(keys(k), key) {
				return fmt.Errorf("%s: %s has no such setting%s: it has %s", f.at(table+"."+key), f.Job, nearestKey(k, key),
					strings.Join(keys(k), ", "))
			}
		}
	}
	for i, row := range f.Published {
		if _, ok := row["mean"]; !ok {
			return fmt.Errorf("%s: row %d has no mean", f.at("published"), i+1)
		}
	}
	return nil
}

// checkMetric returns an error for a metric that the runs do not have.
func (f *File) checkMetric(k kinds.Kind) error {
	names, studied := k.Metrics(), ""
	if f.Job == "train" {
		if _, ok := train.StudyMetricByName(f.Metric); ok {
			if v, ok := f.Settings["no_study"]; ok && fmt.Sprint(v) == "true" {
				return fmt.Errorf("%s = %q: the study measures it, and %s leaves the study out", f.at("metric"), f.Metric,
					f.at("settings.no_study"))
			}
			return nil
		}
		studied = "; its study has " + train.StudyMetricNames()
	}
	if slices.Contains(names, f.Metric) {
		return nil
	}
	near := slices.Clone(names)
	if studied != "" {
		for _, m := range train.StudyMetrics() {
			near = append(near, m.Name())
		}
	}
	return fmt.Errorf("%s = %q: there is none%s: the result of %s has %s%s", f.at("metric"), f.Metric,
		settings.Nearest(f.Metric, near), f.Job, strings.Join(names, ", "), studied)
}

// nearestKey suggests the key that was probably meant.
func nearestKey(k kinds.Kind, key string) string {
	return settings.Nearest(key, append(keys(k), topKeys...))
}

// tables are the parts of a file that set settings of the job, by name.
func (f *File) tables() map[string]map[string]any {
	return map[string]map[string]any{"settings": f.Settings, "grid": f.Grid, "zip": f.Zip, "random": f.Random}
}

// spec is the run of a combination and a seed.
func (f *File) spec(k kinds.Kind, fixed map[string]string, vary []pair, seed uint64) (*Spec, error) {
	s := &Spec{Job: f.Job, Seed: seed, Vary: vary, Settings: map[string]string{}}
	for key, v := range fixed {
		s.Settings[key] = v
	}
	for _, v := range vary {
		s.Settings[v.Key] = v.Value
	}
	for key, v := range s.Settings {
		s.Settings[key] = strings.ReplaceAll(v, "{seed}", strconv.FormatUint(seed, 10))
	}
	for _, field := range settings.Fields(k.New()) {
		if field.Role == settings.Seed {
			s.Settings[field.Key] = strconv.FormatUint(seed, 10)
		}
	}
	cmd, err := k.ParseStored(s.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", f.blame(err), s, err)
	}
	s.Settings = settings.Identity(cmd)
	if strings.Contains(s.Settings["p"], ",") {
		if _, said := f.Settings["p"]; !said {
			return nil, fmt.Errorf("%s: no p: write p = 2 in [settings], or a list of them in [grid]", f.path)
		}
		return nil, fmt.Errorf("%s: several p in one run: write them as a list in [grid]", f.at("settings.p"))
	}
	if s.Settings["lr"] == "auto" {
		s.First = f.Seed
	}
	s.ID = s.identity()
	return s, nil
}

// blame adds where the setting stands that an error is about.
func (f *File) blame(err error) string {
	var wrong *settings.Error
	if !errors.As(err, &wrong) {
		return f.path
	}
	for table, keys := range f.tables() {
		if _, ok := keys[wrong.Key]; ok {
			return f.at(table + "." + wrong.Key)
		}
	}
	return f.path
}

// group puts runs of one graph beside each other, so that each is compiled once; within it, a trial of everything comes
// before the next trial.
func (p *Plan) group() {
	first := map[string]int{}
	at := make(map[*Spec]int, len(p.Runs))
	for i, s := range p.Runs {
		g := s.graph()
		if _, ok := first[g]; !ok {
			first[g] = i
		}
		at[s] = first[g]
	}
	slices.SortStableFunc(p.Runs, func(a, b *Spec) int { return at[a] - at[b] })
}

// Compilations is how many steps are compiled: one for all runs that differ in p, learning rate, seed and epochs alone.
func (p *Plan) Compilations() int {
	all := map[string]bool{}
	for _, s := range p.Runs {
		all[s.graph()] = true
	}
	return len(all)
}

// varying are the keys that differ, and the values each takes, in order.
func (p *Plan) varying() (keys []string, values map[string][]string) {
	values = map[string][]string{}
	seen := map[pair]bool{}
	for _, s := range p.Runs {
		for _, v := range s.Vary {
			if seen[v] {
				continue
			}
			seen[v] = true
			if len(values[v.Key]) == 0 {
				keys = append(keys, v.Key)
			}
			values[v.Key] = append(values[v.Key], v.Value)
		}
	}
	return keys, values
}

// DefaultFolder is where the sweep goes unless --out says otherwise: the same each time, so that running it again
// resumes it.
func (p *Plan) DefaultFolder(runs string) string { return filepath.Join(runs, "sweep-"+p.File.Name) }

func slug(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			return c
		}
		return '-'
	}, name)
}
