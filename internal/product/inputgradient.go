package product

import "github.com/bregman-ml/bregman/internal/pool"

// InputGradient is the plan of dx, the gradient of ⟨dy, x ⋆ w⟩ in x.
//
// With strides a pixel of x meets only some of the taps, which depend on its place modulo the strides: each such class
// is a product of its own, and no multiplication is with a zero between pixels.
type InputGradient struct {
	conv Conv
	plan convPlan
}

// NewInputGradient makes the plan for a shape that Check accepts.
func NewInputGradient(c Conv) *InputGradient {
	c.must()
	if c.depthwise() && byLines(c, true) {
		return &InputGradient{c, newDepthwiseLines(c, true)}
	}
	if c.depthwise() && byLinesBack(c) {
		return &InputGradient{c, newDepthwiseBack(c)}
	}
	if c.depthwise() {
		return &InputGradient{c, newDepthwise(c, true)}
	}
	if m := winogradFor(c); m > 0 {
		return &InputGradient{c, newWinograd(c, true, m)}
	}
	p := newPass(c, true)
	oh, ow := c.OutSize()
	eachClass(c, func(high, wide int, at func(pixel int) (h, w int), taps []int) {
		p.add(high*wide, taps,
			func(n, pixel int) int {
				h, w := at(pixel)
				return ((n*c.H+h)*c.W + w) * c.C
			},
			func(n, pixel, tap int) int32 {
				h, w := at(pixel)
				return c.output(n, h, w, tap)
			},
			oh*ow*c.OutC, c.H*c.W*c.C)
	})
	return &InputGradient{c, p}
}

// eachClass calls f for each class of pixels of x: how many there are, which, and the taps they meet.
func eachClass(c Conv, f func(high, wide int, at func(pixel int) (h, w int), taps []int)) {
	for y := range min(c.StrideH, c.H) {
		for x := range min(c.StrideW, c.W) {
			var taps []int
			for t := range c.taps() {
				h, w := y+c.PadTop-t/c.KW*c.DilationH, x+c.PadLeft-t%c.KW*c.DilationW
				if h%c.StrideH == 0 && w%c.StrideW == 0 {
					taps = append(taps, t)
				}
			}
			high, wide := (c.H-y+c.StrideH-1)/c.StrideH, (c.W-x+c.StrideW-1)/c.StrideW
			f(high, wide, func(pixel int) (h, w int) {
				return y + pixel/wide*c.StrideH, x + pixel%wide*c.StrideW
			}, taps)
		}
	}
}

// Scratch is how many floats of scratch memory Run takes on a pool of so many threads.
func (p *InputGradient) Scratch(threads int) int { return p.plan.Scratch(threads) }

// Run overwrites dx.
func (p *InputGradient) Run(on *pool.Pool, scratch, dx, dy, w []float32) {
	nx, nw, ny := p.conv.sizes()
	p.plan.run(on, scratch, dx[:nx], dy[:ny], w[:nw])
}
