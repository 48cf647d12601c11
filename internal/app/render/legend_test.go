package render

import (
	"bytes"
	"image/png"
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
	nameless, marks := named("a", "b"), named("a", "b")
	nameless.Series[0].Name, nameless.Series[1].Name = "", ""
	marks.Series = append(marks.Series, Series{Style: Crosses, X: []float64{1}, Y: []float64{1}})
	for _, c := range []struct {
		what   string
		figs   []Figure
		shared int
	}{
		{"equal", []Figure{named("a", "b"), named("a", "b")}, 2},
		{"one has less", []Figure{named("a"), named("a", "b"), {Title: "none"}}, 2},
		{"other names", []Figure{named("a", "b"), named("a", "c")}, 0},
		{"a curve without a name", []Figure{named("a", "b"), nameless}, 0},
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
	if s := img.Bounds().Size(); s.X != 2*3*Width || s.Y != 2*3*Height {
		t.Errorf("%v pixels", s)
	}
}
