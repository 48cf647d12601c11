// Package render makes tables, figures and pages, each returned as bytes.
package render

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
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
	// x is the exponent p of a geometry: logarithmic in p − 1, with marks at the points, and 1 and infinity at the ends
	ByP      bool
	Falling  bool   // x falls from left to right
	Zero     string // the label of x = 0 on a logarithmic axis, beyond the least x; empty: 0 is not shown
	Series   []Series
	Bars     []Bar      // horizontal bars, the first at the top, instead of series
	Heat     *Heat      // a matrix, instead of series
	Min, Max [2]float64 // fixed ranges of x and y if Min < Max
	Square   bool       // one unit is equally long on both axes (needs Min and Max)
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
	Rings // around a point
)

// marks reports whether points are drawn one by one.
func (s Style) marks() bool { return s > LineStyles }

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

var svgText = regexp.MustCompile(`(<text [^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// portableSVG names fonts every browser has: Liberation Sans has the widths of Arial and Helvetica. Texts say how wide
// they are, so that another font has room.
func portableSVG(svg []byte) []byte {
	svg = svgText.ReplaceAllFunc(svg, func(found []byte) []byte {
		part := svgText.FindSubmatch(found)
		size, _ := strconv.ParseFloat(string(part[2]), 64) // the pattern lets nothing else through
		face := font.DefaultCache.Lookup(sans, vg.Length(size))
		width := face.Width(html.UnescapeString(string(part[3])))
		return fmt.Appendf(nil, `%s textLength="%.4g" lengthAdjust="spacingAndGlyphs">%s</text>`, part[1], width.Points(),
			part[3])
	})
	out := strings.NewReplacer(
		"font-family:Liberation Sans;font-variant:normal", "font-family:Arial,Helvetica,'Liberation Sans',sans-serif",
		"font-family:Liberation Sans", "font-family:Arial,Helvetica,'Liberation Sans',sans-serif",
	).Replace(string(svg))
	if i := strings.Index(out, "<svg"); i > 0 { // no XML prelude: the page has it inline
		out = out[i:]
	}
	return []byte(out)
}

// layout is figures in rows under one legend, or each above a legend of its own.
type layout struct {
	figs          []Figure
	legend        [][]Series   // the lines of that of all
	own           [][][]Series // of each figure
	below         []vg.Length  // the room for those of each row
	rows, cols    int
	width, height vg.Length
}

func arrange(figs []Figure) layout {
	figs, shared := shareLegend(numbered(figs), false)
	l := layout{figs: figs, rows: 1, cols: len(figs)}
	if l.cols > 4 {
		l.rows, l.cols = (len(figs)+2)/3, 3
	}
	l.width = Width * vg.Length(l.cols)
	l.legend = legendRows(shared, l.width-2*legendSpace)
	l.below = make([]vg.Length, l.rows)
	for i, f := range figs {
		l.own = append(l.own, legendRows(f.named(), Width-2*legendSpace))
		l.below[i/l.cols] = max(l.below[i/l.cols], legendHeight(l.own[i]))
	}
	l.height = Height*vg.Length(l.rows) + legendHeight(l.legend)
	for _, h := range l.below {
		l.height += h
	}
	return l
}

// numbered numbers the titles of several figures, as captions refer to them.
func numbered(figs []Figure) []Figure {
	if len(figs) < 2 {
		return figs
	}
	figs = slices.Clone(figs)
	for k := range figs {
		figs[k].Title = fmt.Sprintf("(%d) %s", k+1, figs[k].Title)
	}
	return figs
}

func (l layout) draw(c draw.Canvas) error {
	for _, row := range slices.Concat(append(l.own, l.legend)...) {
		for _, s := range row {
			if err := checkGlyphs(s.Name); err != nil {
				return err
			}
		}
	}
	drawLegend(c, l.legend)
	top := c.Max.Y - legendHeight(l.legend)
	for i, f := range l.figs {
		row, col := i/l.cols, vg.Length(i%l.cols)
		if i > 0 && i%l.cols == 0 {
			top -= Height + l.below[row-1]
		}
		tile := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + col*Width, Y: top - Height}, Max: vg.Point{X: c.Min.X + (col+1)*Width, Y: top}}}
		p, err := f.plot()
		if err != nil {
			return fmt.Errorf("figure %q: %w", f.Title, err)
		}
		below := tile
		below.Min.Y, below.Max.Y = tile.Min.Y-l.below[row], tile.Min.Y
		drawLegend(below, l.own[i])
		tile = draw.Crop(tile, 4, -12, 4, -6)
		if f.Square {
			tile = f.square(tile)
		}
		p.Draw(tile)
	}
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
		&p.X.Tick.Label, &p.Y.Tick.Label} {
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
	if f.LogX && f.Zero != "" {
		p.X.Tick.Marker = withZero{f}
	}
	if f.ByP {
		p.X.Scale, p.X.Tick.Marker = exponents{}, exponents{f}
	}
	if f.Falling {
		p.X.Scale = plot.InvertedScale{Normalizer: p.X.Scale}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
	switch {
	case f.Heat != nil:
		f.Heat.plot(p)
		return p, nil
	case f.Bars != nil:
		plotBars(p, f.Bars)
		return p, nil
	}
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = grid, grid
	p.Add(g)

	f.scale(&p.Y, 1, f.LogY)
	bottom := p.Y.Min
	for _, s := range f.Series {
		s.shade(p, f, bottom)
		for _, xy := range f.visible(s) {
			s.plotTo(p, xy)
		}
	}
	f.scale(&p.X, 0, f.LogX)
	f.scale(&p.Y, 1, f.LogY)
	return p, nil
}

// scale sets the range of an axis: the fixed one, or that of the data, widened if it is a single value or empty.
func (f Figure) scale(a *plot.Axis, k int, log bool) {
	lo, hi := f.Min[k], f.Max[k]
	if !(lo < hi) || log && lo <= 0 || math.IsInf(hi-lo, 0) {
		if k == 0 { // also of points above and below
			f.Min[1], f.Max[1] = 0, 0
		}
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
	whole, place := false, f.places()
	for i := range s.X {
		x := place(s.X[i])
		if !f.shows(x, s.Y[i]) {
			whole = false
			continue
		}
		if !whole {
			pieces = append(pieces, nil)
			whole = true
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, plotter.XY{X: x, Y: s.Y[i]})
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
	if s.Style.marks() {
		sc := &plotter.Scatter{XYs: xy, GlyphStyle: draw.GlyphStyle{Color: col, Radius: 3.2, Shape: draw.CircleGlyph{}}}
		if s.Style == Crosses {
			sc.GlyphStyle.Shape, sc.GlyphStyle.Radius = draw.CrossGlyph{}, 3.6
		}
		if s.Style == Rings {
			sc.GlyphStyle.Shape, sc.GlyphStyle.Radius = draw.RingGlyph{}, 6
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
	place := f.places()
	for i, x := range s.X {
		x = place(x)
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
