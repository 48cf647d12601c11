package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// found is what a picture file is, as far as statistics care. It is a set of bits.
type found uint32

const (
	foundJPEG found = 1 << iota // baseline or not
	foundPNG
	foundGrey
	found444
	found422
	found420
	found440
	foundOtherSampling // 4:1:1 and 4:1:0
	foundProgressive
	foundCMYK        // or YCCK
	foundRGB         // a JPEG with red, green and blue components
	foundEXIF        // has an orientation tag
	foundRotated     // orientation other than 1: ignored, as torchvision and FFCV do
	foundICC         // has a colour profile: ignored
	foundMislabelled // content and extension differ, as a PNG named .JPEG
	foundTrailing    // bytes after the end
	foundAlpha       // transparency, dropped
	foundGIF
	foundWebP
)

// foundNames are in the order of the bits.
var foundNames = [...]string{"JPEG", "PNG", "grey", "4:4:4", "4:2:2", "4:2:0", "4:4:0", "other sampling",
	"progressive", "CMYK", "RGB JPEG", "EXIF orientation", "rotated by EXIF (ignored)", "ICC profile (ignored)",
	"extension of another format", "bytes after the end", "transparency (dropped)", "GIF", "WebP"}

// names are stable, for counts.
func (f found) names() []string {
	var all []string
	for i, name := range foundNames {
		if f&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return all
}

// The bounds of what is decoded. A baseline JPEG takes 3 bytes a pixel, other files up to 30 while they are decoded.
const (
	sourceMaxSide      = 65_500
	sourceMaxPixels    = 256_000_000
	sourceMaxPixelsBig = 64_000_000
)

// sourceHeader is what a picture file says about itself.
type sourceHeader struct {
	Height, Width int
	Found         found
	// stored reports whether the file may be stored as it is: a baseline JPEG of 8 bits, with Huffman codes and one scan,
	// grey or 4:2:0 in YCbCr. Only planes finds out whether its data are whole.
	stored bool

	jpeg jpegInfo
	png  pngInfo
}

// sourceDecoder decodes picture files. It has buffers that it reuses: one goroutine has one decoder.
type sourceDecoder struct {
	r        bytes.Reader
	buf      []byte
	baseline baseline
}

// look reads the header and walks to the end of the file; it decodes no pixels. The error says in plain words why the
// file cannot be used; it does not repeat the name.
func (d *sourceDecoder) look(name string, b []byte) (h sourceHeader, err error) {
	switch {
	case len(b) == 0:
		return h, errors.New("an empty file")
	case hasPrefix(b, "\xff\xd8"):
		err = h.lookJPEG(b)
	case hasPrefix(b, pngStart):
		err = h.lookPNG(b)
	case hasPrefix(b, "GIF87a") || hasPrefix(b, "GIF89a"):
		err = h.lookGIF(b)
	case hasPrefix(b, "RIFF") && len(b) >= 12 && string(b[8:12]) == "WEBP":
		err = h.lookWebP(b)
	default:
		err = errors.New(otherFormat(b))
	}
	if err != nil {
		return sourceHeader{}, err
	}
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case h.Found&foundPNG != 0:
		h.mark(ext != "" && ext != ".png", foundMislabelled)
	case h.Found&foundGIF != 0:
		h.mark(ext != "" && ext != ".gif", foundMislabelled)
	case h.Found&foundWebP != 0:
		h.mark(ext != "" && ext != ".webp", foundMislabelled)
	default:
		h.mark(ext != "" && ext != ".jpg" && ext != ".jpeg" && ext != ".jpe" && ext != ".jfif", foundMislabelled)
	}
	return h, nil
}

// mark sets bits if a condition holds.
func (h *sourceHeader) mark(condition bool, bits found) {
	if condition {
		h.Found |= bits
	}
}

// size checks what a header promises. big formats need more memory while they are decoded.
func (h *sourceHeader) size(height, width int, big bool) error {
	h.Height, h.Width = height, width
	most := sourceMaxPixels
	if big {
		most = sourceMaxPixelsBig
	}
	switch {
	case height == 0 || width == 0:
		return fmt.Errorf("a header of %d×%d pixels: a side of 0 cannot be decoded", width, height)
	case height > sourceMaxSide || width > sourceMaxSide || int64(height)*int64(width) > int64(most):
		return fmt.Errorf("a header of %d×%d pixels: more than this program decodes (%d a side, %d million in all)",
			width, height, sourceMaxSide, most/1_000_000)
	}
	return nil
}

func (h *sourceHeader) lookJPEG(b []byte) error {
	j := &h.jpeg
	if err := j.parse(b); err != nil {
		return err
	}
	if err := h.size(j.height, j.width, !j.simple()); err != nil {
		return err
	}
	// Each block takes one bit of DC at least; without progression, one of AC too.
	bits := j.blocks()
	if j.sequential() {
		bits *= 2
	}
	if bits > 8*int64(len(b)) {
		return fmt.Errorf("a header of %d×%d pixels, which cannot be in a file of %d bytes: the file is damaged",
			h.Width, h.Height, len(b))
	}
	h.Found |= foundJPEG
	h.mark(!j.sequential(), foundProgressive)
	h.mark(j.exif, foundEXIF)
	h.mark(j.orientation > 1, foundRotated)
	h.mark(j.icc, foundICC)
	h.mark(j.end < len(b), foundTrailing)
	switch j.n {
	case 1:
		h.Found |= foundGrey
	case 3:
		kind := j.sampling()
		if kind == 0 {
			return fmt.Errorf("a JPEG with the sampling factors %s, which is not supported: save it again as 4:4:4 or 4:2:0",
				j.factors())
		}
		h.Found |= kind
		h.mark(j.rgb(), foundRGB)
	case 4:
		h.Found |= foundCMYK
		if j.adobe < 0 {
			return errors.New("a JPEG with four components and no Adobe segment, which does not say what its colours are: " +
				"convert it to RGB")
		}
	}
	h.stored = j.simple() && j.plain() && (j.n == 1 || h.Found&found420 != 0)
	return nil
}

// planes decodes the file that look was given. The result is valid until the next call. Colours are JPEG's Y, Cb and
// Cr, of full range. A file without all of its picture is an error, but for a progressive JPEG whose scans are missing.
func (d *sourceDecoder) planes(h sourceHeader, b []byte) (p planes, err error) {
	if h.Height == 0 {
		return planes{}, errors.New("no header was read")
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder failed: %v", r)
		}
		if err == nil && (p.h != h.Height || p.w != h.Width) {
			err = fmt.Errorf("%d×%d pixels, the header says %d×%d", p.w, p.h, h.Width, h.Height)
		}
		if err != nil {
			p = planes{}
		}
	}()
	if h.Found&(foundGIF|foundWebP) != 0 {
		img, err := decodeWhole(h, b)
		if err != nil {
			return planes{}, err
		}
		return d.convert(img, false)
	}
	if h.Found&foundPNG != 0 {
		d.r.Reset(b)
		img, err := png.Decode(&d.r)
		if err != nil {
			return planes{}, fmt.Errorf("a damaged PNG (%s)", cause(err))
		}
		return d.convert(img, h.Found&foundGrey != 0)
	}
	if h.jpeg.simple() {
		return d.baseline.decode(&h.jpeg, b, image.Rect(0, 0, h.Width, h.Height))
	}
	d.r.Reset(b)
	img, err := jpeg.Decode(&d.r)
	if err != nil {
		return planes{}, fmt.Errorf("a truncated or damaged JPEG (%s)", cause(err))
	}
	return d.convert(img, false)
}

// convert makes planes of what the standard library's decoders return. Colours that are not YCbCr become 4:4:4, in the
// buffer of d. grey means that red, green and blue are equal.
func (d *sourceDecoder) convert(img image.Image, grey bool) (planes, error) {
	if p, ok := planesOf(img); ok {
		return p, nil
	}
	size := img.Bounds().Size()
	n, samples := size.X*size.Y, 3
	if grey {
		samples = 1
	}
	if cap(d.buf) < n*samples {
		d.buf = make([]byte, n*samples)
	}
	p := planes{y: d.buf[:n], h: size.Y, w: size.X, ys: size.X, sx: 1, sy: 1}
	if !grey {
		p.cb, p.cr, p.cs = d.buf[n:2*n], d.buf[2*n:3*n], size.X
	}
	var pix []byte
	var stride, step, wide int // bytes a row, a pixel and a value
	switch m := img.(type) {
	case *image.RGBA:
		pix, stride, step, wide = m.Pix, m.Stride, 4, 1
	case *image.NRGBA:
		pix, stride, step, wide = m.Pix, m.Stride, 4, 1
	case *image.RGBA64:
		pix, stride, step, wide = m.Pix, m.Stride, 8, 2
	case *image.NRGBA64:
		pix, stride, step, wide = m.Pix, m.Stride, 8, 2
	case *image.Gray16:
		pix, stride, step = m.Pix, m.Stride, 2
	case *image.CMYK:
		for y := range p.h {
			for x, i := 0, y*p.w; x < p.w; x, i = x+1, i+1 {
				c := m.Pix[y*m.Stride+4*x:]
				p.y[i], p.cb[i], p.cr[i] = color.RGBToYCbCr(color.CMYKToRGB(c[0], c[1], c[2], c[3]))
			}
		}
		return p, nil
	case *image.Paletted:
		var table [256][3]uint8
		for i, c := range m.Palette {
			r, g, b := unmixed(c)
			table[i][0], table[i][1], table[i][2] = color.RGBToYCbCr(r, g, b)
		}
		for y := range p.h {
			for x, i := 0, y*p.w; x < p.w; x, i = x+1, i+1 {
				c := &table[m.Pix[y*m.Stride+x]]
				p.y[i], p.cb[i], p.cr[i] = c[0], c[1], c[2]
			}
		}
		return p, nil
	default:
		return planes{}, fmt.Errorf("colours of the kind %T, which is not supported: convert the file to RGB", img)
	}
	for y := range p.h {
		from := pix[y*stride:]
		for x, i := 0, y*p.w; x < p.w; x, i = x+1, i+1 {
			if c := from[x*step:]; grey {
				p.y[i] = c[0]
			} else {
				p.y[i], p.cb[i], p.cr[i] = color.RGBToYCbCr(c[0], c[wide], c[2*wide])
			}
		}
	}
	return p, nil
}

// unmixed are the values of a palette's colour, whatever its opacity is.
func unmixed(c color.Color) (r, g, b uint8) {
	if n, ok := c.(color.NRGBA); ok {
		return n.R, n.G, n.B
	}
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return n.R, n.G, n.B
}

// pngInfo is what the chunks of a PNG say.
type pngInfo struct {
	depth, colours byte
	data           int64 // bytes of compressed pixels
	end            int
	alpha          bool
}

func (h *sourceHeader) lookPNG(b []byte) error {
	p := &h.png
	h.Found |= foundPNG
	for i := len(pngStart); ; {
		if len(b)-i < 12 {
			return errors.New("a truncated PNG")
		}
		n := int64(binary.BigEndian.Uint32(b[i:]))
		if n > int64(len(b)-i-12) {
			return errors.New("a truncated PNG")
		}
		kind, body := string(b[i+4:i+8]), b[i+8:i+8+int(n)]
		if (i == len(pngStart)) != (kind == "IHDR") || kind == "IHDR" && n != 13 {
			return errors.New("a damaged PNG: its header is not at the start")
		}
		i += 12 + int(n)
		switch kind {
		case "IHDR":
			width, height := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
			if err := h.size(int(height), int(width), true); err != nil {
				return err
			}
			p.depth, p.colours = body[8], body[9]
		case "IDAT":
			p.data += n
		case "tRNS":
			p.alpha = true
		case "iCCP":
			h.Found |= foundICC
		case "eXIf":
			orientation, ok := orientationOf(body)
			h.mark(ok, foundEXIF)
			h.mark(orientation > 1, foundRotated)
		case "IEND":
			p.end = i
			return h.pngKind(b)
		}
	}
}

// pngKind finishes lookPNG when all chunks have been seen.
func (h *sourceHeader) pngKind(b []byte) error {
	p := &h.png
	values := map[byte]int64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[p.colours]
	if values == 0 {
		return fmt.Errorf("a damaged PNG: its header has the unknown colour type %d", p.colours)
	}
	// Deflate makes at most 1032 bytes of one.
	if row := (int64(h.Width)*values*int64(p.depth) + 7) / 8; row*int64(h.Height) > 1032*p.data {
		return fmt.Errorf("a header of %d×%d pixels, which cannot be in %d bytes of data: the file is damaged",
			h.Width, h.Height, p.data)
	}
	h.mark(p.colours == 0 || p.colours == 4, foundGrey)
	h.mark(p.alpha || p.colours >= 4, foundAlpha)
	h.mark(p.end < len(b), foundTrailing)
	return nil
}

func hasPrefix(b []byte, start string) bool {
	return len(b) >= len(start) && string(b[:len(start)]) == start
}

// otherFormats are recognised by their first bytes; a dot stands for any byte.
var otherFormats = []struct{ start, name string }{
	{"GIF8", "a GIF picture of an unknown version"},
	{"BM....\x00\x00\x00\x00", "a BMP picture"},
	{"II*\x00", "a TIFF picture"},
	{"MM\x00*", "a TIFF picture"},
	{"....ftypavif", "an AVIF picture"},
	{"....ftyphei", "a HEIC picture"},
	{"....ftypmif1", "a HEIC picture"},
	{"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"},
	{"\xff\x4f\xff\x51", "a JPEG 2000 picture"},
	{"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"},
	{"\xff\x0a", "a JPEG XL picture"},
	{"8BPS", "a Photoshop picture"},
	{"\x00\x00\x01\x00", "an ICO picture"},
	{"P5", "a PGM picture"},
	{"P6", "a PPM picture"},
	{"%PDF", "a PDF document"},
	{"\x1f\x8b", "a gzip file"},
	{"PK\x03\x04", "a zip archive"},
	{"BZh", "a bzip2 file"},
	{"\xfd7zXZ\x00", "an xz file"},
	{"\x28\xb5\x2f\xfd", "a Zstandard file"},
}

// otherFormat says what a file is that is not a JPEG, PNG, GIF or WebP, and what to do.
func otherFormat(b []byte) string {
	for _, f := range otherFormats {
		if len(b) < len(f.start) {
			continue
		}
		same := true
		for i := range len(f.start) {
			same = same && (f.start[i] == '.' || f.start[i] == b[i])
		}
		switch {
		case !same:
		case strings.Contains(f.name, " picture") || strings.HasSuffix(f.name, "document"):
			return f.name + ", which is not supported: convert it to PNG or JPEG"
		default:
			return f.name + ", not a picture: unpack it"
		}
	}
	start := b[:min(len(b), 512)]
	text := strings.ToLower(strings.TrimLeft(string(start), " \t\r\n\ufeff"))
	switch {
	case strings.HasPrefix(text, "version https://git-lfs"):
		return "a pointer of Git LFS, not a picture: fetch the file with git lfs pull"
	case strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html"):
		return "an HTML page, not a picture: the download failed, fetch the file again"
	case strings.Contains(text, "<svg"):
		return "an SVG picture, which is not supported: convert it to PNG or JPEG"
	case isText(start):
		return "a text file, not a picture"
	case len(bytes.Trim(b, "\x00")) == 0:
		return "a file of zero bytes only: fetch it again"
	}
	return fmt.Sprintf("not a JPEG, PNG, GIF or WebP picture: it starts with the bytes % x", b[:min(len(b), 8)])
}

// isText reports whether the start of a file is UTF-8 without control characters. The last character may be cut.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && len(b) >= utf8.UTFMax || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		b = b[n:]
	}
	return true
}
