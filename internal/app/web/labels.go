package web

import (
	"path"

	"github.com/bregman-ml/bregman/internal/app/sweep"
)

// labels are the names of a sweep's trials, by their identities, as a version of its plan has them.
type labels struct {
	stamp
	byID map[string]string
}

// label names the trials of sweeps by what varies. A plan is read again when it changed.
func (l *lister) label(runs []summary) {
	plans := map[string]labels{}
	for k, r := range runs {
		if r.Inside == "" || path.Base(path.Dir(r.ID)) != "trials" || path.Dir(path.Dir(r.ID)) != r.Inside {
			continue
		}
		p, ok := plans[r.Inside]
		if !ok {
			p = l.labelsOf(r.Inside)
			plans[r.Inside] = p
		}
		if p.byID != nil {
			runs[k].Label = sweep.TrialLabel(path.Base(r.ID), p.byID)
		}
	}
	l.plans = plans
}

// labelsOf reads the plan of a sweep; without one its trials have no labels.
func (l *lister) labelsOf(id string) labels {
	f, err := l.root.Sub(id)
	if err != nil {
		return labels{}
	}
	defer f.Close()
	var s stamp
	s.info, s.infoSize = version(f, "plan.json")
	if old, ok := l.plans[id]; ok && old.stamp == s {
		return old
	}
	byID, err := sweep.Labels(f)
	if err != nil {
		return labels{stamp: s}
	}
	return labels{s, byID}
}

// linkOrigins replaces the name of the folder that a run started from by the ID of the run, if it is in the list, where
// it may be inside a sweep.
func linkOrigins(runs []summary) {
	byName := map[string]string{}
	for _, r := range runs {
		if r.From != "" {
			byName[r.From] = ""
		}
	}
	if len(byName) == 0 {
		return
	}
	for _, r := range runs {
		if _, wanted := byName[path.Base(r.ID)]; wanted {
			byName[path.Base(r.ID)] = r.ID
		}
	}
	for k, r := range runs {
		if id := byName[r.From]; r.From != "" && id != "" {
			runs[k].From = id
		}
	}
}

// named adds to the summary of a run what the list knows of it: its label and the ID of the run that it started from.
func (l *lister) named(s summary) summary {
	for _, r := range l.all() {
		if r.ID == s.ID {
			s.Label, s.From = r.Label, r.From
		}
	}
	return s
}
