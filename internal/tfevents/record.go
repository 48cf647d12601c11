package tfevents

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the CRC-32C of data, rotated and shifted by a constant, because the CRC of bytes that hold
// their own CRC is weak.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendRecord appends data framed as one record.
func appendRecord(dst, data []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(data)))
	dst = binary.LittleEndian.AppendUint32(dst, masked(dst[at:]))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, masked(data))
}

// eachRecord calls f with the data of every whole record of r. The slice is valid until f returns.
func eachRecord(r io.Reader, f func(data []byte) error) error {
	var head [12]byte
	var body bytes.Buffer
	for offset := int64(0); ; offset += int64(len(head) + body.Len()) {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return unlessCut(err)
		}
		n := binary.LittleEndian.Uint64(head[:])
		if binary.LittleEndian.Uint32(head[8:]) != masked(head[:8]) || n > math.MaxInt32 { // protobuf's limit
			return fmt.Errorf("tfevents: the record at byte %d has a corrupt length", offset)
		}
		body.Reset()
		if _, err := io.CopyN(&body, r, int64(n)+4); err != nil { // grows as the bytes arrive
			return unlessCut(err)
		}
		data, sum := body.Bytes()[:n], body.Bytes()[n:]
		if binary.LittleEndian.Uint32(sum) != masked(data) {
			return fmt.Errorf("tfevents: the record at byte %d has corrupt data", offset)
		}
		if err := f(data); err != nil {
			return recordError(err, offset)
		}
	}
}

// unlessCut passes over the end of the file, also one in the middle of a record: the writer may still be at
// work, or may have been killed.
func unlessCut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// recordError says where a record is that holds no valid event, and leaves the errors of the caller alone.
func recordError(err error, offset int64) error {
	if err == errEvent {
		return fmt.Errorf("tfevents: the record at byte %d: %w", offset, err)
	}
	return err
}
