package dataset

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/matrix"
)

// svm reads svmlight text: a line is a label and index:value pairs, indices counted from 1 and ascending.
// Blank lines and what follows a # are skipped, and so is a qid:… after the label, which groups examples
// for ranking.
//
// Text is taken in pieces that end between two tokens and not in whole lines, so that a line may be
// as long as it likes.
type svm struct {
	name string
	bias bool
	rows matrix.Builder
	y    []float64

	line     int  // counted from 1
	bol      int  // where the line began, from the start of the piece; negative if in an earlier one
	labelled bool // the line's label has been read
	comment  bool // the rest of the line is one
	last     int  // index of the pair before, 0 if this is the line's first
}

// maxToken is more than any number needs: what is longer is no svmlight.
const maxToken = 64 << 10

func readSVM(r io.Reader, name string, opt Options) (*Set, error) {
	return parseSVM(newText(r, window), name, opt)
}

func parseSVM(t *text, name string, opt Options) (*Set, error) {
	p := &svm{name: name, bias: opt.Bias, line: 1}
	for {
		if c := p.piece(t); len(c) > 0 {
			if err := p.parse(c); err != nil {
				return nil, err
			}
			p.bol -= len(c)
			t.lo += len(c)
			continue
		}
		switch {
		case t.err == io.EOF:
			p.endRow()
			return p.set(opt)
		case t.err != nil:
			return nil, failed(name, p.line, t.err)
		case t.hi-t.lo >= maxToken:
			return nil, p.fail(0, "%s is not svmlight text: a line is a label and index:value pairs", quoted(string(t.unread())))
		}
		t.more()
	}
}

// piece returns the unread text up to where its last whole token has ended, or a comment that goes on.
func (p *svm) piece(t *text) []byte {
	b := t.unread()
	if p.comment {
		if k := bytes.IndexByte(b, '\n'); k >= 0 {
			return b[:k+1]
		}
		return b
	}
	if k := bytes.LastIndexAny(b, " \t\r\n#"); k >= 0 {
		return b[:k+1]
	}
	if len(b) > 0 && t.err == io.EOF {
		t.buf[t.hi] = '\n'
		t.hi++
		return t.unread()
	}
	return nil
}

// parse takes a piece that ends in a blank or a #, or lies in a comment.
func (p *svm) parse(c []byte) (err error) {
	for i := 0; i < len(c); {
		switch b := c[i]; {
		case b == '\n':
			p.endRow()
			i++
			p.line++
			p.bol = i
		case p.comment:
			k := bytes.IndexByte(c[i:], '\n')
			if k < 0 {
				return nil
			}
			i += k
		case b == ' ', b == '\t', b == '\r':
			i++
		case b == '#':
			p.comment = true
			i++
		case !p.labelled:
			v, n, ok := scanFloat(c[i:])
			if !ok || !ends(c[i+n]) {
				return p.fail(i, "%s", notLabel(token(c[i:])))
			}
			p.y = append(p.y, v)
			p.labelled = true
			i += n
		default:
			if i, err = p.pairs(c, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// pairs reads the pair at c[i:] and those that follow it after one space each: nearly every byte of a file
// is read here.
func (p *svm) pairs(c []byte, i int) (next int, err error) {
	for {
		start, index := i, 0
		for c[i]-'0' <= 9 {
			index = index*10 + int(c[i]-'0')
			i++
		}
		if c[i] != ':' || index <= p.last || index > math.MaxInt32 || i-start > 18 {
			return p.odd(c, start)
		}
		i++
		v, n, ok := scanFloat(c[i:])
		if !ok || !ends(c[i+n]) {
			return i, p.fail(i, "%s", notNumber(token(c[i:])))
		}
		p.rows.Add(int32(index-1), v)
		p.last = index
		i += n
		if c[i] != ' ' || i+1 == len(c) || c[i+1]-'0' > 9 {
			return i, nil
		}
		i++
	}
}

// odd steps over a qid, and says what is wrong with anything else that is no pair in its place.
func (p *svm) odd(c []byte, i int) (next int, err error) {
	tok := token(c[i:])
	index, _, pair := strings.Cut(tok, ":")
	digits := strings.TrimLeft(index, "0")
	switch {
	case index == "qid" && pair && p.last == 0:
		return i + len(tok), nil
	case index == "qid" && pair:
		return i, p.fail(i, "qid after a feature: put it right after the label")
	case !pair:
		return i, p.fail(i, "%s is not an index:value pair such as 3:0.5", quoted(tok))
	case index == "" || strings.Trim(index, "0123456789") != "":
		return i, p.fail(i, "index %s: indices are whole numbers from 1", quoted(index))
	case digits == "":
		return i, p.fail(i, "index 0: indices start at 1: add 1 to every index of the file")
	case len(digits) > 10 || len(digits) == 10 && digits > "2147483647":
		return i, p.fail(i, "index %s: the largest index possible is 2147483647", quoted(index))
	case len(index) > 18:
		return i, p.fail(i, "index %s: drop the leading zeros", quoted(index))
	case digits == strconv.Itoa(p.last):
		return i, p.fail(i, "index %s twice in one line: keep one of them", digits)
	}
	return i, p.fail(i, "index %s after %d: sort the indices of a line in ascending order", digits, p.last)
}

func (p *svm) endRow() {
	if p.labelled {
		if p.bias {
			p.rows.AddLast(1)
		}
		p.rows.EndRow()
	}
	p.labelled, p.comment, p.last = false, false, 0
}

func (p *svm) set(opt Options) (*Set, error) {
	if len(p.y) == 0 {
		return nil, &Error{Name: p.name, Msg: noExamples}
	}
	if p.rows.Cols() == 0 && opt.Cols == 0 {
		return nil, &Error{Name: p.name, Msg: noFeatures}
	}
	s := &Set{Name: p.name, Y: p.y}
	if opt.Bias {
		s.X = p.rows.BuildLast(opt.Cols)
	} else {
		s.X = p.rows.Build(opt.Cols)
	}
	return s, nil
}

// fail is an error at c[i] of the piece under way.
func (p *svm) fail(i int, format string, args ...any) error {
	return at(p.name, p.line, i-p.bol+1, format, args...)
}

// ends tells whether a token ends before b.
func ends(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' || b == '#' }

// token is the start of b up to where it ends.
func token(b []byte) string {
	n := bytes.IndexAny(b, " \t\r\n#")
	if n < 0 {
		n = len(b)
	}
	return string(b[:n])
}
