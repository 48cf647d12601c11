package runlog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Update replaces a file by what change makes of its content, whole or not at all. Processes that update a file at once
// wait for each other, if the system has locks: none loses what another has written. change gets nothing for a file
// that does not exist. If it returns nil, the file stays as it is.
func Update(path string, change func(old []byte) ([]byte, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, created, err := openLocked(path)
	if err != nil {
		return err
	}
	defer f.Close()
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if !hasLocks {
		f.Close() // such a system may not replace an open file
	}
	data, err := change(old)
	if err == nil && data != nil {
		return WriteFile(path, data)
	}
	if created {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// openLocked opens a file and locks it, and creates it if it does not exist. While it waited, another process may have
// replaced the file: then the new one is locked.
func openLocked(path string) (f *os.File, created bool, err error) {
	for {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		created = err == nil
		if errors.Is(err, fs.ErrExist) {
			if f, err = os.OpenFile(path, os.O_RDWR, 0); errors.Is(err, fs.ErrNotExist) {
				continue // removed in between
			}
		}
		if err != nil {
			return nil, false, err
		}
		err = lockFile(f)
		ours, err1 := f.Stat()
		now, err2 := os.Stat(path)
		if err = errors.Join(err, err1); err == nil && err2 == nil && os.SameFile(ours, now) {
			return f, created, nil
		}
		f.Close()
		if err != nil {
			return nil, false, err
		}
	}
}
