package command

import (
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// A run that is resumed keeps what was said of it where there is nothing new.
func TestLabelsArePutOnARun(t *testing.T) {
	run, err := runlog.Create(t.TempDir(), "x", runlog.Info{Command: "fit"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Finish(nil, false)
	about := func() runlog.About {
		f, err := runlog.OpenFolder(run.Dir)
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
	for _, step := range []struct {
		labels Labels
		want   string
	}{
		{Labels{}, "||"}, {Labels{Name: "first", Tag: []string{"b", "a"}}, "first, p = 3|a b|"},
		{Labels{Note: "slow", Tag: []string{"b", "c"}}, "first, p = 3|a b c|slow"}, {Labels{}, "first, p = 3|a b c|slow"},
	} {
		if err := step.labels.PutLabels(run, ", p = 3"); err != nil {
			t.Fatal(err)
		}
		if a := about(); a.Name+"|"+strings.Join(a.Tags, " ")+"|"+a.Note != step.want {
			t.Errorf("%+v: %+v, want %s", step.labels, a, step.want)
		}
	}
	if err := (Labels{Tag: []string{"a b"}}).CheckLabels(); err == nil || !strings.Contains(err.Error(), "--tag") {
		t.Error(err)
	}
	if err := (Labels{Name: "x"}).PutLabels(nil, ""); err != nil { // a run without a folder
		t.Error(err)
	}
}
