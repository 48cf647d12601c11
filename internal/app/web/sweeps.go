package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// sweepAnswer is what a sweep found: a cell for each combination of what varies, over its seeds. It is read from the
// plan and the metrics, so it is there while the sweep runs.
type sweepAnswer struct {
	Metric  string          `json:"metric"`
	Title   string          `json:"title"`
	Low     bool            `json:"low"`
	Keys    []string        `json:"keys"`
	Cells   []variantAnswer `json:"cells"`
	Planned int             `json:"planned"` // runs
	Done    int             `json:"done"`
	Line    string          `json:"line"` // how the best was tested
	Lead    *leadAnswer     `json:"lead,omitempty"`

	leader int // of Cells, −1 if nothing is the best
}

type variantAnswer struct {
	Settings map[string]string `json:"settings"`
	Color    [2]string         `json:"color"` // of its p
	Mean     number            `json:"mean"`
	Error    number            `json:"error"` // the standard error
	N        int               `json:"n"`
	Planned  int               `json:"planned"`
	Diverged int               `json:"diverged"`
	Text     string            `json:"text"`
	Best     bool              `json:"best"` // the best, or not significantly worse
	Runs     []string          `json:"runs"` // ids below the folder of runs
}

// best is the best combination of a sweep, in the list.
type best struct {
	Text     string            `json:"text"`
	Title    string            `json:"title"`
	Settings map[string]string `json:"settings"`
	N        int               `json:"n"`
}

// Limits of what is read of a sweep.
const (
	maxPlan    = 64 << 20
	maxResults = 64 << 20
	maxCells   = 2000
)

// readSweep reads a sweep; nil if it has no plan.
func readSweep(f *runlog.Folder, head *trials.Run) *sweepAnswer {
	var plan struct {
		File struct {
			Metric string `json:"metric"`
			Better string `json:"better"`
		} `json:"file"`
		Runs []struct {
			ID   string           `json:"id"`
			Seed uint64           `json:"seed"`
			Vary []trials.Setting `json:"vary"`
		} `json:"runs"`
	}
	if f.ReadJSON("plan.json", maxPlan, &plan) != nil || len(plan.Runs) == 0 {
		return nil
	}
	a := &sweepAnswer{Metric: plan.File.Metric, Title: trials.MetricOf(plan.File.Metric).Title, leader: -1,
		Low: plan.File.Better == "low", Planned: len(plan.Runs), Keys: []string{}, Cells: []variantAnswer{}}
	if known := trials.MetricOf(a.Metric); known.Title == a.Metric {
		a.Title = strings.ReplaceAll(a.Metric, "_", " ")
	}
	found := map[string]finished{}
	if data, err := f.ReadFile("metrics.jsonl", maxResults); err == nil {
		found = finishedRuns(data, a.Metric)
	}
	index, column := map[string]int{}, &trials.Column{Low: a.Low}
	var all []trials.Trial
	known := map[string]bool{}
	for _, run := range plan.Runs {
		key, _ := json.Marshal(run.Vary)
		k, ok := index[string(key)]
		if !ok {
			if len(a.Cells) == maxCells {
				continue
			}
			k = len(a.Cells)
			index[string(key)] = k
			c := variantAnswer{Settings: map[string]string{}, Color: colours(math.NaN()), Runs: []string{}}
			for _, v := range run.Vary {
				c.Settings[v.Key] = v.Value
				if v.Key == "p" {
					c.Color = colours(trials.Float(v.Value))
				}
				if !known[v.Key] {
					known[v.Key] = true
					a.Keys = append(a.Keys, v.Key)
				}
			}
			a.Cells = append(a.Cells, c)
			column.Values = append(column.Values, map[uint64]float64{})
		}
		c := &a.Cells[k]
		c.Planned++
		r, ok := found[run.ID]
		t := trials.Trial{Vary: run.Vary, Seed: run.Seed, Value: r.value}
		if t.State = trials.Missing; ok {
			t.State = r.state()
		}
		if trials.IsPercent(a.Metric) {
			t.Value *= 100
		}
		all = append(all, t)
		if !ok {
			continue
		}
		a.Done++
		c.Runs = append(c.Runs, path.Join(head.ID, "trials", r.name))
		if r.diverged {
			c.Diverged++
		} else if r.value-r.value == 0 {
			column.Values[k][run.Seed] = r.value
		}
	}
	a.judge(column)
	if a.Done > 0 {
		g := pages.Grid{Grid: trials.NewGrid(all, a.Metric, a.Low, a.Keys)}
		a.Lead = leadOf(g.Lead())
	}
	return a
}

// leadAnswer is what a page says first.
type leadAnswer struct {
	Sentence string   `json:"sentence"`
	Claims   []string `json:"claims"`
}

// leadOf is nil for an empty one.
func leadOf(l pages.Lead) *leadAnswer {
	if l.Sentence == "" {
		return nil
	}
	return &leadAnswer{l.Sentence, l.Claims}
}

// judge fills the cells with their means, and marks the best, if the metric means the same in all of them.
func (a *sweepAnswer) judge(column *trials.Column) {
	trials.Compare(column)
	bold := column.Bold()
	comparable := true
	for _, k := range a.Keys {
		comparable = comparable && trials.Compares(a.Metric, k)
	}
	for k := range a.Cells {
		c := &a.Cells[k]
		var values []float64
		for _, seed := range slices.Sorted(maps.Keys(column.Values[k])) { // a sum must not depend on chance
			values = append(values, column.Values[k][seed])
		}
		s := trials.SampleOf(values)
		c.N, c.Mean, c.Error = s.N, number(s.Mean), number(s.Error())
		c.Text, c.Best = a.text(s), comparable && bold[k]
	}
	if comparable {
		a.leader, a.Line = column.Leader(), trials.Line(column)
	}
}

// text is a mean with its standard error, in percent if it is a share.
func (a *sweepAnswer) text(s trials.Sample) string {
	if s.N == 0 {
		return ""
	}
	write, unit := func(v float64) string { return render.Short(v, 4).Text }, ""
	if trials.IsPercent(a.Metric) {
		write, unit = func(v float64) string { return render.Number(100*v, 2).Text }, " %"
	}
	if e := s.Error(); e-e == 0 {
		return write(s.Mean) + " ± " + write(e) + unit
	}
	return write(s.Mean) + unit
}

// best is the best combination; nil if there is none, or too little to compare.
func (a *sweepAnswer) best() *best {
	if a == nil || a.leader < 0 {
		return nil
	}
	c := a.Cells[a.leader]
	return &best{Text: c.Text, Title: a.Title, Settings: c.Settings, N: c.N}
}

// finished is a run of a sweep that ended.
type finished struct {
	name     string
	value    float64 // of the metric, NaN if it has none
	diverged bool
}

// state is that of a trial of a grid.
func (r finished) state() trials.State {
	switch {
	case r.diverged:
		return trials.Diverged
	case r.value-r.value != 0:
		return trials.None
	}
	return trials.Done
}

// finishedRuns reads the results of a sweep, by the identity that ends the name of a run. Lines that are something else
// are skipped.
func finishedRuns(data []byte, metric string) map[string]finished {
	out := map[string]finished{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var line struct {
			Run    string         `json:"run"`
			Result map[string]any `json:"result"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Run == "" || line.Result == nil {
			continue
		}
		r := finished{name: path.Base(line.Run), value: math.NaN()}
		if v, ok := line.Result[metric].(float64); ok {
			r.value = v
		}
		_, r.diverged = line.Result["diverged"].(string)
		out[r.name[strings.LastIndexByte(r.name, '-')+1:]] = r
	}
	return out
}
