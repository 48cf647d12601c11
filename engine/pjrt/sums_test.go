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

// steps draws n whole multiples of a step, at most so many from zero.
func steps(rng *rand.Rand, n, most int, step float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(rng.IntN(2*most+1)-most) * step
	}
	return x
}

func TestSums(t *testing.T) {
	for _, c := range []struct{ rows, channels int }{
		{1, 8}, {5, 24}, {100, 2048}, {1000, 8}, {1000, 56}, {1000, 152}, {1000, 512}, {1000, 1280},
		{7 * 33 * 33, 24}, {7 * 33 * 33, 64}, {7 * 33 * 33, 368},
		{100, 8 * 67},      // a prime number of groups leaves threads without work
		{3000, 8 * 2 * 89}, // two blocks side by side
	} {
		rng := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.channels)))
		size := c.rows * c.channels
		// In float32, (x − center)·scale + offset is without error, so that both sides of a mask are told apart; it is 0
		// for some x, and 6 for some.
		x, center := steps(rng, size, 64, 1./8), steps(rng, c.channels, 16, 1./8)
		scale, offset := steps(rng, c.channels, 8, 1./4), steps(rng, c.channels, 64, 1./32)
		v := normal(rng, size, 0.5, 1)
		wide := normal(rng, size, 3, 1)
		shift := make([]float64, c.channels)
		for i := range shift {
			shift[i] = float64(float32(3 + 0.1*rng.NormFloat64()))
		}
		all := func(float64) bool { return true }
		for _, k := range []struct {
			kernel string
			inputs [][]byte
			passes func(z float64) bool
		}{
			{"moments", [][]byte{bf16s(wide), float32s(shift)}, nil},
			{"gradient_sums_linear", [][]byte{bf16s(x), bf16s(v), float32s(center)}, all},
			{"gradient_sums_relu", [][]byte{bf16s(x), bf16s(v), float32s(center), float32s(scale), float32s(offset)},
				func(z float64) bool { return z > 0 }},
			{"gradient_sums_relu6", [][]byte{bf16s(x), bf16s(v), float32s(center), float32s(scale), float32s(offset)},
				func(z float64) bool { return 0 < z && z < 6 }},
		} {
			t.Run(fmt.Sprintf("%s/%dx%d", k.kernel, c.rows, c.channels), func(t *testing.T) {
				call, parts := customop.SumsCall(k.kernel, c.rows, c.channels)
				want, sizes := make([]float64, 2*c.channels), make([]float64, 2*c.channels)
				add := func(i int, term float64) {
					want[i] += term
					sizes[i] += math.Abs(term)
				}
				for i := range size {
					j := i % c.channels
					if k.passes == nil {
						d := wide[i] - shift[j]
						add(j, d)
						add(c.channels+j, d*d)
					} else if d := x[i] - center[j]; k.passes(d*scale[j] + offset[j]) {
						add(j, v[i])
						add(c.channels+j, v[i]*d)
					}
				}
				out := emulate(t, "sums.cu", call, k.inputs, 4*parts*2*c.channels)[0]
				got := make([]float64, 2*c.channels)
				for i, part := range readFloat32(out) {
					got[i%len(got)] += part
				}
				// A term is off by three roundings at most (of x − shift, twice in its square, and of the product), and
				// what it is added to is rounded once for each of a thread's rows, and for each sum of a piece and of pieces
				// after that. The sizes of all terms bound what is rounded.
				lines := call.Block / call.Dims[2]
				roundings := 3 + (c.rows+parts*lines-1)/(parts*lines) + lines + call.Block/(16*call.Dims[2])
				for i := range got {
					if !(math.Abs(got[i]-want[i]) <= float64(roundings)*0x1p-24*sizes[i]) {
						t.Fatalf("sum %d is %v, want %v", i, got[i], want[i])
					}
				}
				t.Setenv("EMULATE_BACKWARDS", "1")
				if again := emulate(t, "sums.cu", call, k.inputs, len(out))[0]; !bytes.Equal(again, out) {
					t.Error("the result depends on the order of blocks and threads")
				}
			})
		}
	}
}

// The sum of two gradients, where y is above 0, is rounded once, and its sums are of what was written.
func TestJoinedSums(t *testing.T) {
	for _, c := range []struct{ rows, channels int }{{1, 8}, {5, 24}, {1000, 152}, {7623, 64}, {300, 2048},
		{3000, 8 * 2 * 89}} {
		t.Run(fmt.Sprintf("%dx%d", c.rows, c.channels), func(t *testing.T) { joinedSums(t, c.rows, c.channels) })
	}
}

func joinedSums(t *testing.T, rows, channels int) {
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(channels)))
	size := rows * channels
	x, v, w, y := normal(rng, size, 1, 1), normal(rng, size, 0, 1), normal(rng, size, 0.2, 1), steps(rng, size, 3, 1)
	center := steps(rng, channels, 16, 1./8)
	call, parts := customop.SumsCall("gradient_sums_joined", rows, channels)
	inputs := [][]byte{bf16s(x), bf16s(v), bf16s(w), bf16s(y), float32s(center)}
	out := emulate(t, "sums.cu", call, inputs, 4*parts*2*channels, 2*size)
	g := make([]float64, size)
	want, sizes := make([]float64, 2*channels), make([]float64, 2*channels)
	for i := range g {
		if y[i] > 0 {
			g[i] = fromBF16(toBF16(v[i] + w[i]))
		}
		for k, term := range []float64{g[i], g[i] * (x[i] - center[i%channels])} {
			want[k*channels+i%channels] += term
			sizes[k*channels+i%channels] += math.Abs(term)
		}
	}
	for i, got := range readBF16(out[1]) {
		if got != g[i] {
			t.Fatalf("gradient %d is %v, want %v", i, got, g[i])
		}
	}
	got := make([]float64, 2*channels)
	for i, part := range readFloat32(out[0]) {
		got[i%len(got)] += part
	}
	lines := call.Block / call.Dims[2]
	roundings := 3 + (rows+parts*lines-1)/(parts*lines) + lines + call.Block/(16*call.Dims[2]) // as in TestSums
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= float64(roundings)*0x1p-24*sizes[i]) {
			t.Fatalf("sum %d is %v, want %v", i, got[i], want[i])
		}
	}
	t.Setenv("EMULATE_BACKWARDS", "1")
	again := emulate(t, "sums.cu", call, inputs, len(out[0]), len(out[1]))
	if !bytes.Equal(again[0], out[0]) || !bytes.Equal(again[1], out[1]) {
		t.Error("the result depends on the order of blocks and threads")
	}
}

// Every block has work, whatever the shape.
func TestSumsLaunches(t *testing.T) {
	for _, channels := range []int{8, 16, 24, 56, 64, 96, 144, 152, 368, 536, 712, 960, 1280, 2048, 8 * 397, 8192} {
		for _, rows := range []int{1, 7, 100, 7623, 1 << 20} {
			c, parts := customop.SumsCall("moments", rows, channels)
			groups := c.Dims[2]
			lines := c.Block / groups
			if channels != 8*groups*c.GridY || parts != c.GridX || parts < 1 || lines < 1 || (parts-1)*lines >= rows {
				t.Errorf("%d×%d: %+v, %d parts", rows, channels, c, parts)
			}
			if used := lines * groups; used < c.Block*2/3 && groups > 1 {
				t.Errorf("%d×%d: %d of %d threads have work", rows, channels, used, c.Block)
			}
		}
	}
}
