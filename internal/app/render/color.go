package render

import (
	"fmt"
	"image/color"
	"math"
)

// The colour of a p, the same in every figure and page: a sequence that readers with any colour vision can distinguish,
// and that differs in lightness if it is printed in grey.
var colors = []struct {
	p float64
	c color.RGBA
}{
	{1.1, color.RGBA{0x33, 0x22, 0x88, 0xff}},
	{1.5, color.RGBA{0x2f, 0x8f, 0xc4, 0xff}},
	{2, color.RGBA{0x11, 0x77, 0x33, 0xff}},
	{3, color.RGBA{0xc9, 0x8a, 0x00, 0xff}},
	{6, color.RGBA{0xcc, 0x55, 0x66, 0xff}},
	{10, color.RGBA{0x77, 0x11, 0x55, 0xff}},
}

// The colours of p = 1 and ∞, which have no place on the scale of the others.
var one, infinite = color.RGBA{0xb0, 0x80, 0xa0, 0xff}, color.RGBA{0x90, 0x00, 0x00, 0xff}

// Color returns the colour of p; between the paper's six values it is mixed on the scale of log(p−1). 1 and infinity
// have colours of their own. NaN, no p, is ink.
func Color(p float64) color.Color {
	at := func(p float64) float64 { return math.Log(p - 1) }
	switch {
	case math.IsNaN(p):
		return ink
	case p == 1:
		return one
	case math.IsInf(p, 1):
		return infinite
	}
	if !(p > colors[0].p) {
		return colors[0].c
	}
	for i := 1; i < len(colors); i++ {
		a, b := colors[i-1], colors[i]
		if p > b.p {
			continue
		}
		f := (at(p) - at(a.p)) / (at(b.p) - at(a.p))
		mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + f*(float64(y)-float64(x)))) }
		return color.RGBA{mix(a.c.R, b.c.R), mix(a.c.G, b.c.G), mix(a.c.B, b.c.B), 0xff}
	}
	return colors[len(colors)-1].c
}

// Neutral is the colour of the k-th of n curves that are not of a p each: greys, from dark to light, since colours mean
// p. The lightest has a contrast of 3 with white. Beyond a few, readers need dashes to tell them apart.
func Neutral(k, n int) color.Color {
	if k == 0 || n < 2 {
		return ink
	}
	const dark, light = 13, 61 // L*; ink has the first
	return unlab(dark+(light-dark)*float64(min(k, n-1))/float64(n-1), 0, 0)
}

// Dark returns the colour that stands for c on a dark page: greys are inverted, others keep their hue and become light.
func Dark(c color.Color) color.Color {
	l, a, b := lab(c)
	if math.Hypot(a, b) < 3 && l > 99 {
		return color.RGBA{0x1b, 0x1c, 0x1e, 0xff} // the page's own
	}
	if math.Hypot(a, b) < 3 {
		return unlab(110-l*0.95, 0, 0)
	}
	return unlab(52+0.62*(l-18), 0.95*a, 0.95*b)
}

// Fade mixes c with white: 0 is c, 1 is white.
func Fade(c color.Color, share float64) color.Color {
	l, a, b := lab(c)
	return unlab(l+share*(100-l), (1-share)*a, (1-share)*b)
}

// Hex writes a colour as #rrggbb.
func Hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// lab is CIE L*a*b* of a colour in sRGB, white D65: distances in it are about those people see.
func lab(c color.Color) (l, a, b float64) {
	r, g, bl, _ := c.RGBA()
	lin := func(v uint32) float64 { return linearLight(float64(v) / 0xffff) }
	return labOf(lin(r), lin(g), lin(bl))
}

func linearLight(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func labOf(r, g, b float64) (l, a, bb float64) {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124564*r + 0.3575761*g + 0.1804375*b) / 0.95047)
	y := f(0.2126729*r + 0.7151522*g + 0.0721750*b)
	z := f((0.0193339*r + 0.1191920*g + 0.9503041*b) / 1.08883)
	return 116*y - 16, 500 * (x - y), 200 * (y - z)
}

// unlab is the inverse of lab, clipped to what a screen shows.
func unlab(l, a, b float64) color.RGBA {
	f := func(t float64) float64 {
		if t3 := t * t * t; t3 > 216.0/24389 {
			return t3
		}
		return (116*t - 16) * 27 / 24389
	}
	fy := (l + 16) / 116
	x, y, z := 0.95047*f(fy+a/500), f(fy), 1.08883*f(fy-b/200)
	out := func(v float64) uint8 {
		if v = max(0, min(1, v)); v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		return uint8(math.Round(255 * v))
	}
	return color.RGBA{out(3.2404542*x - 1.5371385*y - 0.4985314*z), out(-0.9692660*x + 1.8760108*y + 0.0415560*z),
		out(0.0556434*x - 0.2040259*y + 1.0572252*z), 0xff}
}
