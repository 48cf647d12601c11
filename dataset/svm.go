package dataset

import (
	"bytes"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/matrix"
)

// svm reads svmlight text: a line is a label and index:value pairs, indices ascending and counted from 1, or from 0 if
// the options say so. Blank lines and what follows a # are skipped, and so is a qid:… after the label, which groups
// examples for ranking.
//
// Text is taken in pieces of whole lines, which several cores parse at the same time. Each makes a block of rows of
// just the size it needs.
type svm struct {
	name   string
	bias   bool
	shift  int // added to an index to count from 1: 1 if the file counts from 0, else 0
	text   []byte
	rows   matrix.Builder
	y      []float64
	labels [][]float64 // of the pieces joined
	err    error
	done   chan struct{} // closed when the piece is parsed

	line     int         // counted from 1
	bol      int         // where the line began in the piece
	labelled bool        // the line's label has been read
	comment  bool        // the rest of the line is one
	last     int         // index of the pair before, counted from 1; 0 if this is the line's first
	cut      bool        // the text ends in what is too long for a token
	free     chan []byte // texts that are done with, to be used again
}

// maxToken is more than any number needs: what is longer is no svmlight.
const maxToken = 64 << 10

// pieceSize is how much text a core parses at a time: it makes a block of about a megabyte.
const pieceSize = 1 << 20

func readSVM(r io.Reader, name string, opt Options) (*Set, error) {
	return parseSVM(newText(r, pieceSize), name, opt)
}

// parseSVM cuts the text into pieces, has them parsed, and joins what comes of them in their order.
func parseSVM(t *text, name string, opt Options) (*Set, error) {
	all := &svm{name: name, bias: opt.Bias, rows: matrix.Builder{Float32: opt.Float32},
		free: make(chan []byte, 4*runtime.GOMAXPROCS(0))}
	if opt.ZeroBased {
		all.shift = 1
	}
	line := 1
	first := nextPiece(t, all, &line)
	if first != nil && t.err != nil && t.lo == t.hi { // the whole file
		first.run()
		if err := all.join(first); err != nil {
			return nil, err
		}
		first = nil
	}
	if first != nil {
		if err := all.parallel(t, first, &line); err != nil {
			return nil, err
		}
	}
	if t.err != io.EOF {
		return nil, failed(name, line, t.err)
	}
	return all.set(opt)
}

// parallel parses the pieces from first on with as many workers as there are cores.
func (p *svm) parallel(t *text, first *svm, line *int) error {
	workers := runtime.GOMAXPROCS(0)
	work, queue, stop := make(chan *svm), make(chan *svm, 2*workers), make(chan struct{})
	for range workers {
		go func() {
			for piece := range work {
				piece.run()
				close(piece.done)
			}
		}()
	}
	go func() {
		defer close(queue)
		defer close(work)
		for piece := first; piece != nil; piece = nextPiece(t, p, line) {
			piece.done = make(chan struct{})
			queue <- piece // at most so many wait: memory stays bounded
			select {
			case work <- piece:
			case <-stop:
				close(piece.done)
				return
			}
		}
	}()
	var err error
	for piece := range queue { // to its end, after which nobody reads any more
		if <-piece.done; err != nil {
			continue
		}
		if err = p.join(piece); err != nil {
			close(stop)
		}
	}
	return err
}

// nextPiece takes whole lines off the text, or what there is at its end; nil where there is nothing. It keeps count of
// the lines.
func nextPiece(t *text, like *svm, line *int) *svm {
	for {
		b := t.unread()
		n := bytes.LastIndexByte(b, '\n') + 1
		blank := -1
		switch {
		case n > 0:
		case t.err != nil && (len(b) == 0 || t.err != io.EOF): // half a line of a file that cannot be read is none
			return nil
		case t.err != nil:
			n = len(b)
		default:
			if blank = bytes.LastIndexAny(b, " \t\r#") + 1; len(b)-blank < maxToken || bytes.IndexByte(b, '#') >= 0 {
				t.more()
				continue
			}
			n = len(b)
		}
		piece := &svm{name: like.name, bias: like.bias, shift: like.shift, line: *line, cut: blank >= 0, free: like.free,
			rows: matrix.Builder{Float32: like.rows.Float32}}
		select {
		case piece.text = <-like.free:
		default:
		}
		if cap(piece.text) < n+1 {
			piece.text = make([]byte, 0, max(n+1, min(len(t.buf), pieceSize)))
		}
		piece.text = append(piece.text[:0], b[:n]...)
		if piece.text[n-1] != '\n' {
			piece.text = append(piece.text, '\n')
		}
		t.lo += n
		*line += bytes.Count(b[:n], []byte{'\n'})
		if t.err == nil && t.lo == t.hi || n < len(b) {
			t.more()
		}
		return piece
	}
}

// run parses the piece. The number of colons is that of entries, and of newlines that of rows, but for comments and
// ids.
func (p *svm) run() {
	if p.cut {
		k := bytes.LastIndexAny(p.text[:len(p.text)-1], " \t\r#") + 1
		if p.err = p.parse(p.text[:k]); p.err == nil {
			p.err = p.fail(k, "%s is not svmlight text: a line is a label and index:value pairs", quoted(string(p.text[k:])))
		}
		return
	}
	rows, entries := bytes.Count(p.text, []byte{'\n'}), bytes.Count(p.text, []byte{':'})
	if p.bias {
		entries += rows
	}
	p.rows.Reserve(rows, entries)
	p.y = make([]float64, 0, rows)
	p.err = p.parse(p.text)
	select {
	case p.free <- p.text:
	default:
	}
	p.text = nil
}

// join adds the rows of a piece.
func (p *svm) join(piece *svm) error {
	if piece.err != nil {
		return piece.err
	}
	p.labels = append(p.labels, piece.y)
	p.rows.Append(&piece.rows)
	return nil
}

// parse takes text that ends in a blank or a #.
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
		index += p.shift
		if c[i] != ':' || i == start || index <= p.last || index > math.MaxInt32 || i-start > 18 {
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

// odd steps over a qid, and returns an error for anything else that is not a pair in its place.
func (p *svm) odd(c []byte, i int) (next int, err error) {
	tok := token(c[i:])
	index, _, pair := strings.Cut(tok, ":")
	digits := strings.TrimLeft(index, "0")
	if digits == "" && index != "" {
		digits = "0"
	}
	least, largest := 1-p.shift, strconv.Itoa(math.MaxInt32-p.shift)
	switch {
	case index == "qid" && pair && p.last == 0:
		return i + len(tok), nil
	case index == "qid" && pair:
		return i, p.fail(i, "qid after a feature: put it right after the label")
	case !pair:
		return i, p.fail(i, "%s is not an index:value pair such as 3:0.5", quoted(tok))
	case index == "" || strings.Trim(index, "0123456789") != "":
		return i, p.fail(i, "index %s: indices are whole numbers from %d", quoted(index), least)
	case digits == "0" && p.shift == 0:
		e := at(p.name, p.line, i-p.bol+1, "index 0: indices start at 1: say --zero-based if the file counts columns from 0")
		e.err = ErrZeroIndex
		return i, e
	case len(digits) > len(largest) || len(digits) == len(largest) && digits > largest:
		return i, p.fail(i, "index %s: the largest index possible is %s", quoted(index), largest)
	case len(index) > 18:
		return i, p.fail(i, "index %s: drop the leading zeros", quoted(index))
	case digits == strconv.Itoa(p.last-p.shift):
		return i, p.fail(i, "index %s twice in one line: keep one of them", digits)
	}
	return i, p.fail(i, "index %s after %d: sort the indices of a line in ascending order", digits, p.last-p.shift)
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
	if p.y = slices.Concat(p.labels...); len(p.y) == 0 {
		return nil, &Error{Name: p.name, Msg: noExamples}
	}
	if p.rows.Cols() == 0 && opt.Cols == 0 {
		return nil, &Error{Name: p.name, Msg: noFeatures}
	}
	s := &Set{Name: p.name, Y: p.y, Indexed: true, ZeroBased: opt.ZeroBased}
	if opt.Bias {
		s.X = p.rows.BuildLast(opt.Cols)
	} else {
		s.X = p.rows.Build(opt.Cols)
	}
	return s, nil
}

// fail is an error at c[i] of the piece.
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
