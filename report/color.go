package report

import (
	"image/color"
	"math"
)

// The colour of a p, the same in every figure: a sequence that readers with any colour vision tell apart,
// dark enough on white.
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

// Color returns the colour of p; between the paper's six values it is mixed on the scale of log(p−1).
func Color(p float64) color.Color {
	at := func(p float64) float64 { return math.Log(p - 1) }
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
