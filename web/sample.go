package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/compare"
	"github.com/bregman-ml/bregman/report"
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
	Name    string             `json:"name"`
	P       number             `json:"p"`
	Color   [2]string          `json:"color"`
	X       string             `json:"x"`
	Rows    int                `json:"rows"`
	Metrics map[string]samples `json:"metrics"`
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
}

func metricAnswers(names []string) []metricAnswer {
	out := []metricAnswer{}
	for _, n := range names {
		m := compare.MetricOf(n)
		out = append(out, metricAnswer{n, m.Title, m.Y, m.Log, m.Scale})
	}
	return out
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

// shownCurves is how many curves of a run a page gets: more cannot be told apart.
const shownCurves = 40

// getMetrics returns the curves of a run, thinned.
func (s *Server) getMetrics(r *http.Request) (any, error) {
	n, err := points(r)
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
	var group compare.Group
	curves := []curveAnswer{}
	some := slices.ContainsFunc(w.log.Curves, moves)
	for _, c := range w.log.Curves {
		if len(curves) == shownCurves || some && !moves(c) && w.status != runlog.Running { // the curves of a running one keep their numbers
			continue
		}
		group.Curves = append(group.Curves, compare.Curve{Curve: c})
		name, x := c.Over()
		a := curveAnswer{Name: c.Name, P: number(orP(c.P, p)), Color: colours(orP(c.P, p)), X: name, Rows: c.Rows, Metrics: map[string]samples{}}
		for _, m := range c.Metrics() {
			a.Metrics[m] = thin(x, c.Column(m), n, name)
		}
		curves = append(curves, a)
	}
	note := ""
	if w.log.Bad > 0 {
		note = fmt.Sprintf("%s; %d such lines were passed over", w.log.Why, w.log.Bad)
	}
	if extra := len(w.log.Curves) - len(curves); extra > 0 {
		note = strings.TrimSpace(fmt.Sprintf("%s %d curves of one point, or too many to tell apart, are not shown: the exports have them.", note, extra))
	}
	return map[string]any{"offset": fmt.Sprintf("%s:%d", w.edition, w.log.Offset), "status": w.status, "rows": w.log.Len(), "curves": curves,
		"metrics": metricAnswers(compare.MetricNames([]*compare.Group{&group})), "note": note}, nil
}

// moves says whether a curve has points beside each other. Results of an experiment, each at its last step, have none.
func moves(c *runlog.Curve) bool {
	_, x := c.Over()
	return len(x) > 1 && slices.Min(x) < slices.Max(x)
}

// thin keeps about n points of a column. Lines that lack the number, as most lack a gap, are no points of it.
func thin(x, y []float64, n int, over string) samples {
	out := samples{X: numbers{}, Y: numbers{}}
	if slices.ContainsFunc(y, math.IsNaN) {
		var xs, ys []float64
		for k, v := range y {
			if !math.IsNaN(v) {
				xs, ys = append(xs, x[k]), append(ys, v)
			}
		}
		x, y = xs, ys
	}
	for _, k := range report.Thin(x, y, n, over == "step" || over == "b") {
		out.X, out.Y = append(out.X, x[k]), append(out.Y, y[k])
	}
	return out
}
