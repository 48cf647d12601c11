package parquet

import (
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// Runs and packed numbers of all widths, as parquet-go writes them.
func TestHybridReadsWhatWasEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for w := 1; w <= 32; w++ {
		for range 50 {
			src := make([]int32, rng.IntN(100))
			for i := range src {
				if src[i] = int32(uint32(rng.Uint64()) >> (32 - w)); i > 0 && rng.IntN(2) == 0 {
					src[i] = src[i-1]
				}
			}
			b, err := (&rle.Encoding{BitWidth: w}).EncodeInt32(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			dst := make([]int32, len(src))
			if err := hybrid(dst, b, w); err != nil || !slices.Equal(dst, src) {
				t.Fatalf("%d bits: %v %v, want %v", w, dst, err, src)
			}
			for k := range b { // too short for the last number, at least
				if err := hybrid(make([]int32, len(src)), b[:k], w); err == nil && k < len(b)-w {
					t.Fatalf("%d bits: %d of %d bytes were enough", w, k, len(b))
				}
			}
		}
	}
}

func TestDeltaReadsWhatWasEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var enc delta.BinaryPackedEncoding
	for k := range 500 {
		src := make([]int64, rng.IntN(400))
		for i := range src {
			src[i] = int64(rng.Uint64()) >> (k % 64)
		}
		if len(src) > 2 {
			src[1], src[2] = math.MinInt64, math.MaxInt64
		}
		b, err := enc.EncodeInt64(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := differences(append(b, 1, 2, 3), len(src))
		if err != nil || !slices.Equal(got, src) || len(rest) != 3 {
			t.Fatalf("%v, %d bytes left, %v, want %v", got, len(rest), err, src)
		}
		if _, _, err := differences(b, len(src)+1); err == nil {
			t.Fatal("more numbers were read than there are")
		}
	}
}

func TestFloat16(t *testing.T) {
	for bits, want := range map[uint16]float64{0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: math.Ldexp(1, -24),
		0x0400: math.Ldexp(1, -14), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0: 0, 0x3555: 0.333251953125} {
		if got := float16(bits); got != want {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
	if v := float16(0x7e00); v == v {
		t.Error("not a number is one")
	}
}

func TestMeasureEndsWithTheStruct(t *testing.T) {
	b := []byte{0x15, 2, 0x28, 3, 'a', 'b', 'c', 0x11, 0x1c, 0x11, 0, 0x19, 0x23, 7, 8, 0}
	if n, err := measure(append(slices.Clone(b), 9, 9)); n != len(b) || err != nil {
		t.Errorf("%d, %v, want %d bytes", n, err, len(b))
	}
	for k := range b {
		if _, err := measure(b[:k]); err != io.ErrUnexpectedEOF {
			t.Errorf("%v after %d of %d bytes", err, k, len(b))
		}
	}
}
