package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Input is a file that a command reads, with the flag or argument that names it.
type Input struct{ Name, Path string }

// CheckOut tests the file that --out names before the work begins: it must not be one of the inputs, by any name or
// link, and its folder must allow a new file, or it must be possible to create it. An existing file is not changed, and
// no file stays behind. An empty path and "-" are always right.
func CheckOut(path string, inputs ...Input) error { return CheckOutput("--out", path, inputs...) }

// CheckOutput is CheckOut for another flag.
func CheckOutput(flag, path string, inputs ...Input) error {
	if path == "" || path == "-" {
		return nil
	}
	out, err := os.Stat(path)
	if err == nil && out.IsDir() {
		return fmt.Errorf("%s %s is a folder: name a file", flag, path)
	}
	for _, in := range inputs {
		if err == nil && in.is(out) {
			return &UsageError{fmt.Errorf("%s %s would replace the input %s %s: name another file", flag, path, in.Name,
				in.Path)}
		}
	}
	if err == nil && !out.Mode().IsRegular() {
		return nil // a device or a pipe, which is written in place
	}
	return tryAbove(flag, path, filepath.Dir(path))
}

// is reports whether the input is this file. The name of a built-in set is not a file; "-" is what standard input
// reads.
func (in Input) is(file fs.FileInfo) bool {
	if in.Path == "-" {
		st, err := os.Stdin.Stat()
		return err == nil && os.SameFile(st, file)
	}
	st, err := os.Stat(in.Path)
	return err == nil && os.SameFile(st, file)
}

// CheckFolder tests the folder that a flag names before the work begins. If it is missing, it must be possible to
// create it. An empty path means no folder.
func CheckFolder(flag, path string) error {
	if path == "" {
		return nil
	}
	return tryAbove(flag, path, path)
}

// tryAbove returns an error if no new file can be written in dir, or in the lowest folder above it that exists. The
// error names the flag and its path.
func tryAbove(flag, path, dir string) error {
	st, err := os.Stat(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		st, err = os.Stat(dir)
	}
	if err == nil && !st.IsDir() {
		return fmt.Errorf("%s %s: %s is not a folder: name another", flag, path, dir)
	}
	f, err := os.CreateTemp(dir, ".bregman-try-*")
	if err != nil {
		return fmt.Errorf("%s %s: the folder %s cannot be written: %w: name another", flag, path, dir, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// NotWritten reports whether an error is about writing a file.
func NotWritten(err error) bool {
	bad := (*fs.PathError)(nil)
	return errors.As(err, &bad)
}

// cause is the reason in an error of a file, without its path.
func cause(err error) error {
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		return bad.Err
	}
	return err
}
