package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

func TestATrialIsNamedByWhatVaries(t *testing.T) {
	for _, c := range []struct {
		vary []pair
		want string
	}{
		{[]pair{{"lr", "0.2"}, {"p", "1.5"}}, "p1.5-lr0.2-s3"},
		{[]pair{{"p", "inf"}, {"model", "resnet18"}, {"data", "/some/where/cats.pack"}}, "pinf-resnet18-cats.pack-s3"},
		{[]pair{{"unit", "init"}, {"nesterov", "true"}, {"no_augment", "false"}}, "unit-init-nesterov-no-no_augment-s3"},
		{[]pair{{"weight_decay", "5e-04"}, {"data", "r100:3"}}, "weight_decay5e-04-r100-3-s3"},
		{nil, "s3"},
		{[]pair{{"data", "../../etc"}}, "etc-s3"},
		{[]pair{{"data", ".."}}, "s3"},
	} {
		if got := label(c.vary, 3); got != c.want {
			t.Errorf("%v: %q, want %q", c.vary, got, c.want)
		}
	}
	long := label([]pair{{"data", strings.Repeat("x", 500)}, {"p", "2"}}, 12)
	if len(long) > mostLabel+10 || !strings.HasSuffix(long, "-s12") {
		t.Errorf("%q", long)
	}
	p := planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\n[grid]\np = [1.5, 2]\nlr = [0.1]") // one lr does not vary
	if s := p.Runs[0]; s.Label() != "p1.5-s1" || s.Folder() != "p1.5-s1-"+s.ID {
		t.Errorf("%q, %q", s.Label(), s.Folder())
	}
	p = planOf(t, "job = \"fit\"\n[settings]\ndata = \"r100\"\np = 3\n[grid]\nlr = [0.1, 0.2]")
	if s := p.Runs[1]; s.Label() != "lr0.2-s1" || s.Folder() != "p3-lr0.2-s1-"+s.ID {
		t.Errorf("%q, %q", s.Label(), s.Folder())
	}
	labels := map[string]string{"ab12": "p2-lr1-s1"}
	for folder, want := range map[string]string{"p2-s1-ab12": "p2-lr1-s1", "anything-ab12": "p2-lr1-s1",
		"p3-s1-cd34": "p3-s1", "odd": ""} {
		if got := TrialLabel(folder, labels); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}

// A sweep that is extended by values, by a key and by a trial finds all that it has run before, by identity alone:
// whatever the folder is called.
func TestAnExtendedSweepRunsOnlyWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, strings.Replace(quick, "trials = 4", "trials = 2", 1))
	start(t, dir, "sweep", file).done()
	trials := filepath.Join(dir, "runs", "sweep-s", "trials")
	names := func() map[string]string { return Folder{filepath.Join(dir, "runs", "sweep-s")}.byID("trials") }
	// as an older program, or a person, has named two of them
	plan, err := Folder{filepath.Join(dir, "runs", "sweep-s")}.readPlan()
	if err != nil {
		t.Fatal(err)
	}
	for k, name := range []string{"p1.5-s1-", "mine-"} {
		old := filepath.Join(trials, plan.Runs[k].Folder())
		if err := os.Rename(old, filepath.Join(trials, name+plan.Runs[k].ID)); k == 1 && err != nil {
			t.Fatal(err)
		}
	}
	stamps := map[string]time.Time{}
	remember := func() {
		for id, name := range names() {
			st, err := os.Stat(filepath.Join(trials, name, "run.json"))
			if err != nil {
				t.Fatal(err)
			}
			if before, ok := stamps[id]; ok && !before.Equal(st.ModTime()) {
				t.Errorf("%s was run again", name)
			}
			stamps[id] = st.ModTime()
		}
	}
	remember()
	first := len(stamps)
	for k, more := range [][]string{{"p=1.5,2,3,6"}, {"p=1.5,2,3,6", "steps=2000,3000"},
		{"p=1.5,2,3,6", "steps=2000,3000", "trials=3"}} {
		said := start(t, dir, append([]string{"sweep", file}, more...)...)
		said.done()
		remember()
		if want := []int{8, 16, 24}[k]; first != 6 || len(stamps) != want || lines(t, dir) != want {
			t.Errorf("%v: %d runs and %d lines, want %d", more, len(stamps), lines(t, dir), want)
		}
	}
	found := false
	for id, name := range names() {
		found = found || strings.HasPrefix(name, "p6-steps3000-s3-"+id)
	}
	if !found {
		t.Errorf("no folder is named by what varies: %v", names())
	}
	f, err := runlog.OpenFolder(filepath.Join(dir, "runs", "sweep-s"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	labels, err := Labels(f)
	if err != nil || len(labels) != 24 || TrialLabel("mine-"+plan.Runs[1].ID, labels) == "mine" ||
		!strings.Contains(labels[plan.Runs[1].ID], "-steps2000-s") {
		t.Errorf("%v, %v", labels, err)
	}
	csv, err := os.ReadFile(filepath.Join(dir, "runs", "sweep-s", "tables", "runs.csv"))
	if err != nil || !strings.Contains(string(csv), "trials/mine-"+plan.Runs[1].ID) {
		t.Errorf("the table of runs lacks a folder: %s, %v", csv, err)
	}
	if left := (Folder{filepath.Join(dir, "runs", "sweep-s")}).left(plan); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// What this process adds is found, with and without a new listing, and what is removed is not.
func TestAListingIsThatOfTheFolder(t *testing.T) {
	p := planOf(t, "job = \"fit\"\ntrials = 30\n[settings]\ndata = \"r100:{seed}\"\np = 3")
	f := Folder{t.TempDir()}
	for k, s := range p.Runs {
		dir := filepath.Join(f.Dir, "new")
		if err := runlog.WriteFile(filepath.Join(dir, "tables", "result.json"), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if k%3 == 0 { // by another program; the times of folders may be coarse
			time.Sleep(10 * time.Millisecond)
			if err := os.MkdirAll(f.path("trials"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(dir, f.path("trials", "old-"+s.ID)); err != nil {
				t.Fatal(err)
			}
		} else if err := f.place(s, dir); err != nil {
			t.Fatal(err)
		}
		if !f.HasFolder(s) || len(f.left(p)) != len(p.Runs)-k-1 {
			t.Fatalf("%d: %v, %d left", k, f.HasFolder(s), len(f.left(p)))
		}
	}
	if err := os.RemoveAll(f.Trial(p.Runs[3])); err != nil {
		t.Fatal(err)
	}
	if f.HasFolder(p.Runs[3]) || len(f.left(p)) != 1 {
		t.Error("a run that was removed is still there")
	}
}
