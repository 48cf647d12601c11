package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/parquet"
)

// pandasIndex is the column in which pandas keeps an index without a name. In a CSV that is the first column, and has
// no name; it is the same here, wherever it stands.
const pandasIndex = "__index_level_0__"

// maxDeclared is how many cells a small file may have, which can declare more than any memory holds.
const maxDeclared = 1 << 28

// parquetTable reads a Parquet file.
type parquetTable struct {
	frame
	cells  []*parquet.Cells // of the columns that are used
	fields []int            // theirs
	row    []parquetCell
	number []byte // of a number as text, used again
}

// parquetCell is a cell of the current row: a number, or a text if it is not nil. NaN is a missing value.
type parquetCell struct {
	v    float64
	text []byte
}

func readParquet(r io.ReaderAt, size int64, name string, opt Options) (*Set, error) {
	return readParquetUpTo(r, size, max(maxDeclared, 8*size), name, opt)
}

// readParquetUpTo reads a file of at most so many cells in the columns that are used.
func readParquetUpTo(r io.ReaderAt, size, most int64, name string, opt Options) (*Set, error) {
	f, err := parquet.Open(r, size)
	if err != nil {
		return nil, damagedParquet(name, err)
	}
	p := &parquetTable{frame: newFrame(name, opt)}
	columns := make([]int, len(f.Columns)) // places in the file
	for i := range columns {
		columns[i] = i
	}
	if k := slices.IndexFunc(f.Columns, func(c parquet.Column) bool { return c.Name == pandasIndex }); k > 0 {
		columns = slices.Insert(slices.Delete(columns, k, k+1), 0, k)
	}
	names := make([]string, len(columns))
	for i, k := range columns {
		if names[i] = valid(f.Columns[k].Name); names[i] == pandasIndex {
			names[i] = ""
		}
	}
	if len(names) == 0 {
		return nil, &Error{Name: name, Msg: "no columns"}
	}
	if err := p.start(names); err != nil {
		return nil, err
	}
	if err := p.readable(f, columns); err != nil {
		return nil, err
	}
	for field, c := range p.used {
		if c != nil {
			cells, err := f.Cells(columns[field])
			if err != nil {
				return nil, damagedParquet(name, err)
			}
			p.cells, p.fields = append(p.cells, cells), append(p.fields, field)
		}
	}
	if n := int64(f.Rows); n > most/int64(len(p.fields)) {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("%d rows of %s are too many for a file of %d bytes: read fewer "+
			"with --columns or --drop", n, plural(len(p.fields), "column"), size)}
	}
	p.row = make([]parquetCell, len(p.fields))
	for range f.Rows {
		p.line++
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return p.set()
}

// readable returns an error if columns that are used hold neither numbers nor texts.
func (p *parquetTable) readable(f *parquet.File, columns []int) error {
	var bad []*column
	holds := map[string]bool{}
	var what []string
	for field, c := range p.used {
		if c == nil {
			continue
		}
		if h := f.Columns[columns[field]].Holds; h != "" {
			bad = append(bad, c)
			if !holds[h] {
				holds[h] = true
				what = append(what, h)
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	does, noun := "holds", "column"
	if len(bad) > 1 {
		does, noun = "hold", "columns"
	}
	msg := fmt.Sprintf("%s %s %s %s, neither numbers nor texts", noun, names(bad), does, strings.Join(what, ", "))
	switch {
	case slices.Contains(bad, p.label):
		return p.wrong("%s: choose another column of labels with --label NAME", msg)
	case p.opt.Like != nil:
		return p.wrong("%s, which the model needs: save them as numbers or texts", msg)
	}
	return p.wrong("%s: --drop %s", msg, p.dropped(bad))
}

// next reads a row.
func (p *parquetTable) next() error {
	for k, c := range p.cells {
		v, text, err := c.Next()
		if err == io.EOF {
			err = errors.New("it has fewer rows than it says")
		}
		if err != nil {
			return damagedParquet(p.name, err)
		}
		if len(text) > longest {
			return p.fail(place{line: p.line}, p.fields[k], "a text of %d bytes, want at most %d", len(text), longest)
		}
		p.row[k] = parquetCell{v, text}
	}
	if p.missing == MissingDrop && p.incomplete() {
		p.left = append(p.left, p.n+len(p.left))
		return nil
	}
	dst := p.rows.row()
	if p.label == nil {
		p.y = append(p.y, 0)
	}
	for k, cell := range p.row {
		field := p.fields[k]
		v, u := cell.v, p.uses[field]
		ok := cell.text == nil && v-v == 0
		if cell.text != nil && u.kind == numbers {
			v, ok = asNumber(cell.text)
		}
		if !ok || u.kind != numbers {
			var err error
			if v, err = p.code(p.used[field], p.token(cell), place{line: p.line}); err != nil {
				return err
			}
		}
		if u.at >= 0 {
			dst[u.at] = v
		} else {
			p.y = append(p.y, v)
		}
	}
	p.n++
	return nil
}

// incomplete reports whether a value is missing in the row, as csv.incomplete does.
func (p *parquetTable) incomplete() bool {
	for k, cell := range p.row {
		c := p.used[p.fields[k]]
		if c == p.label && p.opt.Like != nil {
			continue
		}
		tok := p.token(cell)
		if isMissing(tok) {
			return true
		}
		if c.like != nil && c.texts != nil && !c.knows(tok) {
			c.strange(tok)
			return true
		}
	}
	return false
}

// token is a cell as it would stand in a CSV. It is valid until the next call.
func (p *parquetTable) token(cell parquetCell) []byte {
	switch {
	case cell.text != nil:
		return trimBlanks(cell.text)
	case math.IsNaN(cell.v):
		return nil
	}
	p.number = strconv.AppendFloat(p.number[:0], cell.v+0, 'g', -1, 64)
	return p.number
}

// asNumber is the number that a text is.
func asNumber(text []byte) (float64, bool) {
	text = trimBlanks(text)
	v, n, ok := scanFloat(text)
	return v, ok && n == len(text)
}

// trimBlanks takes blanks off both ends, as in a CSV.
func trimBlanks(text []byte) []byte { return bytes.Trim(text, " \t") }

func damagedParquet(name string, err error) error {
	if u := (*parquet.Unsupported)(nil); errors.As(err, &u) {
		return &Error{Name: name, Msg: valid(u.Error()), err: err}
	}
	if disk := (*fs.PathError)(nil); errors.As(err, &disk) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return failed(name, 0, err)
	}
	why := strings.NewReplacer("\n", " ", "\r", " ").Replace(valid(err.Error()))
	return &Error{Name: name, Msg: "the Parquet file is damaged (" + why + "): save or fetch it again", err: err}
}
