package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/bregman-ml/bregman/internal/npy"
)

type reader func(r io.Reader, name string, opt Options) (*Set, error)

// format finds the reader for a stream: by its first bytes if they are unmistakable, else by the name's
// ending, else by what the first line looks like.
func format(in *bufio.Reader, name string) (reader, error) {
	head, err := in.Peek(peek)
	if err != nil && err != io.EOF && len(head) == 0 {
		return nil, err
	}
	start := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case start(npy.Magic):
		return readNPY, nil
	case start("PK\x03\x04"), start("PK\x05\x06"):
		return readNPZ, nil
	case start("\xff\xfe"), start("\xfe\xff"):
		return nil, errors.New("UTF-16 text: save the file as UTF-8")
	case start("BZh"), start("\xfd7zXZ"), start("\x28\xb5\x2f\xfd"):
		return nil, errors.New("compressed, but not with gzip: decompress it first")
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".svm", ".libsvm", ".svmlight":
		return readSVM, nil
	case ".csv", ".tsv":
		return readCSV, nil
	case ".npy", ".npz":
		return nil, errors.New("not a NumPy file, whatever its name says: save it again with numpy.save or numpy.savez")
	}
	return looks(head)
}

// looks tells svmlight from CSV by the first line that says anything.
func looks(head []byte) (reader, error) {
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte(bom))) {
		text, _, _ := bytes.Cut(line, []byte("#"))
		tokens := bytes.Fields(text)
		switch {
		case len(tokens) == 0:
			continue
		case len(tokens) > 1 && bytes.ContainsRune(tokens[1], ':'):
			return readSVM, nil
		case bytes.ContainsAny(line, ",;\t"):
			return readCSV, nil
		case len(tokens) == 1 && isNumber(tokens[0]): // an example without features
			return readSVM, nil
		}
		return nil, errors.New("neither svmlight (label index:value …) nor CSV with a header: check the file, or name it " +
			".svm or .csv")
	}
	return readSVM, nil // which finds no examples
}

func isNumber(tok []byte) bool {
	_, n, ok := scanFloat(tok)
	return ok && n == len(tok)
}
