package dataset

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csv reads a table of numbers under a line of column names. Fields are parted by commas, semicolons or
// tabs, whichever the header has most of, and may stand in quotes; a field does not go on over a line's end.
type csv struct {
	name  string
	sep   byte
	cols  []string
	label int // which column holds the labels, −1 for none
	rows  *table
	y     []float64
	line  int
}

func readCSV(r io.Reader, name string, opt Options) (*Set, error) {
	return parseCSV(newText(r, window), name, opt)
}

func parseCSV(t *text, name string, opt Options) (*Set, error) {
	p := &csv{name: name}
	for {
		line, err := p.next(t)
		switch {
		case err == io.EOF:
			return p.set()
		case err != nil:
			return nil, failed(name, p.line, err)
		case len(bytes.TrimSpace(line)) == 0 && (p.sep != '\t' || len(line) == 0):
			continue
		case p.cols == nil:
			err = p.header(string(line), opt)
		default:
			err = p.row(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// next returns the next line without its end, and io.EOF after the last.
func (p *csv) next(t *text) ([]byte, error) {
	p.line++
	seen := 0
	for {
		b := t.unread()
		if k := bytes.IndexByte(b[seen:], '\n'); k >= 0 {
			k += seen
			t.lo += k + 1
			return bytes.TrimSuffix(b[:k], []byte("\r")), nil
		}
		if t.err != nil {
			if t.err == io.EOF && len(b) > 0 {
				t.lo = t.hi
				return bytes.TrimSuffix(b, []byte("\r")), nil
			}
			return nil, t.err
		}
		seen = len(b)
		t.more()
	}
}

// header takes the column names and finds the labels among them.
func (p *csv) header(line string, opt Options) error {
	p.sep = separator(line)
	cols, err := p.fields(line)
	if err != nil {
		return err
	}
	if len(cols) < 2 && !opt.Unlabeled {
		return at(p.name, p.line, 0, "only one column: a CSV has features and a label, parted by commas, semicolons or tabs")
	}
	numbers := true
	for _, c := range cols {
		numbers = numbers && isNumber([]byte(c))
	}
	if numbers && !slices.Contains(cols, opt.Label) {
		return at(p.name, p.line, 0, "the first line is all numbers: put a line with the names of the columns before it")
	}
	p.cols = cols
	if p.label, err = p.findLabel(opt.Label, opt.Unlabeled); err != nil {
		return err
	}
	features := len(cols)
	if p.label >= 0 {
		features--
	}
	p.rows = newTable(features, opt)
	return nil
}

// separator is the one the line has most of outside quotes.
func separator(line string) byte {
	var count [256]int
	in := false
	for i := range len(line) {
		if line[i] == '"' {
			in = !in
		} else if !in {
			count[line[i]]++
		}
	}
	best := byte(',')
	for _, c := range []byte(";\t") {
		if count[c] > count[best] {
			best = c
		}
	}
	return best
}

// fields splits a line of names; quotes are taken off, and doubled ones in them are one.
func (p *csv) fields(line string) (cols []string, err error) {
	for i := 0; ; i++ {
		var f string
		rest := strings.TrimLeft(line[i:], " ")
		if strings.HasPrefix(rest, `"`) {
			i = len(line) - len(rest)
			end := i + 1
			for ; ; end++ {
				k := strings.IndexByte(line[end:], '"')
				if k < 0 {
					return nil, at(p.name, p.line, i+1, "field %d: a quote that does not end on its line: close it", len(cols)+1)
				}
				if end += k + 1; end == len(line) || line[end] != '"' {
					break
				}
			}
			f = strings.ReplaceAll(line[i+1:end-1], `""`, `"`)
			i = end + len(line[end:]) - len(strings.TrimLeft(line[end:], " "))
			if i < len(line) && line[i] != p.sep {
				return nil, at(p.name, p.line, i+1, "field %d: text after a closing quote: double the quotes inside a name",
					len(cols)+1)
			}
		} else {
			n := strings.IndexByte(line[i:], p.sep)
			if n < 0 {
				n = len(line) - i
			}
			f = line[i : i+n]
			i += n
		}
		cols = append(cols, strings.TrimSpace(f))
		if i >= len(line) {
			return cols, nil
		}
	}
}

// findLabel returns the label's column: the one asked for, else the one called "label", else the last, or −1 for none.
func (p *csv) findLabel(want string, unlabeled bool) (int, error) {
	found := -1
	for i, c := range p.cols {
		if c == want && want != "" || want == "" && strings.EqualFold(c, "label") {
			if found >= 0 {
				return 0, at(p.name, p.line, 0, "fields %d and %d are both called %s: rename one", found+1, i+1, quoted(c))
			}
			found = i
		}
	}
	if found < 0 && want != "" {
		return 0, at(p.name, p.line, 0, "no column %s for the label: choose one of %s", quoted(want), some(p.cols))
	}
	if found < 0 && !unlabeled {
		found = len(p.cols) - 1
	}
	return found, nil
}

// some lists the first of many names.
func some(names []string) string {
	const few = 20
	var b strings.Builder
	for i, s := range names[:min(few, len(names))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(s))
	}
	if len(names) > few {
		fmt.Fprintf(&b, ", … (%d in all)", len(names))
	}
	return b.String()
}

// row reads a line of numbers.
func (p *csv) row(line []byte) error {
	dst := p.rows.row()
	if p.label < 0 {
		p.y = append(p.y, 0)
	}
	for i, k, field := 0, 0, 0; ; field++ {
		if field == len(p.cols) {
			return p.ragged(line)
		}
		start := i
		v, i2, ok := p.number(line, i)
		if !ok {
			return p.bad(line, start, field)
		}
		i = i2
		if field == p.label {
			p.y = append(p.y, v)
		} else {
			dst[k] = v
			k++
		}
		if i == len(line) {
			if field+1 < len(p.cols) {
				return p.ragged(line)
			}
			return nil
		}
		i++ // the separator
	}
}

// number reads the field at line[i:], up to the separator or the end that must follow it.
func (p *csv) number(line []byte, i int) (v float64, next int, ok bool) {
	i = p.blanks(line, i)
	quote := i < len(line) && line[i] == '"'
	if quote {
		i = p.blanks(line, i+1)
	}
	v, n, ok := scanFloat(line[i:])
	i = p.blanks(line, i+n)
	if quote {
		if i == len(line) || line[i] != '"' {
			return 0, i, false
		}
		i = p.blanks(line, i+1)
	}
	return v, i, ok && (i == len(line) || line[i] == p.sep)
}

// blanks steps over spaces, and tabs where they are not the separator.
func (p *csv) blanks(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' && p.sep != '\t') {
		i++
	}
	return i
}

// bad says what is wrong with the field at line[i:], unless the line as a whole is.
func (p *csv) bad(line []byte, i, field int) error {
	if p.width(line) != len(p.cols) {
		return p.ragged(line)
	}
	text := string(line[i:p.end(line, i)])
	tok := strings.Trim(text, " \t\"")
	msg := notNumber(tok)
	switch {
	case strings.Count(text, `"`)%2 == 1:
		msg = "a quote that does not end on its line: close it"
	case field == p.label:
		msg = notLabel(tok)
	}
	return at(p.name, p.line, p.blanks(line, i)+1, "field %d (%s): %s", field+1, quoted(p.cols[field]), msg)
}

func (p *csv) ragged(line []byte) error {
	return at(p.name, p.line, 0, "%d fields, but the header has %d: every line needs one field a column", p.width(line),
		len(p.cols))
}

// width counts the fields of a line.
func (p *csv) width(line []byte) int {
	n := 1
	for i := p.end(line, 0); i < len(line); i = p.end(line, i+1) {
		n++
	}
	return n
}

// end is where the field at line[i:] ends: at a separator outside quotes, or with the line.
func (p *csv) end(line []byte, i int) int {
	for in := false; i < len(line) && (in || line[i] != p.sep); i++ {
		if line[i] == '"' {
			in = !in
		}
	}
	return i
}

func (p *csv) set() (*Set, error) {
	if len(p.y) == 0 {
		msg := noExamples
		if p.cols != nil {
			msg = "no examples: there is a header and nothing below it"
		}
		return nil, &Error{Name: p.name, Msg: msg}
	}
	features, label := slices.Clone(p.cols), ""
	if p.label >= 0 {
		label = features[p.label]
		features = slices.Delete(features, p.label, p.label+1)
	}
	return &Set{Name: p.name, X: p.rows.dense(), Y: p.y, Features: p.rows.names(features), Label: label}, nil
}
