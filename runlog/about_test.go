package runlog

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever is in about.json, reading it is an error or gives what Check allows, and a broken file stays as it is.
func FuzzAbout(f *testing.F) {
	f.Add([]byte(`{"name":"a","tags":["b","c"],"note":"d"}`))
	f.Add([]byte(`{"tags":["a b"]}`))
	f.Add([]byte(`{"name":"\n"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := Create(t.TempDir(), "x", Info{})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Finish(nil, false)
		if err := os.WriteFile(filepath.Join(run.Dir, aboutFile), data, 0o666); err != nil {
			t.Fatal(err)
		}
		folder, err := OpenFolder(run.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		read, err := folder.About()
		if err == nil && read.Check() != nil {
			t.Errorf("%q was read as %+v", data, read)
		}
		err = UpdateAbout(run.Dir, func(a *About) { a.Tags = append(a.Tags, "new") })
		now, bad := folder.About()
		if err == nil && (bad != nil || len(now.Tags) == 0) {
			t.Errorf("%q became %+v, %v", data, now, bad)
		}
		if left, _ := os.ReadFile(filepath.Join(run.Dir, aboutFile)); err != nil && string(left) != string(data) {
			t.Errorf("%q became %q", data, left)
		}
	})
}
