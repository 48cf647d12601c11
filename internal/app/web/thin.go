package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
)

var nan = math.NaN()

// orP is the p of a curve, or else of its run.
func orP(curve, run float64) float64 {
	if math.IsNaN(curve) {
		return run
	}
	return curve
}

// curveAnswer is a curve of a run with its metrics, each thinned by itself.
type curveAnswer struct {
	Index   int                `json:"curve"` // its place in the run, by which the stream names it
	Name    string             `json:"name"`
	P       number             `json:"p"`
	Color   [2]string          `json:"color"`
	X       string             `json:"x"`
	Axes    []string           `json:"axes"` // what it can be drawn over
	At      number             `json:"at"`   // the last place on its first axis
	Rows    int                `json:"rows"`
	Metrics map[string]samples `json:"metrics"`
	Sizes   []sizesAnswer      `json:"sizes,omitempty"`
}

// sizesAnswer is a histogram of |w| at one time: counts[k] weights from 2^(from+k/2) to 2^(from+(k+1)/2), the rest
// below.
type sizesAnswer struct {
	At     number  `json:"at"`
	Below  int     `json:"below"`
	From   float64 `json:"from"`
	Counts []int   `json:"counts"`
}

// shownSizes is how many histograms of a curve a page gets: a screen has no room for more columns.
const shownSizes = 200

// sizesOf are the histograms of a curve, every n-th and the last if there are many.
func sizesOf(c *runlog.Curve) (out []sizesAnswer) {
	every := (len(c.Sizes) + shownSizes - 1) / shownSizes
	for k := range c.Sizes {
		if k%max(1, every) == 0 || k == len(c.Sizes)-1 {
			out = append(out, sizesAt(c, c.Sizes[k]))
		}
	}
	return out
}

func sizesAt(c *runlog.Curve, s runlog.SizesAt) sizesAnswer {
	at := float64(s.Index + 1)
	if x, _ := c.Over(); x != "line" {
		at = c.At(x, s.Index)
	}
	return sizesAnswer{number(at), s.Below, s.From, s.Counts}
}

// resultAnswer is a line that is not a point of a curve: a statement of verify, a run of a sweep or of a reproduction.
type resultAnswer struct {
	Name   string            `json:"name"`
	P      number            `json:"p"`
	Color  [2]string         `json:"color"`
	Values map[string]number `json:"values"`
}

// shownResults is how many of them a page gets.
const shownResults = 500

// results are the last points of what a log holds besides curves.
func results(log *runlog.Log, status string, p float64) (out []resultAnswer, columns []string) {
	out = []resultAnswer{}
	var group trials.Group
	for _, c := range log.Curves {
		if c.Old || trials.IsCurve(c, status) || len(out) == shownResults {
			continue
		}
		a := resultAnswer{Name: c.Name, P: number(orP(c.P, p)), Color: colours(orP(c.P, p)), Values: map[string]number{}}
		for _, n := range c.Names {
			if v := c.At(n, c.Rows-1); !math.IsNaN(v) {
				a.Values[n] = number(v)
			}
		}
		out = append(out, a)
		group.Curves = append(group.Curves, trials.Curve{Curve: c})
	}
	return out, trials.MetricNames([]*trials.Group{&group})
}

type samples struct {
	X numbers `json:"x"`
	Y numbers `json:"y"`
}

// metricAnswer is how to draw a metric.
type metricAnswer struct {
	Name  string  `json:"name"`
	Title string  `json:"title"`
	Y     string  `json:"y"`
	Log   bool    `json:"log"`
	Scale float64 `json:"scale"`
	Part  string  `json:"part"`

	Explain string `json:"explain,omitempty"` // one sentence; an unknown metric has none
}

func metricAnswers(names []string) []metricAnswer {
	out := []metricAnswer{}
	for _, n := range names {
		m := trials.MetricOf(n)
		out = append(out, metricAnswer{n, m.Title, m.Y, m.Log, m.Scale, string(m.Part), m.Explain()})
	}
	return out
}

// axes of runs: a column called so is no metric.
func isAxis(name string) bool { return name == "step" || name == "epoch" }

// window is what part of an axis is asked for, and how its points are chosen.
type window struct {
	axis   string // empty: what a curve is drawn over by itself
	lo, hi float64
	points int
}

// windowOf reads x=, from=, to= and points= of a request.
func windowOf(r *http.Request) (w window, err error) {
	w = window{axis: r.URL.Query().Get("x"), lo: math.Inf(-1), hi: math.Inf(1)}
	if !slices.Contains([]string{"", "step", "epoch", trials.Time}, w.axis) {
		return w, bad("x=%s: choose step, epoch or time", w.axis)
	}
	for key, v := range map[string]*float64{"from": &w.lo, "to": &w.hi} {
		if text := r.URL.Query().Get(key); text != "" {
			if *v, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(*v) {
				return w, bad("%s=%s: want a number", key, text)
			}
		}
	}
	w.points, err = points(r)
	return w, err
}

// over is the axis of a curve: the one that is asked for if the curve has it.
func (w window) over(c *runlog.Curve) string {
	axes := trials.Axes(c)
	if slices.Contains(axes, w.axis) {
		return w.axis
	}
	return axes[0]
}

// cut keeps what lies in the window, with a point more on each side.
func (w window) cut(x []float64) (from, to int) {
	from, to = 0, len(x)
	for from+1 < to && x[from+1] < w.lo {
		from++
	}
	for to-1 > from && x[to-2] > w.hi {
		to--
	}
	return from, to
}

// points reads how many points an answer should have per curve.
func points(r *http.Request) (int, error) {
	text := r.URL.Query().Get("points")
	if text == "" {
		return 800, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 8 || n > 10_000 {
		return 0, bad("points=%s: want 8 to 10000", text)
	}
	return n, nil
}

// shownCurves is how many curves of a run a page gets: more cannot be distinguished.
const shownCurves = 40

// getMetrics returns the curves of a run, thinned.
func (s *Server) getMetrics(r *http.Request) (any, error) {
	shown, err := windowOf(r)
	if err != nil {
		return nil, err
	}
	w, err := s.logs.get(r.URL.Query().Get("id"))
	if err != nil {
		return nil, err
	}
	p := s.pOf(w.id)
	w.mu.RLock()
	defer w.mu.RUnlock()
	var group trials.Group
	curves := []curveAnswer{}
	extra := 0
	for k, c := range w.log.Curves {
		if !trials.IsCurve(c, w.status) {
			continue
		}
		if len(curves) == shownCurves {
			extra++
			continue
		}
		group.Curves = append(group.Curves, trials.Curve{Curve: c})
		name := shown.over(c)
		x := trials.AxisOf(c, name)
		a := curveAnswer{Name: c.Name, P: number(orP(c.P, p)), Color: colours(orP(c.P, p)), X: name, Axes: trials.Axes(c),
			Rows: c.Rows, Metrics: map[string]samples{}, Sizes: sizesOf(c), Index: k}
		if _, own := c.Over(); c.Rows > 0 {
			a.At = number(own[c.Rows-1])
		}
		for _, m := range c.Metrics() {
			if !isAxis(m) {
				a.Metrics[m] = thin(x, c.Column(m), shown, name)
			}
		}
		curves = append(curves, a)
	}
	note := ""
	if w.log.Bad > 0 {
		note = fmt.Sprintf("%s; %s skipped", w.log.Why, render.Count(w.log.Bad, "such line"))
	}
	if extra > 0 {
		note = strings.TrimSpace(fmt.Sprintf("%s %d more curves, too many to tell apart, are not shown: the exports have "+
			"them.", note, extra))
	}
	rest, columns := results(w.log, w.status, p)
	return map[string]any{"offset": fmt.Sprintf("%s:%d", w.edition, w.log.Offset), "status": w.status, "rows": w.log.Len(),
		"curves":  curves,
		"metrics": metricAnswers(slices.DeleteFunc(trials.MetricNames([]*trials.Group{&group}), isAxis)),
		"results": rest, "columns": metricAnswers(columns), "note": note}, nil
}

// thin keeps about so many points of a column in a window. Lines without the number, or without a place on the axis,
// are skipped: most have no gap.
func thin(x, y []float64, w window, over string) samples {
	out := samples{X: numbers{}, Y: numbers{}}
	if slices.ContainsFunc(y, math.IsNaN) || over == trials.Time && slices.ContainsFunc(x, math.IsNaN) {
		var xs, ys []float64
		for k, v := range y {
			if !math.IsNaN(v) && !math.IsNaN(x[k]) {
				xs, ys = append(xs, x[k]), append(ys, v)
			}
		}
		x, y = xs, ys
	}
	from, to := w.cut(x)
	x, y = x[from:to], y[from:to]
	for _, k := range render.Thin(x, y, w.points, trials.LogAxis(over)) {
		out.X, out.Y = append(out.X, x[k]), append(out.Y, y[k])
	}
	return out
}
