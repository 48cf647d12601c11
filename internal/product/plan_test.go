package product

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/internal/pool"
)

// plans has a case for every way of computing.
func plans(r *rand.Rand) (names []string, runs []func(on *pool.Pool, scratch []float32) []float32,
	scratch []func(int) int) {
	add := func(name string, size int, s func(int) int, run func(on *pool.Pool, scratch, dst []float32)) {
		dst := make([]float32, size)
		names = append(names, name)
		scratch = append(scratch, s)
		runs = append(runs, func(on *pool.Pool, scratch []float32) []float32 {
			run(on, scratch, dst)
			return dst
		})
	}
	for flags := range 4 {
		m, n, k := 70, 90, 1300
		a, b := random(r, m*k), random(r, k*n)
		p := NewMatMul(m, n, k, flags&1 > 0, flags&2 > 0)
		add(fmt.Sprintf("product %d", flags), m*n, p.Scratch, func(on *pool.Pool, s, c []float32) { p.Run(on, s, c, a, b) })
	}
	for _, c := range []Conv{
		same(12, 40, 3, 72, 1, 1), same(12, 40, 3, 72, 2, 1), same(12, 24, 3, 24, 1, 24), same(12, 24, 5, 24, 2, 24),
		same(12, 32, 3, 32, 1, 4), same(12, 40, 1, 72, 1, 1), same(12, 40, 1, 72, 2, 1),
	} {
		c.N = 7
		nx, nw, ny := c.sizes()
		x, w, dy := random(r, nx), random(r, nw), random(r, ny)
		name := fmt.Sprintf(" %d×%d of %d→%d stride %d groups %d", c.KH, c.KW, c.C, c.OutC, c.StrideH, c.Groups)
		f, b, g := NewForward(c), NewInputGradient(c), NewKernelGradient(c)
		add("forward"+name, ny, f.Scratch, func(on *pool.Pool, s, d []float32) { f.Run(on, s, d, x, w) })
		add("input gradient"+name, nx, b.Scratch, func(on *pool.Pool, s, d []float32) { b.Run(on, s, d, dy, w) })
		add("kernel gradient"+name, nw, g.Scratch, func(on *pool.Pool, s, d []float32) { g.Run(on, s, d, x, dy) })
	}
	return names, runs, scratch
}

func TestResultsAreTheSameOnAnyNumberOfWorkers(t *testing.T) {
	names, runs, scratch := plans(rand.New(rand.NewPCG(9, 10)))
	for i, name := range names {
		var want []float32
		for _, threads := range []int{1, 2, 5} {
			on := pool.New(threads)
			for range 3 {
				got := runs[i](on, make([]float32, scratch[i](threads)))
				if want == nil {
					want = append(want, got...)
				}
				for j := range want {
					if math.Float32bits(got[j]) != math.Float32bits(want[j]) {
						t.Fatalf("%s on %d workers: element %d is %v, was %v", name, threads, j, got[j], want[j])
					}
				}
			}
			on.Close()
		}
	}
}

func TestRunsAllocateNothing(t *testing.T) {
	names, runs, scratch := plans(rand.New(rand.NewPCG(11, 12)))
	on := pool.New(2)
	defer on.Close()
	for i, name := range names {
		s := make([]float32, scratch[i](2))
		if n := testing.AllocsPerRun(5, func() { runs[i](on, s) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestNaNAndInfinityReachWhatTheyHaveAPartIn(t *testing.T) {
	levels(t, func(t *testing.T) {
		on := pool.New(2)
		defer on.Close()
		r := rand.New(rand.NewPCG(13, 14))
		for range 30 {
			c := randomConv(r)
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
				checkBad(t, on, r, c, bad)
			}
		}
	})
}

// checkBad puts a bad number into each input in turn: outputs that it has a part in must not be finite.
func checkBad(t *testing.T, on *pool.Pool, r *rand.Rand, c Conv, bad float32) {
	t.Helper()
	nx, nw, ny := c.sizes()
	x, w, y := random(r, nx), random(r, nw), random(r, ny)
	bx, bw, by := r.IntN(nx), r.IntN(nw), r.IntN(ny)
	poison := func(s []float32, i int) []float32 {
		p := append([]float32(nil), s...)
		p[i] = bad
		return p
	}
	f, b, g := NewForward(c), NewInputGradient(c), NewKernelGradient(c)
	out := func(p interface{ Scratch(int) int }, n int, run func(scratch, dst []float32)) []float32 {
		dst := make([]float32, n)
		run(scratchFor(on.Threads(), p), dst)
		return dst
	}
	fx := out(f, ny, func(s, d []float32) { f.Run(on, s, d, poison(x, bx), w) })
	fw := out(f, ny, func(s, d []float32) { f.Run(on, s, d, x, poison(w, bw)) })
	iy := out(b, nx, func(s, d []float32) { b.Run(on, s, d, poison(y, by), w) })
	iw := out(b, nx, func(s, d []float32) { b.Run(on, s, d, y, poison(w, bw)) })
	kx := out(g, nw, func(s, d []float32) { g.Run(on, s, d, poison(x, bx), y) })
	ky := out(g, nw, func(s, d []float32) { g.Run(on, s, d, x, poison(y, by)) })
	check := func(what string, v float32) {
		if d := float64(v); !math.IsNaN(d) && !math.IsInf(d, 0) {
			t.Fatalf("%s of %+v with a %v is %v", what, c, bad, v)
		}
	}
	visit(c, func(i, k, o int) {
		if i == bx {
			check("forward", fx[o])
			check("kernel gradient", kx[k])
		}
		if k == bw {
			check("forward", fw[o])
			check("input gradient", iw[i])
		}
		if o == by {
			check("input gradient", iy[i])
			check("kernel gradient", ky[k])
		}
	})
}

func TestWinogradsMethodIsUsedWhereItPays(t *testing.T) {
	for _, l := range []struct {
		conv Conv
		want int
	}{
		{same(32, 64, 3, 64, 1, 1), 4}, {same(4, 512, 3, 512, 1, 1), 4}, {same(7, 64, 3, 64, 1, 1), 4},
		{same(2, 512, 3, 512, 1, 1), 0}, // squares that are mostly border
		{same(32, 64, 3, 64, 2, 1), 0}, {same(32, 64, 1, 64, 1, 1), 0}, {same(32, 3, 3, 64, 1, 1), 0},
		{same(32, 64, 3, 64, 1, 8), 0},
	} {
		if m := winogradFor(l.conv); m != l.want {
			t.Errorf("squares of %d for %+v, want %d", m, l.conv, l.want)
		}
	}
}

func TestShapesThatMakeNoSenseAreRefused(t *testing.T) {
	good := same(8, 16, 3, 16, 1, 1)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(c *Conv){
		"no images":          func(c *Conv) { c.N = 0 },
		"no stride":          func(c *Conv) { c.StrideW = 0 },
		"no dilation":        func(c *Conv) { c.DilationH = 0 },
		"negative padding":   func(c *Conv) { c.PadLeft = -1 },
		"groups":             func(c *Conv) { c.Groups = 3 },
		"too large a kernel": func(c *Conv) { c.KH = 11 },
	} {
		c := good
		change(&c)
		if c.Check() == nil {
			t.Errorf("%s: %+v is accepted", what, c)
		}
	}
}
