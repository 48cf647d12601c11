package images

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// npyHeader is what an .npy file says about its array.
type npyHeader struct {
	kind    string // u1, i8 …
	size    int    // bytes a value
	big     bool   // big end first
	fortran bool   // column after column
	shape   []int
}

// NumPy always writes the three keys in this order.
var npyDict = regexp.MustCompile(`^\{'descr': '([<>|=]?)([a-z])([0-9]{1,2})', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\),? *\}\s*$`)

// readNPYHeader reads the magic bytes, the version, a length and then a Python dictionary.
func readNPYHeader(r io.Reader) (h npyHeader, err error) {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil || string(b[:6]) != "\x93NUMPY" || b[6] < 1 || b[6] > 3 {
		return h, errors.New("not a NumPy array")
	}
	var n [4]byte
	size := 4
	if b[6] == 1 {
		size = 2
	}
	if _, err := io.ReadFull(r, n[:size]); err != nil {
		return h, errors.New("the header is cut short")
	}
	length := binary.LittleEndian.Uint32(n[:])
	if length > 64<<10 { // well above what NumPy itself agrees to read
		return h, fmt.Errorf("a header of %d bytes", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, errors.New("the header is cut short")
	}
	m := npyDict.FindSubmatch(text)
	if m == nil {
		return h, fmt.Errorf("a header or type that is not read (%.60q)", text)
	}
	h.kind, h.big, h.fortran = string(m[2])+string(m[3]), string(m[1]) == ">", string(m[4]) == "True"
	h.size, _ = strconv.Atoi(string(m[3]))
	switch h.kind {
	case "b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8":
	default:
		return h, fmt.Errorf("values of type %q are not read", h.kind)
	}
	for _, f := range strings.FieldsFunc(string(m[5]), func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.Atoi(f)
		if err != nil {
			return h, fmt.Errorf("a dimension of %s", f)
		}
		h.shape = append(h.shape, d)
	}
	return h, nil
}

// tuple is a shape as Python writes it.
func tuple(shape []int) string {
	s := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(shape), "[]")), ", ")
	if len(shape) == 1 {
		s += ","
	}
	return "(" + s + ")"
}
