package images

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/bregman-ml/bregman/internal/npy"
)

const npzAdvice = "save with numpy.savez(file, X_train=…, y_train=…, X_test=…, y_test=…)"

func loadNPZ(name string) (*Set, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, failed(name, "read", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, failed(name, "read", err)
	}
	return readNPZ(f, info.Size(), name)
}

// npz is an archive of NumPy arrays.
type npz struct {
	*npy.Archive
	name string
	size int64
}

func readNPZ(r io.ReaderAt, size int64, name string) (*Set, error) {
	z, err := npy.OpenArchive(r, size)
	if err != nil {
		return nil, damaged(name, cause(err))
	}
	a := npz{z, name, size}
	s := &Set{Name: name}
	var shape npy.Shape
	if s.Train, shape, err = a.split("train"); err != nil {
		return nil, err
	}
	var second npy.Shape
	if s.Test, second, err = a.split("test"); err != nil {
		return nil, err
	}
	if !slices.Equal(shape, second) {
		return nil, fail(name, "images of X_train have shape %s, of X_test %s: make them alike", shape, second)
	}
	s.Height, s.Width, s.Channels = shape[0], shape[1], shape[2]
	var seen [256]bool
	for _, y := range s.Train.Labels {
		seen[y] = true
	}
	for i := range int(slices.Max(s.Train.Labels)) + 1 {
		s.Classes = append(s.Classes, strconv.Itoa(i))
	}
	last := len(s.Classes) - 1
	gap := slices.Index(seen[:], false)
	switch {
	case slices.Min(s.Train.Labels) == slices.Max(s.Train.Labels):
		return nil, fail(name, "only one class, %d, in y_train: there is nothing to learn; save images of two classes or "+
			"more", last)
	case gap < last:
		return nil, fail(name, "no image of y_train has label %d, and %d is the last: number the classes from 0 without "+
			"gaps, with numpy.unique(y, return_inverse=True)[1]", gap, last)
	case int(slices.Max(s.Test.Labels)) > last:
		return nil, fail(name, "y_test has label %d, which is out of range: the labels of y_train are 0 to %d",
			slices.Max(s.Test.Labels), last)
	}
	return s, nil
}

// channelsFirst tells N × channels × height × width, as PyTorch has it, from channels last: three planes, a square one,
// or last a number that no picture has of channels.
func channelsFirst(d []int) bool {
	c, height, width := d[1], d[2], d[3]
	return c <= 4 && width > 4 || c == 3 && width != 3 && width != 1 || c == 1 && height == width && width != 1
}

// split reads the images and labels of train or test, and returns the shape of an image.
func (z npz) split(part string) (s Split, shape npy.Shape, err error) {
	return z.labelled("X_"+part, "y_"+part)
}

// labelled reads images and their labels, and returns the shape of an image. Without a name of labels there are none.
func (z npz) labelled(X, y string) (s Split, shape npy.Shape, err error) {
	err = z.array(X, func(a *npy.Array) error {
		switch d := a.Shape; {
		case a.Kind != "u1":
			return fail(z.name, "%s has type %s: want uint8, values 0 to 255: convert it with .astype('uint8')", X, a.Kind)
		case len(d) == 3:
			shape = append(d[1:], 1)
		case len(d) == 4 && channelsFirst(d):
			return fail(z.name, "%s has shape %s, channels first: want them last: save X.transpose(0, 2, 3, 1)", X, d)
		case len(d) == 4:
			shape = d[1:]
		default:
			return fail(z.name, "%s has shape %s: want N × height × width, or that × channels", X, d)
		}
		s.Images, err = z.pixels(X, a)
		return err
	})
	if err != nil || y == "" {
		return s, shape, err
	}
	err = z.array(y, func(a *npy.Array) error {
		size := shape.Count()
		switch d := a.Shape; {
		case a.Kind[0] != 'u' && a.Kind[0] != 'i':
			return fail(z.name, "%s has type %s: want whole numbers from 0: convert it with .astype('uint8')", y, a.Kind)
		case len(d) != 1 && (len(d) != 2 || d[1] != 1):
			return fail(z.name, "%s has shape %s: want one label an image", y, d)
		case d[0]*size != len(s.Images):
			return fail(z.name, "%s has %d labels but %s has %d images: save arrays of equal length",
				y, d[0], X, len(s.Images)/size)
		}
		s.Labels, err = z.labels(y, a)
		return err
	})
	return s, shape, err
}

// array opens an array, spelt so or in the other case, and has all of it read.
func (z npz) array(name string, read func(*npy.Array) error) error {
	r, err := z.Open(name)
	if errors.Is(err, npy.ErrNoArray) {
		have := "none"
		if names := z.Names(); len(names) > 0 {
			for i, n := range names {
				names[i] = strconv.Quote(n)
			}
			have = some(names)
		}
		return fail(z.name, "no array %s: %s; the file has %s", name, npzAdvice, have)
	}
	if err != nil {
		return damaged(z.name, cause(err))
	}
	defer r.Close()
	in := bufio.NewReader(r)
	a, err := npy.Open(in)
	if err != nil {
		return fail(z.name, "%s: %s: save the array again", name, cause(err))
	}
	if a.Fortran {
		return fail(z.name, "%s is stored column after column: save numpy.ascontiguousarray of it", name)
	}
	if err := read(a); err != nil {
		return err
	}
	switch k, err := io.Copy(io.Discard, in); { // to the end, where zip compares its checksum
	case err != nil:
		return z.damaged(name, err)
	case k > 0:
		return damaged(z.name, fmt.Sprintf("%s of shape %s is followed by %d more bytes", name, a.Shape, k))
	}
	return nil
}

// pixels reads an array of bytes into a slice of the final size. What the header promises is believed only
// as far as the best possible compression of a file of this size could keep it.
func (z npz) pixels(name string, a *npy.Array) ([]byte, error) {
	const ratio = 1032 // of deflate: 258 bytes in two bits
	if a.Shape.Count() == 0 {
		return nil, fail(z.name, "%s has shape %s, nothing in it: %s", name, a.Shape, npzAdvice)
	}
	b, err := a.Bytes(z.size * ratio)
	if errors.Is(err, npy.ErrTooLarge) {
		return nil, damaged(z.name, fmt.Sprintf("%s of shape %s does not fit into %d bytes", name, a.Shape, z.size))
	}
	if err != nil {
		return nil, z.damaged(name, err)
	}
	return b, nil
}

// labels turns integers of any size into bytes.
func (z npz) labels(name string, a *npy.Array) ([]uint8, error) {
	values, err := a.Next(a.Shape.Count())
	if err != nil {
		return nil, z.damaged(name, err)
	}
	labels := make([]uint8, len(values))
	for i, v := range values {
		if v < 0 || v > 255 {
			return nil, fail(z.name, "%s[%d] is %.0f, which is out of range: number the classes from 0 to at most 255", name, i,
				v)
		}
		labels[i] = uint8(v)
	}
	return labels, nil
}

// damaged says why the values of an array could not be read.
func (z npz) damaged(name string, err error) error {
	var short *npy.ShortError
	if errors.As(err, &short) {
		return damaged(z.name, fmt.Sprintf("%s is cut short, %d of %d values", name, short.Have, short.Shape.Count()))
	}
	return damaged(z.name, name+": "+cause(err))
}
