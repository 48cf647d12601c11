package dataset

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// frame is a table with named columns while it is read, row by row, from a CSV or a Parquet file.
//
// Its cells become numbers at once: a text becomes a code, which is its place in a dictionary of the column. What the
// codes mean is settled when all is read, see encode.go.
type frame struct {
	name  string
	opt   Options
	text  bool // the names are the first line of a text, or there are none
	cols  []string
	uses  []use     // what each field of a line is for
	used  []*column // by field; nil where it is unused
	feats []*column // the columns of rows
	label *column   // nil: there are no labels
	rows  *table
	y     []float64
	line  int   // of a text; else the row, counted from 1
	n     int   // examples, complete and kept
	left  []int // which of all lines with examples were left out, counted from 0

	missing Missing
	lacking int // examples with missing values
	lacks   int // the line of the last of them
	notes   []string
}

// use says what to do with a field. It is small, as every cell looks at it.
type use struct {
	kind kind
	at   int32 // which cell of a row it is
}

type kind uint8

const (
	unused  kind = iota
	numbers      // so far all its values are numbers
	texts        // its cells are codes
)

// inY is the place of the labels, and of what is unused: no part of a row.
const inY = -1

// longest is how long a text may be.
const longest = 64 << 10

// nan is the cell of a missing value.
var nan = math.NaN()

// place is where in the file something stands: a line and the byte in it, or a row.
type place struct{ line, col int }

func newFrame(name string, opt Options) frame {
	p := frame{name: name, opt: opt, missing: opt.Missing}
	if opt.Like != nil {
		p.missing, p.opt.NoHeader = opt.Like.Missing, opt.Like.NoHeader
		if p.missing == MissingDrop { // every example gets its prediction
			p.missing = MissingMean
		}
	}
	return p
}

// start takes the column names and chooses the labels and features among them.
func (p *frame) start(cols []string) error {
	p.cols = cols
	p.uses, p.used = make([]use, len(cols)), make([]*column, len(cols))
	for i := range p.uses {
		p.uses[i].at = inY
	}
	choose := p.choose
	if p.opt.Like != nil {
		choose = p.chooseLike
	}
	if err := choose(); err != nil {
		return err
	}
	p.rows = newTable(len(p.feats), p.opt)
	return nil
}

// allNumbers reports whether the first line can hardly be a header.
func (p *frame) allNumbers() bool {
	if p.opt.NoHeader || !p.text {
		return false
	}
	for _, c := range p.cols {
		if !isNumber([]byte(c)) {
			return false
		}
	}
	return true
}

func (p *frame) headerMissing() error {
	return p.wrong("the first line is all numbers: put a line with the names of the columns before it, or say --no-header")
}

// wrong is an error about the columns and their names.
func (p *frame) wrong(format string, args ...any) error {
	line := 0
	if p.text {
		line = p.line
	}
	return at(p.name, line, 0, format, args...)
}

// at is an error at a place.
func (p *frame) at(where place, format string, args ...any) error {
	if p.text {
		return at(p.name, where.line, where.col, format, args...)
	}
	return at(p.name, 0, 0, "row %d: %s", where.line, fmt.Sprintf(format, args...))
}

// fail is an error about a cell.
func (p *frame) fail(where place, field int, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if p.text {
		return at(p.name, where.line, where.col, "field %d (%s): %s", field+1, quoted(p.cols[field]), msg)
	}
	return at(p.name, 0, 0, "row %d, column %s: %s", where.line, quoted(p.cols[field]), msg)
}

// valid is s as UTF-8 of one line. Bytes that are not UTF-8 are taken for Latin-1, which most other files are in.
func valid(s string) string {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.Join(strings.Fields(s), " ")
	}
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(s[i])
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
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
