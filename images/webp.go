package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"math"

	"golang.org/x/image/webp"
)

// mostPixelsOfByte bounds what GIF and WebP may promise: a picture of one colour takes next to nothing, and a header
// that promises more than that is damaged, unless the picture is small.
const (
	mostPixelsOfByte = 8 * 1032
	smallPromise     = 1 << 20
)

// promise is size for the formats whose pixels may take no bytes.
func (h *sourceHeader) promise(height, width, size int) error {
	if err := h.size(height, width, true); err != nil {
		return err
	}
	if n := height * width; n > smallPromise && n > mostPixelsOfByte*size {
		return fmt.Errorf("a header of %d×%d pixels, which cannot be in a file of %d bytes: the file is damaged", width,
			height, size)
	}
	return nil
}

// lookGIF reads the size of the screen: the first frame may cover only a part of it.
func (h *sourceHeader) lookGIF(b []byte) error {
	if len(b) < 13 {
		return errors.New("a GIF picture that is truncated")
	}
	h.Found |= foundGIF
	le := binary.LittleEndian
	return h.promise(int(le.Uint16(b[8:])), int(le.Uint16(b[6:])), len(b))
}

// decodeGIF decodes the first frame. What it does not cover is transparent.
func decodeGIF(h sourceHeader, b []byte) (image.Image, error) {
	img, err := gif.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("a GIF picture that is truncated or damaged (%s)", cause(err))
	}
	frame, screen := img.(*image.Paletted), image.Rect(0, 0, h.Width, h.Height)
	for k, i := range frame.Pix { // a palette may be shorter than what its pixels name
		if int(i) >= len(frame.Palette) {
			return nil, fmt.Errorf("a GIF picture that is damaged (pixel %d has the colour %d of %d)", k, i,
				len(frame.Palette))
		}
	}
	if frame.Rect == screen {
		return frame, nil
	}
	whole := image.NewNRGBA(screen)
	for y := frame.Rect.Min.Y; y < frame.Rect.Max.Y; y++ {
		for x := frame.Rect.Min.X; x < frame.Rect.Max.X; x++ {
			whole.SetNRGBA(x, y, color.NRGBAModel.Convert(frame.At(x, y)).(color.NRGBA))
		}
	}
	return whole, nil
}

// lookWebP walks to the picture in a RIFF file.
func (h *sourceHeader) lookWebP(b []byte) error {
	h.Found |= foundWebP
	truncated := errors.New("a WebP picture that is truncated")
	height, width := 0, 0 // of the canvas, if there is one
	for at := 12; ; {
		if len(b)-at < 8 {
			return truncated
		}
		kind, n := string(b[at:at+4]), int64(binary.LittleEndian.Uint32(b[at+4:]))
		if at += 8; n > int64(len(b)-at) {
			return truncated
		}
		body := b[at : at+int(n)]
		at += int(n + n&1)
		switch kind {
		case "VP8X":
			if len(body) < 10 {
				return truncated
			}
			if body[0]&2 != 0 {
				return errors.New("an animated WebP picture, which is not supported: save one of its frames as PNG or JPEG")
			}
			h.mark(body[0]&32 != 0, foundICC)
			width, height = 1+uint24(body[4:]), 1+uint24(body[7:])
		case "ALPH":
			h.Found |= foundAlpha
		case "VP8 ", "VP8L":
			fh, fw, err := webpFrame(kind, body)
			if err != nil {
				return err
			}
			if height > 0 && (fh != height || fw != width) {
				return fmt.Errorf("a WebP picture that is damaged: %d×%d pixels on a canvas of %d×%d", fw, fh, width, height)
			}
			return h.promise(fh, fw, len(b))
		}
	}
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// webpFrame reads the size of a lossy or a lossless frame.
func webpFrame(kind string, b []byte) (height, width int, err error) {
	damaged := errors.New("a WebP picture that is damaged: its frame has no header")
	if kind == "VP8L" {
		if len(b) < 5 || b[0] != 0x2f {
			return 0, 0, damaged
		}
		bits := binary.LittleEndian.Uint32(b[1:])
		return 1 + int(bits>>14&0x3fff), 1 + int(bits&0x3fff), nil
	}
	if len(b) < 10 || b[0]&1 != 0 || !bytes.Equal(b[3:6], []byte{0x9d, 0x01, 0x2a}) {
		return 0, 0, damaged
	}
	le := binary.LittleEndian
	return int(le.Uint16(b[8:]) & 0x3fff), int(le.Uint16(b[6:]) & 0x3fff), nil
}

// decodeWebP decodes a picture that lookWebP has accepted.
func decodeWebP(h sourceHeader, b []byte) (image.Image, error) {
	img, err := webp.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("a WebP picture that is truncated or damaged (%s)", cause(err))
	}
	switch m := img.(type) {
	case *image.YCbCr:
		img = studioRGB(m, nil, 0)
	case *image.NYCbCrA:
		img = studioRGB(&m.YCbCr, m.A, m.AStride)
	}
	return img, nil
}

// studioRGB converts the colours of a lossy WebP, which are those of ITU-R BT.601 in its limited range: Y from 16 to
// 235, Cb and Cr from 16 to 240. A JPEG's have the full range, and Go's decoder takes both for that.
func studioRGB(m *image.YCbCr, alpha []byte, stride int) *image.NRGBA {
	out := image.NewNRGBA(image.Rectangle{Max: m.Rect.Size()})
	clamp := func(v float64) uint8 { return uint8(math.Round(math.Min(math.Max(v, 0), 255))) }
	const perY, perC = 255. / 219, 255. / 224
	for y := range out.Rect.Max.Y {
		for x := range out.Rect.Max.X {
			c := m.COffset(m.Rect.Min.X+x, m.Rect.Min.Y+y)
			luma := perY * (float64(m.Y[m.YOffset(m.Rect.Min.X+x, m.Rect.Min.Y+y)]) - 16)
			cb, cr := perC*(float64(m.Cb[c])-128), perC*(float64(m.Cr[c])-128)
			to := out.Pix[y*out.Stride+4*x:]
			to[0], to[2] = clamp(luma+1.402*cr), clamp(luma+1.772*cb)
			to[1] = clamp(luma - (0.299*1.402*cr+0.114*1.772*cb)/0.587)
			if to[3] = 255; alpha != nil {
				to[3] = alpha[y*stride+x]
			}
		}
	}
	return out
}

// decodeWhole decodes a file that look has accepted with the standard decoders, into whatever they return.
func decodeWhole(h sourceHeader, b []byte) (img image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			img, err = nil, fmt.Errorf("the decoder failed: %v", r)
		}
		if err == nil && img.Bounds().Size() != image.Pt(h.Width, h.Height) {
			s := img.Bounds().Size()
			img, err = nil, fmt.Errorf("%d×%d pixels, the header says %d×%d", s.X, s.Y, h.Width, h.Height)
		}
	}()
	if h.Found&foundGIF != 0 {
		return decodeGIF(h, b)
	}
	return decodeWebP(h, b)
}
