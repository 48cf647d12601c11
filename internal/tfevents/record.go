package tfevents

import (
	"encoding/binary"
	"hash/crc32"
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
