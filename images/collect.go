package images

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/npy"
)

// Collection is pictures to look at one by one, with labels or without: a part of a set, the pictures in a folder, or
// some files. Files are read when they are needed: a broken one does not spoil the others.
type Collection struct {
	Name     string
	Classes  []string // the names of the labels
	Numbered bool     // labels are numbers without names, as those of an .npz are

	set    *Set // nil of files
	train  bool
	split  Split
	files  []picture
	labels []int // of files: −1 for none
}

// Len is the number of pictures.
func (c *Collection) Len() int {
	if c.set == nil {
		return len(c.files)
	}
	if c.set.Pack == nil {
		return len(c.split.Images) / c.set.size()
	}
	return len(c.split.Packed)
}

// Label is the class of picture i, or −1 if it has none.
func (c *Collection) Label(i int) int {
	switch {
	case c.set == nil:
		return c.labels[i]
	case c.split.Packed == nil && c.split.Labels == nil:
		return -1
	}
	return c.split.Label(i)
}

// PictureName is the path of a file, the name that a packed picture had in its source, or a number.
func (c *Collection) PictureName(i int) string {
	switch {
	case c.set == nil:
		return c.files[i].path
	case c.set.Pack != nil:
		return c.set.Pack.PictureName(c.train, i)
	}
	return strconv.Itoa(i)
}

// describe names picture i in errors.
func (c *Collection) describe(i int) string {
	if c.set == nil || c.set.Pack != nil {
		return c.PictureName(i)
	}
	return fmt.Sprintf("%s, picture %d", c.Name, i)
}

// Close closes the file of a packed set.
func (c *Collection) Close() error {
	if c.set == nil {
		return nil
	}
	return c.set.Close()
}

// Pack is the packed file that the pictures are in, or nil, and entries are theirs.
func (c *Collection) Pack() (p *Pack, entries []PackEntry) {
	if c.set == nil {
		return nil, nil
	}
	return c.set.Pack, c.split.Packed
}

// Collect finds the pictures that spec names:
//
//   - a set and its part, cifar10:test or pictures.pack:train; without a part the test pictures
//   - an .npz: X_test, or X, with the labels y_test or y if they are there; X_train for FILE.npz:train
//   - a picture
//   - a folder of pictures. Those in a folder with the name of one of classes, if there are any, have it as their label
//   - a folder and its part: the training or test pictures of the set that Load makes of it
//
// dir is where sets with names are, as in Load.
func Collect(spec, dir string, classes []string) (*Collection, error) {
	name, part := spec, ""
	if k := strings.LastIndexByte(spec, ':'); k >= 0 && (spec[k+1:] == "train" || spec[k+1:] == "test") {
		name, part = spec[:k], spec[k+1:]
	}
	info, err := os.Stat(name)
	switch {
	case slices.Contains(Names(), name) || err == nil && IsPack(name):
		s, err := Load(name, dir)
		if err != nil {
			return nil, err
		}
		c := &Collection{Name: spec, Classes: s.Classes, set: s, split: s.Test}
		if c.train = part == "train"; c.train {
			c.split = s.Train
		}
		return c, nil
	case strings.EqualFold(filepath.Ext(name), ".npz"):
		return collectNPZ(name, part)
	case err == nil && info.IsDir() && part != "":
		return collectPart(name, part)
	case err == nil && info.IsDir():
		return collectFolder(name, classes)
	case err == nil && part == "":
		return &Collection{Name: name, files: []picture{{path: name}}, labels: []int{-1}}, nil
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return nil, fail(name, "a picture has no parts: leave :%s out", part)
	}
	return nil, &Error{name, "no such pictures: give a picture, a folder, an .npz or packed file, or " +
		strings.Join(Names(), ", ") + ", each with :test or :train behind it", err}
}

// Join puts collections of files, of which each may be a picture or a folder, into one.
func Join(all []*Collection) (*Collection, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	out := &Collection{Name: fmt.Sprintf("%d files and folders", len(all))}
	for _, c := range all {
		if c.set != nil {
			return nil, fail(c.Name, "give a set of pictures alone, without others beside it")
		}
		if c.Classes != nil {
			out.Classes = c.Classes // of the caller, if there are any: the same for all
		}
		out.files, out.labels = append(out.files, c.files...), append(out.labels, c.labels...)
	}
	return out, nil
}

// collectNPZ reads the images of an archive, and their labels if it has them.
func collectNPZ(name, part string) (*Collection, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, failed(name, "read", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, failed(name, "read", err)
	}
	return readCollection(f, info.Size(), name, part)
}

func readCollection(r io.ReaderAt, size int64, name, part string) (*Collection, error) {
	archive, err := npy.OpenArchive(r, size)
	if err != nil {
		return nil, damaged(name, cause(err))
	}
	z := npz{archive, name, size}
	has := func(array string) bool {
		return slices.ContainsFunc(z.Names(), func(name string) bool {
			return strings.EqualFold(strings.TrimSuffix(name, ".npy"), array)
		})
	}
	X, y := "X_test", "y_test"
	switch {
	case part == "train":
		X, y = "X_train", "y_train"
	case part == "" && !has(X) && has("X"):
		X, y = "X", "y"
	}
	if !has(y) {
		y = ""
	}
	split, shape, err := z.labelled(X, y)
	if err != nil {
		return nil, err
	}
	s := &Set{Name: z.name, Height: shape[0], Width: shape[1], Channels: shape[2]}
	c := &Collection{Name: z.name, Numbered: true, set: s, train: part == "train", split: split}
	if y != "" {
		for k := range int(slices.Max(split.Labels)) + 1 {
			c.Classes = append(c.Classes, strconv.Itoa(k))
		}
	}
	return c, nil
}

// collectPart lists a part of the set that a folder is.
func collectPart(dir, part string) (*Collection, error) {
	classes, first, second, err := folderPictures(dir)
	if err != nil {
		return nil, err
	}
	c := &Collection{Name: dir + ":" + part, Classes: classes, files: second}
	if part == "train" {
		c.files = first
	}
	for _, p := range c.files {
		c.labels = append(c.labels, int(p.label))
	}
	return c, nil
}

// collectFolder lists the pictures in a folder and in those below it.
func collectFolder(dir string, classes []string) (*Collection, error) {
	c := &Collection{Name: dir, Classes: classes}
	isClass := func(name string) bool { return slices.Contains(classes, name) }
	if isFolder(filepath.Join(dir, "train")) && isFolder(filepath.Join(dir, "test")) && !isClass("train") {
		return nil, fail(dir, "it has training and test pictures: say which, %s:test or %s:train", dir, dir)
	}
	root := filepath.Clean(dir) + string(filepath.Separator) // a link to a folder, too
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(e.Name(), "."): // other systems leave such files beside the images
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir() && namesPicture(e.Name()):
			below, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			c.files = append(c.files, picture{path: filepath.Join(dir, below)})
			c.labels = append(c.labels, classOfPath(filepath.ToSlash(below), classes))
		}
		return nil
	})
	if err != nil {
		return nil, failed(dir, "read", err)
	}
	if len(c.files) == 0 {
		return nil, fail(dir, "no pictures: want png, jpeg, gif or webp files, in it or in folders in it")
	}
	if !slices.ContainsFunc(c.labels, func(k int) bool { return k >= 0 }) {
		c.Classes = nil
	}
	return c, nil
}

// classOfPath is the class whose name the path begins with, or −1. A name may have slashes, as T-shirt/top has.
func classOfPath(path string, classes []string) int {
	return slices.IndexFunc(classes, func(class string) bool { return strings.HasPrefix(path, class+"/") })
}
