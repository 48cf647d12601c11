package product

import "github.com/bregman-ml/bregman/internal/pool"

// gather is a product whose left rows and results are found by offsets. The rows come in blocks, of some images or some
// rows of a matrix, which all have the same offsets: block after block a and c move on.
type gather struct {
	tile
	place, from      []int32 // of the rows in a block; from for each tap, stride apart
	lastFrom         []int32 // of those in the last block, which must not look for rows that are not there
	stride           int     // rows in a block, as tiles
	firstTap, taps   int     // of the taps in the packed panels, those used here
	rows, last       int     // in a block, and in the last one
	blocks           int
	aBlock, cBlock   int // floats from block to block
	ahead            int // floats from a row to that of the next tile, where rows follow each other
	strips, perTask  int // tiles in all, and in a task
	panels, panelsBy int // in all, and in a task
}

// blockRows is how many rows a block has at least: then tiles that are not full are rare.
const blockRows = 192

// imagesPerBlock returns how many images of so many rows make a block.
func (t tile) imagesPerBlock(rows, images int) int {
	n := 1
	for n < images && n*rows < blockRows && n*rows%t.rows != 0 {
		n++
	}
	return n
}

// newGather makes the plan from offsets of the rows of a block of images, in any order, and of each tap's left rows.
func newGather(t tile, place []int32, from [][]int32, perImage, perBlock, images int) *gather {
	g := &gather{tile: t, taps: len(from), rows: len(place), last: len(place)}
	g.stride = t.strips(g.rows) * t.rows
	g.blocks = (images + perBlock - 1) / perBlock
	if rest := images % perBlock; rest > 0 {
		g.last = rest * perImage
	}
	g.place = padOffsets(place, g.stride)
	for _, f := range from {
		g.from = append(g.from, padOffsets(f, g.stride)...)
		g.lastFrom = append(g.lastFrom, padOffsets(f[:g.last], g.stride)...)
	}
	if g.last == g.rows {
		g.lastFrom = g.from
	}
	if len(from) == 1 && len(from[0]) > t.rows {
		g.ahead = max(0, int(from[0][t.rows]-from[0][0]))
	}
	g.strips = (g.blocks-1)*t.strips(g.rows) + t.strips(g.last)
	return g
}

// padOffsets repeats the last offset for rows that are computed and not stored.
func padOffsets(x []int32, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = x[min(i, len(x)-1)]
	}
	return out
}

// work is what a run multiplies with: where the matrices begin, panels of depth per tap.
type work struct {
	c, a, zero, panels []float32
	groups             int
	panelsPer, panel   int // panels per group, and floats in a panel of all taps
	depth, columns     int // per group
}

// span computes the tiles first … last−1 of the panels from … to−1, which are counted over all groups.
func (g *gather) span(w *work, first, last, from, to int) {
	if g.taps == 0 {
		g.clear(w, first, last, from, to)
		return
	}
	if w.groups > 1 && g.tile.groups != nil && w.columns == g.columns && g.taps <= mostTaps {
		g.sideBySide(w, first, last, from, to)
		return
	}
	for p := from; p < to; p++ {
		g.panel(w, first, last, p)
	}
}

// panel computes the tiles first … last−1 of a panel.
func (g *gather) panel(w *work, first, last, p int) {
	step := max(1, blockDepth/w.depth) // taps at a time, so that their part of the panel stays in the cache
	group, j := p/w.panelsPer, p%w.panelsPer*g.columns
	columns := min(g.columns, w.columns-j)
	c, a := w.c[group*w.columns+j:], w.a[group*w.depth:]
	for t := 0; t < g.taps; t += step {
		taps := min(step, g.taps-t)
		b := w.panels[p*w.panel+(g.firstTap+t)*w.depth*g.columns:]
		for k := 0; k < w.depth; k += blockDepth {
			depth := w.depth
			if taps == 1 {
				depth = min(blockDepth, w.depth-k)
			}
			g.run(c, a[k:], w.zero, b[k*g.columns:], first, last, t, taps, depth, columns, t+k > 0)
		}
	}
}

// blockDepth is how many rows of a panel are used before going to the next tile: 512 rows of 32 are 64 KiB.
const blockDepth = 512

// run computes tiles of a panel from some taps.
func (g *gather) run(c, a, zero, b []float32, first, last, tap, taps, depth, columns int, add bool) {
	perBlock := g.stride / g.tile.rows
	for s := first; s < last; s++ {
		block, i := s/perBlock, s%perBlock*g.tile.rows
		rows := min(g.tile.rows, g.rowsOf(block)-i)
		g.tile.gather(c[block*g.cBlock:], a[block*g.aBlock:], zero, b, g.place[i:], g.fromOf(block)[tap*g.stride+i:],
			g.stride,
			taps, depth, g.ahead, rows, columns, add)
	}
}

// sideBySide is span for groups as wide as a tile: a panel is a group.
func (g *gather) sideBySide(w *work, first, last, from, to int) {
	c, a := w.c[from*g.columns:], w.a[from*w.depth:]
	b := w.panels[from*w.panel+g.firstTap*w.depth*g.columns:]
	perBlock := g.stride / g.tile.rows
	for s := first; s < last; s++ {
		block, i := s/perBlock, s%perBlock*g.tile.rows
		g.tile.groups(c[block*g.cBlock:], a[block*g.aBlock:], w.zero, b, g.place[i:], g.fromOf(block)[i:], g.stride, g.taps,
			w.depth,
			min(g.tile.rows, g.rowsOf(block)-i), to-from, w.panel)
	}
}

// clear is span where no tap is met.
func (g *gather) clear(w *work, first, last, from, to int) {
	perBlock := g.stride / g.tile.rows
	begin, end := g.bounds(w, from, to)
	for s := first; s < last; s++ {
		block, i := s/perBlock, s%perBlock*g.tile.rows
		for r := i; r < min(i+g.tile.rows, g.rowsOf(block)); r++ {
			clear(w.c[block*g.cBlock+int(g.place[r]):][begin:end])
		}
	}
}

// bounds returns the columns of some panels of all groups.
func (g *gather) bounds(w *work, from, to int) (begin, end int) {
	at := func(p int) int { return p/w.panelsPer*w.columns + min(w.columns, p%w.panelsPer*g.columns) }
	return at(from), at(to)
}

// rowsOf is how many rows a block has.
func (g *gather) rowsOf(block int) int {
	if block == g.blocks-1 {
		return g.last
	}
	return g.rows
}

// fromOf is where the left rows of a block are.
func (g *gather) fromOf(block int) []int32 {
	if block == g.blocks-1 {
		return g.lastFrom
	}
	return g.from
}

// split sets the tasks for a pool: so many tiles and panels each that workers have a few tasks each, but a task is
// worth taking.
func (g *gather) split(p *pool.Pool, panels int) (tasks int) {
	g.perTask = min(g.strips, max(1, taskRows/g.tile.rows))
	g.panels, g.panelsBy = panels, panels
	if p.Threads() == 1 {
		return g.tasks()
	}
	for g.tasks() < 4*p.Threads() {
		switch {
		case g.panelsBy > 1 && g.perTask*g.tile.rows <= taskRows/4:
			g.panelsBy = (g.panelsBy + 1) / 2
		case g.perTask > 4:
			g.perTask = (g.perTask + 1) / 2
		case g.panelsBy > 1:
			g.panelsBy = (g.panelsBy + 1) / 2
		default:
			return g.tasks()
		}
	}
	return g.tasks()
}

// taskRows is how many rows a task has at most: their left elements stay in the cache from panel to panel.
const taskRows = 512

func (g *gather) rowTasks() int { return (g.strips + g.perTask - 1) / g.perTask }

func (g *gather) tasks() int { return g.rowTasks() * ((g.panels + g.panelsBy - 1) / g.panelsBy) }

// part returns the tiles and panels of a task.
func (g *gather) part(task int) (first, last, from, to int) {
	first = task % g.rowTasks() * g.perTask
	from = task / g.rowTasks() * g.panelsBy
	return first, min(first+g.perTask, g.strips), from, min(from+g.panelsBy, g.panels)
}
