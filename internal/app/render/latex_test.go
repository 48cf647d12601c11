package render

import (
	"bytes"
	"strings"
	"testing"
)

func TestABandIsDrawnAndCounts(t *testing.T) {
	f := Figure{Series: []Series{{X: []float64{1, 2}, Y: []float64{1, 1}, Low: []float64{0, -5}, High: []float64{2, 7},
		Color: Color(2)}}}
	svg, err := SVG(f)
	if err != nil || !bytes.Contains(svg, []byte("fill-opacity")) {
		t.Errorf("no band: %v\n%s", err, svg)
	}
	p, _ := f.plot()
	if p.Y.Min > -5 || p.Y.Max < 7 {
		t.Errorf("the axis runs from %v to %v", p.Y.Min, p.Y.Max)
	}
}

func TestLaTeXIsBooktabsWithTheBestInBold(t *testing.T) {
	tb := table()
	got := string(tb.LaTeX())
	for _, want := range []string{`\begin{tabular}{lrr}`, `p & $\ell_{2}|$x & gap \\`,
		`a$<$b, "c" & \textbf{1.200} & -- \\`, `\caption{T $<$1$>$}`, `\toprule`, `\midrule`, `\bottomrule`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if s := tex(`50 % & a_b {x} \ #1 $`); s != `50 \% \& a\_b \{x\} \textbackslash{} \#1 \$` {
		t.Error(s)
	}
	for text, want := range map[string]string{"∏‖Wₗ‖ₚ": `$\prod\|$W$_{l}\|_{p}$`,
		"ℓ₁.₅ and ℓ₁₀.": `$\ell_{1.5}$ and $\ell_{10}$.`, "½‖·‖₂²": `$\frac12\|\cdot\|_{2}^{2}$`, "R¹⁰⁰": `R$^{100}$`,
		"x̂ ≠ 0": `$\hat{x}$ $\ne$ 0`, "γ̂ₚ": `$\hat{\gamma}_{p}$`, "_̂": `$\hat{\_}$`,
		"漢字 é": "?? é", "1e-12 ± 2 %": `1e-12 $\pm$ 2 \%`, "a\tb\x00": "a?b?"} {
		if got := tex(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestFiguresChangeWithThePageInTheDark(t *testing.T) {
	p := NewPage("t", "")
	if err := p.Figure("", sample()); err != nil {
		t.Fatal(err)
	}
	html := string(p.Bytes())
	hex := strings.TrimPrefix(Hex(Color(3)), "#")
	if !strings.Contains(html, "stroke:var(--c"+hex+",#"+hex+")") || !strings.Contains(html, "--c"+hex+":"+
		Hex(Dark(Color(3)))) {
		t.Error("the curve keeps its colour in the dark")
	}
}
