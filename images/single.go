package images

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
)

// PictureReader reads pictures of a collection as a network sees them. It has buffers that it reuses: one goroutine has
// one.
type PictureReader struct {
	c        *Collection
	pack     *PackReader
	decoder  sourceDecoder
	shrinker shrinker
	pixels   []byte
}

// NewReader returns a reader for one goroutine.
func (c *Collection) NewReader() *PictureReader {
	r := &PictureReader{c: c}
	if c.set != nil && c.set.Pack != nil {
		r.pack = c.set.Pack.NewReader()
	}
	return r
}

// SizeError is about a picture of another size than a network's.
type SizeError struct {
	Name                      string
	Height, Width             int // of the picture
	WantedHeight, WantedWidth int
}

// Error is one line.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: %d×%d pixels (width × height), the network was trained on %d×%d", e.Name, e.Width, e.Height,
		e.WantedWidth, e.WantedHeight)
}

// Pixels reads picture i, of this size, row after row, channels last, into dst. With resize a picture of another size
// is resized until it covers this one, and its centre is taken; else it is a *SizeError.
func (r *PictureReader) Pixels(i int, dst []byte, height, width, channels int, resize bool) error {
	c := r.c
	if s := c.set; s != nil && s.Pack == nil && s.Height == height && s.Width == width && s.Channels == channels {
		copy(dst, c.split.Images[i*s.size():(i+1)*s.size()])
		return nil
	}
	if channels != 1 && channels != 3 {
		return fail(c.describe(i), "the network was trained on %d channels, pictures have one or three", channels)
	}
	img, err := r.image(i)
	if err != nil {
		return err
	}
	size := img.Bounds().Size()
	same := size == image.Pt(width, height)
	if !same && !resize {
		return &SizeError{Name: c.describe(i), Height: size.Y, Width: size.X, WantedHeight: height, WantedWidth: width}
	}
	if same {
		drawPixels(dst, img, channels)
		return nil
	}
	if need := size.X * size.Y * channels; cap(r.pixels) < need {
		r.pixels = make([]byte, need)
	}
	whole := r.pixels[:size.X*size.Y*channels]
	drawPixels(whole, img, channels)
	cover(dst, height, width, whole, size.Y, size.X, channels)
	return nil
}

// image decodes picture i. It is valid until the next call.
func (r *PictureReader) image(i int) (image.Image, error) {
	switch s := r.c.set; {
	case s != nil && s.Pack != nil:
		return r.pack.Picture(r.c.split.Packed[i])
	case s != nil:
		if s.Channels != 1 && s.Channels != 3 {
			return nil, fail(r.c.Name, "images of %d channels: want one or three", s.Channels)
		}
		return (&Set{Height: s.Height, Width: s.Width, Channels: s.Channels, Test: r.c.split}).Picture(false, i)
	}
	path := r.c.files[i].path
	h, b, err := r.look(path)
	if err != nil {
		return nil, err
	}
	if h.Height*h.Width > largePixels {
		large.Lock()
		defer large.Unlock()
	}
	if h.Found&(foundGIF|foundWebP) != 0 {
		img, err := decodeWhole(h, b)
		if err != nil {
			return nil, fail(path, "%s", cause(err))
		}
		return img, nil
	}
	read := jpeg.Decode
	if h.Found&foundPNG != 0 {
		read = png.Decode
	}
	img, err := read(bytes.NewReader(b))
	if err != nil {
		return nil, notImage(path, err)
	}
	return img, nil
}

// look reads a file and its header.
func (r *PictureReader) look(path string) (h sourceHeader, b []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, nil, failed(path, "read", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return h, nil, failed(path, "read", errors.Join(err, errors.New("not a regular file")))
	}
	b, err = io.ReadAll(io.LimitReader(f, mostPicture))
	if err != nil {
		return h, nil, failed(path, "read", err)
	}
	if h, err = r.decoder.look(path, b); err != nil {
		return h, nil, fail(path, "%s", cause(err))
	}
	return h, b, nil
}

// drawPixels writes a picture as folders of one size are read: transparency is laid over black.
func drawPixels(dst []byte, img image.Image, channels int) {
	size := img.Bounds().Size()
	rect := image.Rectangle{Max: size}
	if channels == 1 {
		draw.Draw(&image.Gray{Pix: dst, Stride: size.X, Rect: rect}, rect, img, img.Bounds().Min, draw.Src)
		return
	}
	rgba := image.NewRGBA(rect)
	draw.Draw(rgba, rect, img, img.Bounds().Min, draw.Src)
	for k := range size.X * size.Y {
		copy(dst[3*k:3*k+3], rgba.Pix[4*k:])
	}
}

// Planes reads picture i in YCbCr 4:2:0, as packing does: shrunk until its side has size pixels, and never enlarged. A
// picture of a packed file is as it is there. copyTo copies a part of it, until the next call.
func (r *PictureReader) Planes(i, size int, side string) (height, width int,
	copyTo func(crop image.Rectangle, dst Planes, at image.Point) error, err error) {
	if r.pack != nil {
		e := r.c.split.Packed[i]
		return int(e.Height), int(e.Width), func(crop image.Rectangle, dst Planes, at image.Point) error {
			return r.pack.ReadCrop(e, crop, dst, at)
		}, nil
	}
	var p planes
	name := r.c.describe(i)
	if r.c.set != nil {
		img, err := r.image(i)
		if err != nil {
			return 0, 0, nil, err
		}
		if p, err = r.decoder.convert(img, false); err != nil {
			return 0, 0, nil, fail(name, "%s", cause(err))
		}
	} else {
		h, b, err := r.look(name)
		if err != nil {
			return 0, 0, nil, err
		}
		if h.Height*h.Width > largePixels {
			large.Lock()
			defer large.Unlock()
		}
		if p, err = r.decoder.planes(h, b); err != nil {
			return 0, 0, nil, fail(name, "%s", cause(err))
		}
	}
	h, w := fitted(p.h, p.w, size, side)
	if max(h, w) > packMostSide {
		return 0, 0, nil, fail(name, "%d × %d pixels: a side is longer than %d", p.h, p.w, packMostSide)
	}
	if need := rawBytes(h, w); cap(r.pixels) < need {
		r.pixels = make([]byte, need)
	}
	small := r.shrinker.shrink(r.pixels[:rawBytes(h, w)], p, h, w)
	return h, w, func(crop image.Rectangle, dst Planes, at image.Point) error {
		crop = evenly(crop).Intersect(image.Rect(0, 0, w, h))
		dst.copyFrom(small, crop, image.Pt(at.X&^1, at.Y&^1))
		return nil
	}, nil
}

// cover resizes a picture until it covers height × width pixels and takes the centre. A pixel is the mean of the area
// that it covers, or is interpolated between two if that is less than a pixel.
func cover(dst []byte, height, width int, src []byte, h, w, channels int) {
	scale := math.Min(float64(h)/float64(height), float64(w)/float64(width))
	down, across := scale*float64(height), scale*float64(width)
	rows := spanWeights((float64(h)-down)/2, down, height, h)
	columns := spanWeights((float64(w)-across)/2, across, width, w)
	line := make([]float64, w*channels)
	for y, row := range rows {
		clear(line)
		for k, share := range row.shares {
			for x, v := range src[(row.first+k)*w*channels:][:w*channels] {
				line[x] += share * float64(v)
			}
		}
		for x, column := range columns {
			for c := range channels {
				sum := 0.0
				for k, share := range column.shares {
					sum += share * line[(column.first+k)*channels+c]
				}
				dst[(y*width+x)*channels+c] = byte(math.Round(math.Min(math.Max(sum, 0), 255)))
			}
		}
	}
}

// spanWeight is a run of source pixels and their shares in one pixel of the result, which sum to 1.
type spanWeight struct {
	first  int
	shares []float64
}

// spanWeights are those of out pixels that divide the span of length pixels from from on, of in.
func spanWeights(from, length float64, out, in int) []spanWeight {
	all := make([]spanWeight, out)
	scale := length / float64(out)
	for i := range all {
		begin, end := from+float64(i)*scale, from+float64(i+1)*scale
		if scale < 1 { // between the centres of two pixels
			at := math.Min(math.Max((begin+end)/2-0.5, 0), float64(in-1))
			first := min(int(at), max(in-2, 0))
			rest := at - float64(first)
			all[i] = spanWeight{first, []float64{1 - rest, rest}[:min(2, in)]}
			continue
		}
		first, last := max(int(begin), 0), min(int(math.Ceil(end)), in)
		w := spanWeight{first: min(first, in-1)}
		total := 0.0
		for k := w.first; k < max(last, w.first+1); k++ {
			share := math.Max(math.Min(end, float64(k+1))-math.Max(begin, float64(k)), 0)
			w.shares, total = append(w.shares, share), total+share
		}
		if total == 0 { // rounding at the end
			w.shares[0], total = 1, 1
		}
		for k := range w.shares {
			w.shares[k] /= total
		}
		all[i] = w
	}
	return all
}
