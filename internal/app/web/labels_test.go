package web

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// Trials are named by what varies, as the plan of their sweep says now; a run names the one that it started from.
func TestTrialsHaveLabels(t *testing.T) {
	srv, h := newServer(t)
	root := srv.settings.Runs
	makeRun(t, root, "sweep", 2, 1).Finish(nil, false)
	makeRun(t, root, "sweep/trials/p2-s1-ab12", 2, 1, losses(3)...).Finish(nil, false)
	makeRun(t, root, "sweep/trials/p3-s1-cd34", 3, 1, losses(3)...).Finish(nil, false)
	plan := func(text string) {
		if err := os.WriteFile(filepath.Join(root, "sweep", "plan.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	plan(`{"runs":[{"id":"ab12","seed":1,"vary":[{"Key":"lr","Value":"0.2"},{"Key":"p","Value":"2"}]},
		{"id":"ef56","seed":1,"vary":[{"Key":"lr","Value":"0.4"},{"Key":"p","Value":"3"}]}]}`)
	next, err := runlog.CreateAt(filepath.Join(root, "next"), runlog.Info{Command: "train", From: "p2-s1-ab12"})
	if err != nil {
		t.Fatal(err)
	}
	next.Finish(nil, false)
	other, err := runlog.CreateAt(filepath.Join(root, "other"), runlog.Info{Command: "train", From: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	other.Finish(nil, false)
	type one struct{ ID, Label, From string }
	check := func(want map[string]one) {
		t.Helper()
		var list struct{ Runs []one }
		ask(t, h, "/api/runs", &list)
		for _, r := range list.Runs {
			if w := want[r.ID]; r.Label != w.Label || r.From != w.From {
				t.Errorf("%+v, want %+v", r, w)
			}
			var page struct{ Summary one }
			if ask(t, h, "/api/run?id="+r.ID, &page); page.Summary != r {
				t.Errorf("the page has %+v, the list %+v", page.Summary, r)
			}
		}
		if len(list.Runs) != 5 {
			t.Errorf("%+v", list.Runs)
		}
	}
	want := map[string]one{"sweep/trials/p2-s1-ab12": {Label: "p2-lr0.2-s1"},
		"sweep/trials/p3-s1-cd34": {Label: "p3-s1"}, "next": {From: "sweep/trials/p2-s1-ab12"}, "other": {From: "gone"}}
	check(want)
	plan(`{"runs":[{"id":"ab12","seed":1,"vary":[{"Key":"p","Value":"2"},{"Key":"unit","Value":"init"}]},
		{"id":"ef56","seed":1,"vary":[{"Key":"p","Value":"3"},{"Key":"unit","Value":"init"}]}]}`)
	time.Sleep(lookEvery)
	want["sweep/trials/p2-s1-ab12"] = one{Label: "p2-s1"}
	check(want)
	plan("{") // half a plan: the labels are gone, the runs are not
	time.Sleep(lookEvery)
	want["sweep/trials/p2-s1-ab12"], want["sweep/trials/p3-s1-cd34"] = one{}, one{}
	check(want)
}
