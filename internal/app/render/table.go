package render

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is rows of cells under a header. The first column names the rows.
type Table struct {
	Title  string
	Note   string // a sentence below it
	Header []string
	Rows   [][]Cell
	Left   int // how many columns are aligned left, not right; 0: the first

	Measures bool // the rows, too, are named after measures
}

// left reports whether a column is aligned left.
func (t Table) left(column int) bool { return column < max(t.Left, 1) }

// Cell is one entry: its text, and its number if it has one.
type Cell struct {
	Text  string
	Value float64 // NaN: none
	Best  bool    // the best of its column, shown bold
	Mark  bool    // shown with a background: a claim is about this cell
	Shade float64 // from 0 to 1: the strength of a background

	Error float64 // of a mean: its standard error
	Runs  int     // of a mean: how many runs it is of; 0: it is not a mean
}

// longCell is how many letters a cell may have in one line.
const longCell = 30

// long reports which columns have a cell of several lines: they are aligned left. The last of two has the page's width.
func (t Table) long() []bool {
	out := make([]bool, len(t.Header))
	for _, r := range t.Rows {
		for j, c := range r {
			out[j] = out[j] || len([]rune(c.Text)) > longCell && !(j == 1 && len(t.Header) == 2)
		}
	}
	return out
}

// Text is a cell of words.
func Text(format string, args ...any) Cell {
	return Cell{Text: fmt.Sprintf(format, args...), Value: math.NaN()}
}

// Number is a cell with digits decimals.
func Number(v float64, digits int) Cell {
	if math.IsNaN(v) {
		return Cell{Text: "–", Value: v}
	}
	return Cell{Text: strconv.FormatFloat(v, 'f', digits, 64), Value: v}
}

// Short is a cell with about digits significant digits.
func Short(v float64, digits int) Cell {
	if math.IsNaN(v) {
		return Cell{Text: "–", Value: v}
	}
	if a := math.Abs(v); a >= math.Pow(10, float64(digits)) && a < 1e6 { // 12360 and not 1.236e+04
		return Cell{Text: strconv.FormatFloat(v, 'f', 0, 64), Value: v}
	}
	return Cell{Text: strconv.FormatFloat(v, 'g', digits, 64), Value: v}
}

// Mean is the mean of several runs with its standard error: 92.75 ± 0.10 (n = 3), or 92.68 (one run). Percentages have
// two decimals; of other numbers (digits < 0) the error has two digits.
func Mean(mean, se float64, runs, digits int) Cell {
	if math.IsNaN(mean) || runs == 0 {
		return Text("–")
	}
	var c Cell
	switch known := runs > 1 && se > 0; {
	case digits < 0 && known:
		if digits = 1 - int(math.Floor(math.Log10(se))); digits < 0 || digits > 7 {
			c = Short(mean, 5)
			c.Text += fmt.Sprintf(" ± %.2g", se)
			break
		}
		fallthrough
	case digits >= 0:
		c = Number(mean, digits)
		if runs > 1 {
			c.Text += fmt.Sprintf(" ± %.*f", digits, se)
		}
	default:
		if c = Short(mean, 5); runs > 1 {
			c.Text += " ± 0"
		}
	}
	c.Error, c.Runs = se, runs
	if runs == 1 {
		c.Text += " (one run)"
	} else {
		c.Text += fmt.Sprintf(" (n = %d)", runs)
	}
	return c
}

// Add adds a remark in brackets, into those that the cell ends with.
func (c *Cell) Add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if head, ok := strings.CutSuffix(c.Text, ")"); ok {
		c.Text = head + ", " + text + ")"
	} else {
		c.Text += " (" + text + ")"
	}
}

// MarkLeast sets Best on the least number of each column.
func (t *Table) MarkLeast() {
	for j := 1; j < len(t.Header); j++ {
		t.MarkLeastOf(j)
	}
}

// MarkMost sets Best on the largest number of one column.
func (t *Table) MarkMost(j int) { t.mark(j, func(a, b float64) bool { return a > b }) }

func (t *Table) mark(j int, better func(a, b float64) bool) {
	best := -1
	for i, r := range t.Rows {
		if v := r[j].Value; !math.IsNaN(v) && (best < 0 || better(v, t.Rows[best][j].Value)) {
			best = i
		}
	}
	if best >= 0 {
		t.Rows[best][j].Best = true
	}
}

// MarkLeastOf sets Best on the least number of one column.
func (t *Table) MarkLeastOf(j int) { t.mark(j, func(a, b float64) bool { return a < b }) }

// CSV returns the table, with numbers in full precision. The standard errors of means and their numbers of runs are
// columns behind the others.
func (t Table) CSV() []byte {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	head := slices.Clone(t.Header)
	var means []int // the columns with means
	for j, h := range t.Header {
		if slices.ContainsFunc(t.Rows, func(r []Cell) bool { return r[j].Runs > 0 }) {
			means, head = append(means, j), append(head, h+", standard error", h+", n")
		}
	}
	w.Write(head)
	for _, r := range t.Rows {
		var rec []string
		for _, c := range r {
			switch {
			case !math.IsNaN(c.Value):
				rec = append(rec, strconv.FormatFloat(c.Value, 'g', -1, 64))
			case c.Text == "–":
				rec = append(rec, "")
			default:
				rec = append(rec, c.Text)
			}
		}
		for _, j := range means {
			se := ""
			if r[j].Runs > 1 {
				se = strconv.FormatFloat(r[j].Error, 'g', -1, 64)
			}
			rec = append(rec, se, strconv.Itoa(r[j].Runs))
		}
		w.Write(rec)
	}
	w.Flush()
	return buf.Bytes()
}

// Markdown returns the table with its title and note.
func (t Table) Markdown() []byte {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "**%s**\n\n", t.Title)
	}
	esc := strings.NewReplacer("|", `\|`, "\n", " ")
	b.WriteString("|")
	for _, h := range t.Header {
		b.WriteString(" " + esc.Replace(h) + " |")
	}
	b.WriteString("\n|")
	for j := range t.Header {
		if t.left(j) {
			b.WriteString("---|")
		} else {
			b.WriteString("---:|")
		}
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		b.WriteString("|")
		for _, c := range r {
			s := esc.Replace(c.Text)
			if c.Best {
				s = "**" + s + "**"
			}
			b.WriteString(" " + s + " |")
		}
		b.WriteString("\n")
	}
	if t.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", t.Note)
	}
	return []byte(b.String())
}

// Text returns the table aligned for a terminal; the best of a column has a star.
func (t Table) Text() string {
	width := make([]int, len(t.Header))
	cell := func(c Cell) string {
		if c.Best {
			return c.Text + "*"
		}
		return c.Text + " "
	}
	for j, h := range t.Header {
		width[j] = len([]rune(h)) + 1
		for _, r := range t.Rows {
			width[j] = max(width[j], len([]rune(cell(r[j]))))
		}
	}
	var b strings.Builder
	line := func(j int, s string) {
		pad := strings.Repeat(" ", width[j]-len([]rune(s)))
		if j > 0 {
			b.WriteString("  ")
		}
		if t.left(j) {
			b.WriteString(s + pad)
		} else {
			b.WriteString(pad + s)
		}
	}
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	for j, h := range t.Header {
		line(j, h+" ")
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		for j, c := range r {
			line(j, cell(c))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// HTML returns the table as an element.
func (t Table) HTML() string { return t.html(func(...string) string { return "" }) }

// manyColumns is from how many columns a table may need to be scrolled: the keyboard can reach it then.
const manyColumns = 4

// html is the table with buttons that explain its measures.
func (t Table) html(why func(...string) string) string {
	var b strings.Builder
	long := t.long()
	b.WriteString(`<figure class="table">`)
	if t.Title != "" {
		fmt.Fprintf(&b, "<figcaption>%s%s</figcaption>", html.EscapeString(t.Title), why(t.Title))
	}
	focus := ""
	if len(t.Header) >= manyColumns {
		focus = ` tabindex="0"`
	}
	fmt.Fprintf(&b, `<div class="scroll"%s><table%s><thead><tr>`, focus, t.heads())
	for j, h := range t.Header {
		class := ""
		if j > 0 && (t.left(j) || long[j]) {
			class = ` class="left"`
		}
		fmt.Fprintf(&b, `<th scope="col"%s>%s</th>`, class, asked(h, why(h)))
	}
	b.WriteString("</tr></thead><tbody>")
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for j, c := range r {
			tag, class := "td", ""
			if j == 0 {
				tag = `th scope="row"`
			}
			if j > 0 && (t.left(j) || long[j]) {
				class += " left"
			}
			if long[j] {
				class += " long"
			}
			if c.Best {
				class += " best"
			}
			if c.Mark {
				class += " mark"
			}
			if class != "" {
				class = fmt.Sprintf(` class="%s"`, class[1:])
			}
			if c.Shade > 0 { // seen through: for a light page and a dark one
				class += fmt.Sprintf(` style="background:rgba(47,143,196,%.2f)"`, 0.75*min(c.Shade, 1))
			}
			ask := ""
			if j == 0 && t.Measures {
				ask = why(c.Text)
			}
			fmt.Fprintf(&b, "<%s%s>%s</%s>", tag, class, asked(c.Text, ask), tag[:2])
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table></div>")
	if t.Note != "" {
		ask := ""
		if t.means() {
			ask = why("standard error")
		}
		fmt.Fprintf(&b, `<p class="note">%s%s</p>`, html.EscapeString(t.Note), ask)
	}
	b.WriteString("</figure>")
	return b.String()
}

// heads is the class of a table whose rows have long names: they wrap, but not letter by letter.
func (t Table) heads() string {
	longest := 0
	for _, r := range t.Rows {
		longest = max(longest, len([]rune(r[0].Text)))
	}
	switch {
	case longest > 45:
		return ` class="longest"`
	case longest > 16:
		return ` class="longer"`
	}
	return ""
}

// means reports whether a cell is the mean of several runs.
func (t Table) means() bool {
	return slices.ContainsFunc(t.Rows, func(r []Cell) bool {
		return slices.ContainsFunc(r, func(c Cell) bool { return c.Runs > 1 })
	})
}
