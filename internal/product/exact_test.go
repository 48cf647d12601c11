package product

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/internal/pool"
)

// levels runs f with each set of kernels this machine has.
func levels(t *testing.T, f func(t *testing.T)) {
	was := level
	for l := range best + 1 {
		t.Run(fmt.Sprintf("level%d", l), func(t *testing.T) {
			level = l
			f(t)
		})
	}
	level = was
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// exact collects a result and the sum of the terms' absolute values in float64.
type exact struct {
	value, size []float64
	terms       []int
}

func newExact(n int) exact { return exact{make([]float64, n), make([]float64, n), make([]int, n)} }

func (e exact) add(i int, a, b float32) {
	e.value[i] += float64(a) * float64(b)
	e.size[i] += math.Abs(float64(a) * float64(b))
	e.terms[i]++
}

// compare fails where got is further from the exact value than rounding explains: a sum of n products in any order is
// wrong by at most n·2⁻²⁴·Σ|terms|, first order; one more for every term on the way is room for the second.
func (e exact) compare(t *testing.T, what string, got []float32) {
	t.Helper()
	for i, v := range e.value {
		bound := float64(e.terms[i]+2) * 0x1p-24 * e.size[i]
		if d := math.Abs(float64(got[i]) - v); !(d <= bound) {
			t.Fatalf("%s: element %d is %v, want %v: off by %.3g, more than %.3g", what, i, got[i], v, d, bound)
		}
	}
}

func exactMatMul(m, n, k int, transA, transB bool, a, b []float32) exact {
	e := newExact(m * n)
	for i := range m {
		for j := range n {
			for l := range k {
				ai, bi := i*k+l, l*n+j
				if transA {
					ai = l*m + i
				}
				if transB {
					bi = j*k + l
				}
				e.add(i*n+j, a[ai], b[bi])
			}
		}
	}
	return e
}

// visit calls f with the offsets of every product of a convolution.
func visit(c Conv, f func(x, w, y int)) {
	oh, ow := c.OutSize()
	in, out := c.groupChannels()
	for n := range c.N {
		for i := range oh {
			for j := range ow {
				for a := range c.KH {
					for b := range c.KW {
						h, w := i*c.StrideH+a*c.DilationH-c.PadTop, j*c.StrideW+b*c.DilationW-c.PadLeft
						if h < 0 || h >= c.H || w < 0 || w >= c.W {
							continue
						}
						for o := range c.OutC {
							for k := range in {
								f(((n*c.H+h)*c.W+w)*c.C+o/out*in+k, ((a*c.KW+b)*in+k)*c.OutC+o, ((n*oh+i)*ow+j)*c.OutC+o)
							}
						}
					}
				}
			}
		}
	}
}

func scratchFor(threads int, p interface{ Scratch(int) int }) []float32 {
	s := make([]float32, p.Scratch(threads))
	for i := range s {
		s[i] = float32(math.NaN()) // what a plan leaves there must not matter
	}
	return s
}

func TestMatMulIsExactUpToRounding(t *testing.T) {
	levels(t, func(t *testing.T) {
		on := pool.New(3)
		defer on.Close()
		r := rand.New(rand.NewPCG(1, 2))
		for trial := range 60 {
			m, n, k := 1+r.IntN(70), 1+r.IntN(70), 1+r.IntN(70)
			switch trial % 10 {
			case 0:
				m = 1 + r.IntN(600)
			case 1:
				k = 1 + r.IntN(5000)
			case 2:
				n = 1 + r.IntN(200)
			}
			for flags := range 4 {
				ta, tb := flags&1 > 0, flags&2 > 0
				a, b, c := random(r, m*k), random(r, k*n), random(r, m*n)
				p := NewMatMul(m, n, k, ta, tb)
				p.Run(on, scratchFor(3, p), c, a, b)
				exactMatMul(m, n, k, ta, tb, a, b).compare(t, fmt.Sprintf("%d×%d×%d %v %v", m, n, k, ta, tb), c)
			}
		}
	})
}

// randomConv returns any small shape.
func randomConv(r *rand.Rand) Conv {
	for {
		c := Conv{
			N: 1 + r.IntN(5), H: 1 + r.IntN(12), W: 1 + r.IntN(12), KH: 1 + r.IntN(4), KW: 1 + r.IntN(4),
			StrideH: 1 + r.IntN(3), StrideW: 1 + r.IntN(3), PadTop: r.IntN(4), PadBottom: r.IntN(4), PadLeft: r.IntN(4),
			PadRight:  r.IntN(4),
			DilationH: 1 + r.IntN(2), DilationW: 1 + r.IntN(2), Groups: 1,
		}
		in, out := 1+r.IntN(20), 1+r.IntN(40)
		switch r.IntN(4) {
		case 0:
			c.Groups = 1 + r.IntN(5)
			if r.IntN(2) > 0 {
				in, out = 8*(1+r.IntN(2)), 8*(1+r.IntN(2))
			}
		case 1:
			c.Groups = 1 + r.IntN(70)
			in, out = 1, 1
			if r.IntN(2) > 0 { // by lines
				c.KH, c.KW, c.DilationH, c.DilationW, c.PadLeft, c.PadRight, c.StrideW = 3, 3, 1, 1, 1, 1, 1+r.IntN(2)
				c.W *= c.StrideW
				if r.IntN(3) > 0 {
					c.StrideH = c.StrideW
				}
			}
		case 2: // the usual one
			c.KH, c.KW, c.StrideH, c.StrideW, c.DilationH, c.DilationW = 3, 3, 1, 1, 1, 1
		}
		c.C, c.OutC = in*c.Groups, out*c.Groups
		if c.Check() == nil {
			return c
		}
	}
}

// compareScale is compare for Winograd's method, where an element also has the rounding errors of its neighbours in the
// square: 1e-5 of the largest element. What is measured for normally distributed numbers is a quarter of that with 4×4
// squares, less than for the plain sum with 2×2.
func (e exact) compareScale(t *testing.T, what string, got []float32) {
	t.Helper()
	scale := 0.0
	for _, v := range e.value {
		scale = max(scale, math.Abs(v))
	}
	for i, v := range e.value {
		if d := math.Abs(float64(got[i]) - v); !(d <= 1e-5*scale) {
			t.Fatalf("%s: element %d is %v, want %v: off by %.3g of the scale", what, i, got[i], v, d/scale)
		}
	}
}

func checkConv(t *testing.T, on *pool.Pool, r *rand.Rand, c Conv) {
	t.Helper()
	nx, nw, ny := c.sizes()
	x, w, dy := random(r, nx), random(r, nw), random(r, ny)
	y, dx, dw := random(r, ny), random(r, nx), random(r, nw)
	ey, ex, ew := newExact(ny), newExact(nx), newExact(nw)
	visit(c, func(i, k, o int) {
		ey.add(o, x[i], w[k])
		ex.add(i, dy[o], w[k])
		ew.add(k, x[i], dy[o])
	})
	defer func() { winogradSquare = automatic }()
	for _, square := range []int{0, 2, 4} {
		winogradSquare = square
		compare := exact.compare
		if winogradFor(c) > 0 {
			compare = exact.compareScale
		} else if square > 0 {
			continue
		}
		f, b, g := NewForward(c), NewInputGradient(c), NewKernelGradient(c)
		what := fmt.Sprintf("%+v, squares of %d", c, square)
		f.Run(on, scratchFor(on.Threads(), f), y, x, w)
		compare(ey, t, "forward "+what, y)
		b.Run(on, scratchFor(on.Threads(), b), dx, dy, w)
		compare(ex, t, "input gradient "+what, dx)
		g.Run(on, scratchFor(on.Threads(), g), dw, x, dy)
		compare(ew, t, "kernel gradient "+what, dw)
	}
}

func TestConvolutionsAreExactUpToRounding(t *testing.T) {
	levels(t, func(t *testing.T) {
		on := pool.New(2)
		defer on.Close()
		r := rand.New(rand.NewPCG(3, 4))
		for range 200 {
			checkConv(t, on, r, randomConv(r))
		}
	})
}
