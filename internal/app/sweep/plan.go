package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bregman-ml/bregman/internal/app/render"
)

// Spec is one run of a sweep.
type Spec struct {
	ID       string            `json:"id"` // the hash of all below but Vary: see identity
	Job      string            `json:"job"`
	Settings map[string]string `json:"settings"`        // all that make the result, by key
	First    uint64            `json:"first,omitempty"` // where the learning rate is found by short runs: the seed that decides for all trials
	Seed     uint64            `json:"seed"`
	Vary     []pair            `json:"vary"` // what is different from run to run, but the seed
}

// identity is the hash of the canonical JSON of the settings. It does not depend on the sweep a run is part of.
func (s *Spec) identity() string {
	sum := sha256.Sum256(canonicalJSON(map[string]any{"job": s.Job, "settings": s.Settings, "first": s.First}))
	return hex.EncodeToString(sum[:10])
}

// Folder is the name of the run's folder: readable, and of its identity.
func (s *Spec) Folder() string {
	name := ""
	if p, ok := s.Settings["p"]; ok {
		name = "p" + slug(p) + "-"
	}
	return fmt.Sprintf("%ss%d-%s", name, s.Seed, s.ID)
}

// String says which run it is.
func (s *Spec) String() string {
	var parts []string
	for _, v := range s.Vary {
		parts = append(parts, v.Key+" = "+printable(v.Value))
	}
	return strings.Join(append(parts, fmt.Sprintf("seed %d", s.Seed)), ", ")
}

// printable is a text as it is, or quoted where it has a line break or the like.
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

// graph names what one compiled step serves: all settings but p, the learning rate, the seed and the number of epochs.
func (s *Spec) graph() string {
	if s.Job != "train" {
		return ""
	}
	return s.without("p", "lr", "seed", "epochs", "peak", "no_study")
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
	ID      string  `json:"id"` // of these runs by this version
	Version string  `json:"version"`
	File    *File   `json:"file"`
	Runs    []*Spec `json:"runs"`
	Command string  `json:"command,omitempty"`  // what was typed for it
	DataDir string  `json:"data_dir,omitempty"` // where the data were: who goes on with the sweep looks there, too
}

// NewPlan makes the runs of a file and checks the settings of each.
func NewPlan(f *File, version string) (*Plan, error) {
	k, ok := kinds[f.Job]
	if !ok {
		return nil, fmt.Errorf("%s = %q: choose train, fit, margin or path", f.at("job"), f.Job)
	}
	if err := f.check(k); err != nil {
		return nil, err
	}
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
	p := &Plan{Version: version, File: f}
	seen := map[string]*Spec{}
	for trial := range f.Trials {
		for _, vary := range combos {
			s, err := f.spec(k, fixed, vary, f.Seed+uint64(trial))
			if err != nil {
				return nil, err
			}
			if other := seen[s.ID]; other != nil {
				return nil, fmt.Errorf("%s: “%v” and “%v” are the same run: nothing in its settings differs. Trials of a job without random numbers need data with a seed, such as data = \"r100:{seed}\"", f.path, other, s)
			}
			seen[s.ID] = s
			p.Runs = append(p.Runs, s)
		}
	}
	p.group()
	h := sha256.New()
	fmt.Fprintln(h, f.Name, version)
	for _, s := range p.Runs {
		fmt.Fprintln(h, s.ID)
	}
	p.ID = hex.EncodeToString(h.Sum(nil)[:8])
	return p, nil
}

// check looks at all that is said once.
func (f *File) check(k kind) error {
	if f.Metric == "" {
		f.Metric = k.metric
	}
	if !slices.Contains(k.metrics(), f.Metric) {
		return fmt.Errorf("%s = %q: there is none%s: the result of %s has %s", f.at("metric"), f.Metric, nearest(f.Metric, k.metrics()), f.Job, strings.Join(k.metrics(), ", "))
	}
	if f.Better == "" {
		f.Better = "high"
		if slices.Contains(lowIsBetter, f.Metric) {
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
	for table, keys := range map[string]map[string]any{"settings": f.Settings, "grid": f.Grid, "zip": f.Zip, "random": f.Random} {
		for key := range keys {
			if say := where[key]; say != "" && k.has(key) {
				return fmt.Errorf("%s: %s", f.at(table+"."+key), say)
			}
			if !slices.Contains(k.keys(), key) {
				return fmt.Errorf("%s: %s has no such setting%s: it has %s", f.at(table+"."+key), f.Job, nearest(key, append(k.keys(), topKeys...)), strings.Join(k.keys(), ", "))
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

// spec is the run of a combination and a seed.
func (f *File) spec(k kind, fixed map[string]string, vary []pair, seed uint64) (*Spec, error) {
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
	if k.has("seed") {
		s.Settings["seed"] = strconv.FormatUint(seed, 10)
	}
	settings, err := parse(f.Job, s.Settings)
	if err == nil {
		err = settings.(interface{ Check() error }).Check()
	}
	if err == nil {
		err = zeros(s.Settings, canonical(settings))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", f.blame(err, vary), s, err)
	}
	s.Settings = canonical(settings)
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

// zeros returns an error for a 0 that was said and that the job took for nothing said, in whose place it has a default of its own.
func zeros(said, taken map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if float(said[key]) == 0 && taken[key] != "" && float(taken[key]) != 0 {
			return fmt.Errorf("--%s 0: want more, or leave it out for %s", strings.ReplaceAll(key, "_", "-"), taken[key])
		}
	}
	return nil
}

// blame finds the key that an error of the settings names, to say where it stands.
func (f *File) blame(err error, vary []pair) string {
	text := err.Error()
	names := func(key string) bool {
		return strings.Contains(text, "--"+strings.ReplaceAll(key, "_", "-")) || strings.HasPrefix(text, key+" ") || strings.Contains(text, " "+key+" =")
	}
	for _, v := range vary {
		for _, table := range []string{"grid.", "zip.", "random."} {
			if _, ok := f.lines[table+v.Key]; ok && names(v.Key) {
				return f.at(table + v.Key)
			}
		}
	}
	for key := range f.Settings {
		if names(key) {
			return f.at("settings." + key)
		}
	}
	return f.path
}

// group puts runs of one graph beside each other, so that each is compiled once; within it, a trial of everything comes before the next trial.
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

// DefaultFolder is where the sweep goes unless --out says otherwise: the same each time, so that asking again goes on.
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

// float reads a setting as a number, NaN where it is none.
func float(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
