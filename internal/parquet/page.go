package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Cells reads a column from the first row to the last.
type Cells struct {
	f     *File
	c     *Column
	group int // the next
	chunk chunk

	dict values
	page values
	at   []int32 // for each row of the page its value; −1 is null; nil: one after the other
	i, n int     // rows of the page, read and in all
	held int64   // bytes of the page, and of the dictionary
	kept int64
}

// chunk is what a row group has of a column.
type chunk struct {
	from, to int64 // bytes that are still to be read
	rows     int   // that are still to be read
	codec    format.CompressionCodec
	dict     bool // it has had its dictionary
}

// Cells starts to read a column.
func (f *File) Cells(column int) (*Cells, error) {
	c := &f.Columns[column]
	if c.Holds != "" {
		return nil, unsupported("column %q holds %s", c.Name, c.Holds)
	}
	return &Cells{f: f, c: c}, nil
}

// Next returns the next cell: a number or, if text is not nil, a text. A missing value is NaN. io.EOF ends the column.
// The text is valid until the next call.
func (r *Cells) Next() (v float64, text []byte, err error) {
	if r.i == r.n {
		if err := r.load(); err != nil {
			return 0, nil, err
		}
	}
	k := r.i
	r.i++
	from := &r.page
	if r.at != nil {
		if k = int(r.at[k]); k < 0 {
			return math.NaN(), nil, nil
		}
		if r.page.len() == 0 {
			from = &r.dict
		}
	}
	if from.texts != nil {
		return 0, from.texts[k], nil
	}
	return from.numbers[k], nil, nil
}

// load reads the next page with rows. An error names the column; a panic becomes one, as the file may hold anything.
func (r *Cells) load() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("column %q: %v", r.c.Name, p)
		} else if u := (*Unsupported)(nil); errors.As(err, &u) {
			err = unsupported("column %q: %s", r.c.Name, u.msg)
		} else if err != nil && err != io.EOF {
			err = fmt.Errorf("column %q: %w", r.c.Name, err)
		}
	}()
	for r.i == r.n {
		for r.chunk.rows == 0 {
			if r.group == len(r.f.groups) {
				return io.EOF
			}
			if err := r.open(&r.f.groups[r.group]); err != nil {
				return err
			}
			r.group++
		}
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// open turns to the chunk of a group.
func (r *Cells) open(g *format.RowGroup) error {
	c := &g.Columns[r.c.leaf]
	m := &c.MetaData
	switch {
	case c.CryptoMetadata.Value != nil:
		return unsupported("it is encrypted: save the file without a key")
	case c.FilePath != "":
		return unsupported("it is in another file, %q: save all columns in one", c.FilePath)
	case m.NumValues != g.NumRows:
		return fmt.Errorf("%d values in %d rows", m.NumValues, g.NumRows)
	case m.Type != r.c.element.Type.V:
		return fmt.Errorf("it is of type %s, and in the schema of %s", m.Type, r.c.element.Type.V)
	}
	from := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < from {
		from = d
	}
	if from < 0 || m.TotalCompressedSize < 0 || m.TotalCompressedSize > r.f.size || from > r.f.size-m.TotalCompressedSize {
		return errShort
	}
	r.chunk = chunk{from: from, to: from + m.TotalCompressedSize, rows: int(g.NumRows), codec: m.Codec}
	r.dict = values{}
	err := r.f.take(-r.kept)
	r.kept = 0
	return err
}

// next reads a page.
func (r *Cells) next() error {
	r.page, r.at, r.i, r.n = values{}, nil, 0, 0
	if err := r.f.take(-r.held); err != nil {
		return err
	}
	r.held = 0
	h, err := r.header()
	if err != nil {
		return err
	}
	n := int64(h.CompressedPageSize)
	if n < 0 || n > r.chunk.to-r.chunk.from || h.UncompressedPageSize < 0 {
		return fmt.Errorf("a page of %d bytes in a chunk with %d left", n, r.chunk.to-r.chunk.from)
	}
	at := r.chunk.from
	r.chunk.from += n
	switch h.Type {
	case format.DataPage, format.DataPageV2:
	case format.DictionaryPage:
		if r.chunk.dict {
			return nil
		}
	default:
		return nil
	}
	if err := r.take(n + int64(h.UncompressedPageSize)); err != nil {
		return err
	}
	b := make([]byte, n)
	if err := readAt(r.f.r, b, at); err != nil {
		return err
	}
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(b) {
		return errors.New("a page differs from its checksum")
	}
	switch h.Type {
	case format.DictionaryPage:
		return r.dictionary(h, b)
	case format.DataPage:
		return r.v1(h, b)
	}
	return r.v2(h, b)
}

// take counts bytes for as long as the page is being read.
func (r *Cells) take(n int64) error {
	r.held += n
	return r.f.take(n)
}

// header reads the header of a page, whose length is not known before.
func (r *Cells) header() (*format.PageHeader, error) {
	const most = 16 << 20
	left := r.chunk.to - r.chunk.from
	for size := int64(512); ; size *= 8 {
		b := make([]byte, min(size, left, most))
		if err := readAt(r.f.r, b, r.chunk.from); err != nil {
			return nil, err
		}
		n, err := measure(b)
		if err == io.ErrUnexpectedEOF && int64(len(b)) == size {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("header of a page: %w", err)
		}
		h := new(format.PageHeader)
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:n], h); err != nil {
			return nil, fmt.Errorf("header of a page: %w", err)
		}
		r.chunk.from += int64(n)
		return h, nil
	}
}

func (r *Cells) dictionary(h *format.PageHeader, b []byte) error {
	d := h.DictionaryPageHeader
	b, err := decompress(r.chunk.codec, b, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if d.V.Encoding != format.Plain && d.V.Encoding != plainDictionary || !d.Valid || d.V.NumValues < 0 {
		return errors.New("a dictionary without a header")
	}
	r.dict, err = r.c.decode(format.Plain, b, int(d.V.NumValues))
	if err != nil {
		return err
	}
	r.chunk.dict = true
	r.kept, r.held = r.held+24*int64(r.dict.len()), 0
	return r.f.take(24 * int64(r.dict.len()))
}

// v1 reads a page whose levels are compressed with its values.
func (r *Cells) v1(h *format.PageHeader, b []byte) error {
	d := h.DataPageHeader
	if !d.Valid {
		return errors.New("a page without a header")
	}
	b, err := decompress(r.chunk.codec, b, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	var levels []byte
	if r.c.optional() {
		if d.V.DefinitionLevelEncoding != format.RLE {
			return unsupported("its missing values are in the encoding %s: save it with another", d.V.DefinitionLevelEncoding)
		}
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return errValues
		}
		k := 4 + int(binary.LittleEndian.Uint32(b))
		levels, b = b[4:k], b[k:]
	}
	return r.rows(int(d.V.NumValues), levels, d.V.Encoding, b)
}

// v2 reads a page whose levels stand before the values.
func (r *Cells) v2(h *format.PageHeader, b []byte) error {
	d := h.DataPageHeaderV2
	if !d.Valid {
		return errors.New("a page without a header")
	}
	skip, n := int64(d.V.RepetitionLevelsByteLength), int64(d.V.DefinitionLevelsByteLength)
	if skip < 0 || n < 0 || skip+n > int64(len(b)) || skip+n > int64(h.UncompressedPageSize) {
		return errValues
	}
	levels, b := b[skip:skip+n], b[skip+n:]
	// A page of nulls may have no values, not even an empty compressed text.
	if size := int(h.UncompressedPageSize) - int(skip+n); size > 0 && (!d.V.IsCompressed.Valid || d.V.IsCompressed.V) {
		var err error
		if b, err = decompress(r.chunk.codec, b, size); err != nil {
			return err
		}
	}
	return r.rows(int(d.V.NumValues), levels, d.V.Encoding, b)
}

// rows makes b the page, which has n rows.
func (r *Cells) rows(n int, levels []byte, enc format.Encoding, b []byte) error {
	if n < 0 || n > r.chunk.rows {
		return fmt.Errorf("a page of %d rows, where %d are left", n, r.chunk.rows)
	}
	if err := r.take(28 * int64(n)); err != nil { // a value or an index, and a level
		return err
	}
	present := n
	var nulls []int32
	if r.c.optional() {
		nulls = make([]int32, n)
		if err := hybrid(nulls, levels, 1); err != nil {
			return err
		}
		present = 0
		for _, there := range nulls {
			present += int(there)
		}
	}
	if err := r.fill(present, enc, b); err != nil {
		return err
	}
	if present < n {
		r.at = spread(nulls, r.at)
	}
	r.n = n
	r.chunk.rows -= n
	return nil
}

// fill decodes the values of a page.
func (r *Cells) fill(n int, enc format.Encoding, b []byte) (err error) {
	switch boolean := r.c.element.Type.V == format.Boolean; {
	case isDictionary(enc):
		r.at = make([]int32, n)
		if n == 0 {
			return nil
		}
		if len(b) == 0 {
			return errValues
		}
		if err := hybrid(r.at, b[1:], int(b[0])); err != nil {
			return err
		}
		for _, k := range r.at {
			if k < 0 || int(k) >= r.dict.len() {
				return fmt.Errorf("an index %d in a dictionary of %d values", k, r.dict.len())
			}
		}
	case boolean && enc == format.Plain:
		if n > 8*len(b) {
			return errValues
		}
		r.at, r.page.texts = make([]int32, n), booleans
		for i := range r.at {
			r.at[i] = int32(b[i/8] >> (i % 8) & 1)
		}
	case boolean && enc == format.RLE:
		if len(b) < 4 {
			return errValues
		}
		r.at, r.page.texts = make([]int32, n), booleans
		return hybrid(r.at, b[4:], 1)
	default:
		r.page, err = r.c.decode(enc, b, n)
	}
	return err
}

// spread puts −1 for nulls between indexes; nil are 0, 1, ….
func spread(there, indexes []int32) []int32 {
	k := 0
	for i, yes := range there {
		switch {
		case yes == 0:
			there[i] = -1
			continue
		case indexes == nil:
			there[i] = int32(k)
		default:
			there[i] = indexes[k]
		}
		k++
	}
	return there
}
