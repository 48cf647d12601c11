package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/bregman-ml/bregman/internal/npy"
	"github.com/bregman-ml/bregman/matrix"
)

// readNPY reads one two-dimensional array whose last column is the label.
func readNPY(r io.Reader, name string, opt Options) (*Set, error) {
	a, err := openArray(r, name, "")
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 {
		return nil, a.fail("shape %s: want two dimensions, examples by features, with the label in the last column", a.Shape)
	}
	if a.Shape[1] == 1 && !opt.Unlabeled {
		return nil, a.fail(noFeatures)
	}
	x, y, err := a.matrix(!opt.Unlabeled, opt)
	if err != nil {
		return nil, err
	}
	if opt.Unlabeled {
		y = make([]float64, a.Shape[0])
	}
	return &Set{Name: name, X: x, Y: y, Unlabeled: opt.Unlabeled}, nil
}

// array is a NumPy array whose errors name the file.
type array struct {
	*npy.Array
	file, name string // name is empty for the only array of a file
}

func openArray(r io.Reader, file, name string) (*array, error) {
	a := &array{file: file, name: name}
	var err error
	if a.Array, err = npy.Open(r); err != nil {
		return nil, a.failed(err)
	}
	return a, nil
}

// fill reads the next values into dst. They must be finite.
func (a *array) fill(dst []float64) error {
	if err := a.Fill(dst); err != nil {
		return a.failed(err)
	}
	return a.finite(dst)
}

// next reads n values that may not be there.
func (a *array) next(n int) ([]float64, error) {
	v, err := a.Next(n)
	if err != nil {
		return nil, a.failed(err)
	}
	return v, a.finite(v)
}

// finite checks the values that were read last.
func (a *array) finite(v []float64) error {
	for i, x := range v {
		if x-x != 0 {
			name := a.name
			if name == "" {
				name = "array"
			}
			at := name + a.Index(a.Done()-len(v)+i)
			return &Error{Name: a.file, Msg: fmt.Sprintf("%s is %v, not finite: fill in missing values or drop the example", at,
				x)}
		}
	}
	return nil
}

// end checks that nothing follows the array.
func (a *array) end() error {
	if err := a.End(); err != nil {
		return a.failed(err)
	}
	return nil
}

// matrix reads the whole array, and parts the last column from the others if it is the labels.
func (a *array) matrix(labels bool, opt Options) (x *matrix.Dense, y []float64, err error) {
	n, d := a.Shape[0], a.Shape[1]
	if n == 0 {
		return nil, nil, a.fail(noExamples)
	}
	if d == 0 {
		return nil, nil, a.fail(noFeatures)
	}
	features := d
	if labels {
		features--
	}
	var t *table
	put := func(v []float64) {
		copy(t.row(), v)
		if labels {
			y = append(y, v[features])
		}
	}
	if a.Fortran {
		columns, err := a.columns(n, d)
		if err != nil {
			return nil, nil, err
		}
		t = newTable(features, opt)
		row := make([]float64, d)
		for i := range n {
			for j, c := range columns {
				row[j] = c[i]
			}
			put(row)
		}
	} else {
		row, err := a.next(d) // having seen one row, there is reason to make room for the next
		if err != nil {
			return nil, nil, err
		}
		t = newTable(features, opt)
		put(row)
		for range n - 1 {
			if err := a.fill(row); err != nil {
				return nil, nil, err
			}
			put(row)
		}
	}
	if err := a.end(); err != nil {
		return nil, nil, err
	}
	return t.dense(), y, nil
}

func (a *array) columns(n, d int) (columns [][]float64, err error) {
	c, err := a.next(n)
	for err == nil && len(columns) < d-1 {
		columns = append(columns, c)
		c = make([]float64, n)
		err = a.fill(c)
	}
	return append(columns, c), err
}

// vector reads the whole array as n labels; a column n × 1 will do.
func (a *array) vector() ([]float64, error) {
	if len(a.Shape) != 1 && (len(a.Shape) != 2 || a.Shape[1] != 1) {
		return nil, a.fail("shape %s: want one label an example", a.Shape)
	}
	v, err := a.next(a.Shape[0])
	if err != nil {
		return nil, err
	}
	return v, a.end()
}

func (a *array) fail(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if a.name != "" {
		msg = "array " + a.name + ": " + msg
	}
	return &Error{Name: a.file, Msg: msg}
}

// failed passes on what is wrong with the array, and what to do about it, or why it could not be read.
func (a *array) failed(err error) error {
	var short *npy.ShortError
	fix := ""
	switch {
	case errors.Is(err, npy.ErrHeader):
		fix = "save the array again with numpy.save"
	case errors.Is(err, npy.ErrStructured):
		fix = "save the columns as one plain array, for example with numpy.lib.recfunctions.structured_to_unstructured"
	case errors.Is(err, npy.ErrObjects):
		fix = "convert it with a.astype('float64') and save it again"
	case errors.Is(err, npy.ErrType):
		fix = "convert them with a.astype('float64') and save again"
	case errors.As(err, &short):
		fix = "save or fetch it again"
	case errors.Is(err, npy.ErrMore):
		fix = "store one array in a file, or several in an .npz"
	default:
		return failed(a.file, 0, err)
	}
	return a.fail("%s: %s", err, fix)
}
