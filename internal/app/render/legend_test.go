package render

import (
	"bytes"
	"fmt"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func named(names ...string) Figure {
	f := Figure{Title: "t"}
	for k, n := range names {
		f.Series = append(f.Series, Series{Name: n, X: []float64{1, 2}, Y: []float64{1, float64(k)},
			Color: Color(float64(k + 2))})
	}
	return f
}

func TestFiguresWithTheSameSeriesShareALegend(t *testing.T) {
	dashed := named("a", "b")
	dashed.Series[1].Style = Dashed
	nameless, strange, marks := named("a", "b"), named("a", "b"), named("a", "b")
	nameless.Series[0].Name, nameless.Series[1].Name = "", ""
	strange.Series[1].Name, strange.Series[1].Style = "", Dotted
	marks.Series = append(marks.Series, Series{Style: Crosses, X: []float64{1}, Y: []float64{1}})
	for _, c := range []struct {
		what   string
		figs   []Figure
		shared int
	}{
		{"equal", []Figure{named("a", "b"), named("a", "b")}, 2},
		{"one has less", []Figure{named("a"), named("a", "b"), {Title: "none"}}, 2},
		{"other names", []Figure{named("a", "b"), named("a", "c")}, 0},
		{"curves without names, drawn as those with", []Figure{named("a", "b"), nameless}, 2},
		{"a curve without a name, drawn as none with", []Figure{named("a", "b"), strange}, 0},
		{"marks without a name", []Figure{named("a", "b"), marks}, 2},
		{"another style", []Figure{named("a", "b"), dashed}, 0},
		{"a single figure", []Figure{named("a", "b")}, 0},
		{"a single name", []Figure{named("a"), named("a")}, 0},
	} {
		own, shared := shareLegend(c.figs, false)
		if len(shared) != c.shared || len(own) != len(c.figs) {
			t.Errorf("%s: %d figures share %d names", c.what, len(own), len(shared))
		}
		for k, f := range own {
			if n := len(f.named()); c.shared > 0 && n > 0 {
				t.Errorf("%s: figure %d still has %d names", c.what, k, n)
			}
		}
	}
	one := []Figure{named("a", "b")}
	if own, shared := shareLegend(one, true); len(shared) != 2 || len(own[0].named()) != 0 || len(one[0].named()) != 2 {
		t.Error("a figure alone on a page has its legend beside it, and stays as it was given")
	}
}

func TestASharedLegendIsDrawnOnce(t *testing.T) {
	long := []string{"p = 2, learning rate 0.1, weight decay 0.0005", "p = 3, learning rate 0.1, weight decay 0.0005",
		"p = 10, learning rate 0.1, weight decay 0.0005"}
	svg, err := SVG(named(long...), named(long...))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range long {
		if got := strings.Count(string(svg), n); got != 1 {
			t.Errorf("%q is there %d times", n, got)
		}
	}
	page := NewPage("t", "")
	if err := page.Figure("c", named("a < b", "c"), named("a < b", "c")); err != nil {
		t.Fatal(err)
	}
	if got := string(page.Bytes()); strings.Count(got, "a &lt; b") != 1 ||
		strings.Count(got, `<ul class="legend">`) != 1 || strings.Count(got, `role="img"`) != 2 {
		t.Error("the page has no legend, or more than one")
	}
}

// More than four figures go into rows of three.
func TestManyFiguresHaveRows(t *testing.T) {
	figs := make([]Figure, 7)
	for k := range figs {
		figs[k] = named(strings.Repeat("x", k+1)) // no legend is shared
	}
	b, err := PNG(figs...)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if s := img.Bounds().Size(); s.X != 2*3*Width || s.Y != 2*3*(Height+legendTop+legendLine) {
		t.Errorf("%v pixels", s)
	}
}

// No curve runs through a legend: it is below the axis, in a picture and on a page, however many lines it has.
func TestLegendsAreOutsideOfThePlot(t *testing.T) {
	names := strings.Fields("a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11")
	svg, err := SVG(named(names...), named("other"))
	if err != nil {
		t.Fatal(err)
	}
	rows := legendRows(named(names...).Series, Width-2*legendSpace)
	if want := fmt.Sprintf(`height="%vpt"`, float64(Height+legendHeight(rows))); len(rows) < 2 ||
		!bytes.Contains(svg, []byte(want)) {
		t.Errorf("no room for %d lines of a legend: %.80s", len(rows), svg)
	}
	for _, n := range append(names, "other") {
		y := regexp.MustCompile(`<text x="[0-9.]+" y="-([0-9.]+)"[^>]*>` + n + `</text>`).FindSubmatch(svg)
		if y == nil {
			t.Fatalf("%s is not in the legend", n)
		}
		if v, _ := strconv.ParseFloat(string(y[1]), 64); v > float64(legendHeight(rows)) {
			t.Errorf("%s is at %v, in the plot", n, v)
		}
	}
	page := NewPage("t", "")
	if err := page.Figure("c", named("a", "b"), named("a", "c")); err != nil {
		t.Fatal(err)
	}
	if got := string(page.Bytes()); strings.Count(got, `<ul class="legend">`) != 2 || strings.Contains(got, ">b</text>") {
		t.Error("each panel has a legend below its picture")
	}
}

// Captions refer to panels by their numbers.
func TestPanelsAreNumbered(t *testing.T) {
	page := NewPage("t", "")
	if err := page.Figure("c", named("a"), named("b"), named("c")); err != nil {
		t.Fatal(err)
	}
	if err := page.Figure("c", named("single")); err != nil {
		t.Fatal(err)
	}
	got := string(page.Bytes())
	for _, want := range []string{"(1) t<", "(2) t<", "(3) t<", `aria-label="(1) t"`, ">t</text>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if svg, err := SVG(named("a"), named("b")); err != nil || !bytes.Contains(svg, []byte("(2) t<")) {
		t.Errorf("the picture is not numbered, %v", err)
	}
}
