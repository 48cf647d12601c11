//go:build cgo && linux

package pjrt_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/engine/customop"
)

// pictures is the shape of a batch.
type pictures struct{ n, h, w, c int }

func (p pictures) size() int             { return p.n * p.h * p.w * p.c }
func (p pictures) at(n, h, w, c int) int { return ((n*p.h+h)*p.w+w)*p.c + c }

// poolGradient is what the kernels compute, without rounding: windows of side×side pixels, two apart, the first one
// beginning at -border.
func poolGradient(x []float64, p pictures, v func(i int) float64, side, border int) (dx []float64, of pictures) {
	of = pictures{p.n, p.h / 2, p.w / 2, p.c}
	if side == 3 {
		of.h, of.w = (p.h-1)/2+1, (p.w-1)/2+1
	}
	dx = make([]float64, p.size())
	for n := range p.n {
		for h := range of.h {
			for w := range of.w {
				for c := range p.c {
					first, most := -1, math.Inf(-1)
					for k := range side * side {
						i, j := 2*h-border+k/side, 2*w-border+k%side
						if i < 0 || j < 0 || i >= p.h || j >= p.w {
							continue
						}
						if at := p.at(n, i, j, c); x[at] > most {
							first, most = at, x[at]
						}
					}
					dx[first] += v(of.at(n, h, w, c))
				}
			}
		}
	}
	return dx, of
}

func TestPoolGradients(t *testing.T) {
	for _, c := range []struct {
		side int
		p    pictures
	}{
		{2, pictures{1, 2, 2, 8}},
		{2, pictures{3, 8, 8, 40}},
		{2, pictures{7, 2, 2, 64}},
		{2, pictures{2, 32, 32, 64}},
		{2, pictures{1, 33, 17, 24}},
		{2, pictures{3, 5, 16, 144}},
		{2, pictures{1, 16, 5, 16}},
		{2, pictures{2, 3, 1, 8}}, // no window at all
		{3, pictures{1, 1, 1, 8}},
		{3, pictures{1, 1, 2, 24}},
		{3, pictures{3, 2, 1, 16}},
		{3, pictures{7, 2, 2, 64}},
		{3, pictures{3, 5, 8, 40}},
		{3, pictures{1, 8, 5, 96}},
		{3, pictures{2, 16, 17, 144}},
		{3, pictures{1, 33, 33, 24}},
		{3, pictures{1, 32, 33, 64}},
		{3, pictures{1, 33, 64, 184}}, // 23 groups of channels, a block has one
		{3, pictures{1, 96, 96, 64}},
		{3, pictures{2, 80, 7, 64}},
		{3, pictures{1, 3, 256, 8}},
		{3, pictures{1, 7, 250, 64}},
	} {
		p := c.p
		t.Run(fmt.Sprintf("%d/%dx%dx%dx%d", c.side, p.n, p.h, p.w, p.c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(p.size()), 1))
			x := normal(rng, p.size(), 0, 1)
			for i := range x { // many are equal; zeros of both signs are
				switch rng.IntN(4) {
				case 0:
					x[i] = float64(rng.IntN(5) - 2)
				case 1:
					x[i] = math.Copysign(0, x[i])
				case 2:
					x[i] = 0x1p-133 * float64(rng.IntN(3)) // the smallest that there are
				}
			}
			v := normal(rng, p.size(), 0, 1)
			want, of := poolGradient(x, p, func(i int) float64 { return v[i] }, c.side, c.side-2)
			v = v[:of.size()]
			call := customop.PoolCall(p.n, p.h, p.w, p.c, c.side)
			inputs := [][]byte{bf16s(x), bf16s(v)}
			out := emulate(t, "pool.cu", call, inputs, 2*p.size())[0]

			// A sum of two is rounded once, to bf16; one of four in float32 before, where three roundings are off by
			// 2⁻²⁴ each of at most four times the largest v, 5 here.
			const before = 0x1p-18
			for i, got := range readBF16(out) {
				least, most := fromBF16(toBF16(want[i]-before)), fromBF16(toBF16(want[i]+before))
				if !(least <= got && got <= most) {
					t.Fatalf("element %d is %v, want %v", i, got, want[i])
				}
			}
			t.Run("backwards", func(t *testing.T) {
				t.Setenv("EMULATE_BACKWARDS", "1")
				if again := emulate(t, "pool.cu", call, inputs, 2*p.size())[0]; !bytes.Equal(again, out) {
					t.Error("the result depends on the order of blocks and threads")
				}
			})
			if c.side == 2 {
				return
			}
			// Dims 6 and 7 are the rows of a band, and bands.
			for _, band := range []int{of.h, 3, 1} {
				call := call
				call.Dims = append([]int{}, call.Dims...)
				bands := (of.h + band - 1) / band
				call.GridX = call.GridX / call.Dims[7] * bands
				call.Dims[6], call.Dims[7] = band, bands
				if again := emulate(t, "pool.cu", call, inputs, 2*p.size())[0]; !bytes.Equal(again, out) {
					t.Errorf("bands of %d rows change the result", band)
				}
			}
		})
	}
}
