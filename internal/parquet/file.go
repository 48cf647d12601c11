// Package parquet reads columns of numbers and texts from Apache Parquet files, one cell after the other.
//
// The footer and the headers of pages are parsed by parquet-go. The pages are decoded here, since what a page takes in
// memory must follow from its bytes and never from what a header declares. A file costs one page per column that is
// read, and no other columns are read at all.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Magic starts and ends a file.
const Magic = "PAR1"

// Unsupported is an error about a sound file, with what to do about it.
type Unsupported struct{ msg string }

func (e *Unsupported) Error() string { return e.msg }

func unsupported(form string, args ...any) error { return &Unsupported{fmt.Sprintf(form, args...)} }

var errShort = errors.New("it is cut short")

// File is an open file.
type File struct {
	Columns []Column
	Rows    int

	r      io.ReaderAt
	size   int64
	groups []format.RowGroup
	held   int64 // bytes that the pages take which are being read
	most   int64
}

// Column is a column of the file, nested or not.
type Column struct {
	Name  string
	Holds string // what it has that is neither a number nor a text, in the plural: dates, lists; "" if it can be read

	element *format.SchemaElement
	leaf    int // which chunk of a group
	convert convert
}

// Open reads the footer of a file.
func Open(r io.ReaderAt, size int64) (*File, error) {
	const ends = 8 // the length of the footer, and the magic bytes
	var tail [ends]byte
	if size < ends+int64(len(Magic)) {
		return nil, errShort
	}
	if err := readAt(r, tail[:], size-ends); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case Magic:
	case "PARE":
		return nil, unsupported("the file is encrypted: save it without a key")
	default:
		return nil, errShort
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-ends-int64(len(Magic)) {
		return nil, errors.New("its footer is longer than the file")
	}
	footer := make([]byte, n)
	if err := readAt(r, footer, size-ends-n); err != nil {
		return nil, err
	}
	used, err := measure(footer)
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	var meta format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer[:used], &meta); err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	// A small file may have large pages, which compress well; but not any number of them.
	f := &File{r: r, size: size, groups: meta.RowGroups, most: max(1<<30, 8*size)}
	leaves, err := f.schema(meta.Schema)
	if err != nil {
		return nil, err
	}
	return f, f.rows(leaves)
}

func readAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		if err == nil || err == io.EOF {
			err = errShort
		}
		return err
	}
	return nil
}

// schema lists the columns, and counts those that the nested ones consist of.
func (f *File) schema(tree []format.SchemaElement) (leaves int, err error) {
	if len(tree) == 0 || tree[0].Type.Valid {
		return 0, errors.New("it has no schema")
	}
	for i := 1; i < len(tree); {
		first, start := leaves, i
		for open := 1; open > 0; i++ { // an element and all below it
			if i >= len(tree) {
				return 0, errors.New("its schema is cut short")
			}
			e := &tree[i]
			if open--; e.Type.Valid {
				leaves++
			} else if n := e.NumChildren.V; n < 0 || int(n) > len(tree) {
				return 0, fmt.Errorf("its schema has an element with %d below it", n)
			} else {
				open += int(n)
			}
		}
		f.Columns = append(f.Columns, newColumn(&tree[start], first))
	}
	if n := tree[0].NumChildren.V; int(n) != len(f.Columns) {
		return 0, fmt.Errorf("its schema declares %d columns and has %d", n, len(f.Columns))
	}
	return leaves, nil
}

// rows counts the rows, and checks that all groups have all columns.
func (f *File) rows(leaves int) error {
	for i := range f.groups {
		g := &f.groups[i]
		if g.NumRows < 0 || g.NumRows > 1<<40 || int64(f.Rows) > 1<<40 {
			return fmt.Errorf("row group %d declares %d rows", i+1, g.NumRows)
		}
		if len(g.Columns) != leaves {
			return fmt.Errorf("row group %d has %d columns, the schema %d", i+1, len(g.Columns), leaves)
		}
		f.Rows += int(g.NumRows)
	}
	return nil
}

// take counts bytes that a page takes from now on, or with n < 0 no longer takes.
func (f *File) take(n int64) error {
	if f.held += n; f.held > f.most {
		return unsupported("its pages take more than %d MiB when they are decompressed: save it with smaller pages",
			f.most>>20)
	}
	return nil
}
