package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrTooLarge says that an array is larger than its caller allows.
var ErrTooLarge = errors.New("too large")

// ErrMore says that something follows an array.
var ErrMore = errors.New("more data after the array")

// ShortError says that a file ends before its array does.
type ShortError struct {
	Shape Shape
	Have  int // values that are there
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("cut short: shape %s promises %d values, the file has %d", e.Shape, e.Shape.Count(), e.Have)
}

// Array is an array in a stream: its header, read, and its values, still to be read.
//
// A header may promise more than the stream holds, so room is made for what has been read and never for
// what is promised, unless the caller sets a limit.
type Array struct {
	Header

	r    io.Reader
	read int // how many values
	raw  []byte
}

// Open reads the header of the array that is next in r. It reads small pieces: r should be buffered.
func Open(r io.Reader) (*Array, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	return &Array{Header: h, r: r}, nil
}

// maxText is the longest text that Text reads, in bytes.
const maxText = 1 << 10

// Text reads an array that is one text, of NumPy's type S or U.
func Text(r io.Reader) (string, error) {
	var h Header
	descr, err := h.read(r)
	if err != nil {
		return "", err
	}
	kind := strings.TrimLeft(descr, "<>|=")
	n := -1
	if kind != "" {
		n, err = strconv.Atoi(kind[1:])
	}
	wide := strings.HasPrefix(kind, "U") // 32 bits a character
	if wide {
		n *= 4
	}
	if err != nil || n < 0 || n > maxText || !wide && !strings.HasPrefix(kind, "S") || h.Shape.Count() != 1 {
		return "", badHeader("type %s of shape %s, want one text", quoted(descr), h.Shape)
	}
	b := make([]byte, n)
	if err := full(r, b); err != nil {
		return "", err
	}
	if wide {
		order := binary.ByteOrder(binary.LittleEndian)
		if descr[0] == '>' {
			order = binary.BigEndian
		}
		var runes []rune
		for i := 0; i < n; i += 4 {
			runes = append(runes, rune(order.Uint32(b[i:])))
		}
		b = []byte(string(runes))
	}
	return strings.TrimRight(string(b), "\x00"), nil
}

// piece is how many values are converted at a time.
const piece = 8 << 10

// Done is how many values have been read.
func (a *Array) Done() int { return a.read }

// Fill reads the next values, of any type, into dst.
func (a *Array) Fill(dst []float64) error {
	if a.raw == nil {
		a.raw = make([]byte, piece*a.Size)
	}
	for len(dst) > 0 {
		n := min(len(dst), piece)
		raw := a.raw[:n*a.Size]
		if err := a.bytes(raw); err != nil {
			return err
		}
		a.decode(dst[:n], raw)
		dst = dst[n:]
	}
	return nil
}

// Next reads n values that may not be there.
func (a *Array) Next(n int) (v []float64, err error) {
	for len(v) < n {
		k := min(piece, n-len(v))
		v = append(v, make([]float64, k)...)
		if err := a.Fill(v[len(v)-k:]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Bytes reads the whole array as it is stored, in one piece, if it has no more than most bytes.
func (a *Array) Bytes(most int64) ([]byte, error) {
	n := int64(a.Shape.Count())
	if n > most/int64(a.Size) {
		return nil, ErrTooLarge
	}
	b := make([]byte, n*int64(a.Size))
	return b, a.bytes(b)
}

// bytes reads whole values.
func (a *Array) bytes(b []byte) error {
	k, err := io.ReadFull(a.r, b)
	a.read += k / a.Size
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &ShortError{a.Shape, a.read}
	}
	return err
}

// End checks that nothing follows the array.
func (a *Array) End() error {
	var b [1]byte
	switch _, err := io.ReadFull(a.r, b[:]); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("%w of shape %s", ErrMore, a.Shape)
	default:
		return err
	}
}
