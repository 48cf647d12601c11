package sweep

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func sum(b []byte) [32]byte { return sha256.Sum256(b) }

// Twelve fits of a few milliseconds.
const quick = `job = "fit"
metric = "loss"
trials = 4
[settings]
data = "r100:{seed}"
steps = 2000
[grid]
p = [1.5, 2, 3]
`

func TestASweepRunsOnceAndGoesOnFromWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, quick)
	if out := start(t, dir, "sweep", file, "--dry-run"); out.wait() != 0 || !strings.Contains(out.err.String(),
		"12 runs of fit") || !strings.Contains(out.err.String(), "time       about") || inPlace(dir) != 0 {
		t.Errorf("dry run: %s", out.err.String())
	}
	out := start(t, dir, "sweep", file, "--name", "norms by p", "--tag", "paper,first").done()
	if about, err := os.ReadFile(filepath.Join(dir, "runs", "sweep-s", "about.json")); err != nil ||
		!strings.Contains(string(about), `"norms by p"`) || !strings.Contains(string(about), `"paper"`) {
		t.Errorf("what is said of the sweep: %s, %v", about, err)
	}
	if !strings.Contains(out, "Paired differences") || !strings.Contains(out, "Report: runs/sweep-s/report.html") ||
		inPlace(dir) != 12 || lines(t, dir) != 12 {
		t.Errorf("%d runs: %s", inPlace(dir), out)
	}
	folder := filepath.Join(dir, "runs", "sweep-s")
	for _, f := range []string{"report.html", "tables/result.md", "tables/pairs.csv", "tables/runs.csv",
		"figures/metric.png", "plan.json"} {
		if st, err := os.Stat(filepath.Join(folder, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "work", "*")); len(left) != 0 {
		t.Errorf("still running: %v", left)
	}
	before := outcome(t, dir)
	stamps := map[string]time.Time{}
	for name := range before {
		st, err := os.Stat(filepath.Join(folder, "trials", name, "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		stamps[name] = st.ModTime()
	}
	// One more p: only its runs are run.
	start(t, dir, "sweep", file, "p=1.5,2,3,6").done()
	after := outcome(t, dir)
	if len(after) != 16 || lines(t, dir) != 16 {
		t.Errorf("%d runs after one more p", len(after))
	}
	for name, stamp := range stamps {
		if st, err := os.Stat(filepath.Join(folder, "trials", name, "run.json")); err != nil || st.ModTime() != stamp ||
			after[name] != before[name] {
			t.Errorf("%s was repeated", name)
		}
	}
	var st Status
	if err := json.Unmarshal([]byte(start(t, dir, "sweep", "status", "runs/sweep-s", "--json").done()), &st); err != nil ||
		st.State != "done" || st.Done != 16 || st.Queued != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestAFolderWithoutAReadableResultIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, quick)
	start(t, dir, "sweep", file).done()
	want := outcome(t, dir)
	all, _ := filepath.Glob(filepath.Join(dir, "runs", "sweep-s", "trials", "*", "tables", "result.json"))
	if err := os.WriteFile(all[3], nil, 0o666); err != nil { // what a power cut leaves
		t.Fatal(err)
	}
	start(t, dir, "sweep", file).done()
	same(t, outcome(t, dir), want)
}

func TestEachJobCanBeSwept(t *testing.T) {
	for _, text := range []string{
		"job = \"margin\"\nmetric = \"norm\"\ntrials = 2\n[settings]\ndata = \"r100:{seed}\"\n[grid]\np = [1.5, inf]",
		"job = \"path\"\nmetric = \"angle\"\n[settings]\ndata = \"r100\"\nto = 30\n[grid]\np = [1.5, 2]"} {
		dir := t.TempDir()
		var out struct {
			Runs, Done int
			Rows       []struct {
				Settings map[string]string
				Mean     *float64
			}
		}
		if err := json.Unmarshal([]byte(start(t, dir, "sweep", write(t, dir, text), "--json").done()), &out); err != nil ||
			out.Done != out.Runs || len(out.Rows) != 2 {
			t.Errorf("%+v, %v", out, err)
		}
		for _, r := range out.Rows {
			if r.Mean == nil || !(*r.Mean > 0) {
				t.Errorf("%v has no number", r.Settings)
			}
		}
	}
}

func TestAStoppedSweepGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "sweep", write(t, dir, slow), "--jobs", "1")
	eventually(t, "three runs", func() bool { return inPlace(dir) >= 3 })
	if out := start(t, dir, "sweep", "status", "runs/sweep-s").done(); !strings.Contains(out, ": running, ") {
		t.Error(out)
	}
	start(t, dir, "sweep", "stop", "runs/sweep-s").done()
	if code := s.wait(); code != 1 || !strings.HasSuffix(s.err.String(),
		"bregman: stopped; resume with: bregman sweep resume runs/sweep-s\n") {
		t.Errorf("exit %d: %s", code, s.err.String())
	}
	n := inPlace(dir)
	if out := start(t, dir, "sweep", "status", "runs/sweep-s").done(); n == 12 || !strings.Contains(out, ": stopped, ") {
		t.Errorf("%d runs: %s", n, out)
	}
	start(t, dir, "sweep", "resume", "runs/sweep-s").done()
	same(t, outcome(t, dir), unbroken(t, slow))
}

// Folders that hold something else are not changed.
func TestFoldersOfOtherKindsAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, quick)
	for _, folder := range []string{"fit", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(dir, "fit", "run.json")
	if err := os.WriteFile(other, []byte(`{"command": "fit", "status": "done"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"sweep status fit": `fit: a run of "fit", not a sweep`, "sweep stop fit": `fit: a run of "fit", not a sweep`,
		"sweep resume fit": `fit: a run of "fit", not a sweep`, "sweep retry fit": `fit: a run of "fit", not a sweep`,
		"sweep status empty": "empty: not the folder of a sweep", "sweep stop nowhere": "nowhere: not the folder of a sweep",
		"sweep " + file + " --out fit": `fit: holds a run of "fit": choose another folder with --out`, "sweep " + file +
			" --out " + file: "--out " + file + ": " + file + " is not a folder",
		"worker --nats http://x:4222": "--nats http://x:4222: want servers such as", "sweep cifar": "cifar: no such file"} {
		p := start(t, dir, strings.Fields(args)...)
		if code := p.wait(); code != 1 || !strings.Contains(p.err.String(), "bregman: "+want) {
			t.Errorf("%s: exit %d, %s", args, code, p.err.String())
		}
	}
	for _, text := range []string{"", "{}", `{"runs": [null], "file": {}}`, "[1]", `{"file": {}}`} {
		if err := os.WriteFile(filepath.Join(dir, "empty", "plan.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if st, err := (Folder{filepath.Join(dir, "empty")}).Status(); err == nil ||
			!strings.Contains(err.Error(), "plan.json") {
			t.Errorf("the plan %q: %+v, %v", text, st, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "empty", "plan.json")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(other); err != nil || !strings.Contains(string(b), `"done"`) {
		t.Errorf("the run was changed: %s, %v", b, err)
	}
	start(t, dir, "sweep", file, "p=2", "--out", "empty").done()
	second := start(t, dir, "sweep", file, "p=3", "--out", "empty")
	second.done()
	if !strings.Contains(second.err.String(), "4 runs of other plans stay in the folder, but not in its report") {
		t.Error(second.err.String())
	}
	missing := start(t, dir, "sweep", file, "data=nowhere.svm", "trials=1", "--dry-run")
	if missing.wait() != 0 || !strings.Contains(missing.err.String(), "the first of 3 runs fails: ") {
		t.Error(missing.err.String())
	}
}

// The command that a sweep prints last works as it is, also if its folder has a space in its name.
func TestTheCommandToGoOnNamesTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, slow)
	const want = "resume with: bregman sweep resume 's t'\n"
	s := start(t, dir, "sweep", file, "--jobs", "1", "--out", "s t")
	done := func() int {
		found, _ := filepath.Glob(filepath.Join(dir, "s t", "trials", "*"))
		return len(found)
	}
	eventually(t, "a run", func() bool { return done() > 0 })
	s.cmd.Process.Signal(os.Interrupt)
	if code := s.wait(); code != 1 || !strings.HasSuffix(s.err.String(), "bregman: interrupted; "+want) {
		t.Errorf("exit %d: %s", code, s.err.String())
	}
	n := done()
	s = start(t, dir, "sweep", "resume", "s t", "--jobs", "1")
	eventually(t, "another run", func() bool { return done() > n })
	stop := start(t, dir, "sweep", "stop", "s t")
	stop.done()
	if !strings.HasSuffix(stop.err.String(), "s t: stopped; "+want) {
		t.Error(stop.err.String())
	}
	if code := s.wait(); code != 1 || !strings.HasSuffix(s.err.String(), "bregman: stopped; "+want) {
		t.Errorf("exit %d: %s", code, s.err.String())
	}
	bad := start(t, dir, "sweep", file, "data=nowhere.svm", "trials=1", "--out", "b d")
	if code := bad.wait(); code != 1 || !strings.HasSuffix(bad.err.String(), "bregman sweep retry 'b d'\n") {
		t.Errorf("exit %d: %s", code, bad.err.String())
	}
}
