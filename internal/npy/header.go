// Package npy reads and writes NumPy's files: .npy, which is one array, and .npz, which is a zip of them.
//
// Its errors name neither the file nor what to do about it: the callers know both.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Magic is what every .npy file starts with.
const Magic = "\x93NUMPY"

// What can be wrong with a header, as opposed to a failure to read it.
var (
	ErrHeader     = errors.New("bad npy header")
	ErrStructured = errors.New("a structured array")
	ErrObjects    = errors.New("an array of Python objects, which is not read")
	ErrType       = errors.New("which is not read") // values of type "<c16", which is not read
)

// Header is what an .npy file says about its array.
type Header struct {
	Kind    string // f8, i4, b1 …: what a value is, and its bytes
	Size    int    // bytes a value
	Big     bool   // big-endian
	Fortran bool   // column after column
	Shape   Shape
}

// Shape holds the length of each axis.
type Shape []int

// String is the shape as Python writes it.
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('(')
	for i, n := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	if len(s) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// Count is the number of values, or -1 if it is too large for their bytes to be counted.
func (s Shape) Count() int {
	n := 1
	for _, k := range s {
		if k > 0 && n > math.MaxInt/16/k {
			return -1
		}
		n *= k
	}
	return n
}

// Index is where the k-th stored value stands, as NumPy writes it: [1, 2].
func (h Header) Index(k int) string {
	at := make([]string, len(h.Shape))
	for i := range h.Shape {
		axis := len(h.Shape) - 1 - i // the last one changes fastest
		if h.Fortran {
			axis = i
		}
		n := h.Shape[axis]
		at[axis] = strconv.Itoa(k % n)
		k /= n
	}
	return "[" + strings.Join(at, ", ") + "]"
}

func badHeader(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrHeader, fmt.Sprintf(format, args...))
}

// maxHeader is well above what NumPy itself agrees to read.
const maxHeader = 64 << 10

// ReadHeader reads the magic bytes, the version, a length and then a Python dictionary. The values follow.
func ReadHeader(r io.Reader) (h Header, err error) {
	descr, err := h.read(r)
	if err == nil {
		err = h.dtype(descr)
	}
	if err == nil && h.Shape.Count() < 0 {
		err = badHeader("shape %s is larger than any file", h.Shape)
	}
	return h, err
}

// read reads a header, and returns the type of the values, which it does not look at.
func (h *Header) read(r io.Reader) (descr string, err error) {
	b := make([]byte, len(Magic)+2)
	if err := full(r, b); err != nil {
		return "", err
	}
	if string(b[:len(Magic)]) != Magic {
		return "", badHeader("it does not start with \\x93NUMPY")
	}
	major, minor := b[len(Magic)], b[len(Magic)+1]
	size := 4
	switch {
	case minor != 0 || major < 1 || major > 3:
		return "", badHeader("version %d.%d, want 1.0 to 3.0", major, minor)
	case major == 1:
		size = 2
	}
	var n [4]byte
	if err := full(r, n[:size]); err != nil {
		return "", err
	}
	length := binary.LittleEndian.Uint32(n[:])
	if length > maxHeader {
		return "", badHeader("it claims to be %d bytes long", length)
	}
	b = make([]byte, length)
	if err := full(r, b); err != nil {
		return "", err
	}
	return h.parse(string(b))
}

func full(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return badHeader("the file ends in it")
	}
	return err
}

// parse reads {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func (h *Header) parse(s string) (descr string, err error) {
	p := literal{rest: s}
	seen := map[string]bool{}
	p.want("{")
	for p.err == nil && !p.accept("}") {
		key := p.str()
		p.want(":")
		if p.err == nil && seen[key] {
			return "", badHeader("%s occurs twice", quoted(key))
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.peek() == '[' {
				return "", ErrStructured
			}
			descr = p.str()
		case "fortran_order":
			h.Fortran = p.boolean()
		case "shape":
			h.Shape = p.tuple()
		default:
			if p.err == nil {
				return "", badHeader("key %s is none of descr, fortran_order and shape", quoted(key))
			}
		}
		if !p.accept(",") {
			p.want("}")
			break
		}
	}
	if p.err != nil {
		return "", p.err
	}
	if strings.TrimSpace(p.rest) != "" {
		return "", badHeader("%s after its end", quoted(strings.TrimSpace(p.rest)))
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return "", badHeader("no %s", key)
		}
	}
	return descr, nil
}

// dtype takes a type such as <f8 apart.
func (h *Header) dtype(descr string) error {
	order, kind := "", descr
	if descr != "" && strings.Contains("<>|=", descr[:1]) {
		order, kind = descr[:1], descr[1:]
	}
	switch kind {
	case "b1", "i1", "u1":
	case "f8", "f4", "f2", "i2", "i4", "i8", "u2", "u4", "u8":
		if order == "|" {
			return badHeader("type %s has no byte order", quoted(descr))
		}
	default:
		if strings.HasPrefix(kind, "O") {
			return ErrObjects
		}
		return fmt.Errorf("values of type %s, %w", quoted(descr), ErrType)
	}
	h.Kind, h.Size, h.Big = kind, int(kind[1]-'0'), order == ">"
	return nil
}
