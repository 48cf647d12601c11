package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// results are the numbers of a sweep as its folder has them, in a grid by what varies.
type results struct {
	folder   Folder
	plan     *Plan
	grid     pages.Grid
	failed   map[string]failure
	diverged []string // the runs whose loss was not finite, and their messages
	warned   []string // the runs with warnings
	missing  []*Spec  // neither done nor failed
	done     int
	hashes   map[string][]string // of each data set, by name: more than one is a mistake
}

// collect reads the results in the folder.
func collect(f Folder, p *Plan) *results {
	r := &results{folder: f, plan: p, failed: f.failures(p), hashes: map[string][]string{}}
	keys, _ := p.varying()
	var all []trials.Trial
	bySettings := map[string]*Spec{}
	for _, s := range p.Runs {
		t := r.trial(s)
		all = append(all, t)
		if key := fmt.Sprint(t.Vary); bySettings[key] == nil {
			bySettings[key] = s // the first trial
		}
	}
	reference := p.File.Reference
	if reference == "" {
		reference = "published"
	}
	r.grid = pages.Grid{Grid: trials.NewGrid(all, p.File.Metric, p.File.Better == "low", keys), Title: p.File.Name,
		Trials: p.File.Trials, Reference: reference,
		Published: func(c *trials.Cell) (trials.Sample, bool) { return r.published(bySettings[fmt.Sprint(c.Vary)]) }}
	return r
}

// trial reads a run.
func (r *results) trial(s *Spec) trials.Trial {
	t := trials.Trial{Seed: s.Seed}
	for _, v := range s.Vary {
		t.Vary = append(t.Vary, trials.Setting(v))
	}
	out, ok := r.folder.Result(s)
	if !ok {
		if t.State = trials.Missing; r.hasFailed(s) {
			t.State = trials.Failed
		} else {
			r.missing = append(r.missing, s)
		}
		return t
	}
	r.done++
	delete(r.failed, s.ID) // it was tried again
	if why, bad := out.Diverged(); bad {
		t.State = trials.Diverged
		r.diverged = append(r.diverged, fmt.Sprintf("%v diverged: %s", s, why))
	} else if v, ok := r.folder.number(s, out, r.plan.File.Metric); ok {
		if t.Value = v; trials.IsPercent(r.plan.File.Metric) {
			t.Value = 100 * v
		}
	} else {
		t.State = trials.None
	}
	if text, _ := out["warning"].(string); text != "" {
		r.warned = append(r.warned, fmt.Sprintf("%v: %s", s, text))
	}
	info, err := runlog.ReadInfo(r.folder.Trial(s))
	if err == nil && info.DataHash != "" && !slices.Contains(r.hashes[info.Data], info.DataHash) {
		r.hashes[info.Data] = append(r.hashes[info.Data], info.DataHash)
	}
	return t
}

func (r *results) hasFailed(s *Spec) bool {
	_, bad := r.failed[s.ID]
	return bad
}

// published is the number that the sweep file gives for the settings of a run.
func (r *results) published(s *Spec) (trials.Sample, bool) {
	for _, row := range r.plan.File.Published {
		same := true
		for k, v := range row {
			if k == "mean" || k == "deviation" {
				continue
			}
			text, err := r.plan.File.text("published."+k, v)
			want := s.Settings[k]
			same = same && err == nil && (text == want || trials.Float(text) == trials.Float(want))
		}
		if same {
			out := trials.Sample{Mean: asFloat(row["mean"]), Deviation: math.NaN()}
			if d, ok := row["deviation"]; ok {
				out.Deviation = asFloat(d)
			}
			return out, true
		}
	}
	return trials.Sample{}, false
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return math.NaN()
}

// warnings are what a reader must know before the numbers.
func (r *results) warnings() []string {
	var out []string
	for data, hashes := range r.hashes {
		if len(hashes) > 1 {
			out = append(out, fmt.Sprintf("%s is not the same on all machines: its hash is %s. Runs on different data are "+
				"compared below.",
				data, strings.Join(hashes, " and ")))
		}
	}
	for _, f := range r.failed {
		out = append(out, fmt.Sprintf("%s failed after %s: %s", f.Run, render.Count(f.Attempts, "attempt"), f.Error))
	}
	out = append(append(out, r.diverged...), r.warned...)
	slices.Sort(out)
	if n := len(r.missing); n > 0 {
		var names []string
		for _, s := range r.missing[:min(n, 8)] {
			names = append(names, "“"+s.String()+"”")
		}
		more := ""
		if n > 8 {
			more = fmt.Sprintf(" and %d more", n-8)
		}
		is := "are"
		if n == 1 {
			is = "is"
		}
		out = append(out, fmt.Sprintf("%d of %s %s not done and not in the means: %s%s.", n,
			render.Count(len(r.plan.Runs), "run"), is, strings.Join(names, ", "), more))
	}
	return out
}
