package parquet

import (
	"encoding/binary"
	"errors"
	"io"
)

// measure returns the length of a struct in Thrift's compact protocol, at the start of b. It is an error if a list in
// it declares more elements than there are bytes: a decoder allocates them all before it reads the first.
// io.ErrUnexpectedEOF says that b ends before the struct.
func measure(b []byte) (int, error) {
	m := measuring{b: b, structs: 64 + len(b)/5} // those that writers write take more bytes each, on average
	m.value(typeStruct, 0)
	return m.at, m.err
}

type measuring struct {
	b       []byte
	at      int
	structs int // how many there may still be in lists
	err     error
}

const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeInt16  = 4
	typeInt32  = 5
	typeInt64  = 6
	typeDouble = 7
	typeBytes  = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
)

var errThrift = errors.New("not in Thrift's compact protocol")

func (m *measuring) stop(err error) {
	if m.err == nil {
		m.err = err
	}
	m.at = len(m.b)
}

func (m *measuring) byte() byte {
	if m.at >= len(m.b) {
		m.stop(io.ErrUnexpectedEOF)
		return 0
	}
	m.at++
	return m.b[m.at-1]
}

func (m *measuring) varint() uint64 {
	v, n := binary.Uvarint(m.b[m.at:])
	switch {
	case n == 0:
		m.stop(io.ErrUnexpectedEOF)
	case n < 0:
		m.stop(errThrift)
	default:
		m.at += n
	}
	return v
}

func (m *measuring) skip(n uint64) {
	if n > uint64(len(m.b)-m.at) {
		m.stop(io.ErrUnexpectedEOF)
		return
	}
	m.at += int(n)
}

func (m *measuring) value(kind byte, depth int) {
	if depth > 32 {
		m.stop(errThrift)
	}
	switch kind {
	case typeTrue, typeFalse:
	case typeByte:
		m.byte()
	case typeInt16, typeInt32, typeInt64:
		m.varint()
	case typeDouble:
		m.skip(8)
	case typeBytes:
		m.skip(m.varint())
	case typeList, typeSet:
		h := m.byte()
		n := uint64(h >> 4)
		if n == 15 {
			n = m.varint()
		}
		m.elements(n, depth, h&15)
	case typeMap:
		if n := m.varint(); n > 0 {
			h := m.byte()
			m.elements(n, depth, h>>4, h&15)
		}
	case typeStruct:
		m.fields(depth)
	default:
		m.stop(errThrift)
	}
}

func (m *measuring) fields(depth int) {
	for m.err == nil {
		h := m.byte()
		if h == 0 {
			return
		}
		if h>>4 == 0 {
			m.varint()
		}
		m.value(h&15, depth+1)
	}
}

// elements is n values, or keys and values, of a list or map.
func (m *measuring) elements(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(m.b)-m.at) { // each has a byte at least
		m.stop(io.ErrUnexpectedEOF)
		return
	}
	for _, k := range kinds {
		if k == typeStruct || k == typeList || k == typeSet || k == typeMap {
			if m.structs -= int(n); m.structs < 0 {
				m.stop(errors.New("a list has more elements than its bytes can hold"))
			}
		}
	}
	for ; n > 0 && m.err == nil; n-- {
		for _, k := range kinds {
			if k == typeTrue || k == typeFalse { // which is in the header of a field, but not of a list
				k = typeByte
			}
			m.value(k, depth+1)
		}
	}
}
