package images

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// mostPicture bounds the bytes of a picture file: no file in use comes near.
const mostPicture = 1 << 30

// Source is a labelled collection of picture files: a folder, a tar, a zip, or two of them. Its pictures are listed
// and can be read, but are not decoded. Names and labels depend on the paths in it alone: a folder and an archive of
// the folder give the same pictures.
type Source struct {
	Name   string // the last part of the path, of the first if there are two
	Layout string // in words, such as "class folders in train and val", "ILSVRC2012" or "Tiny-ImageNet"

	// Classes are sorted as text, as os.ReadDir sorts folders. If all are decimal numbers, they are sorted as numbers:
	// the folders 0 to 999 are the classes 0 to 999.
	Classes []string

	// Train and Test are sorted by class, and then by name. Test pictures whose labels do not come from folders are
	// sorted by name.
	Train, Test []SourcePicture

	HeldOut bool // a tenth of every class became the test pictures

	// Others are the files that are not packed, and why. Of folders that are not packed there is one line each. Files
	// whose names start with a dot, and those known to describe a data set, are left out.
	Others []SourceProblem

	// Hash is the sha256, in hexadecimal, of the layout, the classes and the names, sizes and labels of all pictures.
	// It does not cover their contents.
	Hash string

	tree tree
}

// SourcePicture is a file of a source.
type SourcePicture struct {
	Name  string // the path in the source, with slashes, without the folders that all pictures are in; any bytes
	Size  int64  // bytes
	place int64  // see store
	store uint32
	Label uint16 // the number of its class
}

// SourceProblem is a file, or a folder if Name ends with a slash, that is not packed.
type SourceProblem struct{ Name, Why string }

// OpenSource lists the pictures of one path or two: folders, uncompressed tars or zips. It reads no picture.
// It recognises these layouts:
//
//   - train/CLASS and val/CLASS; valid, validation or test can stand for val
//   - CLASS alone: a tenth of every class is held out for testing, and which ones their names decide
//   - Tiny-ImageNet: labels of val are in val/val_annotations.txt
//   - ILSVRC2012: train/WNID, and val without folders; the labels of val are built in. Also its two tars as they are
//     distributed, as two paths or in one folder
//   - two paths with CLASS in both: training pictures and test pictures
//
// Pictures can be in folders of their class's folder. A tar in a folder or in a tar stands for a folder of its name
// without .tar.
func OpenSource(ctx context.Context, paths ...string) (*Source, error) {
	if len(paths) == 0 || len(paths) > 2 {
		return nil, fail("source", "%d paths: give one folder or archive, or two, for training and testing", len(paths))
	}
	s := &Source{Name: nameOfSource(paths[0])}
	if err := s.list(ctx, paths); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func nameOfSource(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // . has a name as well
	}
	return filepath.Base(path)
}

func (s *Source) list(ctx context.Context, paths []string) error {
	var parts []*sifted
	for _, p := range paths {
		l, err := s.tree.list(ctx, p)
		if err != nil {
			return err
		}
		f, err := sift(l)
		if err != nil {
			return err
		}
		parts = append(parts, f)
	}
	a := arranger{Source: s, path: paths[0]}
	if err := a.arrange(parts); err != nil {
		return err
	}
	slices.SortFunc(s.Others, func(a, b SourceProblem) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Why, b.Why)
	})
	s.Hash = s.hash()
	return nil
}

// Read reads a picture's file into buf, or into a new slice if buf is too small. Several goroutines can read at once.
func (s *Source) Read(p SourcePicture, buf []byte) ([]byte, error) { return s.tree.read(p, buf) }

// Close closes the archives.
func (s *Source) Close() error { return s.tree.close() }

func (s *Source) hash() string {
	h := sha256.New()
	var b []byte
	text := func(s string) {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	text(s.Layout)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.Classes)))
	for _, c := range s.Classes {
		text(c)
	}
	for _, pictures := range [][]SourcePicture{s.Train, s.Test} {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(pictures)))
		for _, p := range pictures {
			text(p.Name)
			b = binary.LittleEndian.AppendUint64(b, uint64(p.Size))
			b = binary.LittleEndian.AppendUint16(b, p.Label)
			if len(b) > 1<<15 {
				h.Write(b)
				b = b[:0]
			}
		}
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// sifted are the files of a listing by what their names say.
type sifted struct {
	path     string
	pictures []SourcePicture
	notes    []SourcePicture // files named val_annotations.txt
	rest     []SourcePicture // not pictures
	others   []SourceProblem
}

// sift sorts out the pictures.
func sift(l *listing) (*sifted, error) {
	f := &sifted{path: l.path, others: l.others}
	pictures := l.files[:0]
	for _, p := range l.files {
		name := path.Base(p.Name)
		switch {
		case namesPicture(name) && p.Size > mostPicture:
			f.others = append(f.others, SourceProblem{p.Name, "more than 1 GiB: too large for a picture"})
		case namesPicture(name):
			pictures = append(pictures, p)
		case name == tinyNotes:
			f.notes = append(f.notes, p)
		case !describes(name):
			f.rest = append(f.rest, p)
		}
	}
	if len(pictures) == 0 {
		found := make([]string, 0, len(f.rest))
		for _, p := range f.rest {
			found = append(found, plain(p.Name))
		}
		what := "it is empty"
		if len(found) > 0 {
			what = "found " + few(found)
		}
		return nil, fail(l.path, "no pictures by the names of files (%s): %s", what, layouts)
	}
	f.pictures = slices.Clip(pictures)
	return f, nil
}

// namesPicture reports whether a file's name is a picture's. Some of these formats cannot be decoded: that is said when
// they are read.
func namesPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".jfif", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic", ".avif":
		return true
	}
	return false
}

// describes reports whether a file is one that data sets come with, of which nothing is packed.
func describes(name string) bool {
	switch name {
	case "wnids.txt", "words.txt", "LICENSE", "LICENSE.txt", "ILSVRC2012_validation_ground_truth.txt":
		return true
	}
	for _, pattern := range []string{"*_boxes.txt", "README*", "*.md", "noisy_image*.csv", "LOC_*.csv",
		"ILSVRC2012_devkit*", "ILSVRC2012_bbox*"} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// notPicture says why a file is not packed.
func notPicture(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".zip", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz2", ".zst", ".7z", ".rar":
		return "an archive in the source: unpack it"
	}
	return "not a picture by its name"
}

// few joins the first of some names.
func few(names []string) string {
	const enough = 4
	if len(names) > enough {
		return strings.Join(names[:enough], ", ") + " …"
	}
	return strings.Join(names, ", ")
}

//go:embed ilsvrc2012_val_wnids.txt.gz
var valTable []byte

const valPictures = 50_000

// valWNIDs returns the classes of the validation pictures of ILSVRC2012, in the order of their numbers.
var valWNIDs = sync.OnceValues(func() ([]string, error) {
	r, err := gzip.NewReader(bytes.NewReader(valTable))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	count := map[string]int{}
	for _, c := range lines {
		count[c]++
	}
	for _, n := range count {
		if n != 50 {
			return nil, errValTable
		}
	}
	if len(lines) != valPictures {
		return nil, errValTable
	}
	return lines, nil
})

var errValTable = errors.New("the built-in table of ILSVRC2012's validation labels does not have 50 pictures a class")
