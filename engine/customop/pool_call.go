package customop

// The geometry of kernels/pool.cu.

const poolThreads = 256

// poolTaken reports whether the kernels take pictures of this shape. They count groups of eight channels in 32 bits.
func poolTaken(n, h, w, c int) bool {
	return n > 0 && h > 0 && w > 0 && c > 0 && c%8 == 0 && n*h*w*(c/8) < 1<<31
}

// PoolCall is the launch of the gradient of windows of 2×2 or 3×3 pixels, two apart, for pictures x of this shape. Its
// inputs are x and the gradient by the maxima; its output is the gradient by x.
func PoolCall(n, h, w, c, side int) Call {
	groups := c / 8
	rows, columns := (h+1)/2, (w+1)/2
	if side == 2 {
		work := n * rows * columns * groups
		return Call{
			Kernel: "pool2_gradient",
			Dims:   []int{work, h, w, groups},
			GridX:  (work + poolThreads - 1) / poolThreads,
			GridY:  1,
			Block:  poolThreads,
		}
	}
	own := poolGroups(groups)
	strips := (columns*own + poolThreads - 1) / poolThreads
	strip := (columns + strips - 1) / strips
	// Rows that two bands share are read twice, so there are only as many bands as fill a GPU a few times.
	const enough, fewest = 1024, 8
	blocks := n * strips * (groups / own)
	bands := min((enough+blocks-1)/blocks, (rows+fewest-1)/fewest)
	band := (rows + bands - 1) / bands
	bands = (rows + band - 1) / band
	const stages = 3
	return Call{
		Kernel: "pool3_gradient",
		Dims:   []int{h, w, groups, own, strip, strips, band, bands},
		GridX:  n * strips * bands,
		GridY:  groups / own,
		Block:  (strip*own + 31) / 32 * 32,
		Shared: stages * (5*strip + 7) * own * 16,
	}
}

// poolGroups is how many groups of eight channels a block has: a divisor of all.
func poolGroups(groups int) int {
	for d := 8; d > 1; d-- {
		if groups%d == 0 {
			return d
		}
	}
	return 1
}
