package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// trainRun writes the folder of a network that trains for ten epochs of 100 steps, of which it has done so many.
func trainRun(t testing.TB, root, name string, steps int) *runlog.Run {
	t.Helper()
	r, err := runlog.CreateAt(filepath.Join(root, filepath.FromSlash(name)), runlog.Info{Command: "train",
		Data: "fashion-sample", Engine: "cpu", Settings: map[string]any{"p": []float64{3}, "epochs": 10, "model": "cnn"}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for k := 1; k <= steps; k++ {
		fmt.Fprintf(&b, `{"step":%d,"epoch":%g,"loss":%g,"gradient_norm":2,"seconds":%g,"left":%g}`+"\n", k,
			float64(k)/100, 1/float64(k), float64(k)/10, float64(1000-k)/10)
	}
	put(t, r, train.StepsFile, b.String())
	for k := range steps / 100 {
		if err := r.Append(map[string]any{"epoch": k + 1, "loss": 1}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func put(t testing.TB, r *runlog.Run, name, text string) {
	t.Helper()
	os.MkdirAll(filepath.Dir(r.Path(name)), 0o777)
	if err := os.WriteFile(r.Path(name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

type liveJSON struct {
	Status         string
	Progress, Left *float64
	Step           int
	Epoch          *float64
	Steps, Machine map[string]struct{ X, Y []*float64 }
	Note           string
}

// In the middle of its first epoch a run has curves, progress and an estimate, in its own answer and in the list; what
// is left gets less while nothing is written.
func TestARunIsFollowedWithinAnEpoch(t *testing.T) {
	srv, h := newServer(t)
	r := trainRun(t, srv.settings.Runs, "live", 50)
	defer r.Finish(nil, false)
	put(t, r, command.MachineFile, `{"seconds":2,"cpu":1.5,"memory":1e8}`+"\n"+
		`{"seconds":7,"cpu":1.6,"memory":2e8,"gpu":0.9}`+"\n")
	var got liveJSON
	ask(t, h, "/api/live?id=live&points=20", &got)
	loss := got.Steps["loss"]
	if got.Status != "running" || *got.Progress != 0.05 || got.Step != 50 || *got.Epoch != 0.5 || got.Note != "" ||
		!(*got.Left > 80 && *got.Left <= 95) {
		t.Errorf("%+v", got)
	}
	if n := len(loss.X); n < 10 || n > 25 || *loss.X[0] != 1 || *loss.Y[n-1] != 0.02 ||
		len(got.Steps["gradient_norm"].Y) == 0 || len(got.Steps) != 2 {
		t.Errorf("%+v", got.Steps)
	}
	if len(got.Machine["cpu"].X) != 2 || len(got.Machine["gpu"].X) != 1 || len(got.Machine) != 3 {
		t.Errorf("%+v", got.Machine)
	}
	listed := func() (progress, left float64) {
		var list struct {
			Runs []struct{ Progress, Left *float64 }
		}
		if ask(t, h, "/api/runs", &list); list.Runs[0].Progress == nil || list.Runs[0].Left == nil {
			t.Fatalf("%+v", list)
		}
		return *list.Runs[0].Progress, *list.Runs[0].Left
	}
	_, before := listed()
	time.Sleep(2 * time.Second)
	progress, after := listed()
	if progress != 0.05 || after > before-1 || after < before-60 {
		t.Errorf("progress %v, %v and then %v seconds left", progress, before, after)
	}
	f, err := os.OpenFile(r.Path(train.StepsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, `{"step":51,"epoch":0.51,"loss":1,"gradient_norm":2,"seconds":5.1,"left":50}`+"\n"+`{"step":52,"ep`)
	f.Close()
	time.Sleep(lookEvery)
	if progress, left := listed(); progress != 0.051 || left > 50 {
		t.Errorf("progress %v, %v seconds left after one more step", progress, left)
	}
	old := time.Now().Add(-time.Hour)
	os.Chtimes(r.Path(train.StepsFile), old, old)
	got = liveJSON{}
	if ask(t, h, "/api/live?id=live", &got); got.Left != nil {
		t.Errorf("an estimate that is used up: %v seconds", *got.Left)
	}
}

// A run that was stopped says why, and has a command that continues it if there is something to continue from.
func TestARunSaysWhyItEndedAndHowToResumeIt(t *testing.T) {
	srv, h := newServer(t)
	root := srv.settings.Runs
	kill := func(r *runlog.Run) {
		r.Finish(nil, false)
		r.Info.Status, r.Info.Finished = runlog.Running, time.Time{} // as it was, but no process holds the lock
		r.WriteJSON("run.json", r.Info)
	}
	checkpoint := func(r *runlog.Run) *runlog.Run {
		put(t, r, "checkpoints/epoch-00002.safetensors", "")
		return r
	}
	kill(checkpoint(trainRun(t, root, "a killed one", 250)))
	kill(trainRun(t, root, "no-checkpoint", 20))
	checkpoint(trainRun(t, root, "interrupted", 300)).Finish(errors.New("context canceled"), true)
	checkpoint(trainRun(t, root, "failed", 300)).Finish(errors.New("the disk is full"), false)
	diverged := checkpoint(trainRun(t, root, "diverged", 300))
	diverged.Info.Diverged = true
	diverged.Finish(errors.New("the loss is NaN"), false)
	checkpoint(trainRun(t, root, "done", 1000)).Finish(nil, false)
	running := checkpoint(trainRun(t, root, "running", 300))
	defer running.Finish(nil, false)
	fit := makeRun(t, root, "fit", 3, 1, losses(30)...)
	put(t, fit, "checkpoints/fit.safetensors", "")
	fit.Finish(errors.New("context canceled"), true)
	outer := trainRun(t, root, "sweep", 0)
	outer.Info.Command = "sweep"
	put(t, outer, "plan.json", "{}")
	kill(outer)
	kill(checkpoint(trainRun(t, root, "sweep/work/p3-s1", 100)))

	in := func(id string) string { return filepath.Join(root, filepath.FromSlash(id)) }
	for id, want := range map[string]struct{ ended, resume string }{
		"a killed one": {"was killed, or the machine stopped. It last wrote on ",
			"bregman train --resume '" + in("a killed one") + "'"},
		"no-checkpoint":    {", after 0.2 of 10 epochs.", ""},
		"interrupted":      {"It was interrupted, by Ctrl-C", "bregman train --resume " + in("interrupted")},
		"failed":           {", after 3 of 10 epochs: the disk is full", "bregman train --resume " + in("failed")},
		"diverged":         {"the loss is NaN", ""},
		"done":             {"", ""},
		"running":          {"", ""},
		"fit":              {"after step 30", "bregman fit --resume " + in("fit")},
		"sweep":            {"was killed", "bregman sweep resume " + in("sweep")},
		"sweep/work/p3-s1": {"after 1 of 10 epochs", "bregman sweep resume " + in("sweep")},
	} {
		var got struct{ Ended, Resume string }
		ask(t, h, "/api/run?id="+url.QueryEscape(id), &got)
		if !strings.Contains(got.Ended, want.ended) || (got.Ended == "") != (want.ended == "") || got.Resume != want.resume {
			t.Errorf("%s: %q, %q", id, got.Ended, got.Resume)
		}
	}
}

// FuzzLive: whatever the two files hold, the answer is JSON of bounded size, and its columns grow.
func FuzzLive(f *testing.F) {
	root := f.TempDir()
	r := trainRun(f, root, "live", 10)
	srv, err := New(Serve{Runs: root, Limit: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"step":1,"epoch":0.1,"loss":1,"gradient_norm":null,"seconds":1,"left":3}`+"\n"),
		[]byte(`{"seconds":1,"cpu":2}`+"\n"))
	f.Add([]byte(`{"step":2,"loss":1e308}`+"\n"+`{"step":1,"loss":1}`+"\n{\"st"), []byte("\x00\n\n[]\nnull\n"))
	f.Add([]byte(`{"step":-1}`+"\n"+`{"step":1e3}`+"\n"), []byte(`{"seconds":-1}`+"\n"+`{"seconds":1e300}`+"\n"))
	f.Fuzz(func(t *testing.T, steps, machine []byte) {
		put(t, r, train.StepsFile, string(steps))
		put(t, r, command.MachineFile, string(machine))
		folder, err := runlog.OpenFolder(r.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		for _, most := range []int64{10, 1 << 20} {
			a, _ := readSteps(folder, most)
			b, _ := readMachine(folder, most)
			for _, c := range []*columns{a, b} {
				for k := 1; k < len(c.x); k++ {
					if !(c.x[k] > c.x[k-1]) {
						t.Fatalf("%v after %v", c.x[k], c.x[k-1])
					}
				}
				for k, y := range c.y {
					if len(y) != len(c.x) {
						t.Fatalf("%s has %d of %d rows", c.names[k], len(y), len(c.x))
					}
				}
			}
		}
		s := summarise(folder, "live")
		if p := float64(s.Progress); p < 0 || p > 1 || float64(s.Left) < 0 {
			t.Errorf("progress %v, %v seconds left", p, float64(s.Left))
		}
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/api/live?id=live&points=8", nil)
		srv.Handler().ServeHTTP(w, req)
		var got liveJSON
		if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 || err != nil {
			t.Fatalf("%d %v: %s", w.Code, err, w.Body)
		}
		for _, c := range got.Steps {
			if len(c.X) > 40 {
				t.Errorf("%d points", len(c.X))
			}
		}
	})
}
