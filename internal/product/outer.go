package product

import "github.com/bregman-ml/bregman/internal/pool"

// outer is a sum over pixels of outer products, one sum for each tap of a kernel: dw[t] = Σ x[pixel under t]ᵀ·dy[pixel].
//
// The images go by in blocks. Those of x are packed with their borders, in strips as wide as a tile is high, so that all taps
// read the same copy; those of dy in panels. Then each tile adds the block's pixels to its part of dw: it is the only one to
// do so, and the sums are the same on any number of workers.
type outer struct {
	conv         Conv
	tile         tile
	in, out      int // channels per group
	strips       int // per group
	panels       int // per group
	high, wide   int // of the images with their borders
	outH, outW   int
	perBlock     int  // images
	transposed   bool // dy is stored channel by channel
	parts        int  // tasks that pack an image
	strip, panel int  // floats of an image in a strip, and in a panel

	first, images  int // the block under way
	dw, x, dy      []float32
	packedX, packY []float32
	packTask, task func(worker, task int)
}

// blockPixels is how many pixels a block has: 2048 of a panel of 32 are 256 KiB.
const blockPixels = 2048

func newOuter(c Conv, transposed bool) *outer {
	o := &outer{transposed: transposed, parts: 1}
	if c.taps() == 1 && c.StrideH*c.StrideW == 1 && c.PadTop+c.PadBottom+c.PadLeft+c.PadRight == 0 && c.Groups == 1 {
		// No borders: pixels are rows of a matrix, and an image is as many as we like. The last one is shorter.
		c.W *= c.N * c.H
		c.N, c.H = 1, 1
		o.parts = 4
	}
	o.conv = c
	o.in, o.out = c.groupChannels()
	o.tile = tileFor(o.out)
	o.strips, o.panels = o.tile.strips(o.in), o.tile.panels(o.out)
	o.outH, o.outW = c.OutSize()
	o.high = (o.outH-1)*c.StrideH + (c.KH-1)*c.DilationH + 1
	o.wide = (o.outW-1)*c.StrideW + (c.KW-1)*c.DilationW + 1
	if o.single() {
		o.outW = min(o.outW, blockPixels)
		o.wide = o.outW
	}
	o.perBlock = min(c.N, max(1, blockPixels/(o.outH*o.outW)))
	o.strip = o.high * o.wide * o.tile.rows
	o.panel = o.outH * o.outW * o.tile.columns
	o.packTask, o.task = o.runPack, o.runTask
	return o
}

// single says whether the pixels are one line that is cut into blocks.
func (o *outer) single() bool { return o.parts > 1 }

func (o *outer) packedSizes() (x, y int) {
	g := o.conv.Groups * o.perBlock
	return g * o.strips * o.strip, g * o.panels * o.panel
}

// Scratch is how many floats of scratch memory a run on so many threads takes.
func (o *outer) Scratch(int) int {
	x, y := o.packedSizes()
	return x + y
}

func (o *outer) run(on *pool.Pool, scratch, dw, x, dy []float32) {
	nx, ny := o.packedSizes()
	o.dw, o.x, o.dy = dw, x, dy
	o.packedX, o.packY = scratch[:nx], scratch[nx:][:ny]
	step, end := o.perBlock, o.conv.N
	if o.single() {
		step, end = o.outW, o.conv.W
	}
	for o.first = 0; o.first < end; o.first += step {
		o.images = min(step, end-o.first)
		packs := o.images
		if o.single() {
			packs = o.parts
		}
		on.Each(2*packs, o.packTask)
		on.Each(o.conv.Groups*o.panels*o.strips, o.task)
	}
	o.dw, o.x, o.dy, o.packedX, o.packY = nil, nil, nil, nil, nil
}

// runPack packs an image of x or dy, or a part of a line.
func (o *outer) runPack(_, task int) {
	n := task / 2
	switch {
	case o.single():
		from, to := o.images*n/o.parts, o.images*(n+1)/o.parts
		if task%2 == 0 {
			o.packLineX(from, to)
		} else {
			o.packLineY(from, to)
		}
	case task%2 == 0:
		o.packX(n)
	default:
		o.packDY(n)
	}
}

func (o *outer) packLineX(from, to int) {
	for s := range o.strips {
		c := s * o.tile.rows
		packRows(o.packedX[s*o.strip+from*o.tile.rows:], o.x[(o.first+from)*o.conv.C+c:], o.conv.C, to-from, min(o.tile.rows, o.in-c), o.tile.rows)
	}
}

func (o *outer) packLineY(from, to int) {
	for p := range o.panels {
		j := p * o.tile.columns
		dst := o.packY[p*o.panel+from*o.tile.columns:]
		columns := min(o.tile.columns, o.out-j)
		if o.transposed {
			packColumns(dst, o.dy[j*o.conv.W+o.first+from:], o.conv.W, to-from, columns, o.tile.columns)
		} else {
			packRows(dst, o.dy[(o.first+from)*o.out+j:], o.out, to-from, columns, o.tile.columns)
		}
	}
}

func (o *outer) packX(n int) {
	c := o.conv
	m := o.tile.rows
	image := o.x[(o.first+n)*c.H*c.W*c.C:]
	left := min(c.PadLeft, o.wide)
	inside := max(0, min(o.wide-left, c.W)) // the columns of x that are used
	for s := range c.Groups * o.strips {
		from := s/o.strips*o.in + s%o.strips*m
		channels := min(m, o.in-s%o.strips*m)
		dst := o.packedX[(s*o.perBlock+n)*o.strip:]
		for y := range o.high {
			line := dst[y*o.wide*m:][:o.wide*m]
			h := y - c.PadTop
			if h < 0 || h >= c.H || inside == 0 {
				clear(line)
				continue
			}
			clear(line[:left*m])
			packRows(line[left*m:], image[h*c.W*c.C+from:], c.C, inside, channels, m)
			clear(line[(left+inside)*m:])
		}
	}
}

func (o *outer) packDY(n int) {
	c := o.conv
	pixels := o.outH * o.outW
	image := o.dy[(o.first+n)*pixels*c.OutC:]
	for p := range c.Groups * o.panels {
		j := p % o.panels * o.tile.columns
		packRows(o.packY[(p*o.perBlock+n)*o.panel:], image[p/o.panels*o.out+j:], c.OutC, pixels, min(o.tile.columns, o.out-j), o.tile.columns)
	}
}

// runTask adds the block to one tile of each tap.
func (o *outer) runTask(_, task int) {
	c := o.conv
	strip, panel := task%o.strips, task/o.strips
	group := panel / o.panels
	i, j := strip*o.tile.rows, panel%o.panels*o.tile.columns
	a := o.packedX[(group*o.strips+strip)*o.perBlock*o.strip:]
	b := o.packY[panel*o.perBlock*o.panel:]
	images, wide := o.images, o.outW
	if o.single() {
		images, wide = 1, o.images
	}
	for t := range c.taps() {
		at := (t/c.KW*c.DilationH*o.wide + t%c.KW*c.DilationW) * o.tile.rows
		o.tile.outer(o.dw[(t*o.in+i)*c.OutC+group*o.out+j:], a[at:], b, c.OutC, images, o.outH, wide,
			o.strip, c.StrideH*o.wide*o.tile.rows, c.StrideW*o.tile.rows, min(o.tile.rows, o.in-i), min(o.tile.columns, o.out-j), o.first > 0)
	}
}
