package images

import (
	"bytes"
	"encoding/binary"
)

// skimmer reads the Huffman codes of a baseline JPEG without computing pixels. jpegn returns a picture without an error
// when data are missing or wrong; this finds out in a third of its time.
type skimmer struct {
	tables [2][4]skimTable

	b   []byte // the data of the scan
	at  int
	acc uint64 // the next bits, the first one on top
	n   int    // how many of them are data; negative when more were taken than there are
}

// skimBits is the length of codes that are looked up at once.
const skimBits = 9

// skimTable is a Huffman table. An entry is 256·b + z: the code and the value that follows it have b bits together, and
// stand for z coefficients. An entry of 0 is not a code.
type skimTable struct {
	short   [1 << skimBits]uint16
	limit   [17]uint32 // by length: codes of that length, followed by zeros to 16 bits, are smaller
	base    [17]int    // by length: add the code to get its place in entries
	entries [256]uint16
}

const skimEnd = 128 // z of the end of a block

// set builds a table from its segment's bytes. It reports whether they are a table.
func (t *skimTable) set(table []byte, ac bool) bool {
	if len(table) < 17 {
		return false
	}
	*t = skimTable{}
	code, k := 0, 0
	for length := 1; length <= 16; length++ {
		t.base[length] = k - code
		for range table[length-1] {
			if code >= 1<<length {
				return false
			}
			v := table[16+k]
			run, size := int(v>>4), int(v&15)
			z, valid := run+1, true
			switch {
			case !ac:
				size, z, valid = int(v), 1, v <= 11
			case v == 0:
				z = skimEnd
			case size == 0:
				valid = run == 15
			}
			if valid {
				t.entries[k] = uint16((length+size)<<8 | z)
				if length <= skimBits {
					first := code << (skimBits - length)
					for i := range 1 << (skimBits - length) {
						t.short[first+i] = t.entries[k]
					}
				}
			}
			code, k = code+1, k+1
		}
		t.limit[length] = uint32(code) << (16 - length)
		code <<= 1
	}
	return true
}

// find looks up a code of more than skimBits bits.
func (t *skimTable) find(next uint32) uint16 {
	for length := skimBits + 1; length <= 16; length++ {
		if next < t.limit[length] {
			if i := t.base[length] + int(next>>(16-length)); uint(i) < uint(len(t.entries)) {
				return t.entries[i]
			}
			break
		}
	}
	return 0
}

// refill takes bytes up to the next marker, so that 32 bits are there if the data have them.
func (s *skimmer) refill() {
	if s.n < 0 {
		return
	}
	if len(s.b)-s.at >= 8 {
		v := binary.BigEndian.Uint64(s.b[s.at:])
		if x := ^v; (x-0x0101010101010101)&^x&0x8080808080808080 == 0 { // none is FF
			s.acc |= v >> (uint(s.n) & 63)
			taken := (63 - s.n) >> 3
			s.at += taken
			s.n += 8 * taken
			return
		}
	}
	for s.n <= 56 && s.at < len(s.b) {
		c := s.b[s.at]
		if c == 0xff {
			if s.at+1 >= len(s.b) || s.b[s.at+1] != 0 {
				return
			}
			s.at++
		}
		s.at++
		s.acc |= uint64(c) << (56 - s.n)
		s.n += 8
	}
}

// block skips a block's codes. It reports whether they are valid.
func (s *skimmer) block(dc, ac *skimTable) bool {
	t := dc
	for k := 0; k < 64; {
		if s.n < 32 {
			s.refill()
		}
		e := t.short[s.acc>>(64-skimBits)]
		if e == 0 {
			if e = t.find(uint32(s.acc >> 48)); e == 0 {
				return false
			}
		}
		s.acc <<= e >> 8
		s.n -= int(e >> 8)
		k += int(e & 255)
		if k > 64 {
			return k >= skimEnd
		}
		t = ac
	}
	return true
}

// complete reports why a scan does not hold all of its picture, or nil. j is what jpegInfo.fast accepts.
func (s *skimmer) complete(j *jpegInfo, b []byte) error {
	scan := &j.scan
	if scan.to > len(b) || scan.from > scan.to {
		return errTruncated
	}
	var dc, ac [4]*skimTable
	for i := range scan.n {
		dc[i], ac[i] = &s.tables[0][scan.dc[i]], &s.tables[1][scan.ac[i]]
		if !dc[i].set(j.tables[0][scan.dc[i]], false) || !ac[i].set(j.tables[1][scan.ac[i]], true) {
			return damagedJPEG("a Huffman table is wrong or missing")
		}
	}
	h, v := j.most()
	factors := [4]int{1}
	if j.n == 1 {
		h, v = 1, 1
	} else {
		for i := range j.n {
			factors[i] = int(j.comp[i].h) * int(j.comp[i].v)
		}
	}
	units := ((j.width + 8*h - 1) / (8 * h)) * ((j.height + 8*v - 1) / (8 * v))
	s.b, s.at, s.acc, s.n = b[scan.from:scan.to], 0, 0, 0
	defer func() { s.b = nil }()
	marker := byte(0xd0)
	for unit := range units {
		if j.restart > 0 && unit > 0 && unit%j.restart == 0 {
			if !s.resume(marker) {
				return damagedJPEG("a restart marker is missing")
			}
			marker = 0xd0 | (marker+1)&7
		}
		for i := range scan.n {
			for range factors[i] {
				if !s.block(dc[i], ac[i]) {
					if s.n < 32 && s.at+1 >= len(s.b) {
						return errTruncated
					}
					return errCodes
				}
			}
		}
		if s.n < 0 {
			return errTruncated
		}
	}
	return nil
}

// resume goes behind the next marker. It reports whether that is the one expected.
func (s *skimmer) resume(marker byte) bool {
	for {
		k := bytes.IndexByte(s.b[s.at:], 0xff)
		if k < 0 || s.at+k+1 >= len(s.b) {
			return false
		}
		s.at += k + 1
		if m := s.b[s.at]; m != 0 && m != 0xff {
			s.at++
			s.acc, s.n = 0, 0
			return m == marker
		}
	}
}
