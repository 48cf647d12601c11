package cpu

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/product"
)

// planned is a plan of package product.
type planned interface {
	Scratch(threads int) int
	Run(on *pool.Pool, scratch, c, a, b []float32)
}

// productStep runs a plan.
type productStep struct {
	plan    planned
	c, a, b *storage
}

func (s *productStep) run(x *execution) error {
	s.plan.Run(x.pool, x.scratch, x.float32s(s.c), x.float32s(s.a), x.float32s(s.b))
	return nil
}

func (c *compiler) product(n *node, plan planned, a, b *node) step {
	c.scratch = max(c.scratch, plan.Scratch(c.backend.pool.Threads()))
	return &productStep{plan, c.stored[n], c.stored[sourceOf(a)], c.stored[sourceOf(b)]}
}

// planConv recognises the three convolutions of pictures or sequences with channels last: forward, and the gradients
// of its input and its kernel as GoMLX writes them. It returns what is read and the plan, or nothing.
func planConv(n *node) ([]*node, func(c *compiler, n *node) (step, error)) {
	x, w := n.inputs[0], n.inputs[1]
	at := n.attr.(convAttr)
	in, ker, out := x.shape.Dimensions, w.shape.Dimensions, n.shape.Dimensions
	turns := []int{0, 1} // axes around which a kernel is turned
	if n.shape.Rank() == 3 {
		at, in, ker, out = at.lifted(in, ker, out)
		turns = turns[:1]
	}
	if n.shape.DType != dtypes.Float32 || len(out) != 4 || at.channelGroupCount > 1 && at.batchGroupCount > 1 {
		return nil, nil
	}
	stride, pad := pair(at.strides), at.paddings
	if pad == nil {
		pad = make([][2]int, 2)
	}
	spread, apart := pair(at.inputDilations), pair(at.kernelDilations)
	groups := max(at.channelGroupCount, 1)
	axes := at.axes
	last := compute.ConvolveAxesConfig{InputBatch: 0, InputChannels: 3, InputSpatial: []int{1, 2}, KernelInputChannels: 2,
		KernelOutputChannels: 3,
		KernelSpatial:        []int{0, 1}, OutputBatch: 0, OutputChannels: 3, OutputSpatial: []int{1, 2}}

	if sameAxes(axes, last) && spread == [2]int{1, 1} && at.batchGroupCount <= 1 {
		conv := product.Conv{N: in[0], H: in[1], W: in[2], C: in[3], KH: ker[0], KW: ker[1], OutC: ker[3], StrideH: stride[0],
			StrideW: stride[1],
			PadTop:  pad[0][0], PadBottom: pad[0][1], PadLeft: pad[1][0], PadRight: pad[1][1], DilationH: apart[0],
			DilationW: apart[1], Groups: groups}
		if conv.Check() == nil {
			return []*node{x, w}, func(c *compiler, n *node) (step, error) {
				return c.product(n, product.NewForward(conv), x, w),
					nil
			}
		}
		return nil, nil
	}

	// Input gradient: dy spread by the stride, with the kernel turned around and its channels exchanged. The
	// convolution forward had out's pictures, stride `spread`, and a kernel that is made from the one given.
	turned := last
	turned.KernelInputChannels, turned.KernelOutputChannels = 3, 2
	exchanged := sameAxes(axes, turned) && groups == 1
	if (exchanged || sameAxes(axes, last)) && stride == [2]int{1, 1} && at.batchGroupCount <= 1 {
		conv := product.Conv{N: out[0], H: out[1], W: out[2], C: out[3], KH: ker[0], KW: ker[1], OutC: in[3],
			StrideH: spread[0], StrideW: spread[1],
			DilationH: apart[0], DilationW: apart[1], Groups: groups}
		conv.PadTop, conv.PadBottom = before(out[1], in[1], ker[0], spread[0], apart[0], pad[0])
		conv.PadLeft, conv.PadRight = before(out[2], in[2], ker[1], spread[1], apart[1], pad[1])
		if conv.Check() != nil {
			return nil, nil
		}
		if oh, ow := conv.OutSize(); oh != in[1] || ow != in[2] {
			return nil, nil
		}
		if rev := sourceOf(w); exchanged && rev.op == compute.OpTypeReverse && sameSet(rev.attr.([]int), turns...) {
			kernel := rev.inputs[0] // turning it twice is not turning it
			return []*node{x, kernel}, func(c *compiler, n *node) (step, error) {
				return c.product(n, product.NewInputGradient(conv), x, kernel), nil
			}
		}
		return []*node{x, w}, func(c *compiler, n *node) (step, error) {
			return c.turnedProduct(n, product.NewInputGradient(conv), conv, x, w, exchanged), nil
		}
	}

	// Kernel gradient: the picture's channels as batch, its batch as channels, with dy as a kernel spread by the
	// stride.
	crossed := compute.ConvolveAxesConfig{InputBatch: 3, InputChannels: 0, InputSpatial: []int{1, 2},
		KernelInputChannels: 0, KernelOutputChannels: 3,
		KernelSpatial: []int{1, 2}, OutputBatch: 2, OutputChannels: 3, OutputSpatial: []int{0, 1}}
	if sameAxes(axes, crossed) && spread == [2]int{1, 1} && groups == 1 {
		conv := product.Conv{N: in[0], H: in[1], W: in[2], C: in[3], KH: out[0], KW: out[1], OutC: out[3], StrideH: apart[0],
			StrideW:   apart[1],
			DilationH: stride[0], DilationW: stride[1], Groups: max(at.batchGroupCount, 1)}
		var ok1, ok2 bool
		conv.PadTop, conv.PadBottom, ok1 = around(in[1], ker[1], out[0], apart[0], stride[0], pad[0])
		conv.PadLeft, conv.PadRight, ok2 = around(in[2], ker[2], out[1], apart[1], stride[1], pad[1])
		if ok1 && ok2 && conv.Check() == nil {
			if oh, ow := conv.OutSize(); oh == ker[1] && ow == ker[2] {
				return []*node{x, w}, func(c *compiler, n *node) (step, error) {
					return c.product(n, product.NewKernelGradient(conv), x, w), nil
				}
			}
		}
	}
	return nil, nil
}

// lifted makes a convolution along one axis one of pictures that are a pixel high.
func (at convAttr) lifted(in, ker, out []int) (convAttr, []int, []int, []int) {
	axes := at.axes.Clone()
	lift := func(dims []int, spatial []int, others ...*int) ([]int, []int) {
		s := spatial[0]
		for _, a := range others {
			if *a >= s {
				*a++
			}
		}
		return slices.Insert(slices.Clone(dims), s, 1), []int{s, s + 1}
	}
	in, axes.InputSpatial = lift(in, axes.InputSpatial, &axes.InputBatch, &axes.InputChannels)
	ker, axes.KernelSpatial = lift(ker, axes.KernelSpatial, &axes.KernelInputChannels, &axes.KernelOutputChannels)
	out, axes.OutputSpatial = lift(out, axes.OutputSpatial, &axes.OutputBatch, &axes.OutputChannels)
	at.axes = axes
	first := func(v []int) []int {
		if len(v) == 0 {
			return nil
		}
		return []int{1, v[0]}
	}
	at.strides = first(at.strides)
	at.inputDilations, at.kernelDilations = first(at.inputDilations), first(at.kernelDilations)
	if len(at.paddings) > 0 {
		at.paddings = [][2]int{{}, at.paddings[0]}
	}
	return at, in, ker, out
}

// turnedStep turns a kernel around first.
type turnedStep struct {
	turn    *moveStep
	product *productStep
}

func (s *turnedStep) run(x *execution) error {
	if err := s.turn.run(x); err != nil {
		return err
	}
	return s.product.run(x)
}

// turnedProduct makes the kernel [KH, KW, C/groups, OutC] of the convolution forward from the one that GoMLX convolves
// the gradient with: turned around, and within each group with its channels exchanged, [KH, KW, OutC/groups, C], unless
// the axes say so already.
func (c *compiler) turnedProduct(n *node, plan planned, conv product.Conv, x, w *node, exchanged bool) step {
	kernel := &storage{id: len(c.all), shape: w.shape, size: w.shape.Size() * 4, def: len(c.steps), last: len(c.steps)}
	c.all = append(c.all, kernel)
	in, out := conv.C/conv.Groups, conv.OutC/conv.Groups
	m := move{dims: []int{conv.KH, conv.KW, in, conv.Groups, out}, to: []int{conv.KW * in * conv.OutC * 4,
		in * conv.OutC * 4, conv.OutC * 4, out * 4, 4},
		size: 4, src: c.stored[sourceOf(w)]}
	row := out * conv.C * 4
	m.from = []int{-conv.KW * row, -row, 4, in * 4, conv.C * 4}
	if exchanged {
		m.from = []int{-conv.KW * row, -row, conv.OutC * 4, out * 4, 4}
	}
	m.start = (conv.KH*conv.KW - 1) * row
	m.collapse()
	p := c.product(n, plan, x, w).(*productStep)
	p.b = kernel
	return &turnedStep{&moveStep{moves: []move{m}, dst: kernel}, p}
}

// before returns the padding of the forward convolution whose input gradient is padded with pad. Forward, output i saw
// the inputs from i·stride − start on; backward the spread gradient is padded with reach − start in front, where reach
// is the kernel's extent less one.
func before(size, outSize, kernel, stride, dilation int, pad [2]int) (start, end int) {
	reach := dilation * (kernel - 1)
	start = reach - pad[0]
	// the least end that gives outSize; a larger one would change nothing, since the window would not fit once more
	return start, max(0, (outSize-1)*stride+reach+1-size-start)
}

// around returns the padding of the forward convolution whose kernel gradient is padded with pad.
func around(size, outSize, kernel, stride, dilation int, pad [2]int) (start, end int, ok bool) {
	start = pad[0]
	reach := dilation * (kernel - 1)
	end = max(0, (outSize-1)*stride+reach+1-size-start)
	return start, end, start >= 0
}

func pair(v []int) [2]int {
	out := [2]int{1, 1}
	for i := range v[:min(len(v), 2)] {
		out[i] = max(v[i], 1)
	}
	return out
}

func sameSet(v []int, want ...int) bool {
	v = slices.Sorted(slices.Values(v))
	return slices.Equal(v, want)
}

func sameAxes(a, b compute.ConvolveAxesConfig) bool {
	return a.InputBatch == b.InputBatch && a.InputChannels == b.InputChannels &&
		slices.Equal(a.InputSpatial, b.InputSpatial) &&
		a.KernelInputChannels == b.KernelInputChannels && a.KernelOutputChannels == b.KernelOutputChannels &&
		slices.Equal(a.KernelSpatial, b.KernelSpatial) &&
		a.OutputBatch == b.OutputBatch && a.OutputChannels == b.OutputChannels &&
		slices.Equal(a.OutputSpatial, b.OutputSpatial)
}
