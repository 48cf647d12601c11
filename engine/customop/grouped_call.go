package customop

// The geometry of kernels/grouped.cu.

// groupedTaken reports whether the kernels take pictures of this shape. They count rows of all pictures, and the bytes
// of a step's rows, in 32 bits.
func groupedTaken(n, h, w, c int) bool {
	return n > 0 && h > 0 && w > 0 && c > 0 && c%groupWidth == 0 && n*h < 1<<30 && w < 1<<20 && w*c <= 1<<22
}

// groupedKind is one of the three kernels.
type groupedKind int

const (
	groupedForward groupedKind = iota
	groupedInput
	groupedKernel
)

// groupedPlan is how a kernel's work is shared out.
type groupedPlan struct {
	kind     groupedKind
	stride   int
	groups   int // of a block
	splits   int // blocks that have other groups of the same pixels
	segments int // of eight pixels of y, across a tile
	tiles    int // across a picture
	lines    int // rows of y in a step
	warps    int // of a group
	depth    int // steps whose rows are on their way
}

// unit is how many rows of y a warp computes at once.
func (p groupedPlan) unit() int {
	if p.kind != groupedInput && p.stride == 1 {
		return 4
	}
	return 2
}

// fetched is how many bytes a step reads.
func (p groupedPlan) fetched() int {
	pixels := p.lines * p.segments * groupWidth // of y
	switch p.kind {
	case groupedForward:
		pixels *= p.stride * p.stride
	case groupedKernel:
		pixels += pixels * p.stride * p.stride
	}
	return pixels * p.groups * 16
}

// moved is how many bytes a step reads and writes.
func (p groupedPlan) moved() int {
	if p.kind == groupedKernel {
		return p.fetched()
	}
	return p.lines * p.segments * groupWidth * (1 + p.stride*p.stride) * p.groups * 16
}

// shared is how many bytes of shared memory a block needs.
func (p groupedPlan) shared() int {
	pixel, tile := (p.groups|1)*16, p.segments*8
	if p.kind == groupedInput {
		ring := (p.lines*p.depth + 2) * (tile + 1)
		return (ring + 4*p.lines*tile) * pixel
	}
	ring := (p.stride*p.lines*p.depth + 4 - p.stride) * (p.stride*(tile-1) + 3)
	if p.kind == groupedForward {
		return (ring + p.lines*tile) * pixel
	}
	const sums = 20 * 32 * 4 // bytes of a warp's
	return max((ring+p.lines*p.depth*tile)*pixel, p.groups*p.warps*sums)
}

// What blocks are made for: a GPU of so many multiprocessors, with so many warps and so much shared memory each.
const (
	groupedMultiprocessors = 132
	groupedWarps           = 24
	groupedShared          = 220 << 10
	groupedMostShared      = 100 << 10 // of a block
	groupedMostWarps       = 12        // of a block
	groupedStep            = 16 << 10  // bytes that a step should read and write
	groupedInFlight        = 48 << 10  // bytes on their way to a multiprocessor that hide how long each takes
)

// groupedCall is the launch of a kernel for pictures x of this shape, with so many blocks one below the other.
func groupedCall(kind groupedKind, entry string, n, h, w, c, stride int) (Call, int) {
	out := func(side int) int { return (side-1)/stride + 1 }
	ceil := func(a, b int) int { return (a + b - 1) / b }
	p := groupedPlan{kind: kind, stride: stride}
	all := c / groupWidth
	p.splits = ceil(all, 8)
	p.groups = ceil(all, p.splits)
	across := ceil(out(w), 8)
	p.tiles = ceil(across, 4/stride)
	p.segments = ceil(across, p.tiles)
	p.tiles = ceil(across, p.segments)
	// A step is large enough for eight warps and for what it costs to begin one, if pictures are.
	p.lines = p.unit()
	tasks := p.segments // that warps can share
	for last := min(out(h), 8*p.unit()); p.lines < last && (p.groups*tasks < 8 || p.moved() < groupedStep); {
		p.lines += p.unit()
		tasks += p.segments
	}
	// Each warp has as many, in whole lines or in one line.
	fits := func(warps int) bool {
		return p.groups*warps <= groupedMostWarps && tasks%warps == 0 &&
			(warps%p.segments == 0 || p.segments%warps == 0)
	}
	for p.warps = tasks; p.warps > 1 && !fits(p.warps); {
		p.warps--
	}
	// As many blocks are on a multiprocessor as it can have, with enough bytes on their way to them.
	resident := min(max(groupedWarps/(p.groups*p.warps), 2), 4)
	for ; ; resident-- {
		p.depth = 2
		most := min(groupedShared/resident-1<<10, groupedMostShared)
		for _, deeper := range []int{3, 4, 6} {
			next := p
			next.depth = deeper
			if next.shared() <= most && resident*(p.depth-1)*p.fetched() < groupedInFlight {
				p = next
			}
		}
		if p.shared() <= most || resident == 1 {
			break
		}
	}
	steps := n * p.tiles * ceil(out(h), p.lines)
	parts := max(1, min(steps, groupedMultiprocessors*resident/p.splits))
	return Call{
		Kernel: entry,
		Dims: []int{h, w, c, p.groups, all - p.splits*(p.groups-1), p.segments, p.tiles, p.lines, p.warps, p.depth,
			steps / parts, steps % parts, p.shared()},
		GridX:  p.splits,
		GridY:  parts,
		Block:  32 * p.groups * p.warps,
		Shared: p.shared(),
	}, parts
}

// strided is the entry of a kernel for this stride.
func strided(kernel string, stride int) string {
	if stride == 1 {
		return kernel + "_1"
	}
	return kernel + "_2"
}

// GroupedForwardCall is the launch of the convolution of x, of this shape. Its inputs are x and the kernel
// [3, 3, 8, c].
func GroupedForwardCall(n, h, w, c, stride int) Call {
	call, _ := groupedCall(groupedForward, strided("grouped_forward", stride), n, h, w, c, stride)
	return call
}

// GroupedByInputCall is the launch of the gradient by x, of this shape, of a convolution of stride 2. Its inputs are
// the gradient by y and the kernel [3, 3, 8, c].
func GroupedByInputCall(n, h, w, c int) Call {
	call, _ := groupedCall(groupedInput, "grouped_by_input_2", n, h, w, c, 2)
	return call
}

// GroupedByKernelCall is the launch of the gradient by the kernel, and how many parts of the sum there are. Its
// inputs are x, of this shape, and the gradient by y.
func GroupedByKernelCall(n, h, w, c, stride int) (call Call, parts int) {
	return groupedCall(groupedKernel, strided("grouped_by_kernel", stride), n, h, w, c, stride)
}
