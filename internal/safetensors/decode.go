package safetensors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Decode reads a file of size bytes, or up to the end of r when size is -1. It believes size, so pass -1 for
// one that a stranger claims; lengths in the file itself cost no memory before the bytes behind them arrive.
func Decode(r io.Reader, size int64) (File, error) {
	f, err := decode(r, size)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file is cut short: copy or download it again")
	}
	if err != nil {
		return File{}, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

// Read decodes the file at path.
func Read(path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = -1 // a pipe does not know
	}
	f, err := Decode(bufio.NewReader(file), size)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func decode(r io.Reader, size int64) (File, error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return File{}, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return File{}, fmt.Errorf("a header of %d bytes, more than %d: is this a safetensors file?", n, maxHeader)
	}
	if size >= 0 && int64(n) > size-8 {
		return File{}, io.ErrUnexpectedEOF
	}
	header, err := readBytes(r, int(n), size >= 0)
	if err != nil {
		return File{}, err
	}
	entries, metadata, err := decodeHeader(header)
	if err != nil {
		return File{}, err
	}
	if size >= 0 {
		if err := fills(entries, size-8-int64(n)); err != nil {
			return File{}, err
		}
	}
	f := File{Metadata: metadata}
	for _, e := range entries {
		data, err := readBytes(r, e.end-e.begin, size >= 0)
		if err != nil {
			return File{}, err
		}
		f.Tensors = append(f.Tensors, Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, Data: data})
	}
	if size < 0 {
		return f, ended(r)
	}
	return f, nil
}

var errTrailing = errors.New("there are bytes after the data of the last tensor")

// fills checks that the tensors own all of the n bytes after the header, before any of them is read.
func fills(entries []entry, n int64) error {
	var end int64
	if len(entries) > 0 {
		end = int64(entries[len(entries)-1].end)
	}
	switch {
	case end > n:
		return io.ErrUnexpectedEOF
	case end < n:
		return errTrailing
	}
	return nil
}

// ended checks that r has nothing more.
func ended(r io.Reader) error {
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case io.EOF:
		return nil
	case nil:
		return errTrailing
	default:
		return err
	}
}

// readBytes reads n bytes, into one allocation when they are known to be there and into a growing one when n is
// only a claim.
func readBytes(r io.Reader, n int, there bool) ([]byte, error) {
	if there || n <= bytes.MinRead {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r, int64(n))
	return b.Bytes(), err
}
