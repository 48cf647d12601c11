package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestUpdatesOfAFileFollowEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "counts")
	var wg sync.WaitGroup
	const many = 50
	for range many {
		wg.Go(func() {
			if err := Update(path, func(old []byte) ([]byte, error) { return append(old, '.'), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if data, err := os.ReadFile(path); err != nil || string(data) != strings.Repeat(".", many) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestAnUpdateThatFailsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	bad := errors.New("bad")
	fail := func([]byte) ([]byte, error) { return []byte("lost"), bad }
	keep := func([]byte) ([]byte, error) { return nil, nil }
	if err := Update(path, fail); !errors.Is(err, bad) {
		t.Error(err)
	}
	if err := Update(path, keep); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(dir, "link")} {
		if err := Update(p, fail); !errors.Is(err, bad) {
			t.Error(err)
		}
		if err := Update(p, keep); err != nil {
			t.Error(err)
		}
		if data, err := os.ReadFile(p); err != nil || string(data) != "old" {
			t.Errorf("%q, %v", data, err)
		}
	}
	add := func(old []byte) ([]byte, error) { return append(old, '+'), nil }
	if err := Update(filepath.Join(dir, "link"), add); err != nil {
		t.Error(err)
	}
	if st, err := os.Lstat(filepath.Join(dir, "link")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "old+" {
		t.Errorf("%q, %v", data, err)
	}
	if err := Update(filepath.Join(path, "below"), keep); err == nil {
		t.Error("a file below a file was updated")
	}
}
