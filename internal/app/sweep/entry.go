package sweep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/kinds"
)

// Entry is a part of a sweep file that is a queue: runs that are made before those of the next entry. What stands at
// the top of the file holds for it, unless it says otherwise.
type Entry struct {
	Why      string         `toml:"why" json:"why,omitempty"` // what the runs decide
	Seed     *uint64        `toml:"seed" json:"seed,omitempty"`
	Trials   *int           `toml:"trials" json:"trials,omitempty"`
	Settings map[string]any `toml:"settings" json:"settings,omitempty"`
	Grid     map[string]any `toml:"grid" json:"grid,omitempty"`
	Zip      map[string]any `toml:"zip" json:"zip,omitempty"`

	order []string // as in File
	lines map[string]int
}

// index records the line of a key.
func (e *Entry) index(key string, line int) {
	if e.lines == nil {
		e.lines = map[string]int{}
	}
	e.lines[key], e.order = line, append(e.order, key)
}

// unset removes what the entry says of a key, which the command line sets for all entries.
func (e *Entry) unset(key string) {
	switch key {
	case "seed":
		e.Seed = nil
	case "trials":
		e.Trials = nil
	}
	for _, t := range []map[string]any{e.Settings, e.Grid, e.Zip} {
		delete(t, key)
	}
}

// entry is the sweep file of one entry.
func (f *File) entry(e Entry) *File {
	one := *f
	one.Entries = nil
	one.Settings, one.Grid, one.Zip = clone(f.Settings), clone(f.Grid), clone(f.Zip)
	one.lines, one.order = maps.Clone(f.lines), slices.Concat(f.order, e.order)
	for _, own := range []map[string]any{e.Settings, e.Grid, e.Zip} {
		for key := range own {
			delete(one.Settings, key)
			delete(one.Grid, key)
			delete(one.Zip, key)
		}
	}
	maps.Copy(one.Settings, e.Settings)
	maps.Copy(one.Grid, e.Grid)
	maps.Copy(one.Zip, e.Zip)
	maps.Copy(one.lines, e.lines)
	if e.Seed != nil {
		one.Seed = *e.Seed
	}
	if e.Trials != nil {
		one.Trials = *e.Trials
	}
	return &one
}

func clone(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

// queue lists the runs of all entries, in the order of the file. A run of two entries is made with the first.
func (p *Plan) queue(f *File, k kinds.Kind) error {
	if len(f.Random) > 0 || f.Draws > 0 {
		return fmt.Errorf("%s: a file with [[entry]] draws nothing: write lists in [entry.grid]", f.at("random"))
	}
	seen := map[string]bool{}
	for n, e := range f.Entries {
		one := f.entry(e)
		if err := one.check(k); err != nil {
			return err
		}
		runs, err := one.runs(k)
		if err != nil {
			return err
		}
		for _, s := range runs {
			if seen[s.ID] {
				continue
			}
			seen[s.ID] = true
			s.Entry = n + 1
			p.Runs = append(p.Runs, s)
		}
		if len(p.Runs) > maxRuns {
			return fmt.Errorf("%s: more than the %d runs a sweep may have", f.path, maxRuns)
		}
	}
	p.vary()
	return nil
}

// vary names what differs between the runs of all entries: keys of a grid in the order of the file, then others.
func (p *Plan) vary() {
	var keys []string
	tried := map[string]bool{}
	add := func(key string) {
		first := p.Runs[0].Settings[key]
		if !tried[key] && slices.ContainsFunc(p.Runs, func(s *Spec) bool { return s.Settings[key] != first }) {
			keys = append(keys, key)
		}
		tried[key] = true
	}
	for _, s := range p.Runs {
		for _, v := range s.Vary {
			add(v.Key)
		}
	}
	others := map[string]bool{}
	for _, s := range p.Runs {
		for key := range s.Settings {
			others[key] = key != "seed"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if others[key] {
			add(key)
		}
	}
	for _, s := range p.Runs {
		s.Vary = nil
		for _, key := range keys {
			if v, ok := s.Settings[key]; ok { // one that is not set is at its default
				s.Vary = append(s.Vary, pair{key, v})
			}
		}
	}
}
