package product

import "github.com/bregman-ml/bregman/internal/pool"

// Forward is the plan of y = x ⋆ w.
type Forward struct {
	conv Conv
	plan convPlan
}

// convPlan is a way to compute a pass: dst from two inputs.
type convPlan interface {
	Scratch(threads int) int
	run(on *pool.Pool, scratch, dst, left, right []float32)
}

// NewForward makes the plan for a shape that Check accepts.
func NewForward(c Conv) *Forward {
	c.must()
	if c.depthwise() && byLines(c, false) {
		return &Forward{c, newDepthwiseLines(c, false)}
	}
	if c.depthwise() {
		return &Forward{c, newDepthwise(c, false)}
	}
	if m := winogradFor(c); m > 0 {
		return &Forward{c, newWinograd(c, false, m)}
	}
	p := newPass(c, false)
	oh, ow := c.OutSize()
	p.add(oh*ow, allTaps(c),
		func(n, pixel int) int { return (n*oh*ow + pixel) * c.OutC },
		func(n, pixel, tap int) int32 { return c.input(n, pixel/ow, pixel%ow, tap) },
		c.H*c.W*c.C, oh*ow*c.OutC)
	return &Forward{c, p}
}

func allTaps(c Conv) []int {
	taps := make([]int, c.taps())
	for i := range taps {
		taps[i] = i
	}
	return taps
}

// Scratch is how many floats of scratch memory Run takes on a pool of so many threads.
func (p *Forward) Scratch(threads int) int { return p.plan.Scratch(threads) }

// Run overwrites y.
func (p *Forward) Run(on *pool.Pool, scratch, y, x, w []float32) {
	nx, nw, ny := p.conv.sizes()
	p.plan.run(on, scratch, y[:ny], x[:nx], w[:nw])
}
