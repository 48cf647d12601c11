package sweep

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// Label names a run among those of its sweep, by what varies and the seed: p1.5-lr0.2-s1.
func (s *Spec) Label() string {
	if s.label == "" {
		return label(s.Vary, s.Seed)
	}
	return s.label
}

// label names the runs by the settings that have several values.
func (p *Plan) label() {
	values := map[string]map[string]bool{}
	for _, s := range p.Runs {
		count(values, s.Vary)
	}
	for _, s := range p.Runs {
		s.label = label(several(values, s.Vary), s.Seed)
	}
}

// count adds the values of settings to those that were seen, by key.
func count(values map[string]map[string]bool, vary []pair) {
	for _, v := range vary {
		if values[v.Key] == nil {
			values[v.Key] = map[string]bool{}
		}
		values[v.Key][v.Value] = true
	}
}

// several are those of the settings that have several values.
func several(values map[string]map[string]bool, vary []pair) []pair {
	return slices.DeleteFunc(slices.Clone(vary), func(v pair) bool { return len(values[v.Key]) < 2 })
}

// mostLabel bounds the names of folders.
const mostLabel = 120

// label is short, and a name for a folder.
func label(vary []pair, seed uint64) string {
	var parts []string
	for _, v := range vary {
		text := slug(v.Key + v.Value)
		_, notNumber := strconv.ParseFloat(v.Value, 64)
		switch {
		case v.Key == "model" || v.Key == "data": // the value names it
			text = slug(path.Base(strings.ReplaceAll(v.Value, `\`, "/")))
		case v.Value == "true":
			text = slug(v.Key)
		case v.Value == "false":
			text = slug("no-" + v.Key)
		case notNumber != nil:
			text = slug(v.Key + "-" + v.Value)
		}
		if v.Key == "p" { // first, as people say it
			parts = slices.Insert(parts, 0, text)
		} else {
			parts = append(parts, text)
		}
	}
	out := strings.TrimLeft(strings.Join(parts, "-"), ".-")
	out = out[:min(len(out), mostLabel)]
	return strings.TrimPrefix(out+fmt.Sprintf("-s%d", seed), "-")
}

// Folder is the name of the run's folder: its p, what else varies, its seed, and its identity, which alone identifies
// it: a sweep that varies more, or less, finds the folder by that.
func (s *Spec) Folder() string {
	name := s.Label()
	if p, ok := s.Settings["p"]; ok && !strings.HasPrefix(name, "p"+slug(p)+"-") {
		name = "p" + slug(p) + "-" + name
	}
	return name + "-" + s.ID
}

// idOf is the identity that the name of a run's folder ends with.
func idOf(folder string) string { return folder[strings.LastIndexByte(folder, '-')+1:] }

// at is the folder of a run below a folder of the sweep, by its identity: an older program, or a sweep in which other
// settings varied, may have given it another name. Without one it is the name that a new one gets.
func (f Folder) at(sub string, s *Spec) string {
	usual := f.path(sub, s.Folder())
	if _, err := os.Lstat(usual); err == nil {
		return usual
	}
	found := usual
	f.look(sub, func(byID map[string]string) {
		if name, ok := byID[s.ID]; ok {
			found = f.path(sub, name)
		}
	})
	return found
}

// listing is what a folder held when it had this time.
type listing struct {
	when time.Time
	byID map[string]string
}

// listings are by the path of the folder. Those of folders that did not change are not read again: a sweep of many
// short runs looks each of them up.
var listings struct {
	sync.Mutex
	of map[string]*listing
}

// look calls read with the names in a folder, by the identities they end with.
func (f Folder) look(sub string, read func(byID map[string]string)) {
	st, err := os.Stat(f.path(sub))
	if err != nil {
		return
	}
	listings.Lock()
	defer listings.Unlock()
	l := listings.of[f.path(sub)]
	if l == nil || !l.when.Equal(st.ModTime()) {
		l = &listing{st.ModTime(), map[string]string{}}
		for _, name := range f.names(sub) {
			l.byID[idOf(name)] = name
		}
		if listings.of == nil {
			listings.of = map[string]*listing{}
		}
		listings.of[f.path(sub)] = l
	}
	read(l.byID)
}

// byID are the names in a folder by the identities they end with.
func (f Folder) byID(sub string) (out map[string]string) {
	f.look(sub, func(byID map[string]string) { out = maps.Clone(byID) })
	return out
}

// added notes that this process has put a run into a folder, which had this time before: it need not be read again.
func (f Folder) added(sub, name string, before time.Time) {
	st, err := os.Stat(f.path(sub))
	listings.Lock()
	defer listings.Unlock()
	l := listings.of[f.path(sub)]
	if l == nil || err != nil {
		return
	}
	l.byID[idOf(name)] = name
	if l.when.Equal(before) {
		l.when = st.ModTime()
	}
}

// Labels names the trials of a sweep by their identities, from its plan.
func Labels(f *runlog.Folder) (map[string]string, error) {
	var p struct {
		Runs []struct {
			ID   string `json:"id"`
			Seed uint64 `json:"seed"`
			Vary []pair `json:"vary"`
		} `json:"runs"`
	}
	if err := f.ReadJSON("plan.json", maxPlan, &p); err != nil {
		return nil, err
	}
	out, values := map[string]string{}, map[string]map[string]bool{}
	for _, r := range p.Runs {
		count(values, r.Vary)
	}
	for _, r := range p.Runs {
		out[r.ID] = label(several(values, r.Vary), r.Seed)
	}
	return out, nil
}

// maxPlan is more than the plan of the largest sweep takes.
const maxPlan = 1 << 28

// TrialLabel is the name of a trial in a folder of this name, among the labels of its sweep. A trial that is not in the
// plan any more has the name of its folder, without its identity.
func TrialLabel(folder string, labels map[string]string) string {
	if name, ok := labels[idOf(folder)]; ok {
		return name
	}
	return strings.TrimSuffix(strings.TrimSuffix(folder, idOf(folder)), "-")
}
