package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// jpegInfo is what the segments of a JPEG say.
type jpegInfo struct {
	frame         byte // the marker SOF0, SOF1 or SOF2
	height, width int
	n             int // components
	comp          [4]jpegComponent
	adobe         int // the transform in Adobe's segment, -1 without one
	jfif          bool
	restart       int // blocks between restart markers, in units of the scan; 0 without

	exif, icc   bool
	orientation int

	scans         int
	scan          jpegScan // the first one
	late          bool     // segments follow the first scan
	wideQuantiser bool     // 16 bits: not baseline
	end           int      // after the marker of the end

	tables     [2][4][]byte // Huffman tables of the first scan, DC and AC: 16 counts, then the values
	quantisers [4][]byte    // of the first scan, 64 bytes each
}

type jpegComponent struct{ id, h, v, quantiser byte }

// jpegScan is the header of a scan and where its data are.
type jpegScan struct {
	n        int
	comp     [4]int // places in jpegInfo.comp
	dc, ac   [4]byte
	spectrum [3]byte
	from, to int
}

var (
	errTruncated = errors.New("a truncated JPEG: it ends before its picture does")
	errCodes     = errors.New("a damaged JPEG: its data are not valid Huffman codes")
)

func damagedJPEG(why string) error { return errors.New("a damaged JPEG: " + why) }

// jpegSegment is a marker with what belongs to it: b[from:to]. The data of a scan are b[to:next].
type jpegSegment struct {
	marker         byte
	from, to, next int
}

// body is what follows the marker and the length.
func (s jpegSegment) body(b []byte) []byte { return b[s.from+4 : s.to] }

// nextSegment finds the next segment from i on. Like libjpeg it skips bytes that belong to none.
func nextSegment(b []byte, i int) (s jpegSegment, err error) {
	for {
		k := bytes.IndexByte(b[i:], 0xff)
		if k < 0 {
			return s, errTruncated
		}
		for i += k + 1; i < len(b) && b[i] == 0xff; i++ {
		}
		if i == len(b) {
			return s, errTruncated
		}
		if b[i] != 0 {
			break
		}
	}
	s = jpegSegment{marker: b[i], from: i - 1, to: i + 1, next: i + 1}
	if s.marker >= 0xd0 && s.marker <= 0xd9 || s.marker == 0x01 {
		return s, nil // without a length
	}
	if s.marker < 0xc0 {
		return s, damagedJPEG(fmt.Sprintf("the marker %02X is unknown", s.marker))
	}
	if len(b)-s.to < 2 {
		return s, errTruncated
	}
	n := int(binary.BigEndian.Uint16(b[s.to:]))
	if n < 2 {
		return s, damagedJPEG("a segment has no length")
	}
	if len(b)-s.to < n {
		return s, errTruncated
	}
	s.to += n
	s.next = s.to
	if s.marker != 0xda {
		return s, nil
	}
	for { // data end at a marker that is not a restart marker
		k := bytes.IndexByte(b[s.next:], 0xff)
		if k < 0 || s.next+k+1 >= len(b) {
			return s, errTruncated
		}
		s.next += k
		switch m := b[s.next+1]; {
		case m == 0xff:
			s.next++
		case m == 0 || m >= 0xd0 && m <= 0xd7:
			s.next += 2
		default:
			return s, nil
		}
	}
}

// parse reads all segments up to the end of the picture.
func (j *jpegInfo) parse(b []byte) error {
	*j = jpegInfo{adobe: -1}
	var seen, unfinished [4]uint64 // coefficients of the components; unfinished ones lack their lowest bits
	for i := 2; ; {
		s, err := nextSegment(b, i)
		if err != nil {
			return err
		}
		i = s.next
		if s.marker == 0xd9 {
			j.end = s.to
			break
		}
		if s.marker == 0xd8 {
			return damagedJPEG("a second picture starts before the first has ended")
		}
		if s.marker >= 0xd0 && s.marker <= 0xd7 || s.marker == 0x01 {
			continue
		}
		if j.scans > 0 {
			j.late = true
		}
		body := s.body(b)
		switch m := s.marker; {
		case m == 0xc4:
			err = j.huffman(body)
		case m == 0xcc: // conditions of arithmetic coding
		case m >= 0xc0 && m <= 0xcf:
			err = j.header(m, body)
		case m == 0xdb:
			for len(body) > 0 {
				wide, table := int(body[0]>>4), body[0]&15
				j.wideQuantiser = j.wideQuantiser || wide != 0
				if wide == 0 && len(body) >= 65 && table < 4 && j.scans == 0 {
					j.quantisers[table] = body[1:65]
				}
				body = body[min(len(body), 65+64*wide):]
			}
		case m == 0xdd && len(body) == 2:
			j.restart = int(binary.BigEndian.Uint16(body))
		case m == 0xda:
			var scan jpegScan
			if scan, err = j.scanHeader(body); err != nil {
				break
			}
			scan.from, scan.to = s.to, s.next
			if j.scans++; j.scans == 1 {
				j.scan = scan
			}
			first, last, low := scan.spectrum[0], scan.spectrum[1], scan.spectrum[2]&15
			if j.sequential() {
				first, last, low = 0, 63, 0
			}
			if first > last || last > 63 {
				err = damagedJPEG("a scan has no coefficients")
			}
			bits := (^uint64(0) >> (63 - last&63)) &^ (1<<(first&63) - 1)
			for _, c := range scan.comp[:scan.n] {
				seen[c] |= bits
				unfinished[c] &^= bits
				if low > 0 {
					unfinished[c] |= bits
				}
			}
		case m == 0xdc || m == 0xde || m == 0xdf:
			err = errors.New("a JPEG of the hierarchical kind or with its height at the end, which is not supported: " +
				"save it again")
		case m >= 0xe0 && m <= 0xef:
			j.application(m, body)
		}
		if err != nil {
			return err
		}
	}
	if j.scans == 0 {
		return damagedJPEG("it has no picture data")
	}
	for c := range j.n {
		if seen[c]&1 == 0 || unfinished[c] != 0 {
			return errTruncated
		}
	}
	return nil
}

func (j *jpegInfo) sequential() bool { return j.frame != 0xc2 }

// header reads a frame's header.
func (j *jpegInfo) header(marker byte, body []byte) error {
	const again = ", which is not supported: save it again as a baseline JPEG"
	switch {
	case j.frame != 0:
		return damagedJPEG("it has two headers")
	case len(body) < 6 || len(body) != 6+3*int(body[5]):
		return damagedJPEG("its header is of the wrong length")
	case marker == 0xc9 || marker == 0xca:
		return errors.New("a JPEG with arithmetic coding" + again)
	case marker == 0xc3 || marker == 0xcb:
		return errors.New("a lossless JPEG" + again)
	case marker > 0xc2:
		return errors.New("a hierarchical JPEG" + again)
	case body[0] != 8:
		return fmt.Errorf("a JPEG of %d bits a value%s", body[0], again)
	}
	j.frame, j.n = marker, int(body[5])
	j.height, j.width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	if j.n != 1 && j.n != 3 && j.n != 4 {
		return fmt.Errorf("a JPEG with %d components%s", j.n, again)
	}
	for i := range j.n {
		c := body[6+3*i:]
		j.comp[i] = jpegComponent{c[0], c[1] >> 4, c[1] & 15, c[2] & 3}
		if h, v := j.comp[i].h, j.comp[i].v; h < 1 || h > 4 || v < 1 || v > 4 {
			return damagedJPEG("its sampling factors are wrong")
		}
		for k := range i {
			if j.comp[k].id == c[0] {
				return damagedJPEG("two components have the same name")
			}
		}
	}
	return nil
}

// huffman notes the tables that the first scan has.
func (j *jpegInfo) huffman(body []byte) error {
	for len(body) > 0 {
		if len(body) < 17 || body[0]>>4 > 1 || body[0]&15 > 3 {
			return damagedJPEG("a Huffman table is wrong")
		}
		n := 0
		for _, count := range body[1:17] {
			n += int(count)
		}
		if n > 256 || len(body) < 17+n {
			return damagedJPEG("a Huffman table is wrong")
		}
		if j.scans == 0 {
			j.tables[body[0]>>4][body[0]&15] = body[1 : 17+n]
		}
		body = body[17+n:]
	}
	return nil
}

func (j *jpegInfo) scanHeader(body []byte) (s jpegScan, err error) {
	if j.frame == 0 {
		return s, damagedJPEG("its data come before its header")
	}
	if len(body) < 1 || body[0] < 1 || int(body[0]) > j.n || len(body) != 4+2*int(body[0]) {
		return s, damagedJPEG("the header of a scan is wrong")
	}
	s.n = int(body[0])
	for i := range s.n {
		id, tables := body[1+2*i], body[2+2*i]
		s.comp[i] = -1
		for k := range j.n {
			if j.comp[k].id == id {
				s.comp[i] = k
			}
		}
		if s.comp[i] < 0 || tables>>4 > 3 || tables&15 > 3 {
			return s, damagedJPEG("the header of a scan is wrong")
		}
		s.dc[i], s.ac[i] = tables>>4, tables&15
	}
	copy(s.spectrum[:], body[1+2*s.n:])
	return s, nil
}

// application reads the segments of applications that matter to colours and to statistics. None is an error.
func (j *jpegInfo) application(marker byte, body []byte) {
	switch {
	case isJFIF(marker, body):
		j.jfif = true
	case isAdobe(marker, body):
		j.adobe = int(body[11])
	case marker == 0xe1 && hasPrefix(body, "Exif\x00\x00") && !j.exif:
		j.orientation, j.exif = orientationOf(body[6:])
	case marker == 0xe2 && hasPrefix(body, "ICC_PROFILE\x00"):
		j.icc = true
	}
}

func isJFIF(marker byte, body []byte) bool { return marker == 0xe0 && hasPrefix(body, "JFIF\x00") }

func isAdobe(marker byte, body []byte) bool {
	return marker == 0xee && hasPrefix(body, "Adobe") && len(body) >= 12
}

// orientationOf finds the tag Orientation of EXIF, 1 to 8, and reports whether there is one.
func orientationOf(tiff []byte) (int, bool) {
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case len(tiff) < 8:
		return 0, false
	case string(tiff[:2]) == "II":
		order = binary.LittleEndian
	case string(tiff[:2]) != "MM":
		return 0, false
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0, false
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == 0x0112 {
			v := int(order.Uint16(entries[8:]))
			return v, order.Uint16(entries[2:]) == 3 && v >= 1 && v <= 8
		}
		entries = entries[12:]
	}
	return 0, false
}

// rgb reports whether the components are red, green and blue, as the standard library decides.
func (j *jpegInfo) rgb() bool {
	return j.n == 3 && !j.jfif && (j.adobe == 0 || j.named("RGB"))
}

// named reports whether the names of the components are these.
func (j *jpegInfo) named(ids string) bool {
	return string([]byte{j.comp[0].id, j.comp[1].id, j.comp[2].id}) == ids
}

// sampling is the kind of three components, 0 if the decoders do not have it.
func (j *jpegInfo) sampling() found {
	y, cb, cr := j.comp[0], j.comp[1], j.comp[2]
	if cb.h != cr.h || cb.v != cr.v || y.h%cb.h != 0 || y.v%cb.v != 0 || y.h == 3 || y.v == 3 || y.v == 4 {
		return 0
	}
	switch [2]byte{y.h / cb.h, y.v / cb.v} {
	case [2]byte{1, 1}:
		return found444
	case [2]byte{2, 1}:
		return found422
	case [2]byte{2, 2}:
		return found420
	case [2]byte{1, 2}:
		return found440
	case [2]byte{4, 1}, [2]byte{4, 2}:
		return foundOtherSampling
	}
	return 0
}

// factors are the sampling factors, for messages.
func (j *jpegInfo) factors() string {
	var all []string
	for _, c := range j.comp[:j.n] {
		all = append(all, fmt.Sprintf("%d×%d", c.h, c.v))
	}
	return strings.Join(all, ", ")
}

// blocks is the number of blocks of 8×8 that a picture has at least.
func (j *jpegInfo) blocks() (n int64) {
	h, v := j.most()
	side := func(length, of int, most int) int64 { return int64(((length*of+most-1)/most + 7) / 8) }
	for _, c := range j.comp[:j.n] {
		n += side(j.width, int(c.h), h) * side(j.height, int(c.v), v)
	}
	return n
}

// most are the largest sampling factors.
func (j *jpegInfo) most() (h, v int) {
	for _, c := range j.comp[:j.n] {
		h, v = max(h, int(c.h)), max(v, int(c.v))
	}
	return h, v
}

// simple reports whether the picture is one for the decoder baseline: all components in one scan, grey or YCbCr with
// one sample of chroma in each unit.
func (j *jpegInfo) simple() bool {
	s := &j.scan
	if j.frame != 0xc0 || j.scans != 1 || s.n != j.n || j.n > 3 || j.wideQuantiser || j.adobe == 0 || j.named("RGB") ||
		s.spectrum != [3]byte{0, 63, 0} {
		return false
	}
	for i := range j.n {
		if s.comp[i] != i || i > 0 && (j.comp[i].h != 1 || j.comp[i].v != 1) {
			return false
		}
	}
	return true
}

// plain reports whether any decoder of baseline JPEG takes the picture, so that it may be stored.
func (j *jpegInfo) plain() bool {
	for i := range j.scan.n {
		if j.scan.dc[i] > 1 || j.scan.ac[i] > 1 {
			return false
		}
	}
	return !j.late
}

// stripped is a JPEG without what a decoder does not need: comments, the segments of applications except JFIF's and
// Adobe's, and bytes after the end. The data are the same. What is not a whole JPEG is returned as it is.
func stripped(b []byte) []byte {
	if !hasPrefix(b, "\xff\xd8") {
		return b
	}
	short := append(make([]byte, 0, len(b)), b[:2]...)
	for i := 2; ; {
		s, err := nextSegment(b, i)
		if err != nil {
			return b
		}
		i = s.next
		switch m := s.marker; {
		case m == 0xfe, m >= 0xd0 && m <= 0xd7, m == 0x01:
			continue
		case m >= 0xe0 && m <= 0xef && !isJFIF(m, s.body(b)) && !isAdobe(m, s.body(b)):
			continue
		}
		short = append(short, b[s.from:s.next]...)
		if s.marker == 0xd9 {
			return short
		}
	}
}
