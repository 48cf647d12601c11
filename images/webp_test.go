package images

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"strings"
	"testing"
)

// The fixtures in these formats are the picture of png24.png, which is rich in colours: the GIF, of 16 colours, is 16.2
// off on average, the lossy WebP at quality 50 11.9. From what dwebp makes of it ours is 4.0 off, as dwebp interpolates
// colours between pixels; with colours of the full range, which Go's decoder assumes, it would be 6.6.
func TestGIFAndWebPAreRead(t *testing.T) {
	want, err := png.Decode(bytes.NewReader(oddFile(t, "png24.png")))
	must(t, err)
	for name, c := range map[string]struct {
		found      found
		most, mean float64
	}{"gif.gif": {foundGIF, 17, 1}, "webp.webp": {foundWebP, 12.5, 1}} {
		var d sourceDecoder
		b := oddFile(t, name)
		h, err := d.look(name, b)
		must(t, err)
		if h.Found != c.found || h.Width != 45 || h.Height != 37 || h.stored {
			t.Errorf("%s: %+v", name, h)
		}
		img, err := decodeWhole(h, b)
		must(t, err)
		got, ref := make([]byte, 45*37*3), make([]byte, 45*37*3)
		drawPixels(got, img, 3)
		drawPixels(ref, want, 3)
		_, off := furthest(got, ref)
		var brighter float64
		for k := range got {
			brighter += (float64(got[k]) - float64(ref[k])) / float64(len(got))
		}
		if off > c.most || brighter > c.mean || brighter < -c.mean {
			t.Errorf("%s: %.2f off on average, %.2f brighter", name, off, brighter)
		}
		t.Logf("%s: %.2f off on average, %.2f brighter", name, off, brighter)
		if _, err := d.planes(h, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The conversion is that of BT.601: black, white and the primaries in the limited range are themselves.
func TestColoursOfLossyWebP(t *testing.T) {
	for _, c := range []struct {
		y, cb, cr uint8
		want      color.NRGBA
	}{
		{16, 128, 128, color.NRGBA{0, 0, 0, 255}}, {235, 128, 128, color.NRGBA{255, 255, 255, 255}},
		{81, 90, 240, color.NRGBA{254, 0, 0, 255}}, {145, 54, 34, color.NRGBA{0, 255, 1, 255}},
		{41, 240, 110, color.NRGBA{0, 0, 255, 255}}, {255, 128, 128, color.NRGBA{255, 255, 255, 255}},
	} {
		m := image.NewYCbCr(image.Rect(0, 0, 1, 1), image.YCbCrSubsampleRatio420)
		m.Y[0], m.Cb[0], m.Cr[0] = c.y, c.cb, c.cr
		got := studioRGB(m, nil, 0).NRGBAAt(0, 0)
		for _, d := range []int{int(got.R) - int(c.want.R), int(got.G) - int(c.want.G), int(got.B) - int(c.want.B)} {
			if d > 1 || d < -1 { // the primaries in 8 bits are rounded
				t.Errorf("%v: %v, want %v", []uint8{c.y, c.cb, c.cr}, got, c.want)
				break
			}
		}
	}
}

// The first frame of an animation is read, at its place on the screen; what it leaves free is black.
func TestTheFirstFrameOfAGIF(t *testing.T) {
	palette := color.Palette{color.RGBA{200, 100, 50, 255}, color.RGBA{1, 2, 3, 255}}
	one := image.NewPaletted(image.Rect(2, 1, 4, 3), palette)
	two := image.NewPaletted(image.Rect(0, 0, 5, 4), palette)
	for k := range two.Pix {
		two.Pix[k] = 1
	}
	var b bytes.Buffer
	must(t, gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{one, two}, Delay: []int{0, 0},
		Config: image.Config{ColorModel: palette, Width: 5, Height: 4}}))
	var d sourceDecoder
	h, err := d.look("a.gif", b.Bytes())
	must(t, err)
	img, err := decodeWhole(h, b.Bytes())
	must(t, err)
	got := make([]byte, 5*4*3)
	drawPixels(got, img, 3)
	for y := range 4 {
		for x := range 5 {
			want := []byte{0, 0, 0}
			if image.Pt(x, y).In(one.Rect) {
				want = []byte{200, 100, 50}
			}
			if p := got[3*(5*y+x):]; !bytes.Equal(p[:3], want) {
				t.Errorf("%d, %d is %v, want %v", x, y, p[:3], want)
			}
		}
	}
}

// Files that promise what they cannot hold, that are cut, or that move, are refused with what to do.
func TestGIFAndWebPThatAreRefused(t *testing.T) {
	var d sourceDecoder
	giant := bytes.Clone(oddFile(t, "gif.gif"))
	binary.LittleEndian.PutUint16(giant[6:], 9000)
	binary.LittleEndian.PutUint16(giant[8:], 7000)
	huge := bytes.Clone(giant)
	binary.LittleEndian.PutUint16(huge[6:], 60000)
	chunk := func(kind string, body []byte) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(body))), body...)
	}
	riff := func(chunks ...[]byte) []byte { return append([]byte("RIFF....WEBP"), bytes.Join(chunks, nil)...) }
	canvas := func(flags byte) []byte { return chunk("VP8X", []byte{flags, 0, 0, 0, 9, 0, 0, 9, 0, 0}) }
	frame := chunk("VP8L", []byte{0x2f, 19, 0, 0, 0, 0})
	for name, c := range map[string]struct {
		b     []byte
		words string
	}{
		"giant":     {giant, "9000×7000 pixels, which cannot be in a file of"},
		"huge":      {huge, "60000×7000 pixels: more than this program decodes"},
		"animated":  {riff(canvas(2), frame), "an animated WebP picture, which is not supported: save one of its frames"},
		"canvas":    {riff(canvas(0), frame), "20×1 pixels on a canvas of 10×10"},
		"cut":       {oddFile(t, "webp.webp")[:100], "a WebP picture that is truncated"},
		"no frame":  {riff(canvas(0)), "a WebP picture that is truncated"},
		"bad frame": {riff(chunk("VP8 ", make([]byte, 20))), "its frame has no header"},
		"cut gif":   {oddFile(t, "gif.gif")[:60], "a GIF picture that is truncated or damaged"},
	} {
		h, err := d.look("x", c.b)
		if err == nil {
			_, err = d.planes(h, c.b)
		}
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}
