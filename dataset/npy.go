package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bregman-ml/bregman/matrix"
)

const npyMagic = "\x93NUMPY"

// readNPY reads one two-dimensional array whose last column is the label.
func readNPY(r io.Reader, name string, opt Options) (*Set, error) {
	a, err := openArray(r, name, "")
	if err != nil {
		return nil, err
	}
	if len(a.shape) != 2 {
		return nil, a.fail("shape %s: want two dimensions, examples by features, with the label in the last column", a.dims())
	}
	if a.shape[1] == 1 && !opt.Unlabeled {
		return nil, a.fail(noFeatures)
	}
	x, y, err := a.matrix(!opt.Unlabeled, opt)
	if err != nil {
		return nil, err
	}
	if opt.Unlabeled {
		y = make([]float64, a.shape[0])
	}
	return &Set{Name: name, X: x, Y: y}, nil
}

// array is a NumPy array in a stream: its header, read, and its values, still to be read.
//
// A header may promise more than the stream holds, so room is made for what has been read and never for
// what is promised.
type array struct {
	header
	file, name string // name is empty for the only array of a file
	r          io.Reader
	read       int // how many values
	raw        []byte
}

func openArray(r io.Reader, file, name string) (*array, error) {
	a := &array{file: file, name: name, r: r}
	var err error
	if a.header, err = readHeader(r); err != nil {
		return nil, a.failed(err)
	}
	a.raw = make([]byte, 8<<10*a.size)
	return a, nil
}

// fill reads the next values into dst.
func (a *array) fill(dst []float64) error {
	for len(dst) > 0 {
		n := min(len(dst), len(a.raw)/a.size)
		raw := a.raw[:n*a.size]
		if k, err := io.ReadFull(a.r, raw); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return a.fail("cut short: shape %s promises %d values, the file has %d: save or fetch it again", a.dims(), a.count(), a.read+k/a.size)
			}
			return a.failed(err)
		}
		a.decode(dst[:n], raw)
		for i, v := range dst[:n] {
			if v-v != 0 {
				return a.fail("%s is %v, not finite: fill in missing values or drop the example", a.element(a.read+i), v)
			}
		}
		a.read += n
		dst = dst[n:]
	}
	return nil
}

// next reads n values that may not be there.
func (a *array) next(n int) (v []float64, err error) {
	const step = 8 << 10
	for len(v) < n {
		k := min(step, n-len(v))
		v = append(v, make([]float64, k)...)
		if err := a.fill(v[len(v)-k:]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// end checks that nothing follows the array.
func (a *array) end() error {
	var b [1]byte
	switch _, err := io.ReadFull(a.r, b[:]); err {
	case io.EOF:
		return nil
	case nil:
		return a.fail("more data after the array of shape %s: store one array in a file, or several in an .npz", a.dims())
	default:
		return a.failed(err)
	}
}

// matrix reads the whole array, and parts the last column from the others if it is the labels.
func (a *array) matrix(labels bool, opt Options) (x *matrix.Dense, y []float64, err error) {
	n, d := a.shape[0], a.shape[1]
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
	if a.fortran {
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
	if len(a.shape) != 1 && (len(a.shape) != 2 || a.shape[1] != 1) {
		return nil, a.fail("shape %s: want one label an example", a.dims())
	}
	v, err := a.next(a.shape[0])
	if err != nil {
		return nil, err
	}
	return v, a.end()
}

// element names the k-th stored value as NumPy would.
func (a *array) element(k int) string {
	name := a.name
	if name == "" {
		name = "array"
	}
	if len(a.shape) == 1 {
		return fmt.Sprintf("%s[%d]", name, k)
	}
	if a.fortran {
		return fmt.Sprintf("%s[%d, %d]", name, k%a.shape[0], k/a.shape[0])
	}
	return fmt.Sprintf("%s[%d, %d]", name, k/a.shape[1], k%a.shape[1])
}

func (a *array) fail(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if a.name != "" && !strings.HasPrefix(msg, a.name+"[") {
		msg = "array " + a.name + ": " + msg
	}
	return &Error{Name: a.file, Msg: msg}
}

// failed passes on what went wrong underneath.
func (a *array) failed(err error) error {
	if h := headerError(""); errors.As(err, &h) {
		return a.fail("%s", err.Error())
	}
	return failed(a.file, 0, err)
}

// decode turns raw values into floats.
func (h *header) decode(dst []float64, raw []byte) {
	if h.big {
		for i := 0; i < len(raw); i += h.size {
			v := raw[i : i+h.size]
			for a, b := 0, len(v)-1; a < b; a, b = a+1, b-1 {
				v[a], v[b] = v[b], v[a]
			}
		}
	}
	le := binary.LittleEndian
	switch h.kind {
	case "f8":
		for i := range dst {
			dst[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
	case "f4":
		for i := range dst {
			dst[i] = float64(math.Float32frombits(le.Uint32(raw[4*i:])))
		}
	case "i8":
		for i := range dst {
			dst[i] = float64(int64(le.Uint64(raw[8*i:])))
		}
	case "i4":
		for i := range dst {
			dst[i] = float64(int32(le.Uint32(raw[4*i:])))
		}
	case "i2":
		for i := range dst {
			dst[i] = float64(int16(le.Uint16(raw[2*i:])))
		}
	case "i1":
		for i := range dst {
			dst[i] = float64(int8(raw[i]))
		}
	case "u8":
		for i := range dst {
			dst[i] = float64(le.Uint64(raw[8*i:]))
		}
	case "u4":
		for i := range dst {
			dst[i] = float64(le.Uint32(raw[4*i:]))
		}
	case "u2":
		for i := range dst {
			dst[i] = float64(le.Uint16(raw[2*i:]))
		}
	case "u1":
		for i := range dst {
			dst[i] = float64(raw[i])
		}
	case "b1":
		for i := range dst {
			dst[i] = 0
			if raw[i] != 0 {
				dst[i] = 1
			}
		}
	}
}

// dims is the shape as Python writes it.
func (h *header) dims() string {
	var b bytes.Buffer
	b.WriteByte('(')
	for i, n := range h.shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(h.shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}
