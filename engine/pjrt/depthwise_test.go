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

// depthwise is what the kernels compute, without rounding of results.
type depthwise struct {
	p, of                      pictures
	stride                     int
	norm                       bool
	top                        float64
	x, v, k                    []float64
	center, scale, offset, any []float64
}

// z is a pixel before it is clipped, and a after it.
func (d depthwise) z(i int) float64 {
	c := i % d.p.c
	return (d.x[i]-d.center[c])*d.scale[c] + d.offset[c]
}

func (d depthwise) a(i int) float64 {
	if !d.norm {
		return d.x[i]
	}
	return fromBF16(toBF16(min(max(d.z(i), 0), d.top)))
}

// each calls f with the places in x, y and k of each product.
func (d depthwise) each(f func(x, y, k int)) {
	for n := range d.p.n {
		for h := range d.of.h {
			for w := range d.of.w {
				for t := range 9 {
					i, j := h*d.stride+t/3-1, w*d.stride+t%3-1
					if i < 0 || j < 0 || i >= d.p.h || j >= d.p.w {
						continue
					}
					for c := range d.p.c {
						f(d.p.at(n, i, j, c), d.of.at(n, h, w, c), t*d.p.c+c)
					}
				}
			}
		}
	}
}

func newDepthwise(p pictures, stride int, norm bool, top float64) depthwise {
	rng := rand.New(rand.NewPCG(uint64(p.size()), uint64(stride)))
	d := depthwise{p: p, stride: stride, norm: norm, top: top}
	d.of = pictures{p.n, (p.h-1)/stride + 1, (p.w-1)/stride + 1, p.c}
	// All of it has few digits, so that a and where it is clipped are exact in float32, too.
	some := func(n int, mean, deviation, unit float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = min(max(math.Round((mean+deviation*rng.NormFloat64())/unit)*unit, -255*unit), 255*unit)
		}
		return x
	}
	d.x, d.v, d.k = some(p.size(), 1, 2, 1./16), some(d.of.size(), 0, 1, 1./32), some(9*p.c, 0, 1, 1./64)
	d.center, d.scale = some(p.c, 1, 1, 1./16), some(p.c, 1, 1, 1./8)
	d.offset, d.any = some(p.c, 1, 1, 1./16), some(p.c, 0, 1, 1./16)
	return d
}

// A result is a sum of nine products in float32: eight additions are off by 2⁻²⁴ each of the sum so far, which is
// hardly larger than the largest result.
const depthwiseResults = 0x1p-20

// sumParts adds the parts of sums.
func sumParts(parts []float64, size int) []float64 {
	sum := make([]float64, size)
	for i, p := range parts {
		sum[i%size] += p
	}
	return sum
}

// The roundings of a sum of n numbers in float32 come to about √n·2⁻²⁴ of the sum of their sizes. There are 10⁴ numbers
// at most, and their sizes come to less than ten times the largest sum.
const depthwiseSums = 0x1p-14

func TestDepthwise(t *testing.T) {
	for _, p := range []pictures{
		{1, 1, 1, 8},
		{7, 1, 1, 16},
		{3, 1, 2, 24},
		{3, 2, 1, 40},
		{7, 2, 2, 144},
		{1, 5, 5, 8},
		{7, 4, 4, 64},
		{3, 5, 8, 24},
		{7, 6, 6, 96},
		{3, 8, 5, 40},
		{3, 8, 8, 144},
		{1, 16, 16, 96},
		{1, 17, 16, 24},
		{1, 16, 17, 40},
		{1, 33, 17, 16},
		{2, 32, 32, 32},
		{1, 31, 33, 24},
		{1, 5, 96, 24},
		{1, 64, 64, 16},
		{1, 96, 33, 8},
		{3, 3, 256, 8},
		{1, 250, 1, 24},
	} {
		for _, stride := range []int{1, 2} {
			for _, top := range []float64{0, 6, math.MaxFloat32} {
				if top > 6 && p.c != 24 {
					continue
				}
				t.Run(fmt.Sprintf("%dx%dx%dx%d/%d/%.0f", p.n, p.h, p.w, p.c, stride, min(top, 7)), func(t *testing.T) {
					testDepthwise(t, newDepthwise(p, stride, top > 0, top))
				})
			}
		}
	}
}

func testDepthwise(t *testing.T, d depthwise) {
	p := d.p
	y, dx, dk := make([]float64, d.of.size()), make([]float64, p.size()), make([]float64, 9*p.c)
	a := make([]float64, p.size())
	for i := range a {
		a[i] = d.a(i)
	}
	d.each(func(x, to, k int) {
		y[to] += a[x] * d.k[k]
		dx[x] += d.v[to] * d.k[k]
		dk[k] += d.v[to] * a[x]
	})
	var norm [][]byte
	if d.norm {
		norm = [][]byte{float32s(d.center), float32s(d.scale), float32s(d.offset)}
		for i := range dx {
			if z := d.z(i); z <= 0 || z >= d.top {
				dx[i] = 0
			}
		}
	}
	run := func(call customop.Call, in [][]byte, out ...int) [][]byte {
		got := emulate(t, "depthwise.cu", call, in, out...)
		t.Run("backwards", func(t *testing.T) {
			t.Setenv("EMULATE_BACKWARDS", "1")
			for i, again := range emulate(t, "depthwise.cu", call, in, out...) {
				if !bytes.Equal(again, got[i]) {
					t.Errorf("output %d depends on the order of blocks and threads", i)
				}
			}
		})
		return got
	}

	call, parts := customop.DepthwiseForwardCall(p.n, p.h, p.w, p.c, d.stride, d.norm, float32(d.top))
	parts = min(parts, 2) // a block has several tiles
	call.GridY = parts
	in := append([][]byte{bf16s(d.x), float32s(d.k), float32s(d.any)}, norm...)
	out := run(call, in, 2*d.of.size(), parts*2*p.c*4)
	got := readBF16(out[0])
	rounded(t, "y", got, y, depthwiseResults)
	moments := make([]float64, 2*p.c)
	for i, y := range got {
		c := i % p.c
		moments[c] += y - d.any[c]
		moments[p.c+c] += (y - d.any[c]) * (y - d.any[c])
	}
	near(t, "moments", sumParts(readFloat32(out[1]), 2*p.c), moments, depthwiseSums)

	call, parts = customop.DepthwiseBackwardCall(p.n, p.h, p.w, p.c, d.stride, d.norm, float32(d.top))
	parts = min(parts, 2)
	call.GridY = parts
	in = append([][]byte{bf16s(d.x), bf16s(d.v), float32s(d.k)}, norm...)
	sizes := []int{2 * p.size(), parts * 9 * p.c * 4}
	if d.norm {
		sizes = append(sizes, parts*2*p.c*4)
	}
	out = run(call, in, sizes...)
	got = readBF16(out[0])
	rounded(t, "gradient by x", got, dx, depthwiseResults)
	near(t, "gradient by k", sumParts(readFloat32(out[1]), 9*p.c), dk, depthwiseSums)
	if d.norm {
		sums := make([]float64, 2*p.c)
		for i, g := range got {
			c := i % p.c
			sums[c] += g
			sums[p.c+c] += g * (d.x[i] - d.center[c])
		}
		near(t, "sums", sumParts(readFloat32(out[2]), 2*p.c), sums, depthwiseSums)
	}
}
