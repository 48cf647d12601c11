package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/pages"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

// maxOverlay is how many runs are compared at once.
const maxOverlay = 100

// head reads a run without its metrics.
func (s *Server) head(id string) (*trials.Run, error) {
	f, err := s.root.Sub(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trials.ReadHead(f, id)
}

// runs reads the runs a request names. Their metrics must not be used after done.
func (s *Server) runs(r *http.Request) (runs []*trials.Run, done func(), err error) {
	ids := slices.Clone(r.URL.Query()["run"])
	if len(ids) == 0 || len(ids) > maxOverlay {
		return nil, nil, bad("run=…: name 1 to %d runs", maxOverlay)
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(ids) {
		return nil, nil, bad("run=…: a run is named twice")
	}
	logs := map[string]*watched{}
	for _, id := range ids {
		run, err := s.head(id)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", id, err)
		}
		if logs[id], err = s.logs.get(id); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", id, err)
		}
		runs = append(runs, run)
	}
	slices.Sort(ids) // all requests lock in this order
	for _, id := range ids {
		logs[id].mu.RLock()
	}
	for _, run := range runs {
		run.Log = logs[run.ID].log
	}
	return runs, func() {
		for _, w := range logs {
			w.mu.RUnlock()
		}
	}, nil
}

// bandAnswer is the mean of a group with its band.
type bandAnswer struct {
	Group int     `json:"group"`
	X     numbers `json:"x"`
	Y     numbers `json:"y"`
	Low   numbers `json:"low,omitempty"`
	High  numbers `json:"high,omitempty"`
}

type groupAnswer struct {
	Name  string    `json:"name"`
	P     number    `json:"p"`
	Color [2]string `json:"color"`
	Dash  int       `json:"dash"` // 0 solid, 1 dashed, 2 dotted: a variant of the settings has one for every p
	Over  string    `json:"over"`
	Axes  []string  `json:"axes"` // what its curves can be drawn over
	Runs  []string  `json:"runs"`

	Trials int           `json:"trials"`          // runs of different seeds: of each seed the first counts
	Sizes  []sizesAnswer `json:"sizes,omitempty"` // of its first run that has some
}

type kindAnswer struct {
	Kind    string                  `json:"kind"`
	Groups  []groupAnswer           `json:"groups"`
	Metrics []metricAnswer          `json:"metrics"`
	Bands   map[string][]bandAnswer `json:"bands"`
	Final   []tableAnswer           `json:"final"`
}

// tableAnswer is a table of a report.
type tableAnswer struct {
	Title  string         `json:"title"`
	Header []string       `json:"header"`
	Rows   [][]cellAnswer `json:"rows"`
	Note   string         `json:"note"`
}

type cellAnswer struct {
	Text string `json:"text"`
	Best bool   `json:"best,omitempty"`
}

func tableAnswers(tables []render.Table) []tableAnswer {
	out := []tableAnswer{}
	for _, t := range tables {
		a := tableAnswer{Title: t.Title, Header: t.Header, Note: t.Note}
		for _, row := range t.Rows {
			var cells []cellAnswer
			for _, c := range row {
				cells = append(cells, cellAnswer{c.Text, c.Best})
			}
			a.Rows = append(a.Rows, cells)
		}
		out = append(out, a)
	}
	return out
}

// groupAnswers are the groups of one kind.
func groupAnswers(groups []*trials.Group, w window) (out []groupAnswer) {
	for _, g := range groups {
		a := groupAnswer{Name: g.Name, P: number(g.P), Color: colours(g.P), Dash: g.Line, Over: w.over(g.Curves[0].Curve),
			Axes: trials.Axes(g.Curves[0].Curve), Trials: len(g.Trials())}
		for _, c := range g.Curves {
			if !slices.Contains(a.Runs, c.Run.ID) {
				a.Runs = append(a.Runs, c.Run.ID)
			}
			if a.Sizes == nil {
				a.Sizes = sizesOf(c.Curve)
			}
		}
		out = append(out, a)
	}
	return out
}

// bandOf is the mean of a metric of a group in a window.
func bandOf(g *trials.Group, metric string, a groupAnswer, w window) (band bandAnswer) {
	b := g.BandOver(metric, a.Over)
	from, to := w.cut(b.X)
	for _, at := range render.Thin(b.X[from:to], b.Mean[from:to], w.points, trials.LogAxis(a.Over)) {
		at += from
		band.X, band.Y = append(band.X, b.X[at]), append(band.Y, b.Mean[at])
		if a.Trials > 1 {
			band.Low, band.High = append(band.Low, b.Low[at]), append(band.High, b.High[at])
		}
	}
	return band
}

// getCompare returns runs grouped by p, and by all that differs but the seed or by the setting that by= names. Numbers
// are scaled as they are shown: percent.
func (s *Server) getCompare(r *http.Request) (any, error) {
	shown, err := windowOf(r)
	if err != nil {
		return nil, err
	}
	runs, done, err := s.runs(r)
	if err != nil {
		return nil, err
	}
	defer done()
	kinds := []kindAnswer{}
	names, by := append([]string{}, trials.Distinguishing(runs)...), cmp.Or(r.URL.Query().Get("by"), trials.AllSettings)
	if !slices.Contains(append([]string{trials.AllSettings, trials.OnlyP, trials.SingleRuns}, names...), by) {
		by = trials.AllSettings // the address is of other runs
	}
	for _, groups := range trials.Kinds(trials.GroupsBy(runs, by)) {
		k := kindAnswer{Kind: groups[0].Kind, Groups: groupAnswers(groups, shown), Bands: map[string][]bandAnswer{},
			Metrics: metricAnswers(slices.DeleteFunc(trials.MetricNames(groups), isAxis)),
			Final:   tableAnswers(pages.FinalTables(groups))}
		for i, g := range groups {
			for _, m := range k.Metrics {
				if band := bandOf(g, m.Name, k.Groups[i], shown); len(band.X) > 0 {
					band.Group = i
					k.Bands[m.Name] = append(k.Bands[m.Name], band)
				}
			}
		}
		kinds = append(kinds, k)
	}
	var ids, statuses []string
	running := false
	own := make([]numbers, len(trials.ListColumns)) // as in the list
	for _, run := range runs {
		ids, statuses = append(ids, run.ID), append(statuses, run.Status)
		running = running || run.Status == runlog.Running
		for k, o := range trials.ListColumns {
			own[k] = append(own[k], run.Listed(o))
		}
	}
	return map[string]any{"runs": ids, "by": by, "can_group": names, "status": statuses, "loss": own[0],
		"accuracy": own[1], "margin": own[2], "gap": own[3], "running": running, "kinds": kinds,
		"differ": trials.Differences(runs)}, nil
}

// figure draws a metric of runs as bregman report does.
func (s *Server) figure(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	draw, kind := render.SVG, "image/svg+xml"
	if to := q.Get("to"); to == "png" {
		draw, kind = render.PNG, "image/png"
	} else if to != "svg" {
		failed(w, bad("to=%s: choose svg or png", to))
		return
	}
	runs, done, err := s.runs(r)
	if err != nil {
		failed(w, err)
		return
	}
	var figs []render.Figure
	for _, groups := range trials.Kinds(trials.Groups(runs)) {
		for _, metric := range q["metric"] {
			if f, ok := pages.Figure(groups, metric); ok && len(figs) < 6 {
				figs = append(figs, f)
			}
		}
	}
	done() // a figure has its own numbers
	if len(figs) == 0 {
		failed(w, bad("metric=%s: these runs have none", q.Get("metric")))
		return
	}
	data, err := draw(figs...)
	if err != nil {
		failed(w, err)
		return
	}
	send(w, kind, render.Showable(q.Get("metric"))+"."+q.Get("to"), data)
}

// report sends the page that bregman report writes.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	runs, done, err := s.runs(r)
	if err != nil {
		failed(w, err)
		return
	}
	defer done()
	p, err := pages.NewPage(nil, runs)
	if err != nil {
		failed(w, err)
		return
	}
	name := ""
	if r.URL.Query().Has("download") {
		name = "report.html"
	}
	send(w, "text/html; charset=utf-8", name, p.Bytes())
}

// export sends all metrics of a run.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to")
	if to != "csv" && to != "npz" {
		failed(w, bad("to=%s: choose csv or npz", to))
		return
	}
	run, err := s.logs.get(r.URL.Query().Get("id"))
	if err != nil {
		failed(w, err)
		return
	}
	var b bytes.Buffer
	run.mu.RLock()
	err = trials.Write(&b, run.log, to)
	run.mu.RUnlock()
	if err != nil {
		failed(w, err)
		return
	}
	send(w, map[string]string{"csv": "text/csv; charset=utf-8", "npz": "application/zip"}[to], "metrics."+to, b.Bytes())
}
