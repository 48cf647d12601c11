package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// values are those of a page or a dictionary that are not null: numbers or texts.
type values struct {
	numbers []float64
	texts   [][]byte // parts of the page
}

func (v *values) len() int { return max(len(v.numbers), len(v.texts)) }

var errValues = errors.New("a page has fewer values than its header says")

// decode reads n values of a page that is not one of indexes.
func (c *Column) decode(enc format.Encoding, b []byte, n int) (v values, err error) {
	switch kind := c.element.Type.V; kind {
	case format.Int32, format.Int64:
		v.numbers, err = c.ints(enc, b, n)
	case format.Float:
		v.numbers, err = fixed(enc, b, n, 4, func(b []byte) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		})
	case format.Double:
		v.numbers, err = fixed(enc, b, n, 8, func(b []byte) float64 {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		})
	case format.FixedLenByteArray:
		if enc == format.DeltaByteArray {
			return c.byteArrays(enc, b, n)
		}
		v.numbers, err = fixed(enc, b, n, int(c.element.TypeLength.V), c.convert.bytes)
	case format.ByteArray:
		return c.byteArrays(enc, b, n)
	default:
		err = fmt.Errorf("%s in encoding %s", kind, enc)
	}
	return v, err
}

// ints are numbers that are stored as integers.
func (c *Column) ints(enc format.Encoding, b []byte, n int) ([]float64, error) {
	width := 4
	if c.element.Type.V == format.Int64 {
		width = 8
	}
	if enc != format.DeltaBinaryPacked {
		return fixed(enc, b, n, width, func(b []byte) float64 {
			if width == 4 {
				return c.convert.ints(int64(int32(binary.LittleEndian.Uint32(b))))
			}
			return c.convert.ints(int64(binary.LittleEndian.Uint64(b)))
		})
	}
	whole, _, err := differences(b, n)
	if err != nil {
		return nil, err
	}
	out := make([]float64, n)
	for i, v := range whole {
		if width == 4 {
			v = int64(int32(v))
		}
		out[i] = c.convert.ints(v)
	}
	return out, nil
}

// fixed reads n values of so many bytes each.
func fixed(enc format.Encoding, b []byte, n, width int, number func([]byte) float64) ([]float64, error) {
	if width < 1 || n > len(b)/width {
		return nil, errValues
	}
	out := make([]float64, n)
	switch enc {
	case format.Plain:
		for i := range out {
			out[i] = number(b[i*width : (i+1)*width])
		}
	case format.ByteStreamSplit: // the first bytes of all, then the second
		stride := len(b) / width
		one := make([]byte, width)
		for i := range out {
			for k := range one {
				one[k] = b[k*stride+i]
			}
			out[i] = number(one)
		}
	default:
		return nil, unsupported("its values are in the encoding %s: save it with another", enc)
	}
	return out, nil
}

// byteArrays reads n values of any length.
func (c *Column) byteArrays(enc format.Encoding, b []byte, n int) (v values, err error) {
	switch enc {
	case format.Plain:
		v.texts, err = plainBytes(b, n)
	case format.DeltaLengthByteArray:
		v.texts, err = deltaLengths(b, n)
	case format.DeltaByteArray:
		v.texts, err = deltaBytes(b, n)
	default:
		err = unsupported("its values are in the encoding %s: save it with another", enc)
	}
	if err != nil || c.convert.bytes == nil {
		return v, err
	}
	v.numbers = make([]float64, n)
	for i, b := range v.texts {
		if w := int(c.element.TypeLength.V); c.element.Type.V == format.FixedLenByteArray && len(b) != w {
			return v, fmt.Errorf("a value of %d bytes in a column of %d", len(b), w)
		}
		v.numbers[i] = c.convert.bytes(b)
	}
	v.texts = nil
	return v, nil
}

func plainBytes(b []byte, n int) ([][]byte, error) {
	if n > len(b)/4 {
		return nil, errValues
	}
	out := make([][]byte, n)
	for i := range out {
		if len(b) < 4 {
			return nil, errValues
		}
		k := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(k) > uint64(len(b)) {
			return nil, errValues
		}
		out[i], b = b[:k:k], b[k:]
	}
	return out, nil
}

func deltaLengths(b []byte, n int) ([][]byte, error) {
	lengths, b, err := differences(b, n)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, n)
	for i, k := range lengths {
		if k < 0 || k > int64(len(b)) {
			return nil, errValues
		}
		out[i], b = b[:k:k], b[k:]
	}
	return out, nil
}

// longestText is how long texts may be that share parts with the one before.
const longestText = 1 << 20

// deltaBytes reads texts that each begin as the one before, and go on in bytes of their own.
func deltaBytes(b []byte, n int) ([][]byte, error) {
	shared, b, err := differences(b, n)
	if err != nil {
		return nil, err
	}
	rest, err := deltaLengths(b, n)
	if err != nil {
		return nil, err
	}
	total, before := int64(0), int64(0)
	for i, k := range shared {
		if k < 0 || k > before {
			return nil, errValues
		}
		before = k + int64(len(rest[i]))
		if total += before; before > longestText || total > min(256*int64(len(b))+1<<16, 1<<30) {
			return nil, unsupported("its texts are too long: save it without the encoding %s", format.DeltaByteArray)
		}
	}
	all := make([]byte, 0, total)
	var last []byte
	for i, k := range shared {
		from := len(all)
		all = append(append(all, last[:k]...), rest[i]...)
		last = all[from:len(all):len(all)]
		rest[i] = last
	}
	return rest, nil
}

// differences reads n integers that are stored as differences, in blocks, and returns what follows them.
func differences(b []byte, n int) ([]int64, []byte, error) {
	bad := errors.New("a page of differences is not as its header says")
	var head [4]uint64 // block size, small blocks in it, values, the first
	for i := range head {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, nil, bad
		}
		head[i], b = v, b[k:]
	}
	block, parts, count := head[0], head[1], head[2]
	if block == 0 || block > 1<<16 || parts == 0 || parts > block || block%parts != 0 || block/parts%8 != 0 {
		return nil, nil, bad
	}
	// A block has at least a byte for each of its parts and one more.
	if count != uint64(n) || count > 1 && (count-2)/block >= uint64(len(b)) {
		return nil, nil, bad
	}
	out := make([]int64, 0, n)
	if n > 0 {
		out = append(out, int64(head[3]>>1)^-int64(head[3]&1))
	}
	size := int(block / parts)
	for len(out) < n {
		least, k := binary.Varint(b)
		if k <= 0 || len(b) < k+int(parts) {
			return nil, nil, bad
		}
		widths := b[k : k+int(parts)]
		b = b[k+int(parts):]
		for _, w := range widths {
			if len(out) == n {
				break
			}
			if w > 64 || len(b) < size*int(w)/8 {
				return nil, nil, bad
			}
			for i := range min(size, n-len(out)) {
				out = append(out, out[len(out)-1]+least+int64(bits(b, i*int(w), int(w))))
			}
			b = b[size*int(w)/8:]
		}
	}
	return out, b, nil
}

// bits returns the number of w ≤ 64 bits that starts at a bit of b.
func bits(b []byte, at, w int) uint64 {
	if w == 0 {
		return 0
	}
	i, shift := at/8, uint(at%8)
	var v uint64
	if i+8 <= len(b) {
		v = binary.LittleEndian.Uint64(b[i:])
	} else {
		for k, x := range b[i:] {
			v |= uint64(x) << (8 * k)
		}
	}
	v >>= shift
	if int(shift)+w > 64 && i+8 < len(b) {
		v |= uint64(b[i+8]) << (64 - shift)
	}
	return v & (1<<w - 1)
}

// hybrid fills dst with numbers of w ≤ 32 bits, that are stored as runs of one number and as packed bits.
func hybrid(dst []int32, b []byte, w int) error {
	if w < 0 || w > 32 {
		return fmt.Errorf("indexes of %d bits", w)
	}
	if w == 0 { // there is but one number, and runs of it may be left out
		clear(dst)
		return nil
	}
	for i := 0; i < len(dst); {
		head, k := binary.Uvarint(b)
		if k <= 0 {
			return errValues
		}
		b = b[k:]
		count := head >> 1
		if head&1 == 0 {
			size := (w + 7) / 8
			if len(b) < size {
				return errValues
			}
			v := int32(bits(b[:size], 0, w))
			run := dst[i:]
			if count < uint64(len(run)) {
				run = run[:count]
			}
			for j := range run {
				run[j] = v
			}
			i, b = i+len(run), b[size:]
			continue
		}
		if count > uint64(len(b)) { // 8 numbers take w bytes
			count = uint64(len(b))
		}
		n := min(int(count)*8, len(dst)-i, len(b)*8/w)
		for j := range n {
			dst[i+j] = int32(bits(b, j*w, w))
		}
		if i += n; i < len(dst) && len(b) < int(count)*w {
			return errValues
		}
		b = b[min(len(b), int(count)*w):]
	}
	return nil
}
