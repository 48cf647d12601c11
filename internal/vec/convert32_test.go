package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// compareConversion compares the twins of f on all short lengths, and that they write nothing else.
func compareConversion[D, S comparable](t *testing.T, name string, from func() S, f func(dst []D, src []S)) {
	t.Helper()
	for n := 0; n <= 70; n++ {
		src := make([]S, n+n%5)[n%5:]
		for i := range src {
			src[i] = from()
		}
		var got [][]D
		both(func() {
			dst := make([]D, n+2)
			f(dst[1:n+1], src)
			var none D
			if dst[0] != none || dst[n+1] != none {
				t.Fatalf("%s: a value beside a slice of %d was overwritten", name, n)
			}
			got = append(got, dst)
		})
		for i := range got[0] {
			if a, b := got[0][i], got[1][i]; a != b && (a == a || b == b) {
				t.Fatalf("%s: element %d of %d is %v in Go and %v in assembly", name, i-1, n, a, b)
			}
		}
	}
}

func TestConversionsAgreeWithGo(t *testing.T) {
	if !hasAVX2 {
		t.Skip("no assembly here")
	}
	r := rand.New(rand.NewPCG(1, 2))
	number := func() float32 { return draw(r, false) }
	compareConversion(t, "FromBytes32", func() uint8 { return uint8(r.Uint32()) }, FromBytes32)
	compareConversion(t, "FromInt32s", func() int32 { return int32(r.Uint32()) >> r.IntN(32) }, FromInt32s)
	compareConversion(t, "ToInt32s", number, ToInt32s)
	compareConversion(t, "ToInt32s large", func() float32 { return number() * 1e9 }, ToInt32s)
	compareConversion(t, "FromBFloat16", func() uint16 { return uint16(r.Uint32()) }, FromBFloat16)
	compareConversion(t, "ToBFloat16", number, ToBFloat16)
	compareConversion(t, "FromFloat64s32", func() float64 { return float64(number()) * (1 + r.Float64()) }, FromFloat64s32)
	compareConversion(t, "ToFloat64s", number, ToFloat64s)
	compareConversion(t, "MaskFromBools", func() bool { return r.IntN(2) == 0 }, func(dst []float32, src []bool) {
		MaskFromBools(dst, src)
		for i, b := range src {
			if math.Float32bits(dst[i]) != math.Float32bits(maskOf(b)) {
				t.Fatalf("the mask of %v is %x", b, dst[i])
			}
		}
	})
	compareConversion(t, "BoolsFromMask", func() float32 { return maskOf(r.IntN(2) == 0) }, BoolsFromMask)
}

func TestConversionsOfSpecialValues(t *testing.T) {
	implementations(t, func(t *testing.T) {
		x := []float32{0, minus0, 2.9, -2.9, 0x1p31, -0x1p31, inf32, nan32, -inf32, 0x1p31 - 128}
		ints := make([]int32, len(x))
		ToInt32s(ints, x)
		const least = math.MinInt32
		if want := []int32{0, 0, 2, -2, least, least, least, least, least, math.MaxInt32 - 127}; !slices.Equal(ints, want) {
			t.Errorf("ToInt32s gives %v, want %v", ints, want)
		}
		// 1 + 2⁻⁷ is the bfloat16 after 1, MaxFloat32 lies beyond the largest; the first two are NaN with payloads only
		// in dropped bits.
		y := []float32{math.Float32frombits(0x7f800001), math.Float32frombits(0xff80ffff), 1, 1 + 0x1p-8,
			1 + 0x1p-8 + 0x1p-23, 1 + 3*0x1p-8, minus0, math.MaxFloat32, -inf32, 1e-45}
		halves := make([]uint16, len(y))
		ToBFloat16(halves, y)
		if want := []uint16{0x7fc0, 0xffc0, 0x3f80, 0x3f80, 0x3f81, 0x3f82, 0x8000, 0x7f80, 0xff80, 0}; !slices.Equal(halves,
			want) {
			t.Errorf("ToBFloat16 gives %x, want %x", halves, want)
		}
	})
}

// Every bfloat16 is a float32, and comes back.
func TestBFloat16ComesBack(t *testing.T) {
	implementations(t, func(t *testing.T) {
		all := make([]uint16, 1<<16)
		for i := range all {
			all[i] = uint16(i)
		}
		x, back := make([]float32, len(all)), make([]uint16, len(all))
		FromBFloat16(x, all)
		ToBFloat16(back, x)
		for i, v := range all {
			if back[i] != v && x[i] == x[i] {
				t.Fatalf("%x becomes %v and %x", v, x[i], back[i])
			}
		}
	})
}
