package images

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
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
	name string
	size int64
	zip  *zip.Reader
}

func readNPZ(r io.ReaderAt, size int64, name string) (*Set, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, damaged(name, cause(err))
	}
	a := npz{name, size, z}
	s := &Set{Name: name}
	var shape []int
	if s.Train, shape, err = a.split("train"); err != nil {
		return nil, err
	}
	var second []int
	if s.Test, second, err = a.split("test"); err != nil {
		return nil, err
	}
	if !slices.Equal(shape, second) {
		return nil, fail(name, "images of X_train have shape %s, of X_test %s: make them alike", tuple(shape), tuple(second))
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
		return nil, fail(name, "only one class, %d, in y_train: there is nothing to learn; save images of two classes or more", last)
	case gap < last:
		return nil, fail(name, "no image of y_train has label %d, and %d is the last: number the classes from 0 without gaps, with numpy.unique(y, return_inverse=True)[1]", gap, last)
	case int(slices.Max(s.Test.Labels)) > last:
		return nil, fail(name, "y_test has label %d, which is out of range: the labels of y_train are 0 to %d", slices.Max(s.Test.Labels), last)
	}
	return s, nil
}

// channelsFirst tells N × channels × height × width, as PyTorch has it, from channels last: three planes, a square one, or last a number that
// no picture has of channels.
func channelsFirst(d []int) bool {
	c, height, width := d[1], d[2], d[3]
	return c <= 4 && width > 4 || c == 3 && width != 3 && width != 1 || c == 1 && height == width && width != 1
}

// split reads the images and labels of train or test, and returns the shape of an image.
func (a npz) split(part string) (s Split, shape []int, err error) {
	X, y := "X_"+part, "y_"+part
	err = a.array(X, func(h npyHeader, r io.Reader) error {
		switch d := h.shape; {
		case h.kind != "u1":
			return fail(a.name, "%s has type %s: want uint8, values 0 to 255: convert it with .astype('uint8')", X, h.kind)
		case len(d) == 3:
			shape = append(d[1:], 1)
		case len(d) == 4 && channelsFirst(d):
			return fail(a.name, "%s has shape %s, channels first: want them last: save X.transpose(0, 2, 3, 1)", X, tuple(d))
		case len(d) == 4:
			shape = d[1:]
		default:
			return fail(a.name, "%s has shape %s: want N × height × width, or that × channels", X, tuple(d))
		}
		s.Images, err = a.values(X, h, r)
		return err
	})
	if err != nil {
		return s, nil, err
	}
	err = a.array(y, func(h npyHeader, r io.Reader) error {
		size := shape[0] * shape[1] * shape[2]
		switch d := h.shape; {
		case h.kind[0] != 'u' && h.kind[0] != 'i':
			return fail(a.name, "%s has type %s: want whole numbers from 0: convert it with .astype('uint8')", y, h.kind)
		case len(d) != 1 && (len(d) != 2 || d[1] != 1):
			return fail(a.name, "%s has shape %s: want one label an image", y, tuple(d))
		case d[0]*size != len(s.Images):
			return fail(a.name, "%s has %d labels but %s has %d images: save arrays of equal length", y, d[0], X, len(s.Images)/size)
		}
		raw, err := a.values(y, h, r)
		if err != nil {
			return err
		}
		s.Labels, err = h.labels(a.name, y, raw)
		return err
	})
	return s, shape, err
}

// array opens an array, spelt so or in the other case, and has it read.
func (a npz) array(name string, read func(npyHeader, io.Reader) error) error {
	var have []string
	for _, f := range a.zip.File {
		n := strings.TrimSuffix(f.Name, ".npy")
		have = append(have, strconv.Quote(n))
		if !strings.EqualFold(n, name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return damaged(a.name, cause(err))
		}
		defer r.Close()
		in := bufio.NewReader(r)
		h, err := readNPYHeader(in)
		if err != nil {
			return fail(a.name, "%s: %s: save the array again", name, cause(err))
		}
		if h.fortran {
			return fail(a.name, "%s is stored column after column: save numpy.ascontiguousarray of it", name)
		}
		return read(h, in)
	}
	if have == nil {
		have = []string{"none"}
	}
	return fail(a.name, "no array %s: %s; the file has %s", name, npzAdvice, some(have))
}

// values reads all bytes of an array into a slice of the final size. What the header promises is believed only
// as far as the best possible compression of a file of this size could keep it.
func (a npz) values(name string, h npyHeader, r io.Reader) ([]byte, error) {
	const ratio = 1032 // of deflate: 258 bytes in two bits
	most := a.size * ratio
	n := int64(h.size)
	for _, d := range h.shape {
		if d == 0 {
			return nil, fail(a.name, "%s has shape %s, nothing in it: %s", name, tuple(h.shape), npzAdvice)
		}
		if int64(d) > most/n {
			return nil, damaged(a.name, fmt.Sprintf("%s of shape %s does not fit into %d bytes", name, tuple(h.shape), a.size))
		}
		n *= int64(d)
	}
	b := make([]byte, n)
	if k, err := io.ReadFull(r, b); err != nil {
		return nil, damaged(a.name, fmt.Sprintf("%s is cut short, %d of %d bytes: %s", name, k, n, cause(err)))
	}
	switch k, err := io.Copy(io.Discard, r); { // to the end, where zip compares its checksum
	case err != nil:
		return nil, damaged(a.name, name+": "+cause(err))
	case k > 0:
		return nil, damaged(a.name, fmt.Sprintf("%s of shape %s is followed by %d more bytes", name, tuple(h.shape), k))
	}
	return b, nil
}

// labels turns integers of any size into bytes.
func (h npyHeader) labels(file, name string, raw []byte) ([]uint8, error) {
	labels := make([]uint8, len(raw)/h.size)
	order := binary.ByteOrder(binary.LittleEndian)
	if h.big {
		order = binary.BigEndian
	}
	for i := range labels {
		var v uint64 // a negative label of the type's size shows as a large one
		switch b := raw[i*h.size:]; h.size {
		case 1:
			v = uint64(b[0])
			if h.kind[0] == 'i' {
				v = uint64(int8(b[0]))
			}
		case 2:
			v = uint64(order.Uint16(b))
			if h.kind[0] == 'i' {
				v = uint64(int16(v))
			}
		case 4:
			v = uint64(order.Uint32(b))
			if h.kind[0] == 'i' {
				v = uint64(int32(v))
			}
		case 8:
			v = order.Uint64(b)
		}
		if v > 255 {
			shown := strconv.FormatUint(v, 10)
			if h.kind[0] == 'i' {
				shown = strconv.FormatInt(int64(v), 10)
			}
			return nil, fail(file, "%s[%d] is %s, which is out of range: number the classes from 0 to at most 255", name, i, shown)
		}
		labels[i] = uint8(v)
	}
	return labels, nil
}
