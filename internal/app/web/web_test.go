package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/runlog"
)

// newServer serves an empty folder of runs on loopback.
func newServer(t testing.TB, change ...func(*Serve)) (*Server, *httptest.Server) {
	t.Helper()
	s := Serve{Runs: t.TempDir(), Data: t.TempDir(), Limit: 2}
	for _, c := range change {
		c(&s)
	}
	srv, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(srv.Handler())
	t.Cleanup(func() { h.CloseClientConnections(); h.Close(); srv.Close() })
	return srv, h
}

// makeRun writes a run folder; lines are its metrics.
func makeRun(t testing.TB, root, name string, p float64, seed uint64, lines ...string) *runlog.Run {
	t.Helper()
	r, err := runlog.CreateAt(filepath.Join(root, filepath.FromSlash(name)), runlog.Info{Command: "fit", Seed: seed,
		Data: "r2:1", Engine: "go",
		Settings: map[string]any{"data": "r2", "p": p, "seed": seed, "loss": "exp", "method": "pgd", "steps": 1000,
			"lr": 1e-3, "init": "zero", "runs": root}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if err := r.Append(json.RawMessage(l)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func losses(n int) (lines []string) {
	for k := range n {
		lines = append(lines, fmt.Sprintf(`{"step":%d,"loss":%g,"norm":%d}`, k+1, 1/float64(k+1), k))
	}
	return lines
}

func ask(t testing.TB, h *httptest.Server, path string, v any) (status int, body string) {
	t.Helper()
	resp, err := http.Get(h.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	if v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatalf("%s: %v in %.200s", path, err, data)
		}
	}
	return resp.StatusCode, string(data)
}

type runsJSON struct {
	Runs []struct {
		ID, Status, Error string
		Loss, Progress    *float64
		P                 []float64
	}
}

func TestTheListShowsHowRunsStand(t *testing.T) {
	srv, h := newServer(t)
	root := srv.settings.Runs
	makeRun(t, root, "a-done", 3, 1, losses(3)...).Finish(nil, false)
	live := makeRun(t, root, "b-live", 2, 1, losses(500)...)
	makeRun(t, root, "c-failed", 2, 1).Finish(io.ErrUnexpectedEOF, false)
	makeRun(t, root, "d/trials/p3-s1", 3, 1).Finish(nil, false)
	os.MkdirAll(filepath.Join(root, "e-corrupt"), 0o777)
	os.WriteFile(filepath.Join(root, "e-corrupt", "run.json"), []byte("{half"), 0o666)
	os.MkdirAll(filepath.Join(root, "f-empty"), 0o777) // not a run
	killed := makeRun(t, root, "g-killed", 2, 1)
	killed.Finish(nil, false)
	info := killed.Info
	info.Status = runlog.Running // as before, but no process holds the lock
	killed.WriteJSON("run.json", info)
	var got runsJSON
	ask(t, h, "/api/runs", &got)
	status := map[string]string{}
	for _, r := range got.Runs {
		status[r.ID] = r.Status
		if r.ID == "b-live" && (r.Loss == nil || *r.Loss != 1.0/500 || *r.Progress != 0.5) {
			t.Errorf("the live run stands at %v, %v", r.Loss, r.Progress)
		}
	}
	want := map[string]string{"a-done": "done", "b-live": "running", "c-failed": "failed", "d/trials/p3-s1": "done",
		"e-corrupt": "corrupt", "g-killed": "killed"}
	if fmt.Sprint(status) != fmt.Sprint(want) {
		t.Errorf("%v\nwant %v", status, want)
	}
	live.Finish(nil, false)
	time.Sleep(lookEvery)
	ask(t, h, "/api/runs", &got)
	for _, r := range got.Runs {
		if r.ID == "b-live" && r.Status != "done" {
			t.Errorf("the live run is %s after its end", r.Status)
		}
	}
}

func TestARunWithItsResultIsAtItsEnd(t *testing.T) {
	srv, h := newServer(t)
	live := makeRun(t, srv.settings.Runs, "live", 2, 1, losses(1000)...)
	defer live.Finish(nil, false)
	live.WriteJSON("tables/result.json", map[string]any{"loss": 0.5})
	var got runsJSON
	if ask(t, h, "/api/runs", &got); got.Runs[0].Status != "running" || got.Runs[0].Progress == nil ||
		*got.Runs[0].Progress != 1 {
		t.Errorf("%+v", got.Runs)
	}
}

// Clocks are changed, and run.json may come from another machine.
func TestARunThatEndsBeforeItsStartShowsNoDuration(t *testing.T) {
	srv, h := newServer(t)
	done := makeRun(t, srv.settings.Runs, "done", 3, 1)
	done.Finish(nil, false)
	done.Info.Started = done.Info.Finished.Add(time.Hour)
	done.WriteJSON("run.json", done.Info)
	live := makeRun(t, srv.settings.Runs, "live", 3, 1)
	live.Info.Started = time.Now().Add(time.Hour)
	live.WriteJSON("run.json", live.Info)
	for range 2 { // from the files, and then from memory
		var got struct {
			Runs []struct {
				ID      string
				Seconds *float64
			}
		}
		ask(t, h, "/api/runs", &got)
		for _, r := range got.Runs {
			if r.Seconds != nil {
				t.Errorf("%s: %v seconds", r.ID, *r.Seconds)
			}
		}
		time.Sleep(lookEvery)
	}
}

type metricsJSON struct {
	Offset string
	Rows   int
	Note   string
	Curves []struct {
		Metrics map[string]struct{ X, Y []*float64 }
	}
}

func TestMetricsAreThinnedButKeepTheirExtremes(t *testing.T) {
	srv, h := newServer(t)
	lines := losses(20_000)
	lines[7777] = `{"step":7778,"loss":1e9,"norm":0}`
	makeRun(t, srv.settings.Runs, "a", 3, 1, lines...)
	var got metricsJSON
	ask(t, h, "/api/metrics?id=a&points=400", &got)
	loss := got.Curves[0].Metrics["loss"]
	if n := len(loss.Y); n > 600 || n < 100 || got.Rows != 20_000 {
		t.Errorf("%d points of %d", n, got.Rows)
	}
	spike := false
	for _, y := range loss.Y {
		spike = spike || y != nil && *y == 1e9
	}
	if !spike {
		t.Error("the spike is gone")
	}
}

// events reads server-sent events.
func events(t testing.TB, h *httptest.Server, path, last string) (next func() (kind, id, data string), stop func()) {
	t.Helper()
	req, _ := http.NewRequest("GET", h.URL+path, nil)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatalf("%s: %s", path, resp.Status)
	}
	timer := time.AfterFunc(90*time.Second, func() { resp.Body.Close() })
	br := bufio.NewReaderSize(resp.Body, 1<<20)
	return func() (kind, id, data string) {
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				t.Fatalf("the stream ended: %v", err)
			}
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "event: "):
				kind = line[7:]
			case strings.HasPrefix(line, "id: "):
				id = line[4:]
			case strings.HasPrefix(line, "data: "):
				data = line[6:]
			case line == "" && kind != "":
				return kind, id, data
			}
		}
	}, func() { timer.Stop(); resp.Body.Close() }
}

func steps(t testing.TB, data string) (out []float64) {
	t.Helper()
	var e struct {
		Curves []struct{ Values map[string][]float64 }
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		t.Fatal(err)
	}
	for _, c := range e.Curves {
		out = append(out, c.Values["step"]...)
	}
	return out
}

func TestAStreamGoesOnFromAnOffsetAndLosesNothing(t *testing.T) {
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "a", 3, 1, losses(10)...)
	var got metricsJSON
	ask(t, h, "/api/metrics?id=a", &got)
	next, stop := events(t, h, "/api/stream?id=a&from="+url.QueryEscape(got.Offset), "")
	if kind, _, data := next(); kind != "status" || !strings.Contains(data, "running") {
		t.Errorf("first %s %s", kind, data)
	}
	var seen []float64
	last := ""
	for k := 11; k <= 13; k++ {
		r.Append(map[string]int{"step": k})
		kind, id, data := next()
		if last = id; kind != "rows" {
			t.Fatalf("%s %s", kind, data)
		}
		seen = append(seen, steps(t, data)...)
	}
	stop()
	for k := 14; k <= 5000; k++ { // while no page watches
		r.Append(map[string]int{"step": k})
	}
	// a browser repeats the address it had
	next, stop = events(t, h, "/api/stream?id=a&from="+url.QueryEscape(got.Offset), last)
	defer stop()
	for len(seen) < 4990 {
		kind, _, data := next()
		if kind == "rows" {
			seen = append(seen, steps(t, data)...)
		}
	}
	for k, s := range seen {
		if s != float64(k+11) {
			t.Fatalf("step %v at place %d", s, k)
		}
	}
	r.Finish(nil, false)
	for {
		if kind, _, data := next(); kind == "status" && strings.Contains(data, "done") {
			break
		}
	}
}

func TestAStreamStartsAgainWhereTheFileWasReplaced(t *testing.T) {
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "a", 3, 1, losses(100)...)
	next, stop := events(t, h, "/api/stream?id=a", "")
	defer stop()
	if kind, _, data := next(); kind != "rows" || len(steps(t, data)) != 100 {
		t.Fatalf("%s %s", kind, data)
	}
	next() // status
	r.Finish(io.EOF, true)
	r, err := runlog.Resume(r.Dir, []any{map[string]int{"step": 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Finish(nil, false)
	for {
		kind, _, _ := next()
		if kind == "reset" {
			break
		}
	}
	if kind, _, data := next(); kind != "rows" || len(steps(t, data)) != 1 {
		t.Errorf("after the reset: %s %s", kind, data)
	}
}

func TestTrialsOfOnePAreAveraged(t *testing.T) {
	srv, h := newServer(t)
	root := srv.settings.Runs
	makeRun(t, root, "a", 3, 1, `{"step":1,"loss":1}`, `{"step":2,"loss":3}`).Finish(nil, false)
	makeRun(t, root, "b", 3, 2, `{"step":1,"loss":3}`, `{"step":2,"loss":3}`).Finish(nil, false)
	makeRun(t, root, "c", 1.5, 1, `{"step":1,"loss":7}`).Finish(nil, false)
	var got struct {
		Kinds []struct {
			Groups []struct {
				Name string
				Runs []string
			}
			Bands map[string][]struct{ X, Y, Low, High []float64 }
		}
		Differ []struct{ Name string }
	}
	ask(t, h, "/api/compare?run=a&run=b&run=c", &got)
	if len(got.Kinds) != 1 || len(got.Kinds[0].Groups) != 2 || got.Kinds[0].Groups[1].Name != "p = 3" ||
		len(got.Differ) != 2 {
		t.Fatalf("%+v", got)
	}
	b := got.Kinds[0].Bands["loss"][1]
	if b.Y[0] != 2 || math.Abs(b.High[0]-2-math.Sqrt2) > 1e-7 || b.Low[1] != 3 {
		t.Errorf("%+v", b)
	}
	makeRun(t, root, "d", 3, 1, `{"step":1,"loss":1}`, `{"step":2,"loss":3}`).Finish(nil, false) // the same seed again
	var again struct {
		Kinds []struct {
			Groups []struct {
				Runs   []string
				Trials int
			}
			Bands map[string][]struct{ Y, Low []float64 }
		}
	}
	ask(t, h, "/api/compare?run=a&run=b&run=d", &again)
	if g := again.Kinds[0].Groups[0]; len(g.Runs) != 3 || g.Trials != 2 || again.Kinds[0].Bands["loss"][0].Y[0] != 2 {
		t.Errorf("three runs of two seeds: %+v", again)
	}
	again.Kinds = nil
	ask(t, h, "/api/compare?run=a&run=d", &again)
	if g := again.Kinds[0].Groups[0]; g.Trials != 1 || again.Kinds[0].Bands["loss"][0].Low != nil {
		t.Errorf("two runs of one seed: %+v", again)
	}
	if code, _ := ask(t, h, "/api/compare", nil); code != 400 {
		t.Errorf("no runs at all: %d", code)
	}
}

func TestFiguresExportsReportsAndFilesCanBeDownloaded(t *testing.T) {
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "a", 3, 1, losses(10)...)
	r.WriteFile("tables/t.csv", []byte("x\n1\n"))
	r.WriteFile("report.html", []byte("<script>alert(1)</script>"))
	for path, want := range map[string]string{
		"/api/figure?run=a&metric=loss&to=svg": "<svg", "/api/figure?run=a&metric=loss&to=png": "\x89PNG",
		"/api/export?id=a&to=csv": "step,loss,norm\n1,1,0\n", "/api/export?id=a&to=npz": "PK",
		"/api/report?run=a": "Training loss", "/file?id=a&name=tables/t.csv": "x\n1\n",
		"/file?id=a&name=report.html": "<script>",
	} {
		resp, err := http.Get(h.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !bytes.Contains(data, []byte(want)) {
			t.Errorf("%s: %s %.100q", path, resp.Status, data)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "sandbox;") ||
			strings.Contains(csp, "script") {
			t.Errorf("%s could run scripts: %s", path, csp)
		}
	}
}

func TestTheTrajectoryOfAFitInThePlaneIsComputedAgain(t *testing.T) {
	srv, h := newServer(t)
	makeRun(t, srv.settings.Runs, "a", 2, 1, losses(3)...).WriteJSON("tables/result.json",
		map[string]any{"lr": 1e-3, "steps": 1000})
	var got struct {
		Step, U, Angle []*float64
		W, X           [][]float64
	}
	ask(t, h, "/api/weights?id=a", &got)
	n := len(got.Step)
	if n < 40 || *got.Step[n-1] != 1000 || len(got.W) != n || len(got.W[0]) != 2 || len(got.X) != 15 || len(got.U) != 2 {
		t.Fatalf("%+v", got)
	}
	if first, last := *got.Angle[1], *got.Angle[n-1]; last > first {
		t.Errorf("the angle to the max margin grows, from %v to %v", first, last)
	}
	soft := makeRun(t, srv.settings.Runs, "soft", 2, 1)
	maps.Copy(soft.Info.Settings.(map[string]any), map[string]any{"data": "r2var:2", "method": "auto", "lr": 0})
	soft.WriteJSON("run.json", soft.Info)
	soft.WriteJSON("tables/result.json", map[string]any{"lr": 0, "soft": 0.4, "steps": 20})
	fit := linearmodel.Fit{Data: "r2var:2", P: []float64{2}, Loss: "exp", Steps: 1000}
	want, err := fit.Replay(t.Context(), 0, 0.4, 20)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, h, "/api/weights?id=soft", &got)
	for k, w := range want.W { // answers have eight digits
		if len(got.W) != len(want.W) || math.Abs(got.W[k][0]-w[0]) > 1e-6 || math.Abs(got.W[k][1]-w[1]) > 1e-6 {
			t.Fatalf("a soft margin: %v, want %v", got.W, want.W)
		}
	}
	r := makeRun(t, srv.settings.Runs, "file", 2, 1)
	r.Info.Settings.(map[string]any)["data"] = "/etc/passwd"
	r.WriteJSON("run.json", r.Info)
	if code, body := ask(t, h, "/api/weights?id=file", nil); code != 200 || body != "{}" {
		t.Errorf("a file: %d %s", code, body)
	}
}

// epochs are lines of a network's metrics.
func epochs(from, to int) (lines []string) {
	for k := from; k <= to; k++ {
		lines = append(lines,
			fmt.Sprintf(`{"epoch":%d,"loss":%g,"accuracy":0.5,"test_loss":1,"test_accuracy":0.6,"lr":0.1,"img_per_second":100,"norm":%d,"norm_1":9,"norm_2":2,"norm_inf":1,"divergence_start":%d,"margin_low":-0.1,"margin_median":0.2,"elapsed":1,"sizes":{"below":1,"from":-6,"counts":[%d,5,2]}}`,
				k, 1/float64(k), k, k, k))
	}
	return lines
}

// makeNetwork writes the run folder of a network.
func makeNetwork(t testing.TB, root, name string, p float64, seed uint64, lines ...string) *runlog.Run {
	t.Helper()
	r := makeRun(t, root, name, p, seed, lines...)
	r.Info.Command, r.Info.Data, r.Info.Settings = "train", "cifar10", map[string]any{"model": "cnn", "p": []float64{p},
		"seed": seed, "epochs": 20}
	if err := r.WriteJSON("run.json", r.Info); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHistogramsOfANetworkComeWithItsMetricsAndItsStream(t *testing.T) {
	srv, h := newServer(t)
	r := makeNetwork(t, srv.settings.Runs, "a", 2, 1, epochs(1, 450)...)
	var got struct {
		Offset string
		Curves []struct {
			Curve int
			Sizes []struct {
				At, From float64
				Below    int
				Counts   []int
			}
		}
		Metrics []struct{ Name, Part string }
	}
	ask(t, h, "/api/metrics?id=a", &got)
	sizes := got.Curves[0].Sizes
	if n := len(sizes); n < shownSizes/2 || n > shownSizes+1 || sizes[0].At != 1 || sizes[n-1].At != 450 ||
		sizes[n-1].Counts[0] != 450 || sizes[0].From != -6 {
		t.Errorf("%d histograms: %+v", n, sizes[max(0, n-1):])
	}
	parts := map[string]string{}
	for _, m := range got.Metrics {
		parts[m.Name] = m.Part
	}
	if parts["loss"] != "Learning" || parts["norm_1"] != "Geometry" || parts["lr"] == "" || parts["elapsed"] != "" {
		t.Errorf("parts %v", parts)
	}
	next, stop := events(t, h, "/api/stream?id=a&from="+url.QueryEscape(got.Offset), "")
	defer stop()
	if err := r.Append(json.RawMessage(epochs(451, 451)[0])); err != nil {
		t.Fatal(err)
	}
	for {
		kind, _, data := next()
		if kind == "status" {
			continue
		}
		if kind != "rows" || !strings.Contains(data, `"sizes":[{"at":451,"below":1,"from":-6,"counts":[451,5,2]}]`) {
			t.Errorf("%s %s", kind, data)
		}
		break
	}
}

// A sweep, a reproduction and verify write results, each with a name, and not curves of one point.
func TestResultsAreNoCurves(t *testing.T) {
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "sweep", 2, 1,
		`{"run":"p2-s1","seed":1,"settings":{"p":"2"},"result":{"p":2,"test_accuracy":0.9}}`,
		`{"run":"p3-s1","seed":1,"settings":{"p":"3"},"result":{"p":3,"test_accuracy":0.8}}`)
	makeRun(t, srv.settings.Runs, "sweep/trials/p2-s1", 2, 1, losses(3)...).Finish(nil, false)
	makeRun(t, srv.settings.Runs, "sweep/trials/p3-s1", 3, 1, losses(3)...).Finish(nil, false)
	for _, done := range []bool{false, true} {
		if done {
			r.Finish(nil, false)
		}
		var got struct {
			Curves  []any
			Results []struct {
				Name   string
				P      float64
				Values map[string]float64
			}
			Columns []struct{ Name string }
		}
		ask(t, h, "/api/metrics?id=sweep", &got)
		if len(got.Curves) != 0 || len(got.Results) != 2 || got.Results[1].Name != "p3-s1, seed 1" || got.Results[1].P != 3 ||
			got.Results[1].Values["test_accuracy"] != 0.8 || len(got.Columns) != 1 {
			t.Errorf("done: %v: %+v", done, got)
		}
	}
	var run struct {
		Inner []struct {
			ID, Inside string
			Loss       float64
		}
		Differ []struct{ Name string }
	}
	ask(t, h, "/api/run?id=sweep", &run)
	if len(run.Inner) != 2 || run.Inner[0].Inside != "sweep" || len(run.Differ) != 1 || run.Differ[0].Name != "p" {
		t.Errorf("%+v", run)
	}
	var list struct {
		Runs []struct{ ID, Inside string }
	}
	ask(t, h, "/api/runs", &list)
	for _, r := range list.Runs {
		if (r.Inside == "sweep") != strings.HasPrefix(r.ID, "sweep/") {
			t.Errorf("%s is inside %q", r.ID, r.Inside)
		}
	}
}

// The curve of a penalised fit has the gap of its objective, its result has none of a margin: no view calls the one the
// other.
func TestAllViewsHaveTheSameNumbersOfARun(t *testing.T) {
	srv, h := newServer(t)
	r := makeRun(t, srv.settings.Runs, "a", 2, 1, `{"step":1,"loss":1,"gap":2}`,
		`{"step":9,"loss":0.00278,"margin":1.08,"gap":2.913e-6}`)
	if err := r.WriteJSON("tables/result.json", map[string]any{"method": "newton", "loss": 0.00278, "excess": 3e-8,
		"margin": 1.08, "gap": nil}); err != nil {
		t.Fatal(err)
	}
	r.Finish(nil, false)
	type own struct{ Loss, Margin, Gap *float64 }
	var list struct{ Runs []own }
	var page struct{ Summary own }
	var several struct{ Loss, Margin, Gap []*float64 }
	ask(t, h, "/api/runs", &list)
	ask(t, h, "/api/run?id=a", &page)
	ask(t, h, "/api/compare?run=a", &several)
	for view, got := range map[string]own{"list": list.Runs[0], "page": page.Summary,
		"compare": {several.Loss[0], several.Margin[0], several.Gap[0]}} {
		if got.Loss == nil || *got.Loss != 0.00278 || got.Margin == nil || *got.Margin != 1.08 || got.Gap != nil {
			t.Errorf("%s: %+v", view, got)
		}
	}
	if _, html := ask(t, h, "/api/report?run=a", nil); strings.Contains(html, "2.913e-06") {
		t.Error("the report has a gap")
	}
}
