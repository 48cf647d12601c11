package images

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
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
func loadFolder(dir string, o Options) (*Set, error) {
	classes, train, test, err := folderPictures(dir)
	if err != nil {
		return nil, err
	}
	return loadPictures(dir, classes, train, test, o)
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
			if namesPicture(f.Name()) && !strings.HasPrefix(f.Name(), ".") { // other systems leave such files there
				pictures = append(pictures, picture{filepath.Join(sub, f.Name()), uint8(label)})
			}
		}
		if len(pictures) == before {
			return nil, nil, fail(sub, "no png, jpeg, gif or webp images: add some or remove the folder")
		}
	}
	if len(pictures) == 0 {
		return nil, nil, fail(dir, "no images: want one subfolder of png, jpeg, gif or webp files per class")
	}
	return classes, pictures, nil
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

// loadPictures looks at all headers first, so that there is room of the right size to decode into. It finds every
// picture that cannot be read before it says so.
func loadPictures(dir string, classes []string, train, test []picture, o Options) (*Set, error) {
	all := slices.Concat(train, test)
	configs, broken := make([]image.Config, len(all)), make([]error, len(all))
	_ = each(len(all), func(i int) error {
		if configs[i], broken[i] = config(all[i].path); broken[i] == nil && o.Size > 0 {
			if err := new(sourceHeader).size(configs[i].Height, configs[i].Width, false); err != nil {
				broken[i] = fail(all[i].path, "%v", err)
			}
		}
		return nil
	})
	s := &Set{Name: dir, Channels: 1, Classes: classes, Resized: o.Size > 0, Height: o.Size, Width: o.Size}
	mixed := false
	for i, c := range configs {
		if broken[i] != nil {
			continue
		}
		if o.Size == 0 && s.Width == 0 {
			s.Height, s.Width = c.Height, c.Width
		}
		mixed = mixed || c.Width != s.Width || c.Height != s.Height
		if c.ColorModel != color.GrayModel && c.ColorModel != color.Gray16Model {
			s.Channels = 3
		}
	}
	if mixed && o.Size == 0 {
		return nil, sizesError(dir, all, configs)
	}
	if need := float64(s.Width) * float64(s.Height) * float64(s.Channels) * float64(len(all)); need > mostBytes {
		return nil, fail(dir, "%d images of %d×%d pixels need %.0f GB of memory: scale them down", len(all), s.Width,
			s.Height, need/1e9)
	}
	size := s.size()
	pixels := make([]byte, len(all)*size)
	_ = each(len(all), func(i int) error {
		if broken[i] == nil {
			broken[i] = decode(pixels[i*size:(i+1)*size], all[i].path, s)
		}
		return nil
	})
	wrong := slices.DeleteFunc(slices.Clone(broken), func(err error) bool { return err == nil })
	if len(wrong) > 0 && !o.SkipBroken {
		return nil, &BrokenError{dir, wrong, len(all)}
	}
	s.Broken = wrong
	s.Train = readable(all[:len(train)], pixels[:len(train)*size:len(train)*size], broken[:len(train)])
	s.Test = readable(all[len(train):], pixels[len(train)*size:], broken[len(train):])
	return s, nil
}

// readable is the part of the set that could be read. The pixels are moved together in place.
func readable(all []picture, pixels []byte, broken []error) Split {
	size, out := len(pixels)/max(1, len(all)), Split{Images: pixels[:0], Labels: make([]uint8, 0, len(all))}
	for i, p := range all {
		if broken[i] == nil {
			out.Images = append(out.Images, pixels[i*size:(i+1)*size]...)
			out.Labels = append(out.Labels, p.label)
		}
	}
	return out
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

// config reads the header of a picture.
func config(path string) (image.Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return image.Config{}, failed(path, "read", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var c image.Config
	switch formatOf(r) {
	case "png":
		c, err = png.DecodeConfig(r)
	case "jpeg":
		c, err = jpeg.DecodeConfig(r)
	default:
		h, _, err := lookAt(path, r)
		return image.Config{ColorModel: color.RGBAModel, Width: h.Width, Height: h.Height}, err
	}
	if err != nil {
		return image.Config{}, notImage(path, err)
	}
	if c.Width < 1 || c.Height < 1 {
		return image.Config{}, fail(path, "an image of %d×%d pixels: remove it", c.Width, c.Height)
	}
	return c, nil
}

// lookAt reads a file that is neither a PNG nor a JPEG, and its header if it is another picture.
func lookAt(path string, r io.Reader) (h sourceHeader, b []byte, err error) {
	if b, err = io.ReadAll(io.LimitReader(r, mostPicture)); err != nil {
		return h, nil, failed(path, "read", err)
	}
	if h, err = new(sourceDecoder).look(path, b); err != nil {
		return h, nil, fail(path, "%s", cause(err))
	}
	return h, b, nil
}

const (
	pngStart  = "\x89PNG\r\n\x1a\n"
	jpegStart = "\xff\xd8"
)

// formatOf is png, jpeg or other, by how a file starts. The registry of package image is not asked: what is in it
// depends on what else a program imports.
func formatOf(r *bufio.Reader) string {
	start, _ := r.Peek(len(pngStart))
	switch {
	case string(start) == pngStart:
		return "png"
	case hasPrefix(start, jpegStart):
		return "jpeg"
	}
	return "other"
}

func notImage(path string, err error) error {
	return &Error{path, fmt.Sprintf("cannot be read as a png or jpeg image (%s): save it again or remove it", cause(err)),
		err}
}

// decode reads one picture into its place in the set.
func decode(dst []byte, path string, s *Set) error {
	f, err := os.Open(path)
	if err != nil {
		return failed(path, "read", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	var img image.Image
	switch formatOf(r) {
	case "png":
		img, err = png.Decode(r)
	case "jpeg":
		img, err = jpeg.Decode(r)
	default:
		h, b, err := lookAt(path, r)
		if err == nil {
			if img, err = decodeWhole(h, b); err != nil {
				err = fail(path, "%s", cause(err))
			}
		}
		if err != nil {
			return err
		}
	}
	if err != nil {
		return notImage(path, err)
	}
	size := img.Bounds().Size()
	switch {
	case size == image.Pt(s.Width, s.Height):
		drawPixels(dst, img, s.Channels)
	case !s.Resized:
		return fail(path, "the image changed while it was read: try again")
	case size.X < 1 || size.Y < 1:
		return fail(path, "an image of %d×%d pixels: remove it", size.X, size.Y)
	default:
		whole := make([]byte, size.X*size.Y*s.Channels)
		drawPixels(whole, img, s.Channels)
		cover(dst, s.Height, s.Width, whole, size.Y, size.X, s.Channels)
	}
	return nil
}
