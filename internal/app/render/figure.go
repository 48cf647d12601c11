// Package render makes tables, figures and pages, each returned as bytes.
package render

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a plot with axes. The zero value of each field is a sensible default.
type Figure struct {
	Title, X, Y string
	LogX, LogY  bool
	ByP         bool // x is the exponent p of a geometry: logarithmic in p − 1, with marks at the points
	Series      []Series
	Min, Max    [2]float64 // fixed ranges of x and y if Min < Max
	Square      bool       // one unit is equally long on both axes (needs Min and Max)
	LegendLeft  bool
	LegendLow   bool
	LegendFree  bool // the legend goes to the corner with the fewest points, instead
}

// Series is a curve or a set of marks. Points that a logarithmic axis cannot show are skipped.
type Series struct {
	Name  string // in the legend; empty: not there
	X, Y  []float64
	Color color.Color
	Style Style

	Low, High []float64 // a shaded band around the curve, if they are as long as X
}

// Style is how a series is drawn.
type Style int

// Styles: curves solid, dashed and so on; marks as discs or crosses.
const (
	Solid Style = iota
	Dashed
	Dotted
	DashDotted
	LongDashed
	DashDotDotted
	LineStyles // how many there are of lines
	Discs
	Crosses
)

// LineStyle is the style of the k-th curve of one colour.
func LineStyle(k int) Style { return Style(k) % LineStyles }

// Width and Height are the size of one figure, in points: a third of a wide page.
const (
	Width  = 340
	Height = 290
)

// SVG draws the figures side by side, more than four in rows of three.
func SVG(figs ...Figure) ([]byte, error) {
	l := arrange(figs)
	c := vgsvg.New(l.width, l.height)
	if err := l.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return nil, err
	}
	return portableSVG(buf.Bytes()), nil
}

// PNG draws what SVG does, at twice the resolution of a screen.
func PNG(figs ...Figure) ([]byte, error) {
	l := arrange(figs)
	c := vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(144), vgimg.UseBackgroundColor(color.White))
	if err := l.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&buf); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// portableSVG names fonts every browser has: Liberation Sans has the widths of Arial and Helvetica.
func portableSVG(svg []byte) []byte {
	out := strings.NewReplacer(
		"font-family:Liberation Sans;font-variant:normal", "font-family:Arial,Helvetica,'Liberation Sans',sans-serif",
		"font-family:Liberation Sans", "font-family:Arial,Helvetica,'Liberation Sans',sans-serif",
	).Replace(string(svg))
	if i := strings.Index(out, "<svg"); i > 0 { // no XML prelude: the page has it inline
		out = out[i:]
	}
	return []byte(out)
}

// layout is figures in rows under one legend, or with a legend each.
type layout struct {
	figs          []Figure
	legend        [][]Series // its lines
	rows, cols    int
	width, height vg.Length
}

func arrange(figs []Figure) layout {
	figs, shared := shareLegend(figs, false)
	l := layout{figs: figs, rows: 1, cols: len(figs)}
	if l.cols > 4 {
		l.rows, l.cols = (len(figs)+2)/3, 3
	}
	l.width = Width * vg.Length(l.cols)
	l.legend = legendRows(shared, l.width-2*legendSpace)
	l.height = Height*vg.Length(l.rows) + legendHeight(l.legend)
	return l
}

func (l layout) draw(c draw.Canvas) error {
	tiles := draw.Tiles{Rows: l.rows, Cols: l.cols}
	below := draw.Crop(c, 0, 0, 0, -legendHeight(l.legend))
	for i, f := range l.figs {
		p, err := f.plot()
		if err != nil {
			return fmt.Errorf("figure %q: %w", f.Title, err)
		}
		tile := draw.Crop(tiles.At(below, i%l.cols, i/l.cols), 4, -12, 4, -6)
		if f.Square {
			tile = f.square(tile)
		}
		p.Draw(tile)
	}
	for _, row := range l.legend {
		for _, s := range row {
			if err := checkGlyphs(s.Name); err != nil {
				return err
			}
		}
	}
	drawLegend(c, l.legend)
	return nil
}

// square narrows a canvas so that the plot's area, without about 46 by 56 points of labels, has the ranges' shape.
func (f Figure) square(c draw.Canvas) draw.Canvas {
	size := c.Size()
	w, h := size.X-46, size.Y-56
	want := h * vg.Length((f.Max[0]-f.Min[0])/(f.Max[1]-f.Min[1]))
	if want < w {
		cut := (w - want) / 2
		return draw.Crop(c, cut, -cut, 0, 0)
	}
	cut := (h - w*vg.Length((f.Max[1]-f.Min[1])/(f.Max[0]-f.Min[0]))) / 2
	return draw.Crop(c, 0, 0, cut, -cut)
}

var (
	sans   = font.Font{Typeface: "Liberation", Variant: "Sans"}
	ink    = color.RGBA{0x22, 0x22, 0x22, 0xff}
	grid   = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	dashes = map[Style][]vg.Length{Dashed: {6, 4}, Dotted: {1.5, 3}, DashDotted: {6, 3, 1.5, 3}, LongDashed: {13, 5},
		DashDotDotted: {6, 3, 1.5, 3, 1.5, 3}}
)

func (f Figure) plot() (*plot.Plot, error) {
	texts := []string{f.Title, f.X, f.Y}
	for _, s := range f.Series {
		texts = append(texts, s.Name)
	}
	if err := checkGlyphs(texts...); err != nil {
		return nil, err
	}
	p := plot.New()
	handler := text.Plain{Fonts: font.DefaultCache}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	for _, st := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		st.Font, st.Handler, st.Color = font.From(sans, 10), handler, ink
	}
	p.Title.TextStyle.Font = font.From(sans, 12)
	p.Title.Padding = 8
	p.X.Label.Padding, p.Y.Label.Padding = 4, 4
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink, ink
		a.Padding, a.Tick.Marker = 0, steps{}
	}
	p.X.Tick.Marker = steps{whole: f.X == "epoch"}
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	if f.ByP {
		p.X.Scale, p.X.Tick.Marker = exponents{}, exponents{f}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = grid, grid
	p.Add(g)

	f.scale(&p.Y, 1, f.LogY)
	legend := len(f.named()) <= 8 // one of more hides the curves
	bottom := p.Y.Min
	for _, s := range f.Series {
		s.shade(p, f, bottom)
		var thumb plot.Thumbnailer
		for _, xy := range f.visible(s) {
			thumb = s.plotTo(p, xy)
		}
		if s.Name != "" && thumb != nil && legend {
			p.Legend.Add(s.Name+"  ", thumb) // room for a font that is wider than ours, beside the line
		}
	}
	f.scale(&p.X, 0, f.LogX)
	f.scale(&p.Y, 1, f.LogY)
	if f.LegendFree {
		f.LegendLeft, f.LegendLow = f.freeCorner(p)
	}
	p.Legend.Left, p.Legend.Top = f.LegendLeft, !f.LegendLow
	p.Legend.Padding, p.Legend.ThumbnailWidth = 3, 22
	p.Legend.XOffs, p.Legend.YOffs = -4, -4
	if f.LegendLeft {
		p.Legend.XOffs = 8
	}
	if f.LegendLow {
		p.Legend.YOffs = 6
	}
	return p, nil
}

// freeCorner finds the corner in which a legend hides the fewest points of the curves, taken as straight lines.
func (f Figure) freeCorner(p *plot.Plot) (left, low bool) {
	lines, letters := 0, 0
	for _, s := range f.Series {
		if s.Name != "" {
			lines, letters = lines+1, max(letters, len([]rune(s.Name)))
		}
	}
	// as shares of the plot
	width, height := min(0.9, (34+5.2*float64(letters))/(Width-70)), min(0.9, 15*float64(lines)/(Height-70))
	var hidden [2][2]int
	for _, s := range f.Series {
		for _, piece := range f.visible(s) {
			for i := range piece {
				const between = 8
				for k := range between {
					if i == 0 && k > 0 {
						break
					}
					x, y := p.X.Norm(piece[i].X), p.Y.Norm(piece[i].Y)
					if i > 0 {
						x0, y0 := p.X.Norm(piece[i-1].X), p.Y.Norm(piece[i-1].Y)
						x, y = x+(x0-x)*float64(k)/between, y+(y0-y)*float64(k)/between
					}
					for l, inX := range [2]bool{x > 1-width, x < width} {
						for b, inY := range [2]bool{y > 1-height, y < height} {
							if inX && inY {
								hidden[l][b]++
							}
						}
					}
				}
			}
		}
	}
	best := hidden[0][0]
	for l := range 2 {
		for b := range 2 {
			if hidden[l][b] < best {
				best, left, low = hidden[l][b], l == 1, b == 1
			}
		}
	}
	return left, low
}

// scale sets the range of an axis: the fixed one, or that of the data, widened if it is a single value or empty.
func (f Figure) scale(a *plot.Axis, k int, log bool) {
	lo, hi := f.Min[k], f.Max[k]
	if !(lo < hi) || log && lo <= 0 || math.IsInf(hi-lo, 0) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for _, s := range f.Series {
			for _, y := range [][]float64{s.Y, s.Low, s.High} {
				if len(y) != len(s.X) {
					continue
				}
				for _, piece := range f.visible(Series{X: s.X, Y: y}) {
					for _, pt := range piece {
						v := [2]float64{pt.X, pt.Y}[k]
						lo, hi = min(lo, v), max(hi, v)
					}
				}
			}
		}
	}
	if lo < hi && hi-lo <= 1e-12*max(math.Abs(lo), math.Abs(hi)) {
		hi = lo // flat, but for rounding
	}
	switch {
	case lo > hi && f.ByP && k == 0:
		lo, hi = 1.1, 10
	case lo == hi && f.ByP && k == 0:
		lo, hi = 1+(lo-1)/2, 1+2*(hi-1)
	case lo > hi && log:
		lo, hi = 0.1, 10
	case lo > hi:
		lo, hi = 0, 1
	case lo == hi && log:
		lo, hi = lo/2, hi*2
	case lo == hi:
		lo, hi = lo-max(math.Abs(lo), 1)/2, hi+max(math.Abs(hi), 1)/2
	}
	a.Min, a.Max = lo, hi
}

// visible returns the points that are finite, positive on logarithmic axes and within fixed ranges. Skipped points
// divide a curve into pieces.
func (f Figure) visible(s Series) []plotter.XYs {
	var pieces []plotter.XYs
	whole := false
	for i := range s.X {
		if !f.shows(s.X[i], s.Y[i]) {
			whole = false
			continue
		}
		if !whole {
			pieces = append(pieces, nil)
			whole = true
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, plotter.XY{X: s.X[i], Y: s.Y[i]})
	}
	return pieces
}

// huge is beyond any axis: ranges of larger numbers overflow.
const huge = 1e300

func (f Figure) shows(x, y float64) bool {
	if !(math.Abs(x) < huge && math.Abs(y) < huge) || f.LogX && x <= 1/huge || f.ByP && x <= 1 || f.LogY && y <= 1/huge {
		return false
	}
	for k, v := range [2]float64{x, y} {
		if f.Min[k] < f.Max[k] && (v < f.Min[k] || v > f.Max[k]) {
			return false
		}
	}
	return true
}

func (s Series) plotTo(p *plot.Plot, xy plotter.XYs) plot.Thumbnailer {
	col := s.color()
	if s.Style == Discs || s.Style == Crosses {
		sc := &plotter.Scatter{XYs: xy, GlyphStyle: draw.GlyphStyle{Color: col, Radius: 3.2, Shape: draw.CircleGlyph{}}}
		if s.Style == Crosses {
			sc.GlyphStyle.Shape, sc.GlyphStyle.Radius = draw.CrossGlyph{}, 3.6
		}
		p.Add(sc)
		return sc
	}
	if len(xy) == 1 { // a line of one point is invisible
		mark := draw.GlyphStyle{Color: col, Radius: 2.8, Shape: draw.GlyphDrawer(draw.CircleGlyph{})}
		if s.Style != Solid {
			mark.Shape = draw.RingGlyph{}
		}
		p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: mark})
	}
	l := &plotter.Line{XYs: xy, LineStyle: draw.LineStyle{Color: col, Width: 1.6, Dashes: dashes[s.Style]}}
	if s.Style != Solid {
		l.LineStyle.Width = 1.4
	}
	p.Add(l)
	return l
}

// shade draws the band of a series, in pieces if some of its points cannot be shown. If a logarithmic axis cannot show
// its lower end, the band extends to the bottom.
func (s Series) shade(p *plot.Plot, f Figure, bottom float64) {
	if len(s.Low) != len(s.X) || len(s.High) != len(s.X) {
		return
	}
	col := s.color()
	r, g, b, _ := col.RGBA()
	var low, high plotter.XYs
	flush := func() {
		if len(low) > 1 {
			slices.Reverse(high)
			p.Add(&plotter.Polygon{XYs: []plotter.XYs{append(low, high...)}, Color: color.NRGBA{uint8(r >> 8), uint8(g >> 8),
				uint8(b >> 8), 0x38}})
		}
		low, high = nil, nil
	}
	for i, x := range s.X {
		least := s.Low[i]
		if f.LogY && least <= 0 {
			least = bottom
		}
		if !f.shows(x, least) || !f.shows(x, s.High[i]) {
			flush()
			continue
		}
		low, high = append(low, plotter.XY{X: x, Y: least}), append(high, plotter.XY{X: x, Y: s.High[i]})
	}
	flush()
}

// checkGlyphs returns an error for a text the font cannot show: in a PNG it would silently be missing.
func checkGlyphs(texts ...string) error {
	face := font.DefaultCache.Lookup(sans, 10).Face
	for _, t := range texts {
		for _, r := range t {
			if i, err := face.GlyphIndex(nil, r); err != nil || i == 0 {
				return fmt.Errorf("the font has no %q, in %q", r, t)
			}
		}
	}
	return nil
}
