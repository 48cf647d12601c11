package web

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// program builds the command once: the page starts real runs.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bregman-web-test")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bregman")
	out, err := exec.Command("go", "build", "-o", path, "../../../cmd/bregman").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		path, _ := program()
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

var built bool // a test needed the program

// runner is a server that may start runs.
func runner(t *testing.T) (*Server, *httptest.Server) {
	t.Helper()
	if testing.Short() {
		t.Skip("building the program takes seconds")
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	built = true
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	srv.jobs.program = path
	return srv, h
}

type jobsJSON struct {
	Jobs []struct {
		Job                               int
		Command, Status, Output, Messages string
		Runs                              []string
		Progress                          *float64
	}
}

func start(t *testing.T, h *httptest.Server, command string, settings map[string]string) (int, string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"command": command, "settings": settings})
	resp, text := send2(t, h, "POST", "/api/start", string(body), map[string]string{"Content-Type": "application/json"})
	return resp.StatusCode, text
}

// wait waits until the newest job is no longer running.
func wait(t *testing.T, h *httptest.Server) jobsJSON {
	t.Helper()
	for range 300 {
		var got jobsJSON
		ask(t, h, "/api/jobs", &got)
		if got.Jobs[0].Status != "running" {
			return got
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("it does not end")
	return jobsJSON{}
}

func TestWithoutAllowRunNothingStarts(t *testing.T) {
	_, h := newServer(t)
	if code, body := start(t, h, "fit", map[string]string{"data": "r2"}); code != 403 ||
		!strings.Contains(body, "--allow-run") {
		t.Errorf("%d %s", code, body)
	}
	for _, path := range []string{"/api/forms", "/api/jobs"} {
		if code, _ := ask(t, h, path, nil); code != 403 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// Without --allow-run a page neither shows the forms nor asks for them: the browser would log an error.
func TestThePageHasALinkToTheFormsIfRunsAreAllowed(t *testing.T) {
	for _, allow := range []bool{false, true} {
		_, h := newServer(t, func(s *Serve) { s.AllowRun = allow })
		_, page := ask(t, h, "/run", nil)
		link := regexp.MustCompile(`<a[^>]*id="nav-start"[^>]*>`).FindString(page)
		if link == "" || strings.Contains(link, "hidden") == allow {
			t.Errorf("runs allowed: %v, link %s", allow, link)
		}
	}
}

func TestTheFormHasTheSettingsOfTheCommandLine(t *testing.T) {
	all, err := forms()
	if err != nil {
		t.Fatal(err)
	}
	find := func(command, name string) field {
		for _, f := range all {
			for _, in := range f.Fields {
				if f.Command == command && in.Name == name {
					return in
				}
			}
		}
		t.Errorf("%s has no %s", command, name)
		return field{}
	}
	if f := find("fit", "method"); f.Kind != "choice" || len(f.Choices) < 3 || f.Default != "auto" {
		t.Errorf("%+v", f)
	}
	if f := find("fit", "data"); !f.Required || f.Help == "" {
		t.Errorf("%+v", f)
	}
	if f := find("train", "p"); f.Kind != "list" || f.Default != "2,3" {
		t.Errorf("%+v", f)
	}
	if f := find("margin", "support"); f.Kind != "flag" {
		t.Errorf("%+v", f)
	}
	for _, f := range all {
		for _, in := range f.Fields {
			for _, no := range []string{"runs", "out", "json", "resume", "data-dir"} {
				if in.Name == no {
					t.Errorf("the page has --%s of %s", no, f.Command)
				}
			}
		}
	}
}

func TestSettingsAreCheckedAsOnTheCommandLine(t *testing.T) {
	_, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	for want, c := range map[string]struct {
		command  string
		settings map[string]string
	}{
		"from 1 to inf":              {"fit", map[string]string{"data": "r2", "p": "0.5"}},
		"above 1":                    {"fit", map[string]string{"data": "r2", "p": "1", "objective": "margin"}},
		"Data is needed":             {"fit", nil},
		"Certified gap is about":     {"fit", map[string]string{"data": "r2", "gap": "1e-2", "loss": "square"}},
		"choose auto, exp":           {"fit", map[string]string{"data": "r2", "loss": "x"}},
		"is not a setting":           {"fit", map[string]string{"data": "r2", "out": "/tmp/x"}},
		"choose fit":                 {"doctor", nil},
		"choose auto":                {"train", map[string]string{"engine": "/tmp/evil.so"}},
		"Data: name a built-in set":  {"fit", map[string]string{"data": "/etc/passwd"}},
		"inside the folder":          {"fit", map[string]string{"data": "../x"}},
		"no such file":               {"fit", map[string]string{"data": "x.svm"}},
		"a line break":               {"fit", map[string]string{"data": "r2\n--out=x"}},
		"is not a whole":             {"fit", map[string]string{"data": "r2", "steps": "1.5"}},
		"Epochs -1: want at least 1": {"train", map[string]string{"epochs": "-1"}},
	} {
		if code, body := start(t, h, c.command, c.settings); code != 400 || !strings.Contains(body, want) {
			t.Errorf("%v: %d %s, want %q", c, code, body, want)
		}
	}
}

func TestARunIsStartedWatchedAndCanceled(t *testing.T) {
	srv, h := runner(t)
	if code, body := start(t, h, "fit", map[string]string{"data": "r2", "p": "3", "steps": "1000"}); code != 200 {
		t.Fatal(code, body)
	}
	got := wait(t, h)
	if j := got.Jobs[0]; j.Status != "done" || !strings.Contains(j.Output, "margin") ||
		j.Command != "bregman fit --data r2 --p 3 --steps 1000 --runs "+srv.settings.Runs {
		t.Errorf("%+v", j)
	}
	time.Sleep(lookEvery)
	ask(t, h, "/api/jobs", &got)
	if len(got.Jobs[0].Runs) != 1 || !strings.Contains(got.Jobs[0].Runs[0], "fit-p3-r2") {
		t.Errorf("runs %v", got.Jobs[0].Runs)
	}

	if code, body := start(t, h, "fit", map[string]string{"data": "r100", "p": "3", "steps": "1e12",
		"lr": "1e-9"}); code != 200 {
		t.Fatal(code, body)
	}
	if code, body := start(t, h, "fit", map[string]string{"data": "r100", "steps": "1e12", "lr": "1e-9"}); code != 200 {
		t.Fatal(code, body)
	}
	if code, _ := start(t, h, "margin", map[string]string{"data": "r2"}); code != 429 {
		t.Errorf("a third at once: %d", code)
	}
	for { // until it has its folder
		ask(t, h, "/api/jobs", &got)
		if len(got.Jobs[1].Runs) == 1 && len(got.Jobs[0].Runs) == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, id := range []string{"2", "3"} {
		if resp, body := send2(t, h, "POST", "/api/cancel", `{"job":`+id+`}`,
			map[string]string{"Content-Type": "application/json"}); resp.StatusCode != 200 {
			t.Error(body)
		}
	}
	got = wait(t, h)
	if j := got.Jobs[0]; j.Status != "canceled" {
		t.Errorf("%+v", j)
	}
	time.Sleep(lookEvery)
	var list runsJSON
	ask(t, h, "/api/runs", &list)
	if s := list.Runs[0].Status; s != "interrupted" {
		t.Errorf("the status in the folder is %s", s)
	}
}

func TestTheRunsOfACommandAreCountedWithItsDefaults(t *testing.T) {
	srv, _ := newServer(t, func(s *Serve) { s.AllowRun = true })
	for _, c := range []struct {
		command  string
		settings map[string]string
		want     int
	}{
		{"train", nil, 2}, // p = 2 and 3
		{"train", map[string]string{"trials": "3"}, 6},
		{"train", map[string]string{"p": "2", "trials": "3"}, 3},
		{"train", map[string]string{"p": "1.1,2,3,10"}, 4},
		{"fit", map[string]string{"data": "r2"}, 1},
		{"fit", map[string]string{"data": "r2", "p": "1.1,2,3", "cv": "5"}, 1}, // one run that chooses
	} {
		p, err := srv.settings.arguments(c.command, c.settings)
		if err != nil {
			t.Fatal(err)
		}
		if got := runsOf(p.command); got != c.want {
			t.Errorf("%q has %d runs, want %d", p.args, got, c.want)
		}
	}
}

func TestRunsEndWithTheServer(t *testing.T) {
	srv, h := runner(t)
	if code, body := start(t, h, "fit", map[string]string{"data": "r100", "steps": "1e12", "lr": "1e-9"}); code != 200 {
		t.Fatal(code, body)
	}
	time.Sleep(200 * time.Millisecond)
	srv.jobs.stop()
	if srv.jobs.all[0].ended().IsZero() {
		t.Error("it continues")
	}
}
