package render

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func labels(ticks []plot.Tick) string {
	var out []string
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return strings.Join(out, " ")
}

// 1 and infinity have no place on the scale of log(p−1): they are at the ends, and a curve reaches them.
func TestOneAndInfinityAreAtTheEndsOfAnAxisOfP(t *testing.T) {
	inf := math.Inf(1)
	f := Figure{ByP: true, Series: []Series{{X: []float64{1, 1.2, 2, 3, inf}, Y: []float64{1, 2, 3, 4, 5}}}}
	p, err := f.plot()
	if err != nil {
		t.Fatal(err)
	}
	pieces := f.visible(f.Series[0])
	if len(pieces) != 1 || len(pieces[0]) != 5 {
		t.Fatalf("pieces %v", pieces)
	}
	for i := range 4 {
		if a, b := p.X.Norm(pieces[0][i].X), p.X.Norm(pieces[0][i+1].X); !(a < b) {
			t.Errorf("p = %v is at %v, the next at %v", f.Series[0].X[i], a, b)
		}
	}
	if got := labels(p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max)); got != "1 1.2 2 3 inf" {
		t.Errorf("marks %q", got)
	}
	for _, x := range [][]float64{{1}, {inf}, {1, inf}} { // without another p
		f := Figure{ByP: true, Series: []Series{{X: x, Y: make([]float64, len(x)), Low: make([]float64, len(x)),
			High: make([]float64, len(x))}}}
		if svg, err := SVG(f); err != nil || bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// Penalties fall from left to right, and at 0, beyond the weakest, is the largest margin.
func TestALogarithmicAxisMayFallAndHaveAPlaceForZero(t *testing.T) {
	f := Figure{LogX: true, Falling: true, Zero: "margin", Series: []Series{
		{X: []float64{10, 1, 0.1, 1e-6}, Y: []float64{1, 2, 3, 4}}, {X: []float64{0}, Y: []float64{5}, Style: Discs}}}
	p, err := f.plot()
	if err != nil {
		t.Fatal(err)
	}
	place := f.places()
	if l, r := p.X.Norm(10), p.X.Norm(place(0)); math.Abs(l) > 1e-12 || math.Abs(r-1) > 1e-12 {
		t.Errorf("10 is at %v, 0 at %v", l, r)
	}
	if last := p.X.Norm(1e-6); !(last > 0.8 && last < 0.98) {
		t.Errorf("the weakest penalty is at %v", last)
	}
	if got := labels(p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max)); !strings.Contains(got, "margin") ||
		strings.Contains(got, "1e−7") {
		t.Errorf("marks %q", got)
	}
	f.Zero = ""
	if len(f.visible(f.Series[1])) != 0 {
		t.Error("0 has no place on another logarithmic axis")
	}
}

func TestBarsAndHeatsAreDrawn(t *testing.T) {
	long := strings.Repeat("a long name ", 5)
	svg, err := SVG(Figure{Title: "bars", Bars: []Bar{{"up", 2}, {"down", -1}, {long, 0}, {"not known", math.NaN()},
		{"\u4e16", 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">up<", ">down<", "a long name a long name a…", strings.ToUpper(Hex(right)),
		strings.ToUpper(Hex(left))} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("no %q in the bars", want)
		}
	}
	names := make([]string, 100)
	values := make([][]float64, 100)
	for k := range names {
		names[k], values[k] = "class "+strconv.Itoa(k), make([]float64, 100)
		values[k][k] = 1
	}
	svg, err = SVG(Figure{Title: "heat", Heat: &Heat{Values: values, Rows: names, Columns: names}})
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(svg, []byte("fill:"+strings.ToUpper(Hex(Color(1.1))))); n != 100 {
		t.Errorf("%d dark squares", n)
	}
	if bytes.Count(svg, []byte("<text")) > 60 {
		t.Error("the names of a hundred classes hide each other")
	}
}

// A reader's font may be wider than ours: each text says how much room it has.
func TestTextsHaveTheWidthThatTheyHaveRoomFor(t *testing.T) {
	svg, err := SVG(Figure{Title: "ill & WWW", Series: []Series{{X: []float64{1, 2}, Y: []float64{1, 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`textLength="([0-9.]+)"[^>]*>([^<]*)<`).FindAllSubmatch(svg, -1)
	if len(found) == 0 || len(found) != bytes.Count(svg, []byte("<text")) {
		t.Fatalf("%d texts have a width", len(found))
	}
	for _, f := range found {
		w, err := strconv.ParseFloat(string(f[1]), 64)
		if string(f[2]) == "ill &amp; WWW" && (err != nil || w < 50 || w > 70) {
			t.Errorf("the title is %s wide", f[1])
		}
	}
}

func TestCellsMayHaveAShadeAndSeveralLines(t *testing.T) {
	got := Table{Header: []string{"a", "b"}, Rows: [][]Cell{{Text("%s", strings.Repeat("word ", 10)),
		{Text: "x", Shade: 0.5}}}}.HTML()
	if !strings.Contains(got, `class="long"`) || !strings.Contains(got, "rgba(") {
		t.Error(got)
	}
}
