package images

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// The packed file, version 1, little endian; docs/packed.md describes it for other programs.
const (
	packMagic   = "BREGPACK"
	packVersion = 1

	packHeaderBytes = 4096
	packRecordBytes = 24

	// Bounds that a damaged or hostile file is measured against before anything is allocated.
	packMostInfo    = 64 << 20
	packMostSide    = 1 << 15
	packMostClasses = 22_000
)

// Kinds of stored pictures.
const (
	PackRaw  uint8 = iota // planes Y, Cb, Cr without any padding
	PackJPEG              // baseline JPEG, 4:2:0 or grey
)

// Sides that PackInfo.Size limits.
const (
	LongSide  = "long"
	ShortSide = "short"
)

// castagnoli is the polynomial of CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// PackEntry is the place of a picture in a packed file.
type PackEntry struct {
	Offset               int64
	Length               uint32
	Sum                  uint32 // CRC-32C of the stored bytes
	Height, Width, Label uint16
	Kind                 uint8 // PackRaw or PackJPEG
}

// rawBytes is the size of the planes of a picture.
func rawBytes(height, width int) int {
	return height*width + 2*((height+1)/2)*((width+1)/2)
}

func (e PackEntry) put(b []byte) {
	binary.LittleEndian.PutUint64(b, uint64(e.Offset))
	binary.LittleEndian.PutUint32(b[8:], e.Length)
	binary.LittleEndian.PutUint32(b[12:], e.Sum)
	binary.LittleEndian.PutUint16(b[16:], e.Height)
	binary.LittleEndian.PutUint16(b[18:], e.Width)
	binary.LittleEndian.PutUint16(b[20:], e.Label)
	b[22], b[23] = e.Kind, 0
}

func (e *PackEntry) get(b []byte) {
	e.Offset = int64(binary.LittleEndian.Uint64(b))
	e.Length = binary.LittleEndian.Uint32(b[8:])
	e.Sum = binary.LittleEndian.Uint32(b[12:])
	e.Height = binary.LittleEndian.Uint16(b[16:])
	e.Width = binary.LittleEndian.Uint16(b[18:])
	e.Label = binary.LittleEndian.Uint16(b[20:])
	e.Kind = b[22]
}

// packPart is a part of the file after the pictures.
type packPart struct {
	Offset, Length int64
	Sum            uint32
}

// packHeader is the first 4096 bytes of the file.
type packHeader struct {
	Train, Test        uint32 // pictures
	Index, Names, Info packPart
	Hash               [32]byte // sha256 of the index and the information
}

// bytes seals the header with its own checksum.
func (h *packHeader) bytes() []byte {
	b := make([]byte, packHeaderBytes)
	copy(b, packMagic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], packVersion)
	le.PutUint32(b[12:], packHeaderBytes)
	le.PutUint32(b[16:], h.Train)
	le.PutUint32(b[20:], h.Test)
	for i, p := range []packPart{h.Index, h.Names, h.Info} {
		at := b[24+24*i:]
		le.PutUint64(at, uint64(p.Offset))
		le.PutUint64(at[8:], uint64(p.Length))
		le.PutUint32(at[16:], p.Sum)
	}
	copy(b[96:], h.Hash[:])
	le.PutUint32(b[packHeaderBytes-4:], crc32.Checksum(b[:packHeaderBytes-4], castagnoli))
	return b
}

// parse checks what the header alone can show and returns what is wrong, or "".
func (h *packHeader) parse(b []byte, size int64) string {
	le := binary.LittleEndian
	switch v := le.Uint32(b[8:]); {
	case !bytes.HasPrefix(b, []byte(packMagic)):
		return "it does not start with " + packMagic
	case le.Uint32(b[packHeaderBytes-4:]) != crc32.Checksum(b[:packHeaderBytes-4], castagnoli):
		return "the header's checksum is wrong"
	case v != packVersion || le.Uint32(b[12:]) != packHeaderBytes:
		return "" // the caller tells a newer version
	}
	h.Train, h.Test = le.Uint32(b[16:]), le.Uint32(b[20:])
	for i, p := range []*packPart{&h.Index, &h.Names, &h.Info} {
		at := b[24+24*i:]
		p.Offset, p.Length, p.Sum = int64(le.Uint64(at)), int64(le.Uint64(at[8:])), le.Uint32(at[16:])
		if p.Offset < packHeaderBytes || p.Length < 0 || p.Offset > size || p.Length > size-p.Offset {
			return "it is shorter than its header says"
		}
	}
	copy(h.Hash[:], b[96:])
	n := int64(h.Train) + int64(h.Test)
	switch {
	case h.Index.Length != n*packRecordBytes:
		return "the index has another length than its pictures need"
	case h.Names.Length < 4*(n+1):
		return "the list of names is too short"
	case h.Info.Length > packMostInfo:
		return "the information is too long"
	}
	return ""
}

// appendNames appends the list of names: where each ends, and then their letters.
func appendNames(dst []byte, names []string) []byte {
	at := uint32(0)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	for _, s := range names {
		at += uint32(len(s))
		dst = binary.LittleEndian.AppendUint32(dst, at)
	}
	for _, s := range names {
		dst = append(dst, s...)
	}
	return dst
}

// PackInfo is what a packed file says about itself.
type PackInfo struct {
	Version int      `json:"version"`
	Name    string   `json:"name"`   // of the source: the last part of its path
	Layout  string   `json:"layout"` // of the source, in words
	Classes []string `json:"classes"`

	// Size limits a side, "long" or "short": pictures were shrunk to it, never enlarged.
	Size int    `json:"size"`
	Side string `json:"side"`

	Format   string  `json:"format"` // "jpeg", "raw" or "mix"
	Quality  int     `json:"quality"`
	RawShare float64 `json:"raw_share,omitempty"`

	// Height and Width are those of the largest picture, rounded up to even: a slot for any picture.
	Height int `json:"height"`
	Width  int `json:"width"`

	// Mean and Deviation of the training pictures are per channel, red, green, blue, of 255.
	Mean      []float32 `json:"mean"`
	Deviation []float32 `json:"deviation"`

	// Kinds counts the source's pictures by what was found in them, and by what was done with them. A picture
	// can be of several kinds.
	Kinds    map[string]int `json:"kinds"`
	Problems int            `json:"problems"`           // files of the source that were not packed
	HeldOut  bool           `json:"held_out,omitempty"` // a tenth of every class became the test pictures

	Fingerprint string `json:"fingerprint,omitempty"` // of source and settings

	// Hash is the sha256, in hexadecimal, of the index, which has a checksum of every picture, and of the
	// information. It names the data. The header has it.
	Hash string `json:"-"`
}

// wrong returns what no reader could work with, or "".
func (p *PackInfo) wrong() string {
	switch {
	case len(p.Classes) < 2 || len(p.Classes) > packMostClasses:
		return "it has no list of 2 to 22,000 classes"
	case p.Height < 2 || p.Width < 2 || p.Height%2 != 0 || p.Width%2 != 0 || p.Height > packMostSide ||
		p.Width > packMostSide:
		return "its largest height and width make no sense"
	case p.Side != LongSide && p.Side != ShortSide:
		return "its pictures' side is neither long nor short"
	case len(p.Mean) != 3 || len(p.Deviation) != 3:
		return "its mean and deviation are not of three channels"
	}
	return ""
}

func (p *PackInfo) bytes() ([]byte, error) { return json.Marshal(p) }
