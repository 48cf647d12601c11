package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/bregman-ml/bregman/runlog"
)

func TestEveryFieldHasALabel(t *testing.T) {
	all, err := forms()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		seen := map[string]string{}
		basic := 0
		for _, in := range f.Fields {
			if in.Label == "" || in.Label == in.Name || strings.ContainsAny(in.Label, "_") || strings.Contains(in.Label, "--") ||
				strings.Contains(in.Name, "-") && strings.EqualFold(in.Label, in.Name) || !unicode.IsLetter([]rune(in.Label)[0]) {
				t.Errorf("%s --%s is called %q", f.Command, in.Name, in.Label)
			}
			if other := seen[in.Label]; other != "" {
				t.Errorf("%s: --%s and --%s are both called %s", f.Command, other, in.Name, in.Label)
			}
			seen[in.Label] = in.Name
			if in.Kind == "choice" && in.Default == "" && in.Unset == "" {
				t.Errorf("%s: %s does not say what its default is", f.Command, in.Label)
			}
			if in.Basic > 0 {
				basic++
			}
		}
		if basic != len(basics[f.Command]) {
			t.Errorf("%s: %d of %v are in the form", f.Command, basic, basics[f.Command])
		}
	}
	for key := range fieldLabels {
		if !slices.ContainsFunc(all, func(f form) bool {
			return slices.ContainsFunc(f.Fields, func(in field) bool { return in.Name == strings.ReplaceAll(key, "_", "-") })
		}) {
			t.Errorf("no form has %s", key)
		}
	}
}

// An error names the field that it is of, and says its label.
func TestErrorsAreOfFields(t *testing.T) {
	_, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	for _, c := range []struct {
		command  string
		settings map[string]string
		setting  string
		error    string
	}{
		{"fit", nil, "data", "Data is needed"},
		{"fit", map[string]string{"data": "x.csv"}, "data", "Data: no such file"},
		{"fit", map[string]string{"data": "r2", "p": "0.5"}, "p", "Geometry p"},
		{"fit", map[string]string{"data": "r2", "loss": "x"}, "loss", `Loss "x": choose auto`},
		{"fit", map[string]string{"data": "r2", "note": "a\nb"}, "note", "Note: a line break"},
		{"fit", map[string]string{"data": "r2", "steps": "1.5"}, "steps", `Steps at most: "1.5"`},
		{"train", map[string]string{"epochs": "-1"}, "epochs", "Epochs -1: want at least 1"},
		{"train", map[string]string{"engine": "/tmp/evil.so"}, "engine", "Engine"},
		{"train", map[string]string{"patience": "3"}, "patience", "“Validation images” 5000"},
		{"train", map[string]string{"tag": "a b"}, "name", "Name, “Tags” or “Note”"},
	} {
		code, body := start(t, h, c.command, c.settings)
		var got struct{ Error, Setting string }
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != 400 || got.Setting != c.setting ||
			!strings.Contains(got.Error, c.error) || strings.Contains(got.Error, "--") {
			t.Errorf("%s %v: %d %s", c.command, c.settings, code, body)
		}
		dry := check(t, h, c.command, c.settings)
		if dry.Error != got.Error || dry.Setting != got.Setting || dry.Line != "" {
			t.Errorf("%s %v: checked %+v, started %s", c.command, c.settings, dry, body)
		}
	}
}

type checkedJSON struct {
	Line, Error, Setting string
	Runs                 int
}

// check asks what the server says of a form that is not sent.
func check(t *testing.T, h *httptest.Server, command string, settings map[string]string) (out checkedJSON) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"command": command, "settings": settings, "dry": true})
	resp, text := send2(t, h, "POST", "/api/start", string(body), map[string]string{"Content-Type": "application/json"})
	if err := json.Unmarshal([]byte(text), &out); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	return out
}

func TestACommandLineIsQuotedAndNothingStarts(t *testing.T) {
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	for name := range map[string]bool{"it's $(reboot).csv": true, "-x.csv": true} {
		if err := os.WriteFile(filepath.Join(srv.settings.Data, name), []byte("a,label\n1,0\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	runs := " --runs " + srv.settings.Runs
	for _, c := range []struct {
		command  string
		settings map[string]string
		want     string
		runs     int
	}{
		{"train", map[string]string{"p": "2,3", "trials": "2", "nesterov": "true", "momentum": "0.9"},
			"bregman train --momentum 0.9 --nesterov --trials 2" + runs, 4},
		{"fit", map[string]string{"data": "it's $(reboot).csv", "name": "a & b", "tag": "x,y"},
			"bregman fit --data '" + srv.settings.Data + `/it'\''s $(reboot).csv' --name 'a & b' --tag x,y` + runs, 1},
		{"margin", map[string]string{"data": "-x.csv"}, "bregman margin --data " + srv.settings.Data + "/-x.csv", 1},
		{"fit", map[string]string{"data": "r2", "name": "-1"}, "bregman fit --data r2 --name=-1" + runs, 1},
	} {
		if got := check(t, h, c.command, c.settings); got.Line != c.want || got.Runs != c.runs || got.Error != "" {
			t.Errorf("%+v, want %s, %d", got, c.want, c.runs)
		}
	}
	if len(srv.jobs.all) != 0 {
		t.Errorf("%d jobs", len(srv.jobs.all))
	}
}

// Names from the folder of data are shown as they are, so those that cannot be are not; nothing outside is named.
func TestDataFilesAreSuggested(t *testing.T) {
	srv, h := newServer(t, func(s *Serve) {
		s.AllowRun, s.Runs = true, filepath.Join(s.Data, "runs")
		if err := os.Mkdir(s.Runs, 0o777); err != nil {
			t.Fatal(err)
		}
	})
	outside := t.TempDir()
	put := func(names ...string) {
		for _, name := range names {
			file := filepath.Join(srv.settings.Data, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("b.csv", "a.svm.gz", "sub/c.parquet", "sub/deep/d.csv", ".hidden.csv", ".dir/e.csv", "notes.txt", "in.npz",
		"my.pack", "line\nbreak.csv", "\u202Evsc.csv", "bad\xff.csv",
		" space.csv", "iris:1.csv", "<b>&\".csv", "runs/x/y.csv",
		"pets/cat/1.jpg", "parts/train/dog/1.png", "docs/a.png")
	for _, name := range []string{"secret.csv", "folder/cat/1.jpg"} {
		os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o777)
		os.WriteFile(filepath.Join(outside, name), []byte("x"), 0o666)
	}
	for to, from := range map[string]string{"secret.csv": "link.csv", "folder": "linked"} {
		if err := os.Symlink(filepath.Join(outside, to), filepath.Join(srv.settings.Data, from)); err != nil {
			t.Skip(err)
		}
	}
	var got suggested
	ask(t, h, "/api/data", &got)
	want := suggested{Tables: []string{`<b>&".csv`, "a.svm.gz", "b.csv", "in.npz", "sub/c.parquet"},
		Images: []string{"in.npz", "my.pack", "parts", "pets"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range got.Tables {
		if dry := check(t, h, "fit", map[string]string{"data": name}); dry.Error != "" {
			t.Errorf("%s is suggested: %s", name, dry.Error)
		}
	}
	for k := range maxSuggested + 50 {
		put(fmt.Sprintf("many/%d.csv", k))
	}
	if ask(t, h, "/api/data", &got); len(got.Tables) != maxSuggested {
		t.Errorf("%d tables", len(got.Tables))
	}
	_, closed := newServer(t)
	for _, path := range []string{"/api/data", "/api/again?id=x"} {
		if code, body := ask(t, closed, path, nil); code != 403 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// A run's settings become a form, which the server takes; what a form must not have is left out and named.
func TestAFormBeginsWithTheSettingsOfARun(t *testing.T) {
	srv, h := newServer(t, func(s *Serve) { s.AllowRun = true })
	if err := os.WriteFile(filepath.Join(srv.settings.Data, "t.csv"), []byte("a,label\n1,0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	put := func(id, command string, settings map[string]any) {
		run, err := runlog.CreateAt(filepath.Join(srv.settings.Runs, id), runlog.NewInfo(runlog.Info{Command: command,
			Engine: "cpu", Settings: settings}))
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Finish(nil, false); err != nil {
			t.Fatal(err)
		}
	}
	put("plain", "fit", map[string]any{"data": filepath.Join(srv.settings.Data, "t.csv"), "p": []any{1.5}, "steps": 500,
		"float32": true, "runs": "elsewhere", "out": "/tmp/model.json", "objective": "auto"})
	put("built", "margin", map[string]any{"data": "r100:7", "p": []any{3}})
	put("far", "fit", map[string]any{"data": "/etc/passwd", "p": []any{2}, "objective": "auto"})
	put("net", "train", map[string]any{"model": "cnn", "data": "fashion-sample", "p": []any{3}, "epochs": 3, "lr": 0.4,
		"engine": "/opt/plugin.so", "precision": "float32", "data_dir": "/x",
		"init": filepath.Join(srv.settings.Runs, "plain", "weights.safetensors")})
	put("other", "verify", nil)
	put("broken", "fit", map[string]any{"data": 3})
	get := func(id string) (a again, code int) {
		t.Helper()
		var body string
		if code, body = ask(t, h, "/api/again?id="+id, nil); code == 200 {
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				t.Fatal(err)
			}
		}
		return a, code
	}
	for id, want := range map[string]again{
		"plain": {Command: "fit",
			Settings: map[string]string{"data": "t.csv", "p": "1.5", "steps": "500", "float32": "true"}},
		"built": {Command: "margin", Settings: map[string]string{"data": "r100:7", "p": "3"}},
		"far":   {Command: "fit", Settings: map[string]string{}, Left: []string{"Data (passwd)"}},
		"net": {Command: "train", Settings: map[string]string{"data": "fashion-sample", "p": "3", "epochs": "3", "lr": "0.4",
			"init": "plain"}, Left: []string{"Engine (plugin.so)"}},
	} {
		a, code := get(id)
		for key, v := range want.Settings {
			if a.Settings[key] != v {
				t.Errorf("%s: %s is %q, want %q", id, key, a.Settings[key], v)
			}
		}
		for _, key := range []string{"runs", "out", "data-dir", "precision", "engine", "objective"} {
			if v, ok := a.Settings[key]; ok {
				t.Errorf("%s has %s %s", id, key, v)
			}
		}
		if code != 200 || a.Command != want.Command || a.Title == "" || fmt.Sprint(a.Left) != fmt.Sprint(want.Left) {
			t.Errorf("%s: %d %+v", id, code, a)
		}
		if id != "far" && id != "net" { // the one has no data, the other names a run of another command
			if dry := check(t, h, a.Command, a.Settings); dry.Error != "" {
				t.Errorf("%s: %+v", id, dry)
			}
		}
	}
	for id, want := range map[string]int{"other": 400, "broken": 400, "none": 404, "../x": 403} {
		if _, code := get(id); code != want {
			t.Errorf("%s: %d, want %d", id, code, want)
		}
	}
}
