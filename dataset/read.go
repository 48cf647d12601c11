package dataset

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
)

// Options say how to read a file. The zero value reads it as it is.
type Options struct {
	Label   string // CSV: name of the label column; default the column called "label", else the last
	Bias    bool   // add a constant feature 1 (name "bias") as last column
	Float32 bool   // sparse text: keep values in 32 bits, a third less memory
	Cols    int    // sparse text: X has at least this many columns, the bias included; 0 = as the file says

	// ZeroBased says that svmlight text counts its columns from 0 and not from 1. Other formats have no indices.
	ZeroBased bool

	// Unlabeled says that the file may have no labels: every column of a CSV is a feature unless one is named or called
	// "label", and every column of an npy. Y is then 0. In svmlight text a label still stands first.
	Unlabeled bool
}

// Read reads a file; "-" is standard input. Open knows sets by name, too.
func Read(path string, opt Options) (*Set, error) {
	f, name, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f, name, opt)
}

// openFile opens a file, or standard input for "-", and says what to call it.
func openFile(path string) (f io.ReadCloser, name string, err error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), "stdin", nil
	}
	f, err = os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &Error{Name: path, Msg: "no such file: check the path", err: err}
	}
	if err != nil {
		return nil, "", failed(path, 0, err)
	}
	return f, path, nil
}

// peek is how much of a file its format is told from.
const peek = 64 << 10

// ReadFrom reads r to its end. The name stands in errors, and its ending helps to tell the format.
func ReadFrom(r io.Reader, name string, opt Options) (*Set, error) {
	if opt.Cols > math.MaxInt32 {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("%d columns wanted: at most %d are possible", opt.Cols,
			math.MaxInt32)}
	}
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(r, sum), peek)
	kind := name
	if head, _ := in.Peek(2); string(head) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, failed(name, 0, unzipping(name, err))
		}
		in = bufio.NewReaderSize(gunzip{z, name}, peek)
		kind = strings.TrimSuffix(strings.ToLower(name), ".gz")
	}
	read, err := format(in, kind)
	if err != nil {
		return nil, failed(name, 0, err)
	}
	s, err := read(in, name, opt)
	if err != nil {
		return nil, err
	}
	s.Hash = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// gunzip puts what is wrong with a gzip file into words.
type gunzip struct {
	z    *gzip.Reader
	name string
}

func (g gunzip) Read(b []byte) (int, error) {
	n, err := g.z.Read(b)
	if err != nil && err != io.EOF {
		err = unzipping(g.name, err)
	}
	return n, err
}

func unzipping(name string, err error) error {
	msg := "the gzip data are damaged (" + err.Error() + "): fetch the file again"
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		msg = "the gzip file is cut short: fetch it again"
	}
	return &Error{Name: name, Msg: msg, err: err}
}
