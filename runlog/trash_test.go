package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// finished makes a run folder that has ended.
func finished(t *testing.T, parent, name string) string {
	t.Helper()
	run, err := Create(parent, name, Info{Command: "fit"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	return run.Dir
}

func TestATrashedRunComesBackAsItWas(t *testing.T) {
	runs := t.TempDir()
	dir := finished(t, runs, "a")
	if err := UpdateAbout(dir, func(a *About) { a.Name = "first" }); err != nil {
		t.Fatal(err)
	}
	trashed, err := Trash(dir)
	if err != nil || filepath.Dir(trashed) != filepath.Join(runs, TrashFolder) {
		t.Fatalf("%s: %v", trashed, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	back, err := Restore(trashed)
	if err != nil || back != dir {
		t.Fatalf("restored to %s: %v", back, err)
	}
	f, err := OpenFolder(back)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if a, err := f.About(); err != nil || a.Name != "first" {
		t.Errorf("%+v, %v", a, err)
	}
}

// Two runs of one name in the trash are two, and neither is overwritten when it comes back.
func TestTheTrashKeepsRunsOfOneName(t *testing.T) {
	runs := t.TempDir()
	dir := finished(t, runs, "a")
	first, err := Trash(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(finished(t, runs, "b"), dir); err != nil {
		t.Fatal(err)
	}
	second, err := Trash(dir)
	if err != nil || second != first+"~2" {
		t.Fatalf("%s, %v", second, err)
	}
	if _, err := Restore(first); err != nil {
		t.Fatal(err)
	}
	again, err := Trash(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(finished(t, runs, "c"), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(again); err == nil || !strings.Contains(err.Error(), "exists again") {
		t.Errorf("restored over another run: %v", err)
	}
}

func TestWhatIsNotTrashed(t *testing.T) {
	runs := t.TempDir()
	live, err := Create(runs, "live", Info{Command: "fit"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Finish(nil, false)
	sweep := finished(t, runs, "sweep")
	trial := finished(t, filepath.Join(sweep, "trials"), "p2")
	plain := filepath.Join(runs, "plain")
	if err := os.Mkdir(plain, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{live.Dir: "is running", trial: "is part of " + sweep,
		plain: "not a run folder", filepath.Join(runs, "none"): "no such file"} {
		if _, err := Trash(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
	if _, err := Restore(sweep); err == nil || !strings.Contains(err.Error(), "not in a folder called .trash") {
		t.Errorf("restored what is not in the trash: %v", err)
	}
}

// A link in the place of about.json may lead anywhere, so nothing is written through it.
func TestWhatIsSaidOfARunIsNotWrittenThroughALink(t *testing.T) {
	dir := finished(t, t.TempDir(), "a")
	other := filepath.Join(t.TempDir(), "other.json")
	for _, content := range []string{"", "{}"} { // a dangling link, and one to a file
		if content != "" {
			if err := os.WriteFile(other, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		os.Remove(filepath.Join(dir, aboutFile))
		if err := os.Symlink(other, filepath.Join(dir, aboutFile)); err != nil {
			t.Skip(err)
		}
		err := UpdateAbout(dir, func(a *About) { a.Name = "x" })
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("content %q: %v", content, err)
		}
		if data, _ := os.ReadFile(other); string(data) != content {
			t.Errorf("%q became %q", content, data)
		}
	}
}
