package paper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// networks is a sweep of networks as the paper shows them: everything that is done, by network and variant.
type networks struct {
	paper       *printed // the table that it is set beside
	folder      sweep.Folder
	plan        *sweep.Plan
	set, engine string
	groups      []*group
	done        int
	rows        int // of done, those of which a results file has a row and nothing else is here
}

var _ sweep.View = (*networks)(nil)

// group is the runs of a network in one variant.
type group struct {
	model    string
	variant  string // of its files: empty for the first
	title    string
	settings map[string]string // of its first run
	ps       []float64
	runs     map[float64][]command.TrainResult
	studies  map[float64][]train.Study
	seeds    map[float64][]uint64 // of the studies
	failed   map[float64]int      // runs whose loss was not finite
	missing  map[float64]int      // runs that are not done, or failed
}

// newNetworks reads what is done.
func newNetworks(f sweep.Folder, p *sweep.Plan, paper *printed) (sweep.View, error) {
	if p.File.Job != "train" {
		return nil, fmt.Errorf("report = %q: it is about networks, job = \"train\"", p.File.Report)
	}
	r := &networks{paper: paper, folder: f, plan: p, set: p.Runs[0].Settings["data"]}
	engines := []string{}
	for _, s := range p.Runs {
		g := r.group(s)
		at, err := strconv.ParseFloat(s.Settings["p"], 64)
		if err != nil {
			return nil, err
		}
		g.addP(at)
		result, ok := f.Result(s)
		if !ok {
			g.missing[at]++
			continue
		}
		r.done++
		if !f.HasFolder(s) { // a row of a results file: its accuracies alone
			if err := r.addRow(g, at, s.Seed, result); err != nil {
				return nil, err
			}
			continue
		}
		if info, err := runlog.ReadInfo(f.Trial(s)); err == nil {
			r.set = info.Data
			if !slices.Contains(engines, info.Engine) {
				engines = append(engines, info.Engine)
			}
		}
		if _, bad := result.Diverged(); bad {
			g.diverge(at)
			continue
		}
		one, ok, err := command.ReadResult(f.Trial(s))
		if err == nil && !ok {
			err = fmt.Errorf("%s: it has a result and is not done: remove it, and resume the sweep", f.Trial(s))
		}
		if err != nil {
			return nil, err
		}
		g.add(one)
		if s.Settings["no_study"] != "true" && one.Warning == "" { // its weights show nothing about p
			study, err := command.ReadStudy(f.Trial(s))
			if err != nil {
				return nil, err
			}
			g.studies[at], g.seeds[at] = append(g.studies[at], study), append(g.seeds[at], one.Seed)
		}
	}
	slices.Sort(engines)
	r.engine = strings.Join(engines, " and ")
	return r, nil
}

// addRow adds a run of which there is only a row of a results file.
func (r *networks) addRow(g *group, p float64, seed uint64, row sweep.Result) error {
	r.rows++
	if _, bad := row.Diverged(); bad {
		g.diverge(p)
		return nil
	}
	data, err := json.Marshal(row)
	if err != nil {
		return err
	}
	var one command.TrainResult
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	one.P, one.Seed = p, seed
	g.add(one)
	return nil
}

// group finds or adds the group of a run: one for each network and each combination of what varies besides network, p
// and seed.
func (r *networks) group(s *sweep.Spec) *group {
	var names, titles []string
	for _, v := range s.Vary {
		switch {
		case v.Key == "model" || v.Key == "p":
		case v.Key == "lr" && v.Value == "auto":
			names, titles = append(names, "lr_auto"), append(titles, "learning rate by short runs")
		case v.Key == "lr":
			names, titles = append(names, "lr_"+v.Value), append(titles, "learning rate "+v.Value)
		case v.Value == "0" || v.Value == "false" || v.Key == "unit" && v.Value == "one": // without
		case v.Key == "unit":
			names, titles = append(names, "unit_"+v.Value), append(titles, "in units of the initial size")
		default:
			names, titles = append(names, v.Key+"_"+v.Value), append(titles, strings.ReplaceAll(v.Key, "_", " ")+" "+v.Value)
		}
	}
	if len(titles) == 0 {
		titles = []string{"learning rate " + s.Settings["lr"]}
		if s.Settings["lr"] == "auto" {
			titles[0] = "learning rate by short runs"
		}
	}
	title := strings.Join(titles, ", ")
	first := true
	for _, g := range r.groups {
		if g.model != s.Settings["model"] {
			continue
		}
		if g.title == title {
			return g
		}
		first = false
	}
	g := newGroup(s.Settings["model"], title, s.Settings)
	if !first {
		g.variant = strings.NewReplacer("-", "_", "/", "_").Replace(strings.Join(names, "_"))
	}
	r.groups = append(r.groups, g)
	return g
}

func newGroup(model, title string, settings map[string]string) *group {
	return &group{model: model, title: title, settings: settings,
		runs: map[float64][]command.TrainResult{}, studies: map[float64][]train.Study{},
		seeds:  map[float64][]uint64{},
		failed: map[float64]int{}, missing: map[float64]int{}}
}

// addP adds p in its order.
func (g *group) addP(p float64) {
	if !slices.Contains(g.ps, p) {
		g.ps = append(g.ps, p)
		slices.Sort(g.ps)
	}
}

func (g *group) diverge(p float64) {
	g.addP(p)
	g.failed[p]++
}

func (g *group) add(r command.TrainResult) {
	g.addP(r.P)
	g.runs[r.P] = append(g.runs[r.P], r)
}
