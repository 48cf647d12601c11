package render

import (
	"fmt"
	"html"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shareLegend removes the legends of figures side by side and returns one for all of them, if the longest legend has
// all curves of every figure, drawn alike; else the figures keep their own, and it returns nothing. Marks without a
// name belong to a curve, and so does a curve without one that is drawn like one of the legend. A single figure keeps
// its legend, unless alone is set.
func shareLegend(figs []Figure, alone bool) (own []Figure, shared []Series) {
	for _, f := range figs {
		if n := f.named(); len(n) > len(shared) {
			shared = n
		}
	}
	if len(figs) < 2 && !alone || len(shared) < 2 {
		return figs, nil
	}
	for _, f := range figs {
		for _, s := range f.Series {
			if len(f.visible(s)) == 0 || s.Name == "" && s.Style.marks() {
				continue
			}
			if !slices.ContainsFunc(shared, func(o Series) bool {
				return (s.Name == "" || o.Name == s.Name) && o.Style == s.Style && o.color() == s.color()
			}) {
				return figs, nil
			}
		}
	}
	for _, f := range figs {
		f.Series = slices.Clone(f.Series)
		for k := range f.Series {
			f.Series[k].Name = ""
		}
		own = append(own, f)
	}
	return own, shared
}

// named are the series of the legend.
func (f Figure) named() []Series {
	var out []Series
	for _, s := range f.Series {
		if s.Name != "" && len(f.visible(s)) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func (s Series) color() color.Color {
	if s.Color == nil {
		return ink
	}
	return s.Color
}

// The shared legend's measures, in points.
const (
	legendTop   = 6  // room above it
	legendLine  = 16 // height of a line of it
	legendThumb = 22 // length of a sample
	legendSpace = 22 // after a name
)

// legendHeight is the height of the lines of a legend.
func legendHeight(rows [][]Series) vg.Length {
	if len(rows) == 0 {
		return 0
	}
	return legendTop + legendLine*vg.Length(len(rows))
}

// legendRows breaks a legend into lines of a width.
func legendRows(series []Series, width vg.Length) [][]Series {
	var rows [][]Series
	left := vg.Length(0)
	for _, s := range series {
		w := legendThumb + 6 + legendText().Width(s.Name) + legendSpace
		if len(rows) == 0 || w > left {
			rows, left = append(rows, nil), width
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		left -= w
	}
	return rows
}

func legendText() draw.TextStyle {
	return draw.TextStyle{Color: ink, Font: font.From(sans, 10), Handler: text.Plain{Fonts: font.DefaultCache},
		YAlign: text.YCenter}
}

// drawLegend draws lines of a legend, each in the middle, from the top of a canvas.
func drawLegend(c draw.Canvas, rows [][]Series) {
	style := legendText()
	for i, row := range rows {
		var width vg.Length
		for k, s := range row {
			width += legendThumb + 6 + style.Width(s.Name)
			if k > 0 {
				width += legendSpace
			}
		}
		x, y := (c.Min.X+c.Max.X-width)/2, c.Max.Y-legendTop-legendLine*(vg.Length(i)+0.5)
		for _, s := range row {
			sample := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - 4},
				Max: vg.Point{X: x + legendThumb, Y: y + 4}}}
			s.thumb().Thumbnail(&sample)
			c.FillText(style, vg.Point{X: x + legendThumb + 6, Y: y}, s.Name)
			x += legendThumb + 6 + style.Width(s.Name) + legendSpace
		}
	}
}

func (s Series) thumb() plot.Thumbnailer { return s.plotTo(plot.New(), plotter.XYs{{}, {X: 1}}) }

// legendHTML is a shared legend as a list.
func legendHTML(series []Series) string {
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for _, s := range series {
		sample := fmt.Sprintf(`<path d="M0 5H22" style="stroke:%s;stroke-width:%v;stroke-dasharray:%s"/>`, Hex(s.color()),
			map[bool]string{true: "2", false: "1.4"}[s.Style == Solid], dashArray(s.Style))
		switch s.Style {
		case Discs:
			sample = fmt.Sprintf(`<circle cx="11" cy="5" r="3.2" style="fill:%s"/>`, Hex(s.color()))
		case Rings:
			sample = fmt.Sprintf(`<circle cx="11" cy="5" r="4.2" style="fill:none;stroke:%s"/>`, Hex(s.color()))
		case Crosses:
			sample = fmt.Sprintf(`<path d="M8 2l6 6M8 8l6-6" style="stroke:%s"/>`, Hex(s.color()))
		}
		fmt.Fprintf(&b, `<li><svg width="22" height="10" aria-hidden="true">%s</svg>%s</li>`, sample,
			html.EscapeString(s.Name))
	}
	return b.String() + `</ul>`
}

func dashArray(s Style) string {
	if len(dashes[s]) == 0 {
		return "none"
	}
	return strings.Trim(fmt.Sprint(dashes[s]), "[]")
}
