package render

import (
	"fmt"
	"strings"
)

// LaTeX returns the table for the booktabs package, the best of a column in bold. Columns are aligned
// as in the table.
func (t Table) LaTeX() []byte {
	var b strings.Builder
	b.WriteString("% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n")
	if t.Title != "" {
		fmt.Fprintf(&b, "\\caption{%s}\n", tex(t.Title))
	}
	left := min(max(t.Left, 1), len(t.Header))
	fmt.Fprintf(&b, "\\begin{tabular}{%s%s}\n\\toprule\n", strings.Repeat("l", left),
		strings.Repeat("r", len(t.Header)-left))
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

// Signs of texts, and of the project's tables, that pdflatex does not read as they are: in words, and in formulas.
var (
	texWords = map[rune]string{'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`,
		'_': `\_`, '~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '\n': " ",
		'–': "--", '…': `\ldots{}`, '“': "``", '”': "''", '‘': "`", '’': "'", '•': `\textbullet{}`}
	texSigns = map[rune]string{'<': "<", '>': ">", '|': "|", 'ℓ': `\ell`, '‖': `\|`, '∞': `\infty`, '±': `\pm`, '∓': `\mp`,
		'−': "-", '×': `\times`, '≤': `\le`, '≥': `\ge`, '≠': `\ne`, '≈': `\approx`, '∏': `\prod`, 'Σ': `\sum`,
		'√': `\surd`, '·': `\cdot`, '°': `^\circ`, '⟨': `\langle`, '⟩': `\rangle`, '∇': `\nabla`, '′': "'", '″': "''",
		'½': `\frac12`, '¾': `\frac34`, '←': `\leftarrow`, '→': `\to`, '↦': `\mapsto`, '⋆': `\star`, '⊙': `\odot`,
		'∘': `\circ`,
		'⌈': `\lceil`, '⌉': `\rceil`, '⌊': `\lfloor`, '⌋': `\rfloor`, 'α': `\alpha`, 'β': `\beta`, 'γ': `\gamma`,
		'δ': `\delta`, 'ε': `\varepsilon`, 'ζ': `\zeta`, 'η': `\eta`, 'θ': `\theta`, 'κ': `\kappa`, 'λ': `\lambda`,
		'μ': `\mu`, 'ν': `\nu`, 'ρ': `\rho`, 'σ': `\sigma`, 'ψ': `\psi`, 'Δ': `\Delta`, 'Θ': `\Theta`, 'ŵ': `\hat w`}
	texAccents = map[rune]string{'\u0302': `\hat`, '\u0303': `\tilde`, '\u0304': `\bar`} // they follow their letter
)

// Letters below and above the line, and what they stand for.
var (
	texLow  = indexed("₀₁₂₃₄₅₆₇₈₉₊₋ₚₗᵢⱼₖₙ", "0123456789+-plijkn")
	texHigh = indexed("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵖᵏᵀˣʸʳᵗʲᶜᵐᵈ", "0123456789+-pkTxyrtjcmd")
)

func indexed(signs, letters string) map[rune]rune {
	out := map[rune]rune{}
	plain := []rune(letters)
	for k, r := range []rune(signs) {
		out[r] = plain[k]
	}
	return out
}

// tex writes a text for LaTeX. Neighbouring signs make one formula: between two of them $$ would begin a display. A
// character that pdflatex lacks becomes a question mark.
func tex(s string) string {
	var out strings.Builder
	formula := false
	put := func(inside bool, text string) {
		if inside != formula {
			out.WriteByte('$')
			formula = inside
		}
		out.WriteString(text)
	}
	letters := []rune(s)
	for i := 0; i < len(letters); i++ {
		r := letters[i]
		if i+1 < len(letters) && texAccents[letters[i+1]] != "" {
			letter := texSigns[r]
			if letter == "" {
				letter = strings.Trim(tex(string(r)), "$")
			}
			put(true, texAccents[letters[i+1]]+"{"+letter+"}")
			i++
			continue
		}
		if text, n := script(letters[i:]); n > 0 {
			put(true, text)
			i += n - 1
			continue
		}
		word, isWord := texWords[r]
		sign, isSign := texSigns[r]
		switch {
		case isWord:
			put(false, word)
		case isSign:
			put(true, sign)
		case r < 0x20 || r == 0x7f || r > 0x17f: // beyond the accented letters of Europe
			put(false, "?")
		default:
			put(false, string(r))
		}
	}
	if formula {
		out.WriteByte('$')
	}
	return out.String()
}

// script returns the subscript or superscript at the front, such as ₁.₅, and how many letters it has.
func script(letters []rune) (text string, n int) {
	for mark, of := range map[string]map[rune]rune{"_": texLow, "^": texHigh} {
		if of[letters[0]] == 0 {
			continue
		}
		var inner []rune
		for n < len(letters) {
			if c := of[letters[n]]; c != 0 {
				inner = append(inner, c)
			} else if letters[n] == '.' && n+1 < len(letters) && of[letters[n+1]] != 0 {
				inner = append(inner, '.')
			} else {
				break
			}
			n++
		}
		return mark + "{" + string(inner) + "}", n
	}
	return "", 0
}
