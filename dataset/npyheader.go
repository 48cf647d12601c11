package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// header is what an .npy file says about its array.
type header struct {
	kind    string // f8, i4, b1 …
	size    int    // bytes a value
	big     bool   // big-endian
	fortran bool   // column after column
	shape   []int
}

// headerError is a complaint about a header, as opposed to a failure to read it.
type headerError string

func (e headerError) Error() string { return string(e) }

func badHeader(format string, args ...any) error {
	return headerError("bad npy header: " + fmt.Sprintf(format, args...) + ": save the array again with numpy.save")
}

// maxHeader is well above what NumPy itself agrees to read.
const maxHeader = 64 << 10

// readHeader reads the magic bytes, the version, a length and then a Python dictionary.
func readHeader(r io.Reader) (h header, err error) {
	b := make([]byte, len(npyMagic)+2)
	if err := full(r, b); err != nil {
		return h, err
	}
	if string(b[:len(npyMagic)]) != npyMagic {
		return h, badHeader("it does not start with \\x93NUMPY")
	}
	major, minor := b[len(npyMagic)], b[len(npyMagic)+1]
	size := 4
	switch {
	case minor != 0 || major < 1 || major > 3:
		return h, badHeader("version %d.%d, want 1.0 to 3.0", major, minor)
	case major == 1:
		size = 2
	}
	var n [4]byte
	if err := full(r, n[:size]); err != nil {
		return h, err
	}
	length := binary.LittleEndian.Uint32(n[:])
	if length > maxHeader {
		return h, badHeader("it claims to be %d bytes long", length)
	}
	b = make([]byte, length)
	if err := full(r, b); err != nil {
		return h, err
	}
	return h, h.parse(string(b))
}

func full(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return badHeader("the file ends in it")
	}
	return err
}

// parse reads {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func (h *header) parse(s string) error {
	p := literal{rest: s}
	var descr string
	seen := map[string]bool{}
	p.want("{")
	for p.err == nil && !p.accept("}") {
		key := p.str()
		p.want(":")
		if p.err == nil && seen[key] {
			return badHeader("%s occurs twice", quoted(key))
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.peek() == '[' {
				return headerError("a structured array: save the columns as one plain array, for example with numpy.lib.recfunctions.structured_to_unstructured")
			}
			descr = p.str()
		case "fortran_order":
			h.fortran = p.boolean()
		case "shape":
			h.shape = p.tuple()
		default:
			if p.err == nil {
				return badHeader("key %s is none of descr, fortran_order and shape", quoted(key))
			}
		}
		if !p.accept(",") {
			p.want("}")
			break
		}
	}
	if p.err != nil {
		return p.err
	}
	if strings.TrimSpace(p.rest) != "" {
		return badHeader("%s after its end", quoted(strings.TrimSpace(p.rest)))
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return badHeader("no %s", key)
		}
	}
	if err := h.dtype(descr); err != nil {
		return err
	}
	if h.count() < 0 {
		return badHeader("shape %s is larger than any file", h.dims())
	}
	return nil
}

// dtype takes a type such as <f8 apart.
func (h *header) dtype(descr string) error {
	order, kind := "", descr
	if descr != "" && strings.Contains("<>|=", descr[:1]) {
		order, kind = descr[:1], descr[1:]
	}
	switch kind {
	case "b1", "i1", "u1":
	case "f8", "f4", "i2", "i4", "i8", "u2", "u4", "u8":
		if order == "|" {
			return badHeader("type %s has no byte order", quoted(descr))
		}
	default:
		if strings.HasPrefix(kind, "O") {
			return headerError("an array of Python objects, which is not read: convert it with a.astype('float64') and save it again")
		}
		return headerError(fmt.Sprintf("values of type %s, which is not read: convert them with a.astype('float64') and save again", quoted(descr)))
	}
	h.kind, h.size, h.big = kind, int(kind[1]-'0'), order == ">"
	return nil
}

// count is the number of values, or -1 if it is too large for their bytes to be counted.
func (h *header) count() int {
	n := 1
	for _, k := range h.shape {
		if k > 0 && n > math.MaxInt/16/k {
			return -1
		}
		n *= k
	}
	return n
}

// literal reads the few forms of Python literals that headers are made of.
type literal struct {
	rest string
	err  error
}

func (p *literal) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *literal) peek() byte {
	if p.blanks(); p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *literal) accept(s string) bool {
	p.blanks()
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok && p.err == nil {
		p.rest = rest
		return true
	}
	return false
}

func (p *literal) want(s string) {
	if !p.accept(s) {
		p.fail(s)
	}
}

func (p *literal) fail(want string) {
	if p.err == nil {
		p.err = badHeader("want %s before %s", want, quoted(p.rest))
	}
}

func (p *literal) str() string {
	q := p.peek()
	if q != '\'' && q != '"' {
		p.fail("a string")
		return ""
	}
	s, rest, ok := strings.Cut(p.rest[1:], string(q))
	if !ok {
		p.fail("the end of a string")
		return ""
	}
	p.rest = rest
	return s
}

func (p *literal) boolean() bool {
	if p.accept("True") {
		return true
	}
	if !p.accept("False") {
		p.fail("True or False")
	}
	return false
}

// tuple reads (3, 4), (3,) or (); Python 2 wrote 3L.
func (p *literal) tuple() []int {
	v := []int{}
	p.want("(")
	for p.err == nil && !p.accept(")") {
		p.blanks()
		digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			p.fail("a length")
			return nil
		}
		p.rest = strings.TrimPrefix(p.rest[len(digits):], "L")
		v = append(v, n)
		if !p.accept(",") {
			p.want(")")
			break
		}
	}
	return v
}
