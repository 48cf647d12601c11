package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bregman-ml/bregman/internal/npy"
	"github.com/bregman-ml/bregman/matrix"
)

// readNPZ reads the arrays X and y of a zip file, in either case, or a sparse matrix as SciPy writes it, with y. A zip
// file's contents are listed at its end, so all of it is held in memory while it is read.
func readNPZ(r io.Reader, name string, opt Options) (*Set, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, failed(name, 0, err)
	}
	z, err := npy.OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, damaged(name, err)
	}
	s := &Set{Name: name}
	sparse := isSparseArchive(z)
	if sparse {
		var x *matrix.CSR
		x, err = readSparse(z, name, opt)
		s.X = x
	} else {
		err = member(z, name, "X", func(a *array) (err error) {
			if len(a.Shape) != 2 {
				return a.fail("shape %s: want two dimensions, examples by features", a.Shape)
			}
			x, _, err := a.matrix(false, opt)
			s.X = x
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if hasY := z.Has("y") || z.Has("Y"); !hasY && opt.Unlabeled {
		n, _ := s.X.Dims()
		s.Y, s.Unlabeled = make([]float64, n), true
		return s, nil
	} else if !hasY && sparse {
		return nil, &Error{Name: name, Msg: "no array y: scipy.sparse.save_npz saves no labels: save with " + howSparse}
	}
	if s.Y, err = vectorOf(z, name, "y"); err != nil {
		return nil, err
	}
	if n, _ := s.X.Dims(); n != len(s.Y) {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("X has %d examples but y has %d labels: save arrays of equal length",
			n, len(s.Y))}
	}
	return s, nil
}

// member opens an array of the archive and has it read.
func member(z *npy.Archive, file, name string, read func(*array) error) error {
	r, err := z.Open(name)
	if errors.Is(err, npy.ErrNoArray) {
		has := "none"
		if names := z.Names(); len(names) > 0 {
			has = some(names)
		}
		return &Error{Name: file, Msg: fmt.Sprintf(
			"no array %s: save with numpy.savez(file, X=…, y=…); the file has %s", name, has)}
	}
	if err != nil {
		return damaged(file, err)
	}
	defer r.Close()
	a, err := openArray(bufio.NewReaderSize(unpack{r, file}, peek), file, name)
	if err != nil {
		return err
	}
	return read(a)
}

// unpack puts what is wrong with a zip file into words.
type unpack struct {
	r    io.Reader
	file string
}

func (u unpack) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if err != nil && err != io.EOF {
		err = damaged(u.file, err)
	}
	return n, err
}

func damaged(file string, err error) error {
	return &Error{Name: file, Msg: "the npz archive is damaged (" + err.Error() + "): save or fetch it again", err: err}
}
