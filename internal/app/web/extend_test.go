package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// A form may name a run to start from, by its ID; nothing outside the folder of runs.
func TestAFormExtendsARun(t *testing.T) {
	srv, _ := newServer(t, func(s *Serve) { s.AllowRun = true })
	root := srv.settings.Runs
	r, err := runlog.CreateAt(filepath.Join(root, "sweep", "trials", "p3-s1-ab"), runlog.Info{Command: "train",
		Settings: map[string]any{"model": "cnn", "data": "fashion-sample", "p": []float64{3}, "epochs": 7, "batch": 40,
			"lr": 0.3, "schedule": "constant", "seed": 1, "trials": 1, "precision": "float32", "engine": "cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile("weights.safetensors", nil); err != nil {
		t.Fatal(err)
	}
	r.Finish(nil, false)
	p, err := srv.settings.arguments("train", map[string]string{"init": "sweep/trials/p3-s1-ab", "epochs": "2"})
	if want := "--init=" + r.Dir; err != nil || !strings.Contains(strings.Join(p.args, " "), want) {
		t.Errorf("%v, want %s: %v", p.args, want, err)
	}
	outside := filepath.Join(filepath.Dir(root), "outside")
	if err := os.CopyFS(outside, os.DirFS(r.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../outside", outside, "sweep/trials/none", ".", "sweep"} {
		if p, err := srv.settings.arguments("train", map[string]string{"init": id}); err == nil {
			t.Errorf("%q: %v", id, p.args)
		}
	}
}
