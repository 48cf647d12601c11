package images

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// oddFile is a file that testdata/odd/make.sh made.
func oddFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "odd", name))
	must(t, err)
	return b
}

// tight are the planes one after the other without padding, as in the .yuv files.
func (p planes) tight() []byte {
	var b []byte
	for y := range p.h {
		b = append(b, p.y[y*p.ys:y*p.ys+p.w]...)
	}
	if p.cb != nil {
		w := (p.w + p.sx - 1) / p.sx
		for _, c := range [][]byte{p.cb, p.cr} {
			for y := range (p.h + p.sy - 1) / p.sy {
				b = append(b, c[y*p.cs:y*p.cs+w]...)
			}
		}
	}
	return b
}

// furthest is the largest difference of two values, and the mean.
func furthest(a, b []byte) (most int, mean float64) {
	for i := range a {
		d := int(a[i]) - int(b[i])
		most, mean = max(most, d, -d), mean+float64(max(d, -d))/float64(len(a))
	}
	return most, mean
}

// The planes are those of libjpeg-turbo.
//
// JPEG allows decoders to round the inverse transform differently: two accurate ones differ by 1 at most, with
// progression too, as that only changes the order of the coefficients. From CMYK and RGB, libjpeg-turbo's planes were
// computed in floating point. RGB adds a rounding to 8 bits: 1 + ½ + ½. In CMYK, c and k may each be 1 off and c·k/255
// is rounded: 2½. The weights of Y add up to 1, those of Cb and Cr to 1 in absolute value: with another rounding they
// are 3 off. In YCCK, red, green and blue are up to 2 off before that; these errors cancel in part, and 4 holds.
func TestPlanesAreThoseOfLibjpegTurbo(t *testing.T) {
	grey, rotated := foundGrey, foundEXIF|foundRotated
	var d sourceDecoder
	for _, c := range []struct {
		name   string
		found  found
		stored bool
		most   int
	}{
		{"444", found444, false, 1},
		{"422", found422, false, 1},
		{"440", found440, false, 1},
		{"420", found420, true, 1},
		{"411", foundOtherSampling, false, 1},
		{"grey", grey, true, 1},
		{"restart", found420, true, 1},
		{"rotated", found420 | rotated, true, 1},
		{"trailing", found420 | foundTrailing, true, 1},
		{"three-scans", found420, false, 1},
		{"wide-quantiser", found420, false, 1},
		{"progressive-420", found420 | foundProgressive, false, 1},
		{"progressive-444", found444 | foundProgressive, false, 1},
		{"rgb", found444 | foundRGB, false, 2},
		{"cmyk", foundCMYK, false, 4},
		{"ycck", foundCMYK, false, 4},
	} {
		b := oddFile(t, c.name+".jpg")
		h, err := d.look(c.name+".jpg", b)
		if err != nil || h.Width != 45 || h.Height != 37 || h.Found != c.found|foundJPEG || h.stored != c.stored {
			t.Errorf("%s: %d×%d, %q, stored %v, %v", c.name, h.Width, h.Height, h.Found.names(), h.stored, err)
			continue
		}
		p, err := d.planes(h, b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		from := c.name
		if c.name == "rotated" || c.name == "trailing" {
			from = "420"
		}
		got, want := p.tight(), oddFile(t, from+".yuv")
		if len(got) != len(want) {
			t.Errorf("%s: %d values, want %d", c.name, len(got), len(want))
			continue
		}
		if most, mean := furthest(got, want); most > c.most {
			t.Errorf("%s: up to %d off, %.3f on average", c.name, most, mean)
		} else {
			t.Logf("%s: up to %d off, %.3f on average", c.name, most, mean)
		}
		if from != c.name && !bytes.Equal(stripped(b), oddFile(t, from+".jpg")) {
			t.Errorf("%s: stripped, it is not the file it was made from", c.name)
		}
	}
	// Two lossy files of the noisy picture differ by 5 on average, one with red and blue exchanged by 35, inverted by 55.
	for _, name := range []string{"cmyk", "ycck", "rgb"} {
		if _, mean := furthest(oddFile(t, name+".yuv"), oddFile(t, "444.yuv")); mean > 8 {
			t.Errorf("%s is %.1f levels from the same picture in YCbCr", name, mean)
		}
	}
}

// What the segments say is read, and stripping drops what decoders do not need.
func TestStrippedKeepsThePicture(t *testing.T) {
	b := oddFile(t, "420.jpg")
	segment := func(marker byte, body string) string {
		return string([]byte{0xff, marker, byte((len(body) + 2) >> 8), byte(len(body) + 2)}) + body
	}
	adobe := segment(0xee, "Adobe\x00\x64\x00\x00\x00\x00\x01")
	extra := segment(0xe1, "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x01\x00\x00") +
		segment(0xe2, "ICC_PROFILE\x00\x01\x01profile") + segment(0xfe, "a comment \xff\xd9") + adobe +
		segment(0xed, "Photoshop") + "stray bytes"
	long := []byte(string(b[:2]) + extra + string(b[2:]) + "\xff\xd8 a thumbnail")
	var d sourceDecoder
	h, err := d.look("dir.png/a.JFIF", long)
	must(t, err)
	if want := foundJPEG | found420 | foundEXIF | foundICC | foundTrailing; h.Found != want || !h.stored {
		t.Errorf("found %q, stored %v, want %q", h.Found.names(), h.stored, want.names())
	}
	short := stripped(long)
	if want := string(b[:2]) + adobe + string(b[2:]); string(short) != want {
		t.Errorf("%d bytes stripped, want %d", len(short), len(want))
	}
	p, err := d.planes(h, long)
	must(t, err)
	want := p.tight()
	h, err = d.look("a.jpg", short)
	must(t, err)
	p, err = d.planes(h, short)
	must(t, err)
	if !bytes.Equal(p.tight(), want) {
		t.Error("other planes")
	}
	if b := []byte("\xff\xd8\xff\xe1"); !bytes.Equal(stripped(b), b) {
		t.Error("what is not a JPEG was changed")
	}
}

// PNGs of all kinds have the planes of their colours, whatever their transparency.
func TestPNGsOfAllKinds(t *testing.T) {
	var d sourceDecoder
	for name, want := range map[string]found{
		"png24.png":      0,
		"named.JPEG":     foundMislabelled,
		"palette.png":    0,
		"16-bit.png":     0,
		"alpha.png":      foundAlpha,
		"grey.png":       foundGrey,
		"grey-alpha.png": foundGrey | foundAlpha,
	} {
		b := oddFile(t, name)
		h, err := d.look(name, b)
		must(t, err)
		if h.Found != foundPNG|want {
			t.Errorf("%s: %q", name, h.Found.names())
		}
		p, err := d.planes(h, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		img, err := png.Decode(bytes.NewReader(b))
		must(t, err)
		if size := img.Bounds().Size(); p.w != size.X || p.h != size.Y || p.sx != 1 || p.sy != 1 {
			t.Errorf("%s: %d×%d", name, p.w, p.h)
		}
		if (p.cb == nil) != (want&foundGrey != 0) {
			t.Errorf("%s: grey %v", name, p.cb == nil)
		}
		for y := range p.h {
			for x := range p.w {
				at := color.NRGBA64Model.Convert(img.At(x, y)).(color.NRGBA64)
				if at.A == 0 {
					continue // colours cannot be got back from there in this way
				}
				Y, Cb, Cr := color.RGBToYCbCr(uint8(at.R>>8), uint8(at.G>>8), uint8(at.B>>8))
				got, want := [3]uint8{p.y[y*p.ys+x], 128, 128}, [3]uint8{Y, Cb, Cr}
				if p.cb != nil {
					got[1], got[2] = p.cb[y*p.cs+x], p.cr[y*p.cs+x]
				}
				if most, _ := furthest(got[:], want[:]); most > 0 {
					t.Fatalf("%s: %v at %d, %d, want %v", name, got, x, y, want)
				}
			}
		}
	}
}

// The colours under full transparency are those of the file, not black.
func TestTransparentPixelsKeepTheirColours(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	img.Set(0, 0, color.NRGBA{200, 10, 30, 0})
	img.Set(1, 0, color.NRGBA{200, 10, 30, 255})
	palette := image.NewPaletted(img.Rect, color.Palette{color.NRGBA{200, 10, 30, 0}, color.NRGBA{200, 10, 30, 255}})
	palette.Pix[1] = 1
	var d sourceDecoder
	for _, img := range []image.Image{img, palette} {
		b := pngOf(t, img)
		h, err := d.look("a.png", b)
		must(t, err)
		p, err := d.planes(h, b)
		must(t, err)
		if p.y[0] != p.y[1] || p.cb[0] != p.cb[1] || p.cr[0] != p.cr[1] || p.y[0] < 60 {
			t.Errorf("%T: %+v", img, p)
		}
		if h.Found != foundPNG|foundAlpha {
			t.Errorf("%q", h.Found.names())
		}
	}
}

// Files that are no pictures, or not whole ones, are refused with words that help.
func TestFilesThatAreRefused(t *testing.T) {
	var d sourceDecoder
	for name, words := range map[string]string{
		"empty.jpg":                     "an empty file",
		"truncated.jpg":                 "truncated JPEG",
		"truncated-eoi.jpg":             "truncated JPEG",
		"truncated-progressive-eoi.jpg": "truncated",
		"truncated.png":                 "truncated PNG",
		"arithmetic.jpg":                "arithmetic coding",
		"arithmetic-progressive.jpg":    "arithmetic coding",
		"12-bit.jpg":                    "12 bits a value",
		"lossless.jpg":                  "a lossless JPEG",
		"60000.jpg":                     "a header of 60000×60000 pixels: more than this program decodes",
		"8000.jpg":                      "a header of 8000×8000 pixels, which cannot be in a file of",
		"make.sh":                       "a text file",
	} {
		b := oddFile(t, name)
		h, err := d.look(name, b)
		if early := name != "truncated-eoi.jpg"; early != (err != nil) {
			t.Errorf("%s: header: %v", name, err)
		}
		if err == nil {
			_, err = d.planes(h, b)
		}
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", name, err, words)
		}
	}
	for start, words := range map[string]string{
		"\x1f\x8b\x08":                                 "a gzip file, not a picture: unpack it",
		"BM\x12\x34\x00\x00\x00\x00\x00\x00":           "a BMP picture",
		"II*\x00":                                      "a TIFF picture",
		"\r\n<!DOCTYPE html><html>":                    "an HTML page",
		"version https://git-lfs.github.com/spec/v1\n": "Git LFS",
		"<?xml version='1.0'?><svg>":                   "an SVG picture",
		"RIFF\x10\x20\x30\x40WEBPVP8 ":                 "a WebP picture",
		"\x00\x00\x00\x1cftypavif":                     "an AVIF picture",
		"\x00\x00\x00":                                 "zero bytes only",
		"\x00\x01\x02":                                 "starts with the bytes 00 01 02",
		"\xff\xd8":                                     "truncated JPEG",
		"\xff\xd8\xff\xd9":                             "no picture data",
		"\x89PNG\r\n\x1a\n":                            "truncated PNG",
		"naïve, and cut in a letter \xc3":              "a text file",
	} {
		if _, err := d.look("x", []byte(start)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", start, err, words)
		}
	}
}

// What a header promises must be possible with the bytes there are: nothing of that size is allocated before.
func TestHeadersThatPromiseTooMuch(t *testing.T) {
	var d sourceDecoder
	whole := oddFile(t, "grey.png")
	for _, c := range []struct {
		side  uint32
		words string
	}{
		{0, "a header of 0×0 pixels"},
		{60000, "a header of 60000×60000 pixels: more than this program decodes"},
		{1 << 31, "a header of 2147483648×2147483648 pixels: more than this program decodes"},
		{8000, "a header of 8000×8000 pixels, which cannot be in"},
	} {
		b := bytes.Clone(whole)
		binary.BigEndian.PutUint32(b[16:], c.side)
		binary.BigEndian.PutUint32(b[20:], c.side)
		if _, err := d.look("a.png", b); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
	b := oddFile(t, "444.jpg")
	at := bytes.Index(b, []byte{0xff, 0xc0}) + 5
	b[at], b[at+1] = 0, 0
	if _, err := d.look("a.jpg", b); err == nil || !strings.Contains(err.Error(), "a header of 45×0 pixels") {
		t.Error(err)
	}
}

// A file cut anywhere is an error, also if the marker of the end is put behind the cut.
func TestEveryCutIsFound(t *testing.T) {
	var d sourceDecoder
	for _, name := range []string{"420", "444", "grey", "restart", "three-scans", "progressive-420", "cmyk"} {
		whole := oddFile(t, name+".jpg")
		h, err := d.look(name, whole)
		must(t, err)
		p, err := d.planes(h, whole)
		must(t, err)
		want, late := p.tight(), 0
		for cut := range len(whole) - 2 {
			if _, err := d.look(name, whole[:cut]); err == nil {
				t.Errorf("%s: %d of %d bytes are taken for a picture", name, cut, len(whole))
			}
			b := append(bytes.Clone(whole[:cut]), 0xff, 0xd9)
			h, err := d.look(name, b)
			if err != nil {
				continue
			}
			p, err := d.planes(h, b)
			if err != nil {
				continue
			}
			got := p.tight()
			if strings.HasPrefix(name, "progressive") {
				continue // whole scans are missing: such a file cannot be told from one that was meant so
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %d of %d bytes and an end are another picture", name, cut, len(whole))
			}
			if before := len(got) - 16*45; p.cb == nil && !bytes.Equal(got[:before], want[:before]) {
				t.Errorf("%s: %d of %d bytes and an end differ before the last unit", name, cut, len(whole))
			}
			late++
		}
		if late > len(whole)/6 { // a unit of 16×16 of 9
			t.Errorf("%s: %d of %d cuts are not found", name, late, len(whole))
		}
	}
}

// Where the standard library finds data wrong or missing, so does ours. The other way round it may
// be stricter: the standard library takes values and runs that no 8-bit picture has.
func TestTheDecoderFindsWhatTheStandardLibraryFinds(t *testing.T) {
	var d sourceDecoder
	wrong := 0
	for _, name := range []string{"444", "420", "grey", "restart"} {
		whole := oddFile(t, name+".jpg")
		h, err := d.look(name, whole)
		must(t, err)
		for at := h.jpeg.scan.from; at < h.jpeg.scan.to-20; at++ {
			changed := bytes.Clone(whole)
			changed[at] ^= 0x55
			for _, b := range [][]byte{append(bytes.Clone(whole[:at]), whole[at+17:]...), changed} {
				h, err := d.look(name, b)
				if err != nil || !h.jpeg.simple() {
					continue
				}
				if _, err = jpeg.Decode(bytes.NewReader(b)); err == nil {
					continue
				}
				wrong++
				if _, found := d.planes(h, b); found == nil {
					t.Errorf("%s, byte %d: no fault is found, but %v", name, at, err)
				}
			}
		}
	}
	if wrong < 100 {
		t.Errorf("only %d files were wrong", wrong)
	}
}

func TestOrientationOfEXIF(t *testing.T) {
	tag := func(order binary.AppendByteOrder, mark string, kind, value uint16) []byte {
		b := order.AppendUint32(order.AppendUint16([]byte(mark), 42), 8)
		b = order.AppendUint16(b, 2)
		b = append(order.AppendUint16(b, 0x0100), make([]byte, 10)...)
		b = order.AppendUint16(order.AppendUint16(b, 0x0112), kind)
		return append(order.AppendUint16(order.AppendUint32(b, 1), value), 0, 0)
	}
	for _, c := range []struct {
		b    []byte
		want int
		ok   bool
	}{
		{tag(binary.LittleEndian, "II", 3, 6), 6, true},
		{tag(binary.BigEndian, "MM", 3, 8), 8, true},
		{tag(binary.BigEndian, "MM", 3, 9), 9, false},
		{tag(binary.BigEndian, "MM", 4, 0), 0, false},
		{tag(binary.BigEndian, "MM", 3, 8)[:33], 0, false},
		{[]byte("MM\x00*\xff\xff\xff\xff\x00\x01"), 0, false},
		{nil, 0, false},
	} {
		if got, ok := orientationOf(c.b); got != c.want || ok != c.ok {
			t.Errorf("%x: %d, %v", c.b, got, ok)
		}
	}
}

func TestNamesOfWhatWasFound(t *testing.T) {
	if got := (found444 | foundProgressive | foundEXIF).names(); !reflect.DeepEqual(got,
		[]string{"4:4:4", "progressive", "EXIF orientation"}) {
		t.Errorf("%q", got)
	}
	if all := found(1<<len(foundNames) - 1); all&foundWebP == 0 || foundWebP<<1&all != 0 || len(all.names()) != 19 {
		t.Errorf("%d names", len(all.names()))
	}
}

// FuzzSource: no bytes make the decoder panic or return another size than the header's, and what may be stored decodes
// to the same planes when it is stripped.
func FuzzSource(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "odd", "*"))
	must(f, err)
	for _, name := range files {
		if ext := filepath.Ext(name); ext != ".yuv" && ext != ".c" {
			f.Add(oddFile(f, filepath.Base(name)))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again sourceDecoder
		short := stripped(b)
		if len(short) > len(b) {
			t.Errorf("%d bytes stripped from %d", len(short), len(b))
		}
		h, err := d.look("a.jpg", b)
		if err != nil {
			if h.Height != 0 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v, %q", h, err)
			}
			return
		}
		if pixels := h.Height * h.Width; pixels > 8*1032*len(b) && pixels > smallPromise {
			t.Errorf("%d×%d pixels in %d bytes", h.Width, h.Height, len(b))
		} else if pixels > 1<<20 {
			return // right, but slow
		}
		p, err := d.planes(h, b)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		most := (p.w + 31) * (p.h + 31) // whole units of up to 32×32
		if p.h != h.Height || p.w != h.Width || p.ys < p.w || len(p.y) < (p.h-1)*p.ys+p.w || len(p.y) > most {
			t.Fatalf("%d×%d with %d bytes of luma, the header says %d×%d", p.w, p.h, len(p.y), h.Width, h.Height)
		}
		if !h.stored {
			p.tight()
			return
		}
		h2, err := again.look("a.jpg", short)
		if err != nil || !h2.stored || !p.half() {
			t.Fatalf("stored, but stripped %+v, %v", h2, err)
		}
		q, err := new(PackReader).decode(short, image.Rect(0, 0, p.w, p.h))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.tight(), q.tight()) {
			t.Error("stripped, it decodes to other planes")
		}
	})
}

func BenchmarkSource(b *testing.B) {
	for _, name := range []string{"444.jpg", "420.jpg", "progressive-420.jpg", "png24.png"} {
		file := oddFile(b, name)
		b.Run(name, func(b *testing.B) {
			var d sourceDecoder
			for b.Loop() {
				h, err := d.look(name, file)
				must(b, err)
				_, err = d.planes(h, file)
				must(b, err)
			}
		})
	}
}
