package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxFeatures is more than any model here is meant for: a stray index in a file would take gigabytes for each vector.
const maxFeatures = 1 << 28

// Open returns the set that spec names, which is the first of these that there is:
//
//   - a file, as Read reads it; "-" is standard input,
//   - a built-in set, iris, r100 or with a seed r100:7, see Builtin,
//   - the pixels of an image set that the package images knows by name, from 0 to 1: fashion-mnist are its training
//     images, fashion-mnist:test its test images, fashion-mnist:4,6 and fashion-mnist:test:4,6 those of some classes.
//
// The options say how to read a file or a built-in table. Of them, image sets have Bias, and sets that are made from a
// seed, whose labels are absorbed, have none. Reading ends with the context.
func Open(ctx context.Context, spec string, opt Options) (*Set, error) {
	s, err := Generate(spec, opt)
	if errors.Is(err, ErrNotBuiltin) {
		s, err = pixels(spec, opt)
	}
	if errors.Is(err, errNotImages) {
		s, err = readFile(ctx, spec, opt)
	}
	if err != nil {
		return nil, err
	}
	if _, d := s.X.Dims(); d > maxFeatures {
		return nil, &Error{Name: s.Name, Msg: fmt.Sprintf(
			"%d features, more than the %d this program takes: is an index wrong?", d, maxFeatures)}
	}
	return s, nil
}

// readFile is Read until the context ends.
func readFile(ctx context.Context, path string, opt Options) (*Set, error) {
	f, name, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		const msg = "no such file: check the path, or see `bregman data list` for the built-in sets"
		return nil, &Error{Name: path, Msg: msg, err: err}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type result struct {
		set *Set
		err error
	}
	done := make(chan result, 1)
	go func() { // a read from a terminal or a pipe may never return
		s, err := ReadFrom(reading(ctx, f), name, opt)
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return r.set, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// fileUntilDone is untilDone for a file that is read in any order.
type fileUntilDone struct {
	untilDone
	f *os.File
}

// reading is a reader that ends with its context.
func reading(ctx context.Context, r io.Reader) io.Reader {
	if f, ok := r.(*os.File); ok {
		return fileUntilDone{untilDone{ctx, f}, f}
	}
	return untilDone{ctx, r}
}

func (u fileUntilDone) ReadAt(b []byte, at int64) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.f.ReadAt(b, at)
}

func (u fileUntilDone) Seek(offset int64, whence int) (int64, error) { return u.f.Seek(offset, whence) }
