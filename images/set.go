// Package images reads sets of labelled images into bytes on the host.
//
// A set comes from CIFAR-10, from Fashion-MNIST, from a sample of the latter that is part of the program, from
// a folder with a subfolder of pictures for every class, from a NumPy archive, or from a packed file of pictures of
// many sizes (see [OpenPack]). From any other source images are N × height × width × channels, one byte a value, and
// labels count from zero.
package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Split is a part of a set: N images of H×W×C bytes each, row after row, channels last, and their N labels. The images
// of a packed set stay in their file: Packed says where, and Images and Labels are empty.
type Split struct {
	Images []byte
	Labels []uint8
	Packed []PackEntry
}

// Len is the number of images.
func (s Split) Len() int { return max(len(s.Labels), len(s.Packed)) }

// Label is the class of image i.
func (s Split) Label(i int) int {
	if s.Packed != nil {
		return int(s.Packed[i].Label)
	}
	return int(s.Labels[i])
}

// Set is a set of images of one size.
type Set struct {
	Name                    string
	Height, Width, Channels int
	Classes                 []string // the name of every label
	Train, Test             Split

	// Pack is the open file of a packed set, else nil. Its pictures have many sizes: Height and Width are those of a
	// slot that each of them fits into.
	Pack *Pack

	Resized bool    // pictures were resized and cropped to this size, see Options
	Broken  []error // of files that were left out, see Options

	// Mean and Deviation of the training images are per channel, in units of bytes (0 to 255). A channel that
	// never changes has deviation 1, so that dividing by it is safe.
	Mean, Deviation []float32

	// Hash is the sha256, in hexadecimal, of the line "height width channels train test" and then the pixels
	// and labels of Train and of Test. It names the data in a run's log, wherever they came from.
	Hash string
}

func (s *Set) size() int { return s.Height * s.Width * s.Channels }

// NewSet makes a set of images in memory. Labels count from 0, as the names of their classes do.
func NewSet(name string, height, width, channels int, classes []string, train, test Split) (*Set, error) {
	s := &Set{Name: name, Height: height, Width: width, Channels: channels, Classes: classes, Train: train, Test: test}
	if height < 1 || width < 1 || channels < 1 {
		return nil, fail(name, "images of %d × %d × %d: want height, width and channels", height, width, channels)
	}
	return s, s.finish()
}

// DataDir is the folder where data sets live: $BREGMAN_DATA or else bregman in the user's cache folder.
func DataDir() string {
	if dir := os.Getenv("BREGMAN_DATA"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil { // no home: a daemon, say
		dir = os.TempDir()
	}
	return filepath.Join(dir, "bregman")
}

// Load reads a set: one that List names, a folder of pictures, or an .npz file.
//
// A set with a name is looked for in the folder dir, or in DataDir where dir is empty. A folder has train and
// test subfolders, which have one of png, jpeg, gif or webp files for every class; without train and test, a tenth of
// every class, always the same, becomes the test images. An .npz has X_train, y_train, X_test and y_test, the
// images N × H × W × C or N × H × W of type uint8.
func Load(name, dir string) (*Set, error) { return LoadWith(name, dir, Options{}) }

// LoadWith is Load with options for folders of pictures.
func LoadWith(name, dir string, o Options) (*Set, error) {
	s, err := load(name, dir, o)
	if err != nil {
		return nil, err
	}
	s.Name = name
	if err := s.finish(); err != nil {
		return nil, err
	}
	return s, nil
}

func load(name, dir string, o Options) (*Set, error) {
	if dir == "" {
		dir = DataDir()
	}
	for _, k := range known {
		if k.name == name {
			if o.Size > 0 {
				return nil, fail(name, "--size resizes the pictures of a folder, and these have one size: leave it out")
			}
			return k.load(dir)
		}
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return loadFolder(name, o)
	case err == nil && o.Size > 0 && IsPack(name):
		return nil, fail(name, "--size resizes the pictures of a folder, and this is a packed file: --resolution is for "+
			"those")
	case o.Size > 0 && err == nil:
		return nil, fail(name, "--size resizes the pictures of a folder, and these have one size: leave it out")
	case strings.EqualFold(filepath.Ext(name), ".npz"):
		return loadNPZ(name)
	case err == nil && IsPack(name):
		return loadPack(name)
	case err == nil:
		return nil, fail(name, "neither a folder of images nor an .npz or packed file: give one of those or %s",
			strings.Join(Names(), ", "))
	}
	return nil, &Error{name, "no such data set: give " + strings.Join(Names(), ", ") +
		", a folder with one subfolder of images per class, or an .npz or packed file", err}
}

// loadPack opens a packed file. Its pictures are read when they are needed.
func loadPack(path string) (*Set, error) {
	p, err := OpenPack(path)
	if err != nil {
		return nil, err
	}
	return &Set{Name: path, Height: p.Height, Width: p.Width, Channels: 3, Classes: p.Classes, Mean: p.Mean,
		Deviation: p.Deviation, Hash: p.Hash, Train: Split{Packed: p.Train}, Test: Split{Packed: p.Test}, Pack: p}, nil
}

// Close closes the file of a packed set. Other sets have nothing to close.
func (s *Set) Close() error {
	if s.Pack == nil {
		return nil
	}
	return s.Pack.Close()
}

// finish checks what no reader may get wrong and fills in what is computed.
func (s *Set) finish() error {
	for _, p := range []struct {
		name string
		Split
	}{{"training", s.Train}, {"test", s.Test}} {
		if p.Len() == 0 {
			return fail(s.Name, "no %s images: add some", p.name)
		}
		if s.Pack == nil && len(p.Images) != p.Len()*s.size() {
			return fail(s.Name, "%d %s labels but %d bytes of images of %d bytes each", p.Len(), p.name, len(p.Images), s.size())
		}
		for i := range p.Len() {
			if y := p.Label(i); y >= len(s.Classes) {
				return fail(s.Name, "label %d of %s image %d is out of range: want 0 to %d", y, p.name, i, len(s.Classes)-1)
			}
		}
	}
	if s.Pack != nil {
		return nil // the file has the rest
	}
	if s.Mean == nil {
		s.Mean, s.Deviation = moments(s.Train.Images, s.Channels)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d %d %d\n", s.Height, s.Width, s.Channels, s.Train.Len(), s.Test.Len())
	for _, b := range [][]byte{s.Train.Images, s.Train.Labels, s.Test.Images, s.Test.Labels} {
		h.Write(b)
	}
	s.Hash = hex.EncodeToString(h.Sum(nil))
	return nil
}

// moments is the mean and the standard deviation of every channel. Bytes are counted first: the counts are
// exact, so the result does not depend on any order of summation over millions of pixels.
func moments(pixels []byte, channels int) (mean, deviation []float32) {
	counts := make([][256]int, channels)
	for i := 0; i < len(pixels); i += channels {
		for c, v := range pixels[i : i+channels] {
			counts[c][v]++
		}
	}
	n := float64(len(pixels) / channels)
	for c := range counts {
		var m, v float64
		for x, k := range counts[c] {
			m += float64(x) * float64(k) / n
		}
		for x, k := range counts[c] {
			v += (float64(x) - m) * (float64(x) - m) * float64(k) / n
		}
		if counts[c][pixels[c]] == int(n) { // exactly one value; rounding may have left a tiny v
			v = 1
		}
		mean = append(mean, float32(m))
		deviation = append(deviation, float32(math.Sqrt(v)))
	}
	return mean, deviation
}
