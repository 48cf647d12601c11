package product

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bregman-ml/bregman/internal/pool"
)

// same is a square kernel with stride s whose padding keeps the size, or halves it.
func same(size, in, k, out, s, groups int) Conv {
	p := k / 2
	return Conv{N: 32, H: size, W: size, C: in, KH: k, KW: k, OutC: out, StrideH: s, StrideW: s, PadTop: p, PadBottom: p,
		PadLeft: p, PadRight: p, DilationH: 1, DilationW: 1, Groups: groups}
}

// layers are those of ResNet-18, MobileNet-v2 and RegNet for pictures of 32×32, 32 at a time.
var layers = []struct {
	name string
	conv Conv
}{
	{"stem", same(32, 3, 3, 64, 1, 1)},
	{"64@32", same(32, 64, 3, 64, 1, 1)},
	{"64-128s2", same(32, 64, 3, 128, 2, 1)},
	{"sc64-128", same(32, 64, 1, 128, 2, 1)},
	{"128@16", same(16, 128, 3, 128, 1, 1)},
	{"128-256s2", same(16, 128, 3, 256, 2, 1)},
	{"sc128-256", same(16, 128, 1, 256, 2, 1)},
	{"256@8", same(8, 256, 3, 256, 1, 1)},
	{"256-512s2", same(8, 256, 3, 512, 2, 1)},
	{"sc256-512", same(8, 256, 1, 512, 2, 1)},
	{"512@4", same(4, 512, 3, 512, 1, 1)},
	{"dw32@32", same(32, 32, 3, 32, 1, 32)},
	{"dw96@32", same(32, 96, 3, 96, 1, 96)},
	{"dw144@32s2", same(32, 144, 3, 144, 2, 144)},
	{"dw192@16", same(16, 192, 3, 192, 1, 192)},
	{"dw192@16s2", same(16, 192, 3, 192, 2, 192)},
	{"dw384@8", same(8, 384, 3, 384, 1, 384)},
	{"dw576@8s2", same(8, 576, 3, 576, 2, 576)},
	{"dw960@4", same(4, 960, 3, 960, 1, 960)},
	{"pw16-96@32", same(32, 16, 1, 96, 1, 1)},
	{"pw144-24@32", same(32, 144, 1, 24, 1, 1)},
	{"pw192-32@16", same(16, 192, 1, 32, 1, 1)},
	{"pw64-384@8", same(8, 64, 1, 384, 1, 1)},
	{"pw960-160@4", same(4, 960, 1, 160, 1, 1)},
	{"pw320-1280@4", same(4, 320, 1, 1280, 1, 1)},
	{"g8-64@32", same(32, 64, 3, 64, 1, 8)},
	{"g8-128@16", same(16, 128, 3, 128, 1, 16)},
	{"g8-240@8s2", same(8, 240, 3, 240, 2, 30)},
}

func benchmark(b *testing.B, threads int, flops float64, run func(on *pool.Pool)) {
	on := pool.New(threads)
	defer on.Close()
	for b.Loop() {
		run(on)
	}
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkConv(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, l := range layers {
		c := l.conv
		nx, nw, ny := c.sizes()
		x, w, y := random(r, nx), random(r, nw), random(r, ny)
		flops := 2 * float64(ny) * float64(c.taps()*c.C/c.Groups)
		f, g, k := NewForward(c), NewInputGradient(c), NewKernelGradient(c)
		for _, threads := range []int{1, 2} {
			scratch := make([]float32, max(f.Scratch(threads), g.Scratch(threads), k.Scratch(threads)))
			name := fmt.Sprintf("%s/threads=%d/", l.name, threads)
			b.Run(name+"forward", func(b *testing.B) {
				benchmark(b, threads, flops, func(on *pool.Pool) { f.Run(on, scratch, y, x, w) })
			})
			b.Run(name+"input", func(b *testing.B) {
				benchmark(b, threads, flops, func(on *pool.Pool) { g.Run(on, scratch, x, y, w) })
			})
			b.Run(name+"kernel", func(b *testing.B) {
				benchmark(b, threads, flops, func(on *pool.Pool) { k.Run(on, scratch, w, x, y) })
			})
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{1024, 1024, 1024}, {512, 512, 512}, {256, 256, 256}, {32768, 64, 576}, {512, 512, 4608},
		{32, 10, 512}} {
		m, n, k := s[0], s[1], s[2]
		a, bb, c := random(r, m*k), random(r, k*n), random(r, m*n)
		for flags := range 4 {
			p := NewMatMul(m, n, k, flags&1 > 0, flags&2 > 0)
			for _, threads := range []int{1, 2} {
				scratch := make([]float32, p.Scratch(threads))
				b.Run(fmt.Sprintf("%dx%dx%d/%s/threads=%d", m, n, k, [4]string{"NN", "TN", "NT", "TT"}[flags], threads),
					func(b *testing.B) {
						benchmark(b, threads, 2*float64(m)*float64(n)*float64(k), func(on *pool.Pool) { p.Run(on, scratch, c, a, bb) })
					})
			}
		}
	}
}
