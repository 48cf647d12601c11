package render

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

func sample() Figure {
	return Figure{Title: "A title", X: "step t", Y: "‖w‖", LogX: true, LogY: true, Series: []Series{
		{Name: "p = 3", X: []float64{0, 1, 10, 100, 1000}, Y: []float64{1, 2, math.NaN(), 8, 16}, Color: Color(3)},
		{Name: "bound", X: []float64{1, 1000}, Y: []float64{1e-5, 1}, Style: Dashed},
	}}
}

func TestSVGIsWellFormedAndHoldsItsTexts(t *testing.T) {
	svg, err := SVG(sample(), sample())
	if err != nil {
		t.Fatal(err)
	}
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"A title", "step t", "p = 3", "bound", "Arial"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("no %q in the picture", want)
		}
	}
}

func TestPNGHasTheColoursOfItsSeries(t *testing.T) {
	data, err := PNG(sample())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 2*Width || b.Dy() != 2*(Height+legendTop+legendLine) {
		t.Errorf("size %v", b)
	}
	want := Color(3).(color.RGBA)
	found := false
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			found = found || uint8(r>>8) == want.R && uint8(g>>8) == want.G && uint8(b>>8) == want.B
		}
	}
	if !found {
		t.Error("the curve is not there")
	}
}

// Curves of one colour have styles of their own, and a curve of one point is a mark.
func TestCurvesOfOneColourAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	for k := range int(LineStyles) {
		data, err := SVG(Figure{Series: []Series{{X: []float64{1, 2}, Y: []float64{1, 2}, Style: LineStyle(k)}}})
		if err != nil || seen[string(data)] {
			t.Errorf("style %d is as one before it, %v", k, err)
		}
		seen[string(data)] = true
	}
	point, err := SVG(Figure{Series: []Series{{X: []float64{1}, Y: []float64{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(point), "A2.8,2.8 ") { // the arcs of a disc
		t.Errorf("a lone point is not drawn:\n%s", point)
	}
}

func TestATextTheFontCannotShowIsAnError(t *testing.T) {
	f := sample()
	f.Y = "‖w‖ₚ" // the subscript would silently be missing
	if _, err := PNG(f); err == nil || !strings.Contains(err.Error(), "ₚ") {
		t.Errorf("error %v", err)
	}
}

// A constant curve, a single point and no visible point at all are what short or broken runs give.
func TestDegenerateFiguresAreDrawn(t *testing.T) {
	for _, s := range []Series{{}, {X: []float64{1}, Y: []float64{-1}}, {X: []float64{0}, Y: []float64{0}},
		{X: []float64{5}, Y: []float64{5}},
		{X: []float64{1, 10, 100}, Y: []float64{1, 1, 1}}, {X: []float64{1, 10}, Y: []float64{1e-300, 1e300}},
		{X: []float64{1}, Y: []float64{math.Inf(1)}}} {
		for _, log := range []bool{true, false} {
			if _, err := PNG(Figure{LogX: log, LogY: log, Series: []Series{s}}); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
		}
	}
}

func TestCurvesBreakWherePointsAreLeftOut(t *testing.T) {
	f := Figure{Min: [2]float64{0, 0}, Max: [2]float64{10, 1}}
	pieces := f.visible(Series{X: []float64{1, 2, 3, 4, 5}, Y: []float64{0.1, 0.2, 9, 0.4, 0.5}})
	if len(pieces) != 2 || len(pieces[0]) != 2 || len(pieces[1]) != 2 {
		t.Errorf("pieces %v", pieces)
	}
}

func TestNumbersAtTheEdgeOfFloatsAreLeftOut(t *testing.T) {
	for _, y := range [][]float64{{1e308, 1e308}, {-1e308, 1e308}, {1e-320, 1e308}, {math.MaxFloat64, 5e-324},
		{math.Inf(1), math.NaN()}, {1, 1e308}} {
		for _, log := range []bool{false, true} {
			if _, err := SVG(Figure{LogX: log, LogY: log,
				Series: []Series{{Name: "a", X: []float64{1, 2}, Y: y, Low: y, High: y}, {X: y, Y: y}}}); err != nil {
				t.Errorf("%v: %v", y, err)
			}
		}
	}
}

func TestLogarithmicTicksAreNamed(t *testing.T) {
	var labels []string
	for _, tick := range (decades{}).Ticks(1e-4, 1e4) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	if got := strings.Join(labels, " "); got != "1e−4 0.01 1 100 1e4" {
		t.Errorf("labels %s", got)
	}
}

func TestColoursAreFixedAndMixedBetween(t *testing.T) {
	seen := map[color.Color]float64{}
	for _, p := range []float64{1.1, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 6, 8, 10} {
		c := Color(p)
		if other, ok := seen[c]; ok {
			t.Errorf("p = %v and %v have one colour", p, other)
		}
		seen[c] = p
	}
	if Color(1.01) != Color(1.1) || Color(100) != Color(10) {
		t.Error("beyond the ends the end's colour is used")
	}
}

func table() Table {
	t := Table{Title: "T <1>", Note: "a | b", Header: []string{"p", "ℓ₂|x", "gap"}, Rows: [][]Cell{
		{Text("1.1"), Number(1.23456, 3), Text("–")},
		{Text("a<b, \"c\""), Number(1.2, 3), Short(math.NaN(), 3)},
	}}
	t.MarkLeast()
	return t
}

func TestTablesInFourForms(t *testing.T) {
	tb := table()
	if !tb.Rows[1][1].Best || tb.Rows[0][1].Best || tb.Rows[0][2].Best {
		t.Error("the least of a column is not marked")
	}
	if got, want := string(tb.CSV()), "p,ℓ₂|x,gap\n1.1,1.23456,\n\"a<b, \"\"c\"\"\",1.2,\n"; got != want {
		t.Errorf("CSV %q, want %q", got, want)
	}
	if got, want := string(tb.Markdown()), "**T <1>**\n\n| p | ℓ₂\\|x | gap |\n|---|---:|---:|\n| 1.1 | 1.235 | – "+
		"|\n| a<b, \"c\" | **1.200** | – |\n\na | b\n"; got != want {
		t.Errorf("Markdown %q, want %q", got, want)
	}
	if got := tb.HTML(); !strings.Contains(got, `<td class="best">1.200</td>`) || strings.Contains(got, "a<b") ||
		!strings.Contains(got, "T &lt;1&gt;") {
		t.Errorf("HTML %s", got)
	}
	lines := strings.Split(strings.TrimRight(tb.Text(), "\n"), "\n")
	if len(lines) != 4 || len([]rune(lines[1])) != len([]rune(lines[2])) ||
		len([]rune(lines[2])) != len([]rune(lines[3])) || !strings.Contains(lines[3], "1.200*") {
		t.Errorf("Text %q", lines)
	}
}

func TestPageIsSelfContainedAndEscaped(t *testing.T) {
	p := NewPage("<script>", "sub")
	p.Section("One & two")
	p.Say("a < %d", 3)
	p.List("x & y")
	p.Tables(table())
	f := sample()
	f.Title = `cap "tion"`
	if err := p.Figure("a caption", f); err != nil {
		t.Fatal(err)
	}
	html := string(p.Bytes())
	for _, bad := range []string{"<script", "http://", "https://", "src="} {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(html, "http://www.w3.org", ""), "https://www.w3.org", ""),
			bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"One &amp; two", "a &lt; 3", "x &amp; y", "<svg", `aria-label="cap &#34;tion&#34;"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
