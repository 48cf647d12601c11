package product

import "github.com/bregman-ml/bregman/internal/pool"

// outer is a sum over pixels of outer products, one sum for each tap of a kernel: dw[t] = Σ x[pixel under
// t]ᵀ·dy[pixel].
//
// The images go by in blocks. Those of x are packed with their borders, in strips as wide as a tile is high, so that
// all taps read the same copy; those of dy in panels. Then each tile adds the block's pixels to its part of dw: it is
// the only one to do so, and the sums are the same on any number of workers.
//
// Where a pixel is used once there is no point in a copy: without borders x is read where it is, and dy where groups
// are narrow, except strips and panels that are not full.
type outer struct {
	conv             Conv
	tile             tile
	in, out          int // channels per group
	strips, panels   int // per group
	high, wide       int // of the packed images, with their borders
	outH, outW       int
	line             bool // no borders: the pixels are one line, which is cut into blocks
	transposed       bool // dy is stored channel by channel
	directX, directY bool
	merged           bool // few channels: a line of the kernel is one tap, whose channels are those of its pixels
	perBlock         int  // images, or pixels of the line
	strip, panel     int  // floats of an image, or of the line, in a strip and in a panel

	first, count   int // the block under way
	dw, x, dy      []float32
	packedX, packY []float32
	packTask, task func(worker, task int)
}

// blockPixels is how many pixels a block has: 2048 of a panel of 32 are 256 KiB.
const blockPixels = 2048

// lineBytes is the size of a block of a line: x and dy of its pixels stay in a cache of the second level.
const lineBytes = 512 << 10

func newOuter(c Conv, transposed bool) *outer {
	o := &outer{conv: c, transposed: transposed}
	o.in, o.out = c.groupChannels()
	o.tile = tileFor(o.out, blockPixels)
	o.outH, o.outW = c.OutSize()
	o.high = (o.outH-1)*c.StrideH + (c.KH-1)*c.DilationH + 1
	o.wide = (o.outW-1)*c.StrideW + (c.KW-1)*c.DilationW + 1
	pixels := o.outH * o.outW
	o.perBlock = min(c.N, max(1, blockPixels/pixels))
	o.directY = c.Groups > 1
	o.strip = o.high * o.wide * o.tile.rows
	switch {
	case c.taps() == 1 && c.PadTop+c.PadBottom+c.PadLeft+c.PadRight == 0:
		// A power of two between pixels would put them all into a few sets of the cache.
		o.directX = c.StrideW*c.C%512 != 0
		o.directY = c.OutC%512 != 0 && !transposed
		o.line = c.StrideH*c.StrideW*c.Groups == 1
		fit := max(512, lineBytes/4/(c.C+c.OutC))
		if o.line {
			o.perBlock, pixels = min(c.N*c.H*c.W, fit), 1
			o.strip = o.tile.rows
		} else {
			o.perBlock = min(c.N, max(1, fit/pixels))
		}
	case c.KW > 1 && c.DilationW == 1 && c.Groups == 1 && c.C < o.tile.rows/2:
		o.merged = true
		o.in *= c.KW
		o.strip = o.high * o.wide * c.C
	}
	o.strips, o.panels = o.tile.strips(o.in), o.tile.panels(o.out)
	o.panel = pixels * o.tile.columns
	o.packTask, o.task = o.runPack, o.runTask
	return o
}

func (o *outer) packedSizes() (x, y int) {
	y = o.conv.Groups * o.panels * o.panel * o.perBlock
	if o.merged {
		return o.strip*o.perBlock + o.strips*o.tile.rows, y
	}
	return o.conv.Groups * o.strips * o.strip * o.perBlock, y
}

// Scratch is how many floats of scratch memory a run on so many threads takes.
func (o *outer) Scratch(int) int {
	x, y := o.packedSizes()
	return x + y
}

// lineTasks is how many tasks pack a line's block.
const lineTasks = 8

func (o *outer) run(on *pool.Pool, scratch, dw, x, dy []float32) {
	nx, ny := o.packedSizes()
	o.dw, o.x, o.dy = dw, x, dy
	o.packedX, o.packY = scratch[:nx], scratch[nx:][:ny]
	end := o.conv.N
	if o.line {
		end *= o.conv.H * o.conv.W
	}
	for o.first = 0; o.first < end; o.first += o.perBlock {
		o.count = min(o.perBlock, end-o.first)
		packs := o.count
		if o.line {
			packs = lineTasks
		}
		on.Each(2*packs, o.packTask)
		on.Each(o.conv.Groups*o.panels*o.strips, o.task)
	}
	o.dw, o.x, o.dy, o.packedX, o.packY = nil, nil, nil, nil, nil
}

// runPack packs an image of x or dy, or a part of the line.
func (o *outer) runPack(_, task int) {
	n := task / 2
	from, to := o.count*n/lineTasks, o.count*(n+1)/lineTasks
	switch {
	case o.line && task%2 == 0:
		o.packLineX(from, to)
	case o.line:
		o.packLineY(from, to)
	case task%2 == 0 && o.merged:
		o.packMerged(n)
	case task%2 == 0:
		o.packX(n)
	default:
		o.packDY(n)
	}
}

// fullStrip and fullPanel say whether a kernel can read a strip or panel without touching what is not there.
func (o *outer) fullStrip(strip int) bool { return (strip+1)*o.tile.rows <= o.in }
func (o *outer) fullPanel(panel int) bool { return (panel+1)*o.tile.columns <= o.out }

func (o *outer) packLineX(from, to int) {
	for s := range o.strips {
		if o.directX && o.fullStrip(s) {
			continue
		}
		c := s * o.tile.rows
		packRows(o.packedX[(s*o.perBlock+from)*o.tile.rows:], o.x[(o.first+from)*o.conv.C+c:], o.conv.C, to-from,
			min(o.tile.rows, o.in-c), o.tile.rows)
	}
}

func (o *outer) packLineY(from, to int) {
	pixels := o.conv.N * o.conv.H * o.conv.W
	for p := range o.panels {
		if o.directY && o.fullPanel(p) {
			continue
		}
		j := p * o.tile.columns
		dst := o.packY[(p*o.perBlock+from)*o.tile.columns:]
		columns := min(o.tile.columns, o.out-j)
		if o.transposed {
			packColumns(dst, o.dy[j*pixels+o.first+from:], pixels, to-from, columns, o.tile.columns)
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
	inside := max(0, min(o.wide-left, c.W))
	for s := range c.Groups * o.strips {
		if o.directX && o.fullStrip(s%o.strips) {
			continue
		}
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

// packMerged copies an image with its borders.
func (o *outer) packMerged(n int) {
	c := o.conv
	image, dst := o.x[(o.first+n)*c.H*c.W*c.C:], o.packedX[n*o.strip:]
	left := min(c.PadLeft, o.wide) * c.C
	inside := min(o.wide*c.C-left, c.W*c.C)
	for y := range o.high {
		line := dst[y*o.wide*c.C:][:o.wide*c.C]
		clear(line)
		if h := y - c.PadTop; h >= 0 && h < c.H {
			copy(line[left:][:inside], image[h*c.W*c.C:])
		}
	}
}

func (o *outer) packDY(n int) {
	c := o.conv
	pixels := o.outH * o.outW
	image := o.dy[(o.first+n)*pixels*c.OutC:]
	for p := range c.Groups * o.panels {
		if o.directY && o.fullPanel(p%o.panels) {
			continue
		}
		j := p % o.panels * o.tile.columns
		packRows(o.packY[(p*o.perBlock+n)*o.panel:], image[p/o.panels*o.out+j:], c.OutC, pixels, min(o.tile.columns, o.out-j),
			o.tile.columns)
	}
}

// lattice is where the pixels of x lie for a tap: the first, and the distances between images, lines and pixels.
type lattice struct {
	x                  []float32
	image, line, pixel int
}

func (o *outer) lattice(group, strip int) lattice {
	c, m := o.conv, o.tile.rows
	switch {
	case o.directX && o.fullStrip(strip) && o.line:
		return lattice{o.x[o.first*c.C+strip*m:], 0, 0, c.C}
	case o.directX && o.fullStrip(strip):
		return lattice{o.x[o.first*c.H*c.W*c.C+group*o.in+strip*m:], c.H * c.W * c.C, c.StrideH * c.W * c.C, c.StrideW * c.C}
	case o.merged:
		return lattice{o.packedX[strip*m:], o.strip, c.StrideH * o.wide * c.C, c.StrideW * c.C}
	}
	return lattice{o.packedX[(group*o.strips+strip)*o.perBlock*o.strip:], o.strip, c.StrideH * o.wide * m, c.StrideW * m}
}

// runTask adds the block to one tile of each tap.
func (o *outer) runTask(_, task int) {
	c := o.conv
	strip, panel := task%o.strips, task/o.strips
	group := panel / o.panels
	panel %= o.panels
	i, j := strip*o.tile.rows, panel*o.tile.columns
	images, high, wide := o.count, o.outH, o.outW
	pixels := high * wide // in a unit of the block
	if o.line {
		images, high, wide, pixels = 1, 1, o.count, 1
	}
	a := o.lattice(group, strip)
	b, next := o.packY, o.tile.columns
	if o.directY && o.fullPanel(panel) {
		b, next = o.dy[o.first*pixels*c.OutC+group*o.out+j:], c.OutC
	} else {
		b = b[(group*o.panels+panel)*o.perBlock*o.panel:]
	}
	taps, lineTaps, each := c.taps(), c.KW, o.tile.rows
	if o.merged {
		taps, lineTaps, each = c.KH, 1, c.C
	}
	for t := range taps {
		at := (t/lineTaps*c.DilationH*o.wide + t%lineTaps*c.DilationW) * each
		o.tile.outer(o.dw[(t*o.in+i)*c.OutC+group*o.out+j:], a.x[at:], b, c.OutC, images, high, wide,
			a.image, a.line, a.pixel, next, min(o.tile.rows, o.in-i), min(o.tile.columns, o.out-j), o.first > 0)
	}
}
