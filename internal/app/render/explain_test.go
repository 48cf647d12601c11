package render

import (
	"math"
	"strings"
	"testing"
)

func TestAMeasureIsExplainedOnceAndAskedForOften(t *testing.T) {
	p := NewPage("t", "")
	p.Explain = func(name string) (Explanation, bool) {
		if name == "gap" || name == "the gap" || name == "standard error" {
			return Explanation{"gap", `how <far> at "most"`}, true
		}
		return Explanation{}, false
	}
	p.Lead("a < b", "one & two")
	tb := table()
	tb.Measures, tb.Title = true, "the gap"
	tb.Rows[0][0] = Text("gap")
	tb.Rows[0][2] = Mean(1, 0.1, 3, 2)
	p.Tables(tb)
	f := sample()
	f.Title = "gap"
	if err := p.Figure("", f, sample()); err != nil {
		t.Fatal(err)
	}
	html := string(p.Bytes())
	// the title, the column, the row, the note and the figure ask
	if n := strings.Count(html, `popovertarget="why1"`); n != 5 || strings.Contains(html, `popovertarget="why2"`) {
		t.Errorf("%d buttons", n)
	}
	if n := strings.Count(html, `<div popover class="because" id="why1"><b>gap</b> how &lt;far&gt;`); n != 1 {
		t.Errorf("%d explanations", n)
	}
	for _, want := range []string{`<p class="answer">a &lt; b</p>`, "<li>one &amp; two</li>", `aria-label="What is gap?"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(html, "<script") || strings.Contains(html, "onclick") {
		t.Error("the page has a script")
	}
	for _, form := range []string{string(tb.Markdown()), string(tb.CSV()), tb.Text(), string(tb.LaTeX())} {
		if strings.Contains(form, "?") {
			t.Errorf("a table for other programs has a question mark: %s", form)
		}
	}
}

// Greys differ in lightness and have a contrast of 3 with white, and with the page in dark mode.
func TestNeutralColoursAreGreyAndVisible(t *testing.T) {
	contrast := func(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
	light := func(hex string) float64 {
		var v [3]int
		for k := range v {
			for _, c := range hex[1+2*k : 3+2*k] {
				v[k] = 16*v[k] + strings.IndexRune("0123456789abcdef", c)
			}
		}
		of := func(k int) float64 { return linearLight(float64(v[k]) / 255) }
		return 0.2126*of(0) + 0.7152*of(1) + 0.0722*of(2)
	}
	for n := 1; n < 9; n++ {
		last := -1.0
		for k := range n {
			c := Neutral(k, n)
			hex := Hex(c)
			if hex[1:3] != hex[3:5] || hex[3:5] != hex[5:7] {
				t.Errorf("%d of %d is %s", k, n, hex)
			}
			l := light(hex)
			if l <= last {
				t.Errorf("%d of %d is not lighter than the one before", k, n)
			}
			last = l
			dark := contrast(light(Hex(Dark(c))), light("#1b1c1e"))
			if white := contrast(l, 1); white < 3 || dark < 3 {
				t.Errorf("%d of %d has a contrast of %.1f, and %.1f in the dark", k, n, white, dark)
			}
		}
	}
	if math.IsNaN(light("#ffffff")) {
		t.Fatal("white has no lightness")
	}
}

func TestLongNamesOfRowsWrap(t *testing.T) {
	for name, want := range map[string]string{"p = 2": "<table><", strings.Repeat("n", 30): `<table class="longer"><`,
		strings.Repeat("n", 60): `<table class="longest"><`} {
		tb := Table{Header: []string{""}, Rows: [][]Cell{{Text("%s", name)}}}
		if got := tb.HTML(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
