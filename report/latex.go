package report

import (
	"fmt"
	"strings"
)

// LaTeX returns the table for the booktabs package, the best of a column in bold. The first column is aligned left, the others right.
func (t Table) LaTeX() []byte {
	var b strings.Builder
	b.WriteString("% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n")
	if t.Title != "" {
		fmt.Fprintf(&b, "\\caption{%s}\n", tex(t.Title))
	}
	fmt.Fprintf(&b, "\\begin{tabular}{l%s}\n\\toprule\n", strings.Repeat("r", max(0, len(t.Header)-1)))
	line := func(cells []string) { b.WriteString(strings.Join(cells, " & ") + " \\\\\n") }
	var header []string
	for _, h := range t.Header {
		header = append(header, tex(h))
	}
	line(header)
	b.WriteString("\\midrule\n")
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r {
			s := tex(c.Text)
			if c.Best {
				s = "\\textbf{" + s + "}"
			}
			cells = append(cells, s)
		}
		line(cells)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	if t.Note != "" {
		fmt.Fprintf(&b, "\n\\smallskip\n\\footnotesize %s\n", tex(t.Note))
	}
	b.WriteString("\\end{table}\n")
	return []byte(b.String())
}

// texts is what LaTeX reads as a command, and the signs of this project's tables that pdflatex does not know.
var texts = strings.NewReplacer(
	`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`,
	"<", "$<$", ">", "$>$", "|", "$|$", "\n", " ",
	"ℓ∞", `$\ell_\infty$`, "ℓ₁.₁", `$\ell_{1.1}$`, "ℓ₁.₅", `$\ell_{1.5}$`, "ℓ₁₀", `$\ell_{10}$`, "ℓ₁", `$\ell_1$`, "ℓ₂", `$\ell_2$`, "ℓ₃", `$\ell_3$`, "ℓ₆", `$\ell_6$`, "ℓₚ", `$\ell_p$`, "ℓ", `$\ell$`,
	"‖", `$\|$`, "ₚ", `$_p$`, "₁", `$_1$`, "₂", `$_2$`, "∞", `$\infty$`, "±", `$\pm$`, "−", "$-$", "–", "--", "×", `$\times$`, "≤", `$\le$`, "≥", `$\ge$`, "γ", `$\gamma$`, "η", `$\eta$`, "ψ", `$\psi$`,
	"∏", `$\prod$`, "√", `$\surd$`, "·", `$\cdot$`, "…", `\ldots{}`, "°", `$^\circ$`, "²", `$^2$`, "³", `$^3$`, "¹", `$^1$`, "⁰", `$^0$`, "⟨", `$\langle$`, "⟩", `$\rangle$`, "“", "``", "”", "''")

func tex(s string) string { return texts.Replace(s) }
