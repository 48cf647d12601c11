package product

import "github.com/bregman-ml/bregman/internal/pool"

// MatMul is the plan of C = op(A)·op(B), all row-major and contiguous.
type MatMul struct {
	m, n, k int
	plan    convPlan
}

// NewMatMul makes the plan for C of m × n. A is m × k, or stored k × m with transA; B is k × n, or stored n × k with
// transB.
func NewMatMul(m, n, k int, transA, transB bool) *MatMul {
	if min(m, n, k) < 1 {
		panic("product: a matrix without elements")
	}
	if max(n, k) > maxImage {
		panic("product: a matrix with rows too long")
	}
	if transA {
		return &MatMul{m, n, k, newOuter(Conv{N: k, H: 1, W: 1, C: m, KH: 1, KW: 1, OutC: n, StrideH: 1, StrideW: 1,
			DilationH: 1, DilationW: 1, Groups: 1}, transB)}
	}
	// The rows of A are the pixels of a convolution with one tap; B is its kernel, or the transpose of it.
	c := Conv{N: m, H: 1, W: 1, C: k, KH: 1, KW: 1, OutC: n, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Groups: 1}
	if transB {
		c.C, c.OutC = n, k
	}
	p := newPass(c, transB)
	p.add(1, []int{0}, func(i, _ int) int { return i * n }, func(i, _, _ int) int32 { return int32(i * k) }, k, n)
	return &MatMul{m, n, k, p}
}

// Scratch is how many floats of scratch memory Run takes on a pool of so many threads.
func (p *MatMul) Scratch(threads int) int { return p.plan.Scratch(threads) }

// Run overwrites c.
func (p *MatMul) Run(on *pool.Pool, scratch, c, a, b []float32) {
	p.plan.run(on, scratch, c[:p.m*p.n], a[:p.m*p.k], b[:p.k*p.n])
}
