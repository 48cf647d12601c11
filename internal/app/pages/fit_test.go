package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/runlog"
)

// do does a command with the given settings and returns its run folder.
func do(t *testing.T, kind string, values map[string]string) string {
	t.Helper()
	k, err := kinds.ByName(kind)
	if err != nil {
		t.Fatal(err)
	}
	values["runs"] = t.TempDir()
	c, err := k.Parse(values)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), &command.Env{Observer: command.Quiet(), Version: "test",
		Engines: new(engine.Pool)}); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(settings.Get(c, "runs"), "*"))
	if len(found) != 1 {
		t.Fatalf("runs %v", found)
	}
	return found[0]
}

// contradicting is a table whose labels no weights can give.
func contradicting(t *testing.T) string {
	t.Helper()
	text := "a,b,label\n"
	for i := range 40 {
		text += fmt.Sprintf("%d,%d,%d\n", i%7, i%5, i%2)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func holds(t *testing.T, dir string, want ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range want {
		if !strings.Contains(string(data), text) {
			t.Errorf("%s: the page does not say %q", dir, text)
		}
	}
	return string(data)
}

// The page of a run is a function of its folder: wherever that is moved, and however often it is written.
func TestAPageIsMadeFromTheFolderAlone(t *testing.T) {
	data := contradicting(t)
	for _, c := range []struct {
		kind   string
		values map[string]string
		want   []string
	}{
		{"fit", map[string]string{"objective": "margin", "data": data, "test": data, "scale": "std", "p": "1.5,2", "cv": "3"},
			[]string{"no weights separate the data",
				"mean of the worst", ">scale<", ">std<", ">test data<", data, ">1.5, 2<", ">folds<", "Feature effects",
				"Along the run", "<svg"}},
		{"fit", map[string]string{"data": "r100:3", "p": "3", "method": "pgd", "steps": "2000"},
			[]string{"certified", "Along the run"}},
		{"path", map[string]string{"data": "r2", "p": "1.5,3"}, []string{"the regularisation path", "p = 1.5", "p = 3"}},
		{"train", map[string]string{"model": "cnn", "p": "3", "epochs": "1", "engine": "cpu"},
			[]string{"test accuracy", "24,058",
				"1 epoch, batch 50", "Pruning and rounding", "The layers"}},
	} {
		if c.kind == "train" && testing.Short() {
			continue
		}
		dir := do(t, c.kind, c.values)
		if info, err := runlog.ReadInfo(dir); err != nil || info.Status != runlog.Done {
			t.Fatalf("%s: %+v, %v", c.kind, info, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "report.html")); err == nil {
			t.Fatalf("%s wrote its own page", c.kind)
		}
		elsewhere := filepath.Join(t.TempDir(), "moved")
		if err := os.Rename(dir, elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := Write(elsewhere); err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		first := holds(t, elsewhere, c.want...)
		if err := Write(elsewhere); err != nil || holds(t, elsewhere) != first {
			t.Errorf("%s: the page is another one when it is written again, %v", c.kind, err)
		}
	}
}

// A program that knows runlog alone gets a page with its curves.
func TestARunOfAnotherProgramGetsAPage(t *testing.T) {
	run, err := runlog.Create(t.TempDir(), "mine",
		runlog.Info{Command: "mine", Settings: map[string]any{"p": 3, "width": 64}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 5 {
		if err := run.Append(map[string]any{"epoch": k + 1, "loss": 1 / float64(k+1),
			"test_accuracy": 0.5 + 0.1*float64(k)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	if err := Write(run.Dir); err != nil {
		t.Fatal(err)
	}
	holds(t, run.Dir, "Training loss", "Test accuracy", "<svg")
}

func TestAPageThatCannotBeWrittenIsAnErrorOfThePage(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "not json": "{",
		"no result": `{"command":"fit","settings":{"data":"r2"}}`} {
		dir := t.TempDir()
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(dir); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
