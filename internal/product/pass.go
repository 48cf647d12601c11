package product

import "github.com/bregman-ml/bregman/internal/pool"

// pass is a convolution as a product of pixels with a packed kernel: forward, or back to the input, where it has one
// gather for each class of pixels that meet the same taps.
type pass struct {
	conv           Conv
	tile           tile
	classes        []*gather
	ends           []int // of the classes' tasks
	order          []int // of the taps in a panel
	back           bool
	depth, columns int // channels per group: of the left matrix, of the result
	panels         int
	panel          int // floats in a panel

	zero           []float32
	kernel, packed []float32 // while a run lasts
	work           work
	packTask, task func(worker, task int)
}

func newPass(c Conv, back bool) *pass {
	p := &pass{conv: c, back: back}
	p.depth, p.columns = c.groupChannels()
	if back {
		p.depth, p.columns = p.columns, p.depth
	}
	p.tile = tileFor(p.columns, c.taps()*p.depth)
	p.panels = p.tile.panels(p.columns)
	p.panel = c.taps() * p.depth * p.tile.columns
	p.zero = make([]float32, p.depth*c.Groups)
	p.packTask, p.task = p.runPack, p.runTask
	return p
}

// add makes a class of pixels per image that meet the taps in list; out and in give offsets in image n.
func (p *pass) add(pixels int, list []int, out func(n, pixel int) int, in func(n, pixel, tap int) int32, aImage,
	cImage int) {
	if pixels == 0 {
		return
	}
	images := p.conv.N
	perBlock := p.tile.imagesPerBlock(pixels, images)
	// Tiles of the same pixel in several images meet the same taps, and skip those outside the image. That pays where
	// much of an image is border.
	abreast := false
	if pixels <= 64 && len(list) > 1 && images > 1 {
		switch {
		case images*pixels <= 2048 && images <= maxBlock:
			abreast, perBlock = true, images
		case images%p.tile.rows == 0:
			abreast, perBlock = true, p.tile.rows
		}
	}
	place := make([]int32, perBlock*pixels)
	from := make([][]int32, len(list))
	for t := range from {
		from[t] = make([]int32, len(place))
	}
	for i := range place {
		n, pixel := i/pixels, i%pixels
		if abreast {
			n, pixel = i%perBlock, i/perBlock
		}
		place[i] = int32(out(n, pixel))
		for t, tap := range list {
			from[t][i] = in(n, pixel, tap)
		}
	}
	g := newGather(p.tile, place, from, pixels, perBlock, images)
	g.firstTap = len(p.order)
	g.aBlock, g.cBlock = perBlock*aImage, perBlock*cImage
	p.order = append(p.order, list...)
	p.classes = append(p.classes, g)
	p.ends = append(p.ends, 0)
}

// Scratch is how many floats of scratch memory a run on so many threads takes.
func (p *pass) Scratch(threads int) int { return p.conv.Groups * p.panels * p.panel }

func (p *pass) run(on *pool.Pool, scratch, c, a, kernel []float32) {
	p.kernel, p.packed = kernel, scratch[:p.Scratch(on.Threads())]
	p.work = work{c: c, a: a, zero: p.zero, panels: p.packed, groups: p.conv.Groups, panelsPer: p.panels, panel: p.panel,
		depth: p.depth, columns: p.columns}
	on.Each(p.conv.Groups*p.panels, p.packTask)
	tasks := 0
	for i, g := range p.classes {
		tasks += g.split(on, p.conv.Groups*p.panels)
		p.ends[i] = tasks
	}
	on.Each(tasks, p.task)
	p.kernel, p.packed, p.work = nil, nil, work{}
}

// runPack packs a panel of a group.
func (p *pass) runPack(_, task int) {
	p.packPart(p.packed[task*p.panel:][:p.panel], task/p.panels, task%p.panels*p.tile.columns, 0, p.depth)
}

// packPart packs the panel from column j on of a group: rows k … k+depth−1 of each tap.
func (p *pass) packPart(dst []float32, group, j, k, depth int) {
	c := p.conv
	in, out := c.groupChannels()
	columns := min(p.tile.columns, p.columns-j)
	for i, tap := range p.order {
		w := p.kernel[tap*in*c.OutC+group*out:]
		to := dst[i*depth*p.tile.columns:]
		if p.back {
			packColumns(to, w[j*c.OutC+k:], c.OutC, depth, columns, p.tile.columns)
		} else {
			packRows(to, w[k*c.OutC+j:], c.OutC, depth, columns, p.tile.columns)
		}
	}
}

func (p *pass) runTask(_, task int) {
	class := 0
	for task >= p.ends[class] {
		class++
	}
	if class > 0 {
		task -= p.ends[class-1]
	}
	g := p.classes[class]
	first, last, from, to := g.part(task)
	g.span(&p.work, first, last, from, to)
}
