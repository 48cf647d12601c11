package parquet

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// decompress returns the size bytes that src is compressed from. It takes about as much memory, or ends with an error.
func decompress(codec format.CompressionCodec, src []byte, size int) ([]byte, error) {
	// The most bytes that one can stand for, where all of them are allocated at once.
	const snappy, lz4raw, zstandard = 32, 256, 1 << 15
	fits := func(ratio int) error {
		if size > ratio*(len(src)+1) {
			return fmt.Errorf("a page of %d bytes cannot be %d", len(src), size)
		}
		return nil
	}
	switch codec {
	case format.Uncompressed:
		return src, wantSize(len(src), size)
	case format.Snappy:
		if err := fits(snappy); err != nil {
			return nil, err
		}
		n, err := s2.DecodedLen(src)
		if err == nil {
			err = wantSize(n, size)
		}
		if err != nil {
			return nil, err
		}
		return s2.Decode(make([]byte, size), src)
	case format.Lz4Raw:
		if err := fits(lz4raw); err != nil {
			return nil, err
		}
		dst := make([]byte, size)
		n, err := lz4.UncompressBlock(src, dst)
		if err == nil {
			err = wantSize(n, size)
		}
		return dst, err
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		return all(z, size)
	case format.Brotli:
		return all(brotli.NewReader(bytes.NewReader(src)), size)
	case format.Zstd:
		if err := fits(zstandard); err != nil {
			return nil, err
		}
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		dst, err := z.DecodeAll(src, make([]byte, 0, size))
		if err == nil {
			err = wantSize(len(dst), size)
		}
		return dst, err
	}
	return nil, unsupported("it is compressed with %s: save it with snappy, gzip or zstd", codec)
}

func wantSize(n, size int) error {
	if n != size {
		return fmt.Errorf("a page has %d bytes, and its header says %d", n, size)
	}
	return nil
}

// all reads a stream that ends after size bytes.
func all(r io.Reader, size int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(min(size+bytes.MinRead, 1<<20))
	if _, err := b.ReadFrom(io.LimitReader(r, int64(size)+1)); err != nil {
		return nil, err
	}
	return b.Bytes(), wantSize(b.Len(), size)
}
