package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/runlog"
)

// threeRuns are runs of p = 2, 3 and 10 with other rates, the last of them still running.
func threeRuns(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for k, p := range []float64{2, 3, 10} {
		r, err := runlog.CreateAt(filepath.Join(root, fmt.Sprintf("2026111%d-000000-train-cnn-p%v", k, p)),
			runlog.NewInfo(runlog.Info{Command: "train", Data: "digits", Seed: 1, Settings: map[string]any{"model": "cnn",
				"p": []any{p}, "lr": 0.1 * float64(k+1), "epochs": 20, "schedule": "cosine"}}))
		if err != nil {
			t.Fatal(err)
		}
		r.Append(map[string]any{"p": p, "epoch": 1, "loss": 0.5, "test_accuracy": 0.8 + float64(k)/100})
		if k < 2 {
			if err := r.Finish(nil, false); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Cleanup(func() { r.Finish(nil, false) })
		}
	}
	return root
}

// listed runs `bregman runs list` and returns what it prints.
func listed(t *testing.T, r *RunsList) string {
	t.Helper()
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	result, err := r.Do(t.Context(), &command.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	result.Print(&b)
	return b.String()
}

func TestRunsAreFilteredAndSorted(t *testing.T) {
	root := threeRuns(t)
	if _, err := said([]string{filepath.Join(root, "20261110-000000-train-cnn-p2")}, func(a *runlog.About) {
		a.Name, a.Tags, a.Note = "plain SGD", []string{"paper", "first"}, "as printed\nby the paper"
	}); err != nil {
		t.Fatal(err)
	}
	p2, p3, p10 := "plain SGD", "cnn-p3", "cnn-p10"
	for _, c := range []struct {
		filter string
		want   []string
	}{
		{"", []string{p2, p3, p10}}, {"p=3", []string{p3}}, {"p!=3", []string{p2, p10}}, {"p>2", []string{p3, p10}},
		{"p>=3 lr<0.25", []string{p3}}, {"lr=0.2", []string{p3}}, {"--lr=0.2", []string{p3}}, {"tag:paper", []string{p2}},
		{"tag!=paper", []string{p3, p10}}, {"sgd", []string{p2}}, {"PRINTED", []string{p2}}, {"nowhere", nil},
		{"accuracy>0.805", []string{p3, p10}}, {"status=running", []string{p10}}, {"model=CNN", []string{p2, p3, p10}},
		{"name=plain*", nil}, {"schedule=cosine p10", []string{p10}}, {"depth>3", nil},
		{"epochs<=20 seed=1 p=2", []string{p2}},
	} {
		got := listed(t, &RunsList{Runs: root, Sort: "started", Filter: strings.Fields(c.filter)})
		at := 0
		for _, w := range c.want {
			k := strings.Index(got[at:], w)
			if k < 0 {
				t.Errorf("%q: no %s after letter %d:\n%s", c.filter, w, at, got)
				break
			}
			at += k
		}
		if n := strings.Count(got, "digits"); n != len(c.want) {
			t.Errorf("%q: %d runs, want %d:\n%s", c.filter, n, len(c.want), got)
		}
	}
	got := listed(t, &RunsList{Runs: root, Sort: "-accuracy"})
	if !(strings.Index(got, p10) < strings.Index(got, p3) && strings.Index(got, p3) < strings.Index(got, p2)) {
		t.Errorf("not by accuracy:\n%s", got)
	}
	for want, there := range map[string]bool{"lr": true, "schedule": false, "margin": false, "tags": true, "note": true,
		"paper": true, "as printed …": true, "82.00": true, "command": false} {
		if strings.Contains(got, want) != there {
			t.Errorf("%q is there: %v:\n%s", want, !there, got)
		}
	}
	result, err := (&RunsList{Runs: root, Sort: "started"}).Do(t.Context(), &command.Env{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(result.JSON())
	if err != nil || !bytes.Contains(data, []byte(`"settings":{"epochs":20`)) || !bytes.Contains(data,
		[]byte(`"name":"plain SGD"`)) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestWhatIsSaidOfRunsIsChecked(t *testing.T) {
	for want, c := range map[string]command.Command{
		"compares numbers":         &RunsList{Filter: []string{"p>x"}},
		"want KEY=VALUE":           &RunsList{Filter: []string{"=3"}},
		"one line":                 &RunsName{Run: "x", Name: "a\nb"},
		"at most 100":              &RunsName{Run: "x", Name: strings.Repeat("a", 101)},
		"a note of 10001":          &RunsNote{Run: "x", Note: strings.Repeat("a", 10_001)},
		"without spaces":           &RunsTag{Words: []string{"runs/x", "+a b"}},
		"want run folders":         &RunsTag{Words: []string{"runs/x"}},
		"want run folders and tag": &RunsTag{Words: []string{"+x"}},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Several programs tag at once; a folder that is no run stops none of the others; what was broken costs the name only.
func TestTagsAreAddedAtOnce(t *testing.T) {
	root := threeRuns(t)
	run := filepath.Join(root, "20261110-000000-train-cnn-p2")
	var wg sync.WaitGroup
	for k := range 20 {
		wg.Go(func() {
			if _, err := (&RunsTag{Words: []string{run, fmt.Sprintf("+t%d", k)}}).Do(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	about := func() runlog.About {
		f, err := runlog.OpenFolder(run)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a, err := f.About()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := about(); len(a.Tags) != 20 {
		t.Errorf("tags %v", a.Tags)
	}
	_, err := (&RunsTag{Words: []string{filepath.Join(root, "none"), run, "-t3", "+t4"}}).Do(t.Context(), nil)
	if a := about(); err == nil || !strings.Contains(err.Error(), "none") || len(a.Tags) != 19 {
		t.Errorf("%v, %v", a.Tags, err)
	}
	if err := os.WriteFile(filepath.Join(run, "about.json"), []byte(`{"name": 3`), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, &RunsList{Runs: root, Sort: "started"}); strings.Count(got, "digits") != 3 {
		t.Error(got)
	}
	if _, err := (&RunsName{Run: run, Name: "x"}).Do(t.Context(), nil); err == nil {
		t.Error("a broken file was replaced")
	}
}
