package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A page asks for an axis and a part of it.
func TestMetricsComeOverTheAxisAndInTheWindowThatIsAskedFor(t *testing.T) {
	srv, h := newServer(t)
	makeNetwork(t, srv.settings.Runs, "net", 2, 1, epochs(1, 3)...).Append(json.RawMessage(`{"epoch":4,"loss":1,"elapsed":7}`))
	makeRun(t, srv.settings.Runs, "fit", 2, 1, losses(20_000)...)
	var got struct {
		Curves []struct {
			X       string
			Axes    []string
			At      float64
			Metrics map[string]struct{ X, Y []float64 }
		}
		Metrics []struct{ Name string }
	}
	ask(t, h, "/api/metrics?id=net&x=time", &got)
	c := got.Curves[0]
	if x := c.Metrics["loss"].X; c.X != "time" || c.At != 4 || fmt.Sprint(c.Axes) != "[epoch time]" || len(x) != 4 ||
		x[3] != 7 {
		t.Errorf("%+v", c)
	}
	for _, m := range got.Metrics { // those that are drawn
		if m.Name == "elapsed" || m.Name == "epoch" {
			t.Errorf("%s is a metric", m.Name)
		}
	}
	ask(t, h, "/api/metrics?id=net&x=step", &got) // it has none
	if got.Curves[0].X != "epoch" {
		t.Errorf("over %s", got.Curves[0].X)
	}
	ask(t, h, "/api/metrics?id=fit&from=15000&to=15200", &got)
	if x := got.Curves[0].Metrics["loss"].X; len(x) < 201 || len(x) > 203 || x[0] > 15000 || x[len(x)-1] < 15200 {
		t.Errorf("%d points from %v to %v", len(x), x[0], x[len(x)-1])
	}
	ask(t, h, "/api/metrics?id=fit&from=90000", &got) // beyond the end: a line from the last point
	if x := got.Curves[0].Metrics["loss"].X; len(x) > 2 {
		t.Errorf("%v", x)
	}
	for _, wrong := range []string{"x=loss", "from=a", "to=NaN", "points=1"} {
		if code, body := ask(t, h, "/api/metrics?id=fit&"+wrong, nil); code != 400 {
			t.Errorf("%s: %d %s", wrong, code, body)
		}
		if code, body := ask(t, h, "/api/compare?run=fit&"+wrong, nil); code != 400 {
			t.Errorf("compare, %s: %d %s", wrong, code, body)
		}
	}
	next, stop := events(t, h, "/api/stream?id=net", "")
	defer stop()
	if kind, _, data := next(); kind != "rows" || !strings.Contains(data, `"time":[1,1,1,7]`) {
		t.Errorf("%s %s", kind, data)
	}
}

// The page and the report call the same runs trials, and give them the same mean.
func TestAComparisonHasTheFinalValuesOfTheReport(t *testing.T) {
	srv, h := newServer(t)
	for k, seed := range []uint64{1, 1, 2} {
		r := makeNetwork(t, srv.settings.Runs, fmt.Sprint("r", k), 2, seed, epochs(1, 2+k)...)
		r.Finish(nil, false)
	}
	var got struct {
		By    string
		Kinds []struct {
			Groups []struct{ Trials int }
			Final  []struct {
				Header []string
				Rows   [][]struct {
					Text string
					Best bool
				}
			}
		}
	}
	path := "run=r0&run=r1&run=r2"
	ask(t, h, "/api/compare?by=nonsense&"+path, &got)
	if g := got.Kinds[0]; got.By != "all" || len(g.Groups) != 1 || g.Groups[0].Trials != 2 ||
		g.Final[0].Header[1] != "loss" || g.Final[0].Rows[0][1].Text != "0.38 ± 0.12 (n = 2)" { // 1/2 of r0 and 1/4 of r2
		t.Errorf("%+v", got)
	}
	if _, html := ask(t, h, "/api/report?"+path, nil); !strings.Contains(html, "0.38 ± 0.12 (n = 2)") {
		t.Error("the report has another mean")
	}
}
