package images

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"
)

// noise is the mean square of the differences of luma.
func noise(a, b planes) float64 {
	sum := 0.0
	for y := range a.h {
		for x := range a.w {
			d := float64(a.y[y*a.ys+x]) - float64(b.y[y*b.ys+x])
			sum += d * d
		}
	}
	return sum / float64(a.h*a.w)
}

// Our JPEG is as good and as large as the standard library's, for every quality and for sides that are not whole
// blocks. Quantisers and codes are the same, so only roundings differ: 1 % of the noise, and of the size without
// headers.
func TestEncodingIsAsTheStandardLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var e encoder
	for _, size := range [][2]int{{64, 96}, {37, 53}, {1, 1}, {8, 8}, {17, 16}, {9, 200}} {
		h, w := size[0], size[1]
		b := make([]byte, rawBytes(h, w))
		for i := range b {
			b[i] = byte(128 + 60*math.Sin(float64(i%w)/5)*math.Cos(float64(i/w)/7) + rng.NormFloat64()*12)
		}
		for _, grey := range []bool{false, true} {
			p := rawPlanes(b, h, w)
			if grey {
				p.cb, p.cr = nil, nil
			}
			for _, quality := range []int{1, 10, 49, 50, 75, 90, 100} {
				what := fmt.Sprintf("%d×%d, grey %v, quality %d", h, w, grey, quality)
				ours := bytes.Clone(e.encode(p, quality))
				var std bytes.Buffer
				must(t, jpeg.Encode(&std, p.image(), &jpeg.Options{Quality: quality}))
				var d sourceDecoder
				head, err := d.look("a.jpg", ours)
				must(t, err)
				if !head.stored || head.Height != h || head.Width != w {
					t.Fatalf("%s: %+v", what, head)
				}
				first, err := jpeg.Decode(bytes.NewReader(ours))
				must(t, err)
				second, err := jpeg.Decode(&std)
				must(t, err)
				q, _ := planesOf(first)
				r, _ := planesOf(second)
				if a, b := noise(p, q), noise(p, r); a > 1.01*b+0.02 {
					t.Errorf("%s: noise %v, the standard library's %v", what, a, b)
				}
				if !grey && h > 16 {
					if a, b := noise(planes{y: p.cr, ys: p.cs, h: (h + 1) / 2, w: (w + 1) / 2}, planes{y: q.cr, ys: q.cs}),
						noise(planes{y: p.cr, ys: p.cs, h: (h + 1) / 2, w: (w + 1) / 2}, planes{y: r.cr, ys: r.cs}); a > 1.01*b+0.05 {
						t.Errorf("%s: noise of chroma %v, the standard library's %v", what, a, b)
					}
				}
				var std2 bytes.Buffer
				must(t, jpeg.Encode(&std2, p.image(), &jpeg.Options{Quality: quality}))
				if a, b := float64(len(ours)), float64(std2.Len()); a > 1.01*b+30 {
					t.Errorf("%s: %v bytes, the standard library's %v", what, a, b)
				}
			}
		}
	}
}

// Any pixels are encoded so that the decoder finds nothing wrong, also the hardest contrasts without quantising.
func TestAnyPixelsAreEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var e encoder
	for round := range 40 {
		h, w := 1+rng.IntN(40), 1+rng.IntN(40)
		b := make([]byte, rawBytes(h, w))
		for i := range b {
			switch round % 4 {
			case 0:
				b[i] = byte(255 * rng.IntN(2))
			case 1:
				b[i] = byte(255 * ((i + i/w) % 2))
			case 2:
				b[i] = byte(rng.Uint32())
			default:
				b[i] = byte(255 * (i / 8 % 2))
			}
		}
		p := rawPlanes(b, h, w)
		for _, quality := range []int{100, 95, 1} {
			file := bytes.Clone(e.encode(p, quality))
			var d sourceDecoder
			head, err := d.look("a.jpg", file)
			must(t, err)
			q, err := d.planes(head, file)
			must(t, err)
			if quality == 100 && noise(p, q) > 1 {
				t.Errorf("round %d: noise %v without quantising", round, noise(p, q))
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	file := photo(b, rand.New(rand.NewPCG(1, 2)), 256, 341, 90)
	img, err := jpeg.Decode(bytes.NewReader(file))
	must(b, err)
	p, _ := planesOf(img)
	b.Run("ours", func(b *testing.B) {
		var e encoder
		for b.Loop() {
			e.encode(p, 90)
		}
	})
	b.Run("standard", func(b *testing.B) {
		var w bytes.Buffer
		for b.Loop() {
			w.Reset()
			must(b, jpeg.Encode(&w, p.image(), &jpeg.Options{Quality: 90}))
		}
	})
}
