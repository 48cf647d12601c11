package dataset

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
)

// csv reads a table under a line of column names. Fields are parted by commas, semicolons or tabs, whichever the header
// has most of, and may stand in quotes; those in quotes may hold separators and line ends.
type csv struct {
	frame
	sep    byte
	quotes bool // there are some in the window of the text
}

func readCSV(r io.Reader, name string, opt Options) (*Set, error) {
	return parseCSV(newText(r, window), name, opt)
}

func parseCSV(t *text, name string, opt Options) (*Set, error) {
	p := &csv{frame: newFrame(name, opt)}
	p.text = true
	p.look(t)
	for {
		line, err := p.next(t)
		switch {
		case err == io.EOF:
			return p.set()
		case err != nil:
			return nil, failed(name, p.line, err)
		case len(bytes.TrimSpace(line)) == 0 && (p.sep != '\t' || len(line) == 0):
			continue
		case p.quotes && bytes.IndexByte(line, '"') >= 0:
			err = p.quoted(t, line)
		case p.cols == nil:
			err = p.take(line)
		default:
			err = p.row(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// take reads the header or an example.
func (p *csv) take(line []byte) error {
	if p.cols != nil {
		return p.row(line)
	}
	err := p.header(string(line))
	if err == nil && p.opt.NoHeader {
		err = p.row(line)
	}
	return err
}

// quoted is take for a line with quotes, which continues on the next if one of them is open at its end.
func (p *csv) quoted(t *text, line []byte) error {
	if p.cols == nil {
		p.sep = separator(string(line))
	}
	if p.open(line) < 0 {
		return p.take(line)
	}
	begin, first := p.line, len(line)
	whole := slices.Clone(line)
	for {
		next, err := p.next(t)
		if err == io.EOF || err == nil && len(whole)-first > longest {
			return p.unclosed(begin, whole)
		}
		if err != nil {
			return failed(p.name, p.line, err)
		}
		whole = append(append(whole, '\n'), next...)
		if bytes.IndexByte(next, '"') >= 0 && p.open(whole) < 0 {
			break
		}
	}
	end := p.line
	p.line = begin
	err := p.take(whole)
	p.line = end
	return err
}

// unclosed is the error about a quote that never ends. The text begins with the line of the number.
func (p *csv) unclosed(number int, text []byte) error {
	start := p.open(text)
	field := p.width(text) - 1
	where := place{number + bytes.Count(text[:start], []byte("\n")), start - bytes.LastIndexByte(text[:start], '\n')}
	if field < len(p.cols) {
		return p.fail(where, field, endless)
	}
	return at(p.name, where.line, where.col, "field %d: "+endless, field+1)
}

const endless = "a quote that does not end: close it"

// open returns where a quote stands that is not closed by the end of a line, or −1.
func (p *csv) open(line []byte) int {
	for i := 0; i < len(line); i++ {
		start := p.blanks(line, i)
		i = p.end(line, i)
		if i == len(line) && start < i && line[start] == '"' && bytes.Count(line[start:], []byte(`"`))%2 == 1 {
			return start
		}
	}
	return -1
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
		p.look(t)
	}
}

// look notes whether there are quotes in what is to be read next. Most tables have none.
func (p *csv) look(t *text) { p.quotes = bytes.IndexByte(t.unread(), '"') >= 0 }

// header takes the column names and chooses the labels and features among them.
func (p *csv) header(line string) error {
	p.sep = separator(line)
	if p.opt.NoHeader && p.sep == ',' && strings.Contains(line, ";") && strings.Count(line,
		";") >= strings.Count(line, ",") {
		p.sep = ';' // 1,5;2,5 has commas in its numbers
	}
	var cols []string
	if p.opt.NoHeader {
		for i := range p.width([]byte(line)) {
			cols = append(cols, strconv.Itoa(i+1))
		}
	} else {
		var err error
		if cols, err = p.fields(line); err != nil {
			return err
		}
		for i, c := range cols {
			cols[i] = valid(c)
		}
	}
	return p.start(cols)
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
					return nil, at(p.name, p.line, i+1, "field %d: "+endless, len(cols)+1)
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

// row reads a line of cells.
func (p *csv) row(line []byte) error {
	if p.missing == MissingDrop && p.incomplete(line) {
		p.left = append(p.left, p.n+len(p.left))
		if p.width(line) != len(p.cols) {
			return p.ragged(line)
		}
		return nil
	}
	dst := p.rows.row()
	if p.label == nil {
		p.y = append(p.y, 0)
	}
	i := 0
	for field, u := range p.uses {
		var v float64
		next, ok := i, false
		if u.kind == numbers {
			v, next, ok = p.number(line, i)
		}
		if !ok {
			var err error
			if v, next, err = p.other(line, i, field); err != nil {
				return err
			}
		}
		i = next
		if u.at >= 0 {
			dst[u.at] = v
		} else if u.kind != unused {
			p.y = append(p.y, v)
		}
		if i == len(line) {
			if field+1 < len(p.uses) {
				break
			}
			p.n++
			return nil
		}
		i++ // the separator
	}
	return p.ragged(line)
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

// other reads the field at line[i:], which is not a number, and returns its cell: NaN for a missing value, else a code.
func (p *csv) other(line []byte, i, field int) (v float64, next int, err error) {
	if p.uses[field].kind == unused {
		return 0, p.end(line, i), nil
	}
	tok, next, err := p.token(line, i, field)
	if err != nil {
		return 0, 0, err
	}
	v, err = p.code(p.used[field], tok, place{p.line, p.blanks(line, i) + 1})
	if err != nil && p.width(line) != len(p.cols) {
		err = p.ragged(line)
	}
	return v, next, err
}

// token returns the text of the field at line[i:], and where it ends.
func (p *csv) token(line []byte, i, field int) (tok []byte, next int, err error) {
	i = p.blanks(line, i)
	if i == len(line) || line[i] != '"' {
		next = p.end(line, i)
		tok = line[i:next]
	} else if tok, next, err = p.inQuotes(line, i, field); err != nil {
		return nil, 0, err
	}
	if len(tok) > longest {
		return nil, 0, p.fail(place{p.line, i + 1}, field,
			"a text of %d bytes, want at most %d: is a quote missing?", len(tok),
			longest)
	}
	return p.trim(tok), next, nil
}

// inQuotes is token for a field that starts with a quote, at line[i].
func (p *csv) inQuotes(line []byte, i, field int) (tok []byte, next int, err error) {
	doubled := false
	end := i + 1
	for ; ; end++ {
		k := bytes.IndexByte(line[end:], '"')
		if k < 0 {
			if p.width(line) != len(p.cols) {
				return nil, 0, p.ragged(line)
			}
			return nil, 0, p.fail(place{p.line, i + 1}, field, endless)
		}
		if end += k + 1; end == len(line) || line[end] != '"' {
			break
		}
		doubled = true
	}
	tok = line[i+1 : end-1]
	if doubled {
		tok = bytes.ReplaceAll(tok, []byte(`""`), []byte(`"`))
	}
	if next = p.blanks(line, end); next < len(line) && line[next] != p.sep {
		return nil, 0, p.fail(place{p.line, next + 1}, field, "text after a closing quote: double the quotes inside a field")
	}
	return tok, next, nil
}

// trim takes blanks off both ends, as blanks does.
func (p *csv) trim(tok []byte) []byte {
	if p.sep == '\t' {
		return bytes.Trim(tok, " ")
	}
	return bytes.Trim(tok, " \t")
}

func (p *csv) ragged(line []byte) error {
	if p.opt.NoHeader {
		return at(p.name, p.line, 0, "%d fields, but the first line has %d: every line needs one field a column",
			p.width(line), len(p.cols))
	}
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

// end is where the field at line[i:] ends: at a separator, or with the line. Separators count for nothing in a field
// that starts with a quote, until that is closed.
func (p *csv) end(line []byte, i int) int {
	if k := p.blanks(line, i); k < len(line) && line[k] == '"' {
		for in := false; i < len(line) && (in || line[i] != p.sep); i++ {
			if line[i] == '"' {
				in = !in
			}
		}
		return i
	}
	if k := bytes.IndexByte(line[i:], p.sep); k >= 0 {
		return i + k
	}
	return len(line)
}

// incomplete reports whether a line has a missing value in a column that is used. Labels of a table that is read like
// another do not count: it may have none.
func (p *csv) incomplete(line []byte) bool {
	for i, field := 0, 0; field < len(p.uses); i, field = i+1, field+1 {
		c := p.used[field]
		if c == nil || c == p.label && p.opt.Like != nil {
			i = p.end(line, i)
		} else {
			tok, next, err := p.token(line, i, field)
			if err != nil {
				return false // which is found again
			}
			if isMissing(tok) {
				return true
			}
			if c.like != nil && c.texts != nil && !c.knows(tok) {
				c.strange(tok)
				return true
			}
			i = next
		}
		if i >= len(line) {
			break
		}
	}
	return false
}
