package dataset

import (
	"bufio"
	"bytes"
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
	// Label is the column of labels of a CSV or Parquet file, by its name, or by its number counted from 1. A name goes
	// first. Default is the column called "label", in any case, else the last.
	Label string

	NoHeader bool     // CSV: the first line is data; columns are then called "1", "2", …
	Columns  []string // CSV, Parquet: only these columns are features, by name or number; nil: all but the label
	Drop     []string // CSV, Parquet: these are not features

	// Missing says what to do about missing values in a CSV or Parquet file; "" means MissingError. Those are nulls, empty
	// texts, NA, N/A, NaN, null, None, ?, <NA> and #N/A, in any case.
	Missing Missing

	// Like reads a CSV or Parquet file as one that was read before, whose encoding it is: with the same columns,
	// categories, fills and classes. Columns are found by name, whatever their order, and others are ignored. The file may
	// lack the labels. NoHeader, Columns, Drop and Missing are then those of the encoding.
	Like *Encoding

	Bias    bool // add a constant feature 1 (name "bias") as last column
	Float32 bool // sparse text: keep values in 32 bits, a third less memory
	Cols    int  // sparse text: X has at least this many columns, the bias included; 0 = as the file says

	// ZeroBased says that svmlight text counts its columns from 0 and not from 1. Other formats have no indices.
	ZeroBased bool

	// Unlabeled says that the file may have no labels: every column of a CSV or Parquet file is a feature unless one is
	// named or called "label", and every column of an npy; an npz needs no y. Y is then 0. In svmlight text a label still
	// stands first. With Like such a file is read without its labels, whether it has them or not.
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
	if !opt.Missing.known() {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("--missing %s: choose one of %s", quoted(string(opt.Missing)),
			some(MissingNames()))}
	}
	if opt.Like != nil {
		if err := opt.Like.Check(); err != nil {
			return nil, &Error{Name: name, Msg: "the model does not say how to read it: " + err.Error(), err: err}
		}
	}
	sum := sha256.New()
	file, size := atAnyPlace(r)
	in := bufio.NewReaderSize(io.TeeReader(r, sum), peek)
	kind := name
	if head, _ := in.Peek(2); string(head) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, failed(name, 0, unzipping(name, err))
		}
		in, file = bufio.NewReaderSize(gunzip{z, name}, peek), nil
		kind = strings.TrimSuffix(strings.ToLower(name), ".gz")
	}
	f, err := format(in, kind)
	if err != nil {
		return nil, failed(name, 0, err)
	}
	if flag, csv := opt.columns(); flag != "" && f.Name != formatCSV && (csv || !f.named) {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("%s is about the columns of a CSV, and this is %s: leave it out",
			flag, f.Name)}
	}
	var s *Set
	switch {
	case f.readAt == nil:
		s, err = f.read(in, name, opt)
	case file != nil:
		if s, err = f.readAt(file, size, name, opt); err == nil {
			_, err = io.Copy(io.Discard, in) // for the hash of all bytes
		}
	default:
		var b []byte
		if b, err = io.ReadAll(in); err == nil {
			s, err = f.readAt(bytes.NewReader(b), int64(len(b)), name, opt)
		}
	}
	if err != nil {
		return nil, failed(name, 0, err)
	}
	s.Hash = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// atAnyPlace returns r as a file that can be read in any order, and its size; nil if it is none, such as a pipe.
func atAnyPlace(r io.Reader) (io.ReaderAt, int64) {
	f, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, 0
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		return nil, 0
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return nil, 0
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0
	}
	return f, size
}

// columns returns the flag of an option that not all formats have, or "", and whether only a CSV has it.
func (opt *Options) columns() (flag string, csv bool) {
	switch {
	case opt.Like != nil: // they are not looked at
		return "", false
	case opt.NoHeader:
		return "--no-header", true
	case len(opt.Columns) > 0:
		return "--columns", false
	case len(opt.Drop) > 0:
		return "--drop", false
	}
	return "", false
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
