package render

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is a horizontal bar from 0 to its value.
type Bar struct {
	Name  string
	Value float64
}

// nameLength is how many letters of a bar or a class a figure shows.
const nameLength = 26

// shortName cuts a name to what has room beside an axis, in letters that the font has.
func shortName(s string, most int) string {
	r := []rune(Showable(s))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

// The colours of bars to the right and to the left of 0.
var right, left = Color(1.5), Color(6)

// plotBars draws bars of the same scale, the first at the top.
func plotBars(p *plot.Plot, bars []Bar) {
	var lo, hi float64
	for _, b := range bars {
		if math.Abs(b.Value) < huge {
			lo, hi = min(lo, b.Value), max(hi, b.Value)
		}
	}
	if lo == hi {
		hi = 1
	}
	p.X.Min, p.X.Max = lo, hi
	p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Width = grid, 0
	p.Add(g)
	half := 0.36 * min(1, float64(len(bars))/10)
	var names []plot.Tick
	for k, b := range bars {
		y := float64(len(bars) - 1 - k)
		names = append(names, plot.Tick{Value: y, Label: shortName(b.Name, nameLength)})
		if !(math.Abs(b.Value) < huge) {
			continue
		}
		c := right
		if b.Value < 0 {
			c = left
		}
		p.Add(rectangle(0, y-half, b.Value, y+half, c))
	}
	p.Add(&plotter.Line{XYs: plotter.XYs{{X: 0, Y: p.Y.Min}, {X: 0, Y: p.Y.Max}},
		LineStyle: draw.LineStyle{Color: ink, Width: 0.8}})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, -0.6, float64(len(bars))-0.4 // Add has widened them
	p.Y.Tick.Marker, p.Y.Tick.LineStyle.Width, p.Y.LineStyle.Width = plot.ConstantTicks(names), 0, 0
}

func rectangle(x0, y0, x1, y1 float64, c color.Color) *plotter.Polygon {
	corners := plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
	return &plotter.Polygon{XYs: []plotter.XYs{corners}, Color: c}
}

// Heat is a matrix of shares from 0 to 1, drawn as squares: the darker, the larger. Its first row is at the top.
type Heat struct {
	Values        [][]float64
	Rows, Columns []string
}

// shades is how many different colours a heat figure has.
const shades = 16

func (h *Heat) plot(p *plot.Plot) {
	n, m := len(h.Values), len(h.Columns)
	for i, row := range h.Values {
		for j, v := range row {
			if s := math.Ceil(shades * min(max(v, 0), 1)); s > 0 {
				x, y := float64(j), float64(n-1-i)
				p.Add(rectangle(x-0.5, y-0.5, x+0.5, y+0.5, Fade(Color(1.1), 1-s/shades)))
			}
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(m)-0.5, -0.5, float64(n)-0.5
	const most = 12 // letters
	marks := func(names []string, at func(k int) float64) plot.ConstantTicks {
		var out plot.ConstantTicks
		every := (len(names) + 29) / 30
		for k, name := range names {
			if k%every == 0 {
				out = append(out, plot.Tick{Value: at(k), Label: shortName(name, most)})
			}
		}
		return out
	}
	p.X.Tick.Marker = marks(h.Columns, func(k int) float64 { return float64(k) })
	p.Y.Tick.Marker = marks(h.Rows, func(k int) float64 { return float64(n - 1 - k) })
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font.Size, a.Tick.Length = 7, 3
	}
	var widest vg.Length
	for _, name := range h.Columns {
		widest = max(widest, p.X.Tick.Label.Width(shortName(name, most)))
	}
	if widest*vg.Length(min(m, 30)) > Width-90 { // they would overlap
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}
