package images

import (
	"math"
	"math/rand/v2"
	"testing"
)

// areaMean is a pixel of the result by the definition: the mean over what it covers, weighted by area.
func areaMean(src []byte, stride, h, w int, top, left, down, across float64) float64 {
	overlap := func(k int, from, to float64) float64 { return max(0, min(to, float64(k+1))-max(from, float64(k))) }
	var sum, area float64
	for i := int(top); i < min(h, int(top+down)+2); i++ {
		for j := int(left); j < min(w, int(left+across)+2); j++ {
			a := overlap(i, top, top+down) * overlap(j, left, left+across)
			sum, area = sum+a*float64(src[i*stride+j]), area+a
		}
	}
	return sum / area
}

// The result is rounded to whole levels. Each share is off by at most 2⁻¹⁵, which is 0.008 of the largest level, and
// there are as many as a pixel covers along an axis; what rows lose, 2⁻⁸, is less than one such share.
func TestShrinkingIsTheMeanOverTheArea(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bound := func(down, across float64) float64 { return 0.5 + 0.008*(down+across+4) }
	for range 300 {
		h, w := 1+rng.IntN(40), 1+rng.IntN(40)
		p := planes{h: h, w: w, sx: 1 << rng.IntN(3), sy: 1 << rng.IntN(2), ys: w + rng.IntN(3)}
		ch, cw := (h+p.sy-1)/p.sy, (w+p.sx-1)/p.sx
		p.cs = cw + rng.IntN(3)
		p.y, p.cb, p.cr = make([]byte, h*p.ys), make([]byte, ch*p.cs), make([]byte, ch*p.cs)
		for _, plane := range [][]byte{p.y, p.cb, p.cr} {
			for i := range plane {
				plane[i] = byte(rng.Uint32())
			}
		}
		dh, dw := 1+rng.IntN(h), 1+rng.IntN(w)
		var s shrinker
		out := s.shrink(make([]byte, rawBytes(dh, dw)), p, dh, dw)
		down, across := float64(h)/float64(dh), float64(w)/float64(dw)
		for i := range dh {
			for j := range dw {
				want := areaMean(p.y, p.ys, h, w, float64(i)*down, float64(j)*across, down, across)
				if got := float64(out.y[i*dw+j]); math.Abs(got-want) > bound(down, across) {
					t.Fatalf("%d×%d to %d×%d: luma %d, %d is %v, want %v", h, w, dh, dw, i, j, got, want)
				}
			}
		}
		down, across = 2*down/float64(p.sy), 2*across/float64(p.sx)
		for i := range (dh + 1) / 2 {
			for j := range (dw + 1) / 2 {
				want := areaMean(p.cr, p.cs, ch, cw, float64(i)*down, float64(j)*across, down, across)
				if got := float64(out.cr[i*out.cs+j]); math.Abs(got-want) > bound(down, across) {
					t.Fatalf("%d×%d (%d, %d) to %d×%d: chroma %d, %d is %v, want %v", h, w, p.sy, p.sx, dh, dw, i, j, got, want)
				}
			}
		}
	}
}

// A 4:2:0 picture that is not resized stays as it is.
func TestWhatIsSmallEnoughIsNotTouched(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, rawBytes(37, 48))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	p := rawPlanes(b, 37, 48)
	var s shrinker
	dst := make([]byte, len(b))
	s.shrink(dst, p, 37, 48)
	if string(dst) != string(b) {
		t.Error("pixels changed")
	}
	for _, c := range []struct {
		h, w, size int
		side       string
		dh, dw     int
	}{
		{375, 500, 256, ShortSide, 256, 341}, {500, 375, 256, ShortSide, 341, 256}, {375, 500, 400, LongSide, 300, 400},
		{256, 999, 256, ShortSide, 256, 999}, {100, 200, 256, LongSide, 100, 200}, {1, 60000, 256, LongSide, 1, 256},
	} {
		if dh, dw := fitted(c.h, c.w, c.size, c.side); dh != c.dh || dw != c.dw {
			t.Errorf("%d×%d to %s side %d: %d×%d, want %d×%d", c.h, c.w, c.side, c.size, dh, dw, c.dh, c.dw)
		}
	}
}

// Means and deviations of red, green and blue are those of the pixels, converted one by one. Only colours that JPEG's
// conversion would clip differ: here are none.
func TestMomentsAreThoseOfThePixels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var sums colourSums
	var n float64
	var sum, squares [3]float64
	for _, size := range [][2]int{{16, 20}, {7, 9}, {1, 1}, {5, 4}} {
		h, w := size[0], size[1]
		b := make([]byte, rawBytes(h, w))
		for i := range b {
			b[i] = byte(100 + rng.IntN(56))
		}
		p := rawPlanes(b, h, w)
		if h == 7 {
			p.cb, p.cr = nil, nil
		}
		sums.add(p)
		for i := range h {
			for j := range w {
				y, cb, cr := float64(p.y[i*p.ys+j]), 0.0, 0.0
				if p.cb != nil {
					cb, cr = float64(p.cb[i/2*p.cs+j/2])-128, float64(p.cr[i/2*p.cs+j/2])-128
				}
				for c, v := range []float64{y + 1.402*cr, y - 0.344136*cb - 0.714136*cr, y + 1.772*cb} {
					sum[c] += v
					squares[c] += v * v
				}
				n++
			}
		}
	}
	mean, deviation := sums.moments()
	for c := range 3 {
		m := sum[c] / n
		d := math.Sqrt(squares[c]/n - m*m)
		if math.Abs(float64(mean[c])-m) > 1e-4 || math.Abs(float64(deviation[c])-d) > 1e-4 { // float32 of about 100
			t.Errorf("channel %d: %v ± %v, want %v ± %v", c, mean[c], deviation[c], m, d)
		}
	}
}
