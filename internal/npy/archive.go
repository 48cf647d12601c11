package npy

import (
	"archive/zip"
	"errors"
	"io"
	"slices"
	"strings"
)

// ErrNoArray says that an archive has no array of a name.
var ErrNoArray = errors.New("no such array")

// Archive is an .npz file.
type Archive struct {
	zip *zip.Reader
}

// OpenArchive reads the table of contents, which stands at the end of the file.
func OpenArchive(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	return &Archive{z}, nil
}

// Names are the arrays, in alphabetical order.
func (z *Archive) Names() []string {
	var names []string
	for _, f := range z.zip.File {
		names = append(names, arrayName(f))
	}
	slices.Sort(names)
	return names
}

func arrayName(f *zip.File) string { return strings.TrimSuffix(f.Name, ".npy") }

// Has reports whether there is an array of exactly this name.
func (z *Archive) Has(name string) bool {
	return slices.ContainsFunc(z.zip.File, func(f *zip.File) bool { return arrayName(f) == name })
}

// Open returns the .npy file of an array, spelt exactly so if there is one, else in the other case.
func (z *Archive) Open(name string) (io.ReadCloser, error) {
	var found *zip.File
	for _, f := range z.zip.File {
		n := arrayName(f)
		if n == name || found == nil && strings.EqualFold(n, name) {
			found = f
		}
	}
	if found == nil {
		return nil, ErrNoArray
	}
	return found.Open()
}
