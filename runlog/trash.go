package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// TrashFolder is where Trash puts runs: a folder beside them. Nothing empties it.
const TrashFolder = ".trash"

// Trash moves a run folder into the trash beside it, and returns where it is now. A run that a process is writing, or
// that is part of another, stays.
func Trash(dir string) (trashed string, err error) {
	if dir, err = named(dir); err != nil {
		return "", err
	}
	if err := isRun(dir); err != nil {
		return "", err
	}
	f, err := OpenFolder(dir)
	if err != nil {
		return "", err
	}
	busy := f.Busy()
	f.Close()
	if busy {
		return "", fmt.Errorf("%s is running: stop it first", dir)
	}
	if whole := wholeRun(dir); whole != "" {
		return "", fmt.Errorf("%s is part of %s: delete that, or archive this", dir, whole)
	}
	trash := filepath.Join(filepath.Dir(dir), TrashFolder)
	if err := os.MkdirAll(trash, 0o777); err != nil {
		return "", err
	}
	return moveTo(dir, trash, filepath.Base(dir))
}

// Restore moves a run folder out of the trash, to where it was, and returns that place.
func Restore(trashed string) (dir string, err error) {
	if trashed, err = named(trashed); err != nil {
		return "", err
	}
	trash := filepath.Dir(trashed)
	if filepath.Base(trash) != TrashFolder {
		return "", fmt.Errorf("%s is not in a folder called %s", trashed, TrashFolder)
	}
	if err := isRun(trashed); err != nil {
		return "", err
	}
	dir = filepath.Join(filepath.Dir(trash), filepath.Base(trashed))
	if _, err := os.Lstat(dir); err == nil {
		return "", fmt.Errorf("%s exists again: rename one of the two", dir)
	}
	return dir, os.Rename(trashed, dir)
}

// named is the path of a folder with its own name at the end, also of "." and "..".
func named(dir string) (string, error) {
	dir = filepath.Clean(dir)
	if base := filepath.Base(dir); base == "." || base == ".." {
		return filepath.Abs(dir)
	}
	return dir, nil
}

// isRun returns an error for a folder that holds no run, so that a mistyped path is not moved. A run whose run.json
// cannot be read is a run.
func isRun(dir string) error {
	for _, name := range []string{infoFile, metricsFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	return fmt.Errorf("%s is not a run folder: it has no %s", dir, infoFile)
}

// wholeRun is the run of which a run is a part, such as the sweep of a trial; empty if there is none.
func wholeRun(dir string) string {
	for range 4 {
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		if dir = up; isRun(dir) == nil {
			return dir
		}
	}
	return ""
}

// moveTo moves a folder into another, under its name or the first free one with a number.
func moveTo(dir, to, name string) (string, error) {
	for k := 1; ; k++ {
		place := filepath.Join(to, name)
		if k > 1 {
			place += "~" + strconv.Itoa(k)
		}
		if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return "", err
			}
			continue
		}
		return place, os.Rename(dir, place)
	}
}
