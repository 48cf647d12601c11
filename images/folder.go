package images

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// picture is an image file and its class.
type picture struct {
	path  string
	label uint8
}

// mostBytes bounds what a set may take: more is a folder of photographs that nobody has scaled down.
const mostBytes = 32 << 30

// loadFolder reads pictures from train/CLASS and test/CLASS, or from CLASS alone. Colour that is transparent is
// laid over black.
func loadFolder(dir string) (*Set, error) {
	classes, train, test, err := folderPictures(dir)
	if err != nil {
		return nil, err
	}
	return loadPictures(dir, classes, train, test)
}

// folderPictures lists the pictures of a folder in the order of its set.
func folderPictures(dir string) (classes []string, first, second []picture, err error) {
	train, test := filepath.Join(dir, "train"), filepath.Join(dir, "test")
	switch {
	case isFolder(train) && isFolder(test):
		if classes, first, err = classFolders(train, nil); err != nil {
			return nil, nil, nil, err
		}
		if len(classes) == 1 {
			return nil, nil, nil, oneClass(train, classes[0])
		}
		_, second, err = classFolders(test, classes)
		return classes, first, second, err
	case isFolder(train) != isFolder(test):
		return nil, nil, nil, fail(dir, "only one of train and test is there: add the other, or put the class folders "+
			"straight into this one; \"bregman data pack\" takes val, too")
	}
	classes, all, err := classFolders(dir, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(classes) == 1 {
		return nil, nil, nil, oneClass(dir, classes[0])
	}
	// By path, and not by class: sets that were loaded before keep their order.
	slices.SortStableFunc(all, func(a, b picture) int { return cmp.Compare(a.path, b.path) })
	first, second = holdOut(all, func(p picture) int { return int(p.label) },
		func(p picture) string { return filepath.Base(p.path) })
	if len(second) == 0 {
		return nil, nil, nil, fail(dir, "one image per class leaves none to test with: add images")
	}
	return classes, first, second, nil
}

func oneClass(dir, class string) error {
	return fail(dir, "only one class, %s: put the class folders, two or more, straight into this folder", class)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// classFolders lists the pictures in the subfolders of a folder, which are to be among classes if those are known.
func classFolders(dir string, classes []string) ([]string, []picture, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, failed(dir, "read", err)
	}
	fixed := classes != nil
	var pictures []picture
	for _, e := range entries { // in the order of their names
		sub := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isFolder(sub) {
			continue
		}
		label := slices.Index(classes, e.Name())
		switch {
		case fixed && label < 0:
			return nil, nil, fail(sub, "a class with no training images: the classes are %s", some(classes))
		case !fixed && len(classes) == 256:
			return nil, nil, fail(dir, "more than 256 classes: labels are bytes; merge or drop some")
		case !fixed:
			label = len(classes)
			classes = append(classes, e.Name())
		}
		files, err := os.ReadDir(sub)
		if err != nil {
			return nil, nil, failed(sub, "read", err)
		}
		before := len(pictures)
		for _, f := range files {
			if isPicture(f.Name()) {
				pictures = append(pictures, picture{filepath.Join(sub, f.Name()), uint8(label)})
			}
		}
		if len(pictures) == before {
			return nil, nil, fail(sub, "no png or jpeg images: add some or remove the folder")
		}
	}
	if len(pictures) == 0 {
		return nil, nil, fail(dir, "no images: want one subfolder of png or jpeg files per class")
	}
	return classes, pictures, nil
}

func isPicture(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png", ".jpg", ".jpeg":
		return !strings.HasPrefix(name, ".") // other systems leave such files beside the images
	}
	return false
}

func some(names []string) string {
	const enough = 10
	if len(names) > enough {
		return strings.Join(names[:enough], ", ") + " …"
	}
	return strings.Join(names, ", ")
}

// holdOut takes a tenth of every class for testing, and at least one image if there are two. Which ones depends on
// the files' names alone: the same on every machine, and cameras' numbering does not matter. The pictures of a class
// are to be neighbours. Both results keep the order of all.
func holdOut[P any](all []P, class func(P) int, name func(P) string) (train, test []P) {
	type ranked struct {
		key [sha256.Size]byte
		at  int
	}
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(p P) bool { return class(p) != class(all[0]) })
		if n < 0 {
			n = len(all)
		}
		ranks := make([]ranked, n)
		for i, p := range all[:n] {
			ranks[i] = ranked{sha256.Sum256([]byte(name(p))), i}
		}
		slices.SortFunc(ranks, func(a, b ranked) int {
			return cmp.Or(bytes.Compare(a.key[:], b.key[:]), cmp.Compare(a.at, b.at))
		})
		k := (n + 5) / 10
		if n > 1 {
			k = max(k, 1)
		}
		held := make([]bool, n)
		for _, r := range ranks[:k] {
			held[r.at] = true
		}
		for i, p := range all[:n] {
			if held[i] {
				test = append(test, p)
			} else {
				train = append(train, p)
			}
		}
		all = all[n:]
	}
	return train, test
}

// loadPictures looks at all headers first, so that there is room of the right size to decode into.
func loadPictures(dir string, classes []string, train, test []picture) (*Set, error) {
	all := slices.Concat(train, test)
	configs := make([]image.Config, len(all))
	err := each(len(all), func(i int) (err error) {
		configs[i], err = config(all[i].path)
		return err
	})
	if err != nil {
		return nil, err
	}
	first := configs[0]
	s := &Set{Name: dir, Height: first.Height, Width: first.Width, Channels: 1, Classes: classes}
	for i, c := range configs {
		if c.Width != s.Width || c.Height != s.Height {
			return nil, fail(all[i].path, "%d×%d pixels, but %s has %d×%d: scale all images to one size, or pack "+
				"them: bregman data pack", c.Width, c.Height,
				all[0].path, s.Width, s.Height)
		}
		if c.ColorModel != color.GrayModel && c.ColorModel != color.Gray16Model {
			s.Channels = 3
		}
	}
	if need := float64(s.Width) * float64(s.Height) * float64(s.Channels) * float64(len(all)); need > mostBytes {
		return nil, fail(dir, "%d images of %d×%d pixels need %.0f GB of memory: scale them down", len(all), s.Width,
			s.Height, need/1e9)
	}
	size := s.size()
	pixels, labels := make([]byte, len(all)*size), make([]uint8, len(all))
	err = each(len(all), func(i int) error {
		labels[i] = all[i].label
		return decode(pixels[i*size:(i+1)*size], all[i].path, s)
	})
	if err != nil {
		return nil, err
	}
	n := len(train)
	s.Train = Split{Images: pixels[: n*size : n*size], Labels: labels[:n:n]}
	s.Test = Split{Images: pixels[n*size:], Labels: labels[n:]}
	return s, nil
}

// each does n things, several at once, and returns the error of the first of them, by number, that fails: every
// worker goes upwards, so the first is always reached.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				if errs[i] = do(i); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func config(path string) (image.Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return image.Config{}, failed(path, "read", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	read := jpeg.DecodeConfig
	if isPNG(r) {
		read = png.DecodeConfig
	}
	c, err := read(r)
	if err != nil {
		return c, notImage(path, err)
	}
	if c.Width < 1 || c.Height < 1 {
		return c, fail(path, "an image of %d×%d pixels: remove it", c.Width, c.Height)
	}
	return c, nil
}

const (
	pngStart  = "\x89PNG\r\n\x1a\n"
	jpegStart = "\xff\xd8"
)

// isPNG reports whether a file starts as PNG files do. The registry of package image is not asked: what is in it
// depends on what else a program imports.
func isPNG(r *bufio.Reader) bool {
	start, err := r.Peek(len(pngStart))
	return err == nil && string(start) == pngStart
}

func notImage(path string, err error) error {
	why := cause(err)
	if bad := jpeg.FormatError(""); errors.As(err, &bad) && strings.Contains(why, "missing SOI") {
		why = "it starts like neither"
	}
	return &Error{path, fmt.Sprintf("cannot be read as a png or jpeg image (%s): save it again or remove it", why), err}
}

// decode reads one picture into its place in the set.
func decode(dst []byte, path string, s *Set) error {
	f, err := os.Open(path)
	if err != nil {
		return failed(path, "read", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	read := jpeg.Decode
	if isPNG(r) {
		read = png.Decode
	}
	img, err := read(r)
	if err != nil {
		return notImage(path, err)
	}
	size := image.Rect(0, 0, s.Width, s.Height)
	if img.Bounds().Size() != size.Max {
		return fail(path, "the image changed while it was read: try again")
	}
	if s.Channels == 1 {
		grey := &image.Gray{Pix: dst, Stride: s.Width, Rect: size}
		draw.Draw(grey, size, img, img.Bounds().Min, draw.Src)
		return nil
	}
	rgba := image.NewRGBA(size)
	draw.Draw(rgba, size, img, img.Bounds().Min, draw.Src)
	for i := range s.Width * s.Height {
		copy(dst[3*i:3*i+3], rgba.Pix[4*i:])
	}
	return nil
}
