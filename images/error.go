package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Error says which file or data set is wrong, what is wrong with it, and what to do.
type Error struct {
	Name string // a file, a folder or a data set
	Msg  string

	err error // the cause, where it came from outside
}

// Error is one line.
func (e *Error) Error() string { return e.Name + ": " + e.Msg }

// Unwrap returns the cause, such as fs.ErrNotExist.
func (e *Error) Unwrap() error { return e.err }

func fail(name, format string, args ...any) *Error {
	return &Error{Name: name, Msg: fmt.Sprintf(format, args...)}
}

// failed passes on why a file could not be read or unpacked.
func failed(name, doing string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Name: name, Msg: "cannot " + doing + ": " + cause(err), err: err}
}

// unwritten passes on why a file or folder could not be made: most often the disk is full or somebody else's.
func unwritten(name string, err error) *Error {
	e := failed(name, "write", err)
	if e.err == err && !errors.Is(err, context.Canceled) {
		e.Msg += ": make room, or choose another folder with --data-dir or the variable BREGMAN_DATA"
	}
	return e
}

// cause is the error without the path, which stands before the message already, on one line.
func cause(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// damaged says that a file is not what it should be, as its checksum or its structure shows.
func damaged(name, why string) *Error {
	return fail(name, "the file is damaged (%s): delete it and fetch it again", why)
}
