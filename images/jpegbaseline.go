package images

import (
	"bytes"
	"encoding/binary"
	"image"
)

// baseline decodes baseline JPEG files of one scan, grey or YCbCr with one sample of chroma in each unit: what
// jpegInfo.simple accepts. It decodes only what a crop touches: blocks beside it are read but not computed, and the
// rest of the data is not read at all. Data that are missing or are not valid codes are an error. Its buffers are
// reused: one goroutine has one.
type baseline struct {
	bits  bitReader
	dc    [4]dcTable
	ac    [4]acTable
	comp  [3]component
	bytes []byte // the planes
	block [64]int32
}

// component is a component of the picture that is decoded.
type component struct {
	h, v   int
	plane  []byte
	stride int
	last   int32 // DC of the last block
	dc     *dcTable
	ac     *acTable
	scale  [64]int32 // quantiser, in the order of the data
}

// order is the place of the k-th coefficient of a block in the data.
var order = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10,
	17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34,
	27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36,
	29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46,
	53, 60, 61, 54, 47, 55, 62, 63,
}

// decode decodes the part of a picture that crop touches, in whole units; the rest of the planes holds anything.
// The planes are valid until the next call.
func (d *baseline) decode(j *jpegInfo, b []byte, crop image.Rectangle) (planes, error) {
	scan := &j.scan
	if scan.to > len(b) || scan.from > scan.to {
		return planes{}, errTruncated
	}
	h, v := 1, 1 // of a unit, in blocks of luma
	if j.n > 1 {
		h, v = int(j.comp[0].h), int(j.comp[0].v)
	}
	across, down := (j.width+8*h-1)/(8*h), (j.height+8*v-1)/(8*v) // units
	if err := d.setUp(j, across, down); err != nil {
		return planes{}, err
	}
	crop = crop.Intersect(image.Rect(0, 0, j.width, j.height))
	left, right := crop.Min.X/(8*h), (crop.Max.X+8*h-1)/(8*h)
	top, bottom := crop.Min.Y/(8*v), (crop.Max.Y+8*v-1)/(8*v)
	d.bits = bitReader{b: b[scan.from:scan.to]}
	defer func() { d.bits.b = nil }()
	marker, units := byte(0xd0), j.restart // units: up to the next marker
	for y := range bottom {
		for x := range across {
			if units == 0 && j.restart > 0 {
				if !d.bits.resume(marker) {
					return planes{}, damagedJPEG("a restart marker is missing")
				}
				marker, units = 0xd0|(marker+1)&7, j.restart
				for i := range j.n {
					d.comp[i].last = 0
				}
			}
			units--
			if !d.unit(j.n, x, y, y >= top && x >= left && x < right) {
				return planes{}, d.bits.why()
			}
		}
		if d.bits.n < 0 {
			return planes{}, errTruncated
		}
	}
	p := planes{y: d.comp[0].plane, ys: d.comp[0].stride, h: j.height, w: j.width, sx: 1, sy: 1}
	if j.n > 1 {
		p.cb, p.cr, p.cs, p.sx, p.sy = d.comp[1].plane, d.comp[2].plane, d.comp[1].stride, h, v
	}
	return p, nil
}

// setUp prepares tables and planes for a picture of across × down units.
func (d *baseline) setUp(j *jpegInfo, across, down int) error {
	need := 0
	for i := range j.n {
		c := &d.comp[i]
		c.h, c.v, c.last = int(j.comp[i].h), int(j.comp[i].v), 0
		if j.n == 1 {
			c.h, c.v = 1, 1
		}
		c.stride = 8 * c.h * across
		need += c.stride * 8 * c.v * down
		c.dc, c.ac = &d.dc[j.scan.dc[i]], &d.ac[j.scan.ac[i]]
		if !c.dc.set(j.tables[0][j.scan.dc[i]]) || !c.ac.set(j.tables[1][j.scan.ac[i]]) {
			return damagedJPEG("a Huffman table is wrong or missing")
		}
		table := j.quantisers[j.comp[i].quantiser]
		if table == nil {
			return damagedJPEG("a quantisation table is missing")
		}
		for k, q := range table {
			c.scale[k] = int32(q)
		}
	}
	if cap(d.bytes) < need {
		d.bytes = make([]byte, need)
	}
	rest := d.bytes[:need]
	for i := range j.n {
		c := &d.comp[i]
		n := c.stride * 8 * c.v * down
		c.plane, rest = rest[:n:n], rest[n:]
	}
	return nil
}

// unit decodes a unit of blocks, or skips it. It reports whether its codes are valid.
func (d *baseline) unit(n, x, y int, wanted bool) bool {
	for i := range n {
		c := &d.comp[i]
		for row := range c.v {
			for column := range c.h {
				if !wanted {
					if !d.bits.skip(c) {
						return false
					}
					continue
				}
				columns, used, ok := d.bits.coefficients(c, &d.block)
				if !ok {
					return false
				}
				at := (y*c.v+row)*8*c.stride + (x*c.h+column)*8
				if used == 0 {
					fill(c.plane[at:], c.stride, d.block[0])
					d.block[0] = 0
				} else {
					inverse(c.plane[at:], c.stride, &d.block, columns, used&0xf0 != 0)
					d.block = [64]int32{}
				}
			}
		}
	}
	return true
}

// bitReader reads the bits of a scan.
type bitReader struct {
	b   []byte
	at  int
	acc uint64 // the next bits, the first one on top
	n   int    // how many of them are data; negative when more were taken than there are
}

// refill takes bytes up to the next marker, so that 32 bits are there if the data have them.
func (r *bitReader) refill() {
	if r.n < 0 {
		return
	}
	if len(r.b)-r.at >= 8 {
		v := binary.BigEndian.Uint64(r.b[r.at:])
		if x := ^v; (x-0x0101010101010101)&^x&0x8080808080808080 == 0 { // none is FF
			r.acc |= v >> (uint(r.n) & 63)
			taken := (63 - r.n) >> 3
			r.at += taken
			r.n += 8 * taken
			return
		}
	}
	for r.n <= 56 && r.at < len(r.b) {
		c := r.b[r.at]
		if c == 0xff {
			if r.at+1 >= len(r.b) || r.b[r.at+1] != 0 {
				return
			}
			r.at++
		}
		r.at++
		r.acc |= uint64(c) << (56 - r.n)
		r.n += 8
	}
}

// why is the error of codes that are not valid.
func (r *bitReader) why() error {
	if r.n < 32 && r.at+1 >= len(r.b) {
		return errTruncated
	}
	return errCodes
}

// resume goes behind the next marker. It reports whether that is the one expected.
func (r *bitReader) resume(marker byte) bool {
	if r.n < 0 { // the interval before was too short
		return false
	}
	for {
		k := bytes.IndexByte(r.b[r.at:], 0xff)
		if k < 0 || r.at+k+1 >= len(r.b) {
			return false
		}
		r.at += k + 1
		if m := r.b[r.at]; m != 0 && m != 0xff {
			r.at++
			r.acc, r.n = 0, 0
			return m == marker
		}
	}
}

// value reads size bits as JPEG writes numbers: a first bit of 0 means negative.
func (r *bitReader) value(size uint) int32 {
	v := int32(r.acc >> 1 >> (63 - size))
	r.acc <<= size
	r.n -= int(size)
	return v - (1<<size-1)&((v>>(size-1)&1)-1)
}

// first reads the DC of a block. It reports whether the code is valid.
func (r *bitReader) first(c *component) bool {
	if r.n < 32 {
		r.refill()
	}
	e := c.dc.short[r.acc>>(64-shortBits)]
	if e == 0 {
		if e = c.dc.long.find(uint32(r.acc >> 48)); e == 0 {
			return false
		}
	}
	r.acc <<= e >> 8
	r.n -= int(e >> 8)
	if size := uint(e & 15); size > 0 {
		c.last += r.value(size)
	}
	return true
}

// coefficients reads a block into out, which is all zero, scaled and in the order of rows. It returns a bit for each
// column that has more than its first coefficient, and one for each that has anything but the DC.
func (r *bitReader) coefficients(c *component, out *[64]int32) (columns, used uint, ok bool) {
	if !r.first(c) {
		return 0, 0, false
	}
	out[0] = c.last * c.scale[0]
	for k := 1; k < 64; {
		if r.n < 32 {
			r.refill()
		}
		if e := c.ac.quick[r.acc>>(64-shortBits)]; e != 0 { // code and value in one
			r.acc <<= uint(e) & 15
			r.n -= int(e) & 15
			k += int(e>>4) & 15
			if k > 63 {
				return 0, 0, false
			}
			place := order[k]
			out[place] = int32(e>>8) * c.scale[k]
			columns |= uint(place>>3+7) >> 3 << (place & 7)
			used |= 1 << (place & 7)
			k++
			continue
		}
		e := c.ac.short[r.acc>>(64-shortBits)]
		if e == 0 {
			if e = c.ac.long.find(uint32(r.acc >> 48)); e == 0 {
				return 0, 0, false
			}
		}
		r.acc <<= e >> 8
		r.n -= int(e >> 8)
		run, size := int(e>>4&15), uint(e&15)
		if size == 0 {
			if run < 15 { // the end of the block
				break
			}
			k += 16
			continue
		}
		k += run
		if k > 63 {
			return 0, 0, false
		}
		place := order[k]
		out[place] = r.value(size) * c.scale[k]
		columns |= uint(place>>3+7) >> 3 << (place & 7)
		used |= 1 << (place & 7)
		k++
	}
	return columns, used, true
}

// skip reads a block and computes nothing but its DC.
func (r *bitReader) skip(c *component) bool {
	if !r.first(c) {
		return false
	}
	for k := 1; k < 64; {
		if r.n < 32 {
			r.refill()
		}
		e := c.ac.short[r.acc>>(64-shortBits)]
		if e == 0 {
			if e = c.ac.long.find(uint32(r.acc >> 48)); e == 0 {
				return false
			}
		}
		n := uint(e>>8) + uint(e&15)
		r.acc <<= n
		r.n -= int(n)
		if e&255 == 0 { // the end of the block
			return true
		}
		if k += int(e>>4&15) + 1; k > 64 {
			return false
		}
	}
	return true
}

// shortBits is the length of codes that are looked up at once.
const shortBits = 9

// An entry of a Huffman table is 256 · the length of its code + its symbol; 0 is not a code.

// dcTable is a Huffman table of DC: symbols are the sizes of values.
type dcTable struct {
	short [1 << shortBits]uint16
	long  longCodes
}

// acTable is a Huffman table of the other coefficients: symbols are a run of zeros and the size of a value.
type acTable struct {
	short [1 << shortBits]uint16
	long  longCodes
	quick [1 << shortBits]int16 // 256·value + 16·run + bits of code and value, if they are that few; else 0
}

// longCodes has all codes of a table, by their length.
type longCodes struct {
	source  [16 + 256]byte // what the table was made of
	n       int            // bytes of it
	limit   [17]uint32     // by length: codes of that length, followed by zeros to 16 bits, are smaller
	base    [17]int        // by length: add the code to get its place in entries
	entries [256]uint16
}

// find looks up a code of more than shortBits bits.
func (t *longCodes) find(next uint32) uint16 {
	for length := shortBits + 1; length <= 16; length++ {
		if next < t.limit[length] {
			if i := t.base[length] + int(next>>(16-length)); uint(i) < uint(len(t.entries)) {
				return t.entries[i]
			}
			break
		}
	}
	return 0
}

// set makes the table of its segment's bytes: how many codes there are of each length, and their symbols. valid says
// which symbols there may be. It reports whether they are a table, and whether it is another one than before.
func (t *longCodes) set(table []byte, short *[1 << shortBits]uint16, valid func(symbol byte) bool) (ok, changed bool) {
	if len(table) < 17 || len(table) > len(t.source) {
		return false, false
	}
	if bytes.Equal(table, t.source[:t.n]) {
		return true, false
	}
	*t, *short = longCodes{}, [1 << shortBits]uint16{}
	code, k := 0, 0
	for length := 1; length <= 16; length++ {
		t.base[length] = k - code
		for range table[length-1] {
			if code >= 1<<length || 16+k >= len(table) {
				return false, true
			}
			if symbol := table[16+k]; valid(symbol) {
				t.entries[k] = uint16(length)<<8 | uint16(symbol)
				if length <= shortBits {
					first := code << (shortBits - length)
					for i := range 1 << (shortBits - length) {
						short[first+i] = t.entries[k]
					}
				}
			}
			code, k = code+1, k+1
		}
		t.limit[length] = uint32(code) << (16 - length)
		code <<= 1
	}
	t.n = copy(t.source[:], table) // a table that failed has none
	return true, true
}

func (t *dcTable) set(table []byte) bool {
	ok, _ := t.long.set(table, &t.short, func(symbol byte) bool { return symbol <= 11 })
	return ok
}

func (t *acTable) set(table []byte) bool {
	ok, changed := t.long.set(table, &t.short, func(symbol byte) bool {
		return symbol&15 > 0 && symbol&15 <= 10 || symbol == 0 || symbol == 0xf0
	})
	if !ok || !changed {
		return ok
	}
	for next := range t.quick {
		t.quick[next] = 0
		e := t.short[next]
		length, run, size := uint(e>>8), int16(e>>4&15), uint(e&15)
		if size == 0 || length+size > shortBits {
			continue
		}
		r := bitReader{acc: uint64(next) << (64 - shortBits) << length}
		if v := r.value(size); v >= -128 && v <= 127 {
			t.quick[next] = int16(v)<<8 | run<<4 | int16(length+size)
		}
	}
	return true
}
