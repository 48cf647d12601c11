package images

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"testing"
)

// photo is a picture with edges, slopes and noise, as JPEG.
func photo(t testing.TB, rng *rand.Rand, h, w, quality int) []byte {
	t.Helper()
	m := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio420)
	for i := range m.Y {
		x, y := i%m.YStride, i/m.YStride
		m.Y[i] = byte(x*3+y*2) ^ byte(rng.IntN(1+rng.IntN(40)))
		if (x/11+y/7)%3 == 0 {
			m.Y[i] /= 3
		}
	}
	for i := range m.Cb {
		m.Cb[i], m.Cr[i] = byte(i), byte(128+rng.IntN(20))
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Within a crop the planes are those of the whole picture, bit for bit, wherever it lies; and those are within one
// level of the standard library's, whose transform rounds otherwise.
func TestACropIsDecodedAsInTheWholePicture(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	files := map[string][]byte{}
	for _, name := range []string{"444", "422", "440", "420", "411", "grey", "restart"} {
		files[name] = oddFile(t, name+".jpg")
	}
	for _, quality := range []int{5, 50, 90, 100} {
		files[string(rune('a'+quality))] = photo(t, rng, 70, 93, quality)
	}
	var whole, part baseline
	for name, b := range files {
		var j jpegInfo
		must(t, j.parse(b))
		if !j.simple() {
			t.Fatal(name)
		}
		full := image.Rect(0, 0, j.width, j.height)
		want, err := whole.decode(&j, b, full)
		must(t, err)
		img, err := jpeg.Decode(bytes.NewReader(b))
		must(t, err)
		std, _ := planesOf(img)
		if most, _ := furthest(want.tight(), std.tight()); most > 1 {
			t.Errorf("%s: %d levels from the standard library", name, most)
		}
		for range 200 {
			x, y := rng.IntN(j.width), rng.IntN(j.height)
			crop := image.Rect(x, y, x+1+rng.IntN(j.width-x), y+1+rng.IntN(j.height-y))
			got, err := part.decode(&j, b, crop)
			must(t, err)
			for y := crop.Min.Y; y < crop.Max.Y; y++ {
				from, to := y*want.ys+crop.Min.X, y*want.ys+crop.Max.X
				if !bytes.Equal(got.y[from:to], want.y[from:to]) {
					t.Fatalf("%s: row %d of %v", name, y, crop)
				}
				if want.cb == nil {
					continue
				}
				from, to = y/want.sy*want.cs+crop.Min.X/want.sx, y/want.sy*want.cs+(crop.Max.X-1)/want.sx+1
				if !bytes.Equal(got.cb[from:to], want.cb[from:to]) || !bytes.Equal(got.cr[from:to], want.cr[from:to]) {
					t.Fatalf("%s: chroma at row %d of %v", name, y, crop)
				}
			}
			for i := range part.bytes { // what is left from this crop must not help the next
				part.bytes[i] = 0xaa
			}
		}
	}
}

func BenchmarkBaseline(b *testing.B) {
	file := photo(b, rand.New(rand.NewPCG(1, 2)), 256, 341, 90)
	var j jpegInfo
	must(b, j.parse(file))
	for _, c := range []struct {
		name string
		crop image.Rectangle
	}{{"whole", image.Rect(0, 0, 341, 256)}, {"crop", image.Rect(60, 40, 284, 208)}} {
		b.Run(c.name, func(b *testing.B) {
			var d baseline
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				must(b, j.parse(file))
				_, err := d.decode(&j, file, c.crop)
				must(b, err)
			}
		})
	}
}
