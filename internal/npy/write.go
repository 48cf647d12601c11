package npy

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// appendHeader appends a header of version 1.0 for values row after row. They start at a multiple of 64 bytes.
func appendHeader(dst []byte, descr string, shape Shape) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	start := len(Magic) + 4
	pad := (64 - (start+len(dict)+1)%64) % 64
	dst = append(dst, Magic+"\x01\x00"...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(dict)+pad+1))
	return append(dst, dict+strings.Repeat(" ", pad)+"\n"...)
}

// Floats returns the .npy file of an array of float64. The shape has as many values as there are.
func Floats(values []float64, shape ...int) []byte {
	b := slices.Grow(appendHeader(nil, "<f8", shape), 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// Texts returns the .npy file of a vector of texts: each in the room of the widest, four bytes a letter.
func Texts(texts []string) []byte {
	width := 1
	for _, t := range texts {
		width = max(width, utf8.RuneCountInString(t))
	}
	b := appendHeader(nil, fmt.Sprintf("<U%d", width), Shape{len(texts)})
	for _, t := range texts {
		letters := []rune(t)
		for _, c := range append(letters, make([]rune, width-len(letters))...) {
			b = binary.LittleEndian.AppendUint32(b, uint32(c))
		}
	}
	return b
}

// Writer writes an .npz file as numpy.savez_compressed does.
type Writer struct {
	zip *zip.Writer
}

// NewWriter returns a Writer to w. It must be closed.
func NewWriter(w io.Writer) *Writer { return &Writer{zip.NewWriter(w)} }

// Add writes an array, given as its .npy file. No name becomes a path.
func (w *Writer) Add(name string, file []byte) error {
	f, err := w.zip.Create(strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name) + ".npy")
	if err != nil {
		return err
	}
	_, err = f.Write(file)
	return err
}

// Close writes the table of contents.
func (w *Writer) Close() error { return w.zip.Close() }
