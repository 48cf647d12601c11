//go:build cgo && linux

package pjrt_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/engine/customop"
)

// convolution is one of groups of eight channels with a border of one pixel.
type convolution struct {
	x      pictures
	stride int
}

func (c convolution) y() pictures {
	return pictures{c.x.n, (c.x.h-1)/c.stride + 1, (c.x.w-1)/c.stride + 1, c.x.c}
}

// each calls f with the places of all products: of a number of x, of the kernel and of y.
func (c convolution) each(f func(x, k, y int)) {
	of := c.y()
	for n := range of.n {
		for h := range of.h {
			for w := range of.w {
				for t := range 9 {
					i, j := h*c.stride+t/3-1, w*c.stride+t%3-1
					if i < 0 || j < 0 || i >= c.x.h || j >= c.x.w {
						continue
					}
					for out := range of.c {
						y := of.at(n, h, w, out)
						x := c.x.at(n, i, j, out/8*8)
						for in := range 8 {
							f(x+in, (t*8+in)*of.c+out, y)
						}
					}
				}
			}
		}
	}
}

// inParts is the launch with so many blocks one below the other, which share its steps. Dims 10 and 11 say how many
// each has.
func inParts(c customop.Call, parts int) customop.Call {
	steps := c.GridY*c.Dims[10] + c.Dims[11]
	parts = min(parts, steps)
	c.Dims = slices.Clone(c.Dims)
	c.Dims[10], c.Dims[11], c.GridY = steps/parts, steps%parts, parts
	return c
}

// rounded fails if got is not want rounded to bf16, where want may be off by this share of the largest before.
func rounded(t *testing.T, what string, got, want []float64, before float64) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	before *= largest
	for i, w := range want {
		least, most := fromBF16(toBF16(w-before)), fromBF16(toBF16(w+before))
		if !(least <= got[i] && got[i] <= most) {
			t.Fatalf("%s: element %d is %v, want %v (largest %v)", what, i, got[i], w, largest)
		}
	}
}

func TestGrouped(t *testing.T) {
	for _, c := range []convolution{
		{pictures{1, 1, 1, 8}, 1},
		{pictures{3, 2, 1, 16}, 1},
		{pictures{7, 2, 2, 64}, 1},
		{pictures{3, 8, 8, 40}, 1},
		{pictures{1, 5, 17, 24}, 1},
		{pictures{3, 4, 8, 72}, 1}, // nine groups, five and four
		{pictures{1, 33, 16, 16}, 1},
		{pictures{1, 8, 32, 56}, 1},
		{pictures{1, 7, 64, 8}, 1}, // two tiles
		{pictures{1, 2, 96, 40}, 1},
		{pictures{1, 8, 16, 152}, 1},
		{pictures{2, 5, 35, 24}, 1}, // the second tile has fewer pixels
		{pictures{1, 96, 3, 56}, 1}, // more steps than are on their way at once
		{pictures{1, 32, 32, 24}, 1},
		{pictures{1, 1, 1, 8}, 2},
		{pictures{3, 1, 2, 24}, 2},
		{pictures{7, 2, 2, 16}, 2},
		{pictures{3, 5, 8, 64}, 2},
		{pictures{1, 8, 5, 144}, 2},
		{pictures{1, 17, 16, 96}, 2},
		{pictures{1, 16, 33, 24}, 2}, // 17 pixels of y, two tiles
		{pictures{1, 33, 32, 16}, 2},
		{pictures{1, 3, 96, 40}, 2},
		{pictures{2, 8, 8, 152}, 2},
		{pictures{1, 64, 5, 64}, 2},
	} {
		t.Run(fmt.Sprintf("%d/%dx%dx%dx%d", c.stride, c.x.n, c.x.h, c.x.w, c.x.c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(c.x.size()), uint64(c.stride)))
			n, h, w, channels := c.x.n, c.x.h, c.x.w, c.x.c
			x, k := normal(rng, c.x.size(), 0.5, 1), normal(rng, 72*channels, 0, 1)
			v := normal(rng, c.y().size(), 0, 1)
			y, dx, dk := make([]float64, len(v)), make([]float64, len(x)), make([]float64, len(k))
			c.each(func(i, j, o int) {
				y[o] += x[i] * k[j]
				dx[i] += v[o] * k[j]
				dk[j] += x[i] * v[o]
			})
			xs, ks, vs := bf16s(x), bf16s(k), bf16s(v)

			// Products are exact, and a sum of 72 of them has at most nine roundings to float32, five in the emulator.
			// Each is off by 2⁻²⁴ of a sum that is a few times the largest result at most.
			const sums = 0x1p-19
			results := func(call customop.Call, inputs [][]byte, want []float64) {
				t.Helper()
				var first []byte
				for _, parts := range []int{call.GridY, 2} {
					out := emulate(t, "grouped.cu", inParts(call, parts), inputs, 2*len(want))[0]
					if first == nil {
						first = out
						rounded(t, call.Kernel, readBF16(out), want, sums)
					}
					if !bytes.Equal(out, first) {
						t.Errorf("%s: %d blocks change the result", call.Kernel, parts)
					}
				}
				t.Setenv("EMULATE_BACKWARDS", "1")
				out := emulate(t, "grouped.cu", inParts(call, 1), inputs, 2*len(want))[0]
				if !bytes.Equal(out, first) {
					t.Errorf("%s depends on the order of blocks and threads", call.Kernel)
				}
				t.Setenv("EMULATE_BACKWARDS", "")
			}
			results(customop.GroupedForwardCall(n, h, w, channels, c.stride), [][]byte{xs, ks}, y)
			if c.stride == 2 {
				results(customop.GroupedByInputCall(n, h, w, channels), [][]byte{vs, ks}, dx)
			}

			call, parts := customop.GroupedByKernelCall(n, h, w, channels, c.stride)
			for _, parts := range []int{parts, 1} {
				call := inParts(call, parts)
				out := emulate(t, "grouped.cu", call, [][]byte{xs, vs}, 4*call.GridY*len(dk))[0]
				sum := make([]float64, len(dk))
				for i, part := range readFloat32(out) {
					sum[i%len(dk)] += part
				}
				// As above, with sums over pixels, at most 600 here.
				near(t, call.Kernel, sum, dk, 0x1p-18)
				t.Setenv("EMULATE_BACKWARDS", "1")
				again := emulate(t, "grouped.cu", call, [][]byte{xs, vs}, 4*call.GridY*len(dk))[0]
				t.Setenv("EMULATE_BACKWARDS", "")
				if !bytes.Equal(out, again) {
					t.Errorf("%s depends on the order of blocks and threads", call.Kernel)
				}
			}
		})
	}
}
