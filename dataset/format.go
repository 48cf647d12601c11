package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/npy"
	"github.com/bregman-ml/bregman/internal/parquet"
)

type (
	reader   func(r io.Reader, name string, opt Options) (*Set, error)
	readerAt func(r io.ReaderAt, size int64, name string, opt Options) (*Set, error)
)

// Format is a kind of file that Read knows. It is told by its first bytes if it has magic ones, else by the name's
// ending, else by what a line of text looks like.
type Format struct {
	Name, About string
	magic       []string
	endings     []string
	looks       func(line []byte) bool // nil: it is not text
	read        reader
	readAt      readerAt // for files that are read here and there; they have no read
	named       bool     // its columns have names, and may hold texts
	save        string   // what to do about a file that only has the ending
}

const formatCSV = "csv"

const saveNumPy = "not a NumPy file, whatever its name says: save it again with numpy.save or numpy.savez"

// Formats are the kinds of files that are read.
var Formats = []Format{
	{Name: "svmlight", About: "label index:value …, a line per example", endings: []string{".svm", ".libsvm", ".svmlight"},
		looks: looksSVM, read: readSVM},
	{Name: formatCSV, About: "a header and a line per example, between commas, semicolons or tabs",
		endings: []string{".csv", ".tsv"}, looks: looksCSV, read: readCSV, named: true},
	{Name: "npy", About: "NumPy's array, the last column being the labels", magic: []string{npy.Magic},
		endings: []string{".npy"}, read: readNPY, save: saveNumPy},
	{Name: "npz", About: "NumPy's arrays X and y", magic: []string{"PK\x03\x04", "PK\x05\x06"}, endings: []string{".npz"},
		read: readNPZ, save: saveNumPy},
	{Name: "parquet", About: "Apache Parquet, a row per example, as a CSV", magic: []string{parquet.Magic},
		endings: []string{".parquet"}, readAt: readParquet, named: true,
		save: "not a Parquet file, whatever its name says: save it again, in pandas with DataFrame.to_parquet"},
}

// format finds the format of a stream.
func format(in *bufio.Reader, name string) (*Format, error) {
	head, err := in.Peek(peek)
	if err != nil && err != io.EOF && len(head) == 0 {
		return nil, err
	}
	start := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	for _, f := range Formats {
		if slices.ContainsFunc(f.magic, start) {
			return &f, nil
		}
	}
	switch {
	case start("\xff\xfe"), start("\xfe\xff"):
		return nil, errors.New("UTF-16 text: save the file as UTF-8")
	case start("BZh"), start("\xfd7zXZ"), start("\x28\xb5\x2f\xfd"):
		return nil, errors.New("compressed, but not with gzip: decompress it first")
	}
	for _, f := range Formats {
		switch {
		case !slices.Contains(f.endings, strings.ToLower(path.Ext(name))):
		case f.magic != nil:
			return nil, errors.New(f.save)
		default:
			return &f, nil
		}
	}
	return looks(head)
}

// looks tells formats of text by the first line that says anything.
func looks(head []byte) (*Format, error) {
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte(bom))) {
		if text, _, _ := bytes.Cut(line, []byte("#")); len(bytes.Fields(text)) == 0 {
			continue
		}
		for _, f := range Formats {
			if f.looks != nil && f.looks(line) {
				return &f, nil
			}
		}
		return nil, errors.New("neither svmlight (label index:value …) nor CSV with a header: check the file, or name it " +
			".svm or .csv")
	}
	return &Formats[0], nil // svmlight, which finds no examples
}

// looksSVM reports whether a line is a label and indices with values, or a label without separators.
func looksSVM(line []byte) bool {
	text, _, _ := bytes.Cut(line, []byte("#"))
	tokens := bytes.Fields(text)
	if len(tokens) > 1 {
		return bytes.ContainsRune(tokens[1], ':')
	}
	return !looksCSV(line) && isNumber(tokens[0]) // an example without features
}

// looksCSV reports whether a line has separators.
func looksCSV(line []byte) bool { return bytes.ContainsAny(line, ",;\t") }

func isNumber(tok []byte) bool {
	_, n, ok := scanFloat(tok)
	return ok && n == len(tok)
}
