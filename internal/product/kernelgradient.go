package product

import "github.com/bregman-ml/bregman/internal/pool"

// KernelGradient is the plan of dw, the gradient of ⟨dy, x ⋆ w⟩ in w.
type KernelGradient struct {
	conv Conv
	plan convPlan
}

// NewKernelGradient makes the plan for a shape that Check accepts.
func NewKernelGradient(c Conv) *KernelGradient {
	c.must()
	if c.depthwise() {
		return &KernelGradient{c, newDepthwiseGradient(c)}
	}
	if m := winogradFor(c); m > 0 {
		return &KernelGradient{c, newWinogradGradient(c, m)}
	}
	return &KernelGradient{c, newOuter(c, false)}
}

// Scratch is how many floats of scratch memory Run takes on a pool of so many threads.
func (p *KernelGradient) Scratch(threads int) int { return p.plan.Scratch(threads) }

// Run overwrites dw.
func (p *KernelGradient) Run(on *pool.Pool, scratch, dw, x, dy []float32) {
	nx, nw, ny := p.conv.sizes()
	p.plan.run(on, scratch, dw[:nw], x[:nx], dy[:ny])
}
