package render

import (
	"image/color"
	"math"
	"testing"
)

// The three dichromacies, as matrices on linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
var visions = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func seen(c color.Color, m [3][3]float64) [3]float64 {
	r, g, b, _ := c.RGBA()
	in := [3]float64{linearLight(float64(r) / 0xffff), linearLight(float64(g) / 0xffff), linearLight(float64(b) / 0xffff)}
	var out [3]float64
	for i := range 3 {
		for j := range 3 {
			out[i] += m[i][j] * in[j]
		}
		out[i] = max(0, min(1, out[i]))
	}
	l, a, bb := labOf(out[0], out[1], out[2])
	return [3]float64{l, a, bb}
}

// A distance of 2.3 in L*a*b* is just noticeable side by side; thin curves apart from each other need several times
// that.
func TestEveryReaderTellsThePsApart(t *testing.T) {
	for _, mode := range []struct {
		name string
		of   func(float64) color.Color
	}{{"light", Color}, {"dark", func(p float64) color.Color { return Dark(Color(p)) }}} {
		for vision, m := range visions {
			ps := []float64{1, math.Inf(1)}
			for _, c := range colors {
				ps = append(ps, c.p)
			}
			for i, a := range ps {
				for _, b := range ps[:i] {
					x, y := seen(mode.of(a), m), seen(mode.of(b), m)
					d := math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
					if d < 10 {
						t.Errorf("%s, %s: p = %v and %v are %.1f apart", mode.name, vision, a, b, d)
					}
				}
			}
		}
	}
}

// WCAG requires a contrast of 3 between a graphical object and its background.
func TestCurvesStandOutFromThePage(t *testing.T) {
	luminance := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		return 0.2126*linearLight(float64(r)/0xffff) + 0.7152*linearLight(float64(g)/0xffff) +
			0.0722*linearLight(float64(b)/0xffff)
	}
	contrast := func(a, b color.Color) float64 {
		x, y := luminance(a), luminance(b)
		return (max(x, y) + 0.05) / (min(x, y) + 0.05)
	}
	ps := []float64{1, math.Inf(1)}
	for p := 1.1; p <= 10; p *= 1.05 {
		ps = append(ps, p)
	}
	for _, p := range ps {
		if c := contrast(Color(p), color.White); c < 2.9 {
			t.Errorf("p = %.2f on white: contrast %.2f", p, c)
		}
		if c := contrast(Dark(Color(p)), color.RGBA{0x1b, 0x1c, 0x1e, 0xff}); c < 4 {
			t.Errorf("p = %.2f on dark: contrast %.2f", p, c)
		}
	}
}

func TestGreysTurnOverInTheDark(t *testing.T) {
	for _, c := range []struct {
		from color.Color
		l    [2]float64
	}{{color.White, [2]float64{5, 20}}, {ink, [2]float64{90, 100}}, {grid, [2]float64{20, 35}}} {
		if l, _, _ := lab(Dark(c.from)); l < c.l[0] || l > c.l[1] {
			t.Errorf("%s becomes %s, of lightness %.0f", Hex(c.from), Hex(Dark(c.from)), l)
		}
	}
}
