package product

import "github.com/bregman-ml/bregman/internal/pool"

// winograd is a pass by Winograd's method: forward, or back to the input.
//
// The squares go by in blocks. First all are transformed. Then a task, for a panel of columns and a part of the block,
// transforms its panel of the kernel, multiplies plane by plane, and transforms the results: the kernel's planes, which
// are larger than the kernel, are never all there.
type winograd struct {
	squares
	set    winogradSet
	tile   tile
	pack   *pass // packs the kernel
	c, o   int   // channels of x and y here
	panels int
	part   int     // squares in a task
	from   []int32 // offsets of a part's rows in a plane
	place  []int32
	depth  int // channels multiplied at a time

	first, block, ready int // the block under way: its first square, how many it may have, and has
	vPlane              int
	y, x                []float32
	v, own              []float32 // the block's planes, the workers' memory
	inTask, task        func(worker, task int)
}

// partSquares is how many squares a task has: enough to make up for the transform of its kernel.
const partSquares = 64

// kernelDepth is how many channels of a kernel are transformed at a time: 36 planes of 128×32 are 576 KiB.
const kernelDepth = 128

func newWinograd(c Conv, back bool, m int) *winograd {
	p := newPass(c, back)
	p.order = allTaps(c)
	if back {
		// dx = dy ⋆ w turned by 180° and transposed, with the borders that make it as large as x.
		oh, ow := c.OutSize()
		for i := range p.order {
			p.order[i] = 8 - i
		}
		c = Conv{N: c.N, H: oh, W: ow, C: c.OutC, KH: 3, KW: 3, OutC: c.C, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1,
			Groups: 1,
			PadTop: 2 - c.PadTop, PadBottom: 2 - c.PadBottom, PadLeft: 2 - c.PadLeft, PadRight: 2 - c.PadRight}
	}
	w := &winograd{squares: newSquares(c, m), set: winogradKernels(m), tile: p.tile, pack: p, c: c.C, o: c.OutC,
		panels: p.panels}
	w.part = min(partSquares, w.count)
	w.depth = min(kernelDepth, w.c)
	rows := w.tile.strips(w.part) * w.tile.rows
	for i := range rows {
		r := min(i, w.part-1)
		w.from = append(w.from, int32(r*w.c))
		w.place = append(w.place, int32(r*w.tile.columns))
	}
	w.inTask, w.task = w.runInput, w.runTask
	return w
}

// blockSquares is how many squares a block has: two tasks for each worker.
func (w *winograd) blockSquares(threads int) int {
	parts := 1
	if threads > 1 {
		parts = max(1, (2*threads+w.panels-1)/w.panels)
	}
	return min(w.count, parts*w.part)
}

// The floats a worker has for itself: a part of the kernel as it is and in planes, and results in planes.
func (w *winograd) ownSizes() (packed, kernel, result int) {
	planes := w.t * w.t
	return 9 * w.depth * w.tile.columns, planes * plane(w.depth*w.tile.columns), planes * plane(w.part*w.tile.columns)
}

func (w *winograd) ownSize() int {
	p, k, r := w.ownSizes()
	return max(bufferSize, p+k+r)
}

func (w *winograd) Scratch(threads int) int {
	return w.t*w.t*plane(w.blockSquares(threads)*w.c) + threads*w.ownSize()
}

func (w *winograd) run(on *pool.Pool, scratch, y, x, kernel []float32) {
	w.block = w.blockSquares(on.Threads())
	w.vPlane = plane(w.block * w.c)
	w.v, w.own = scratch[:w.t*w.t*w.vPlane], scratch[w.t*w.t*w.vPlane:]
	w.y, w.x, w.pack.kernel = y, x, kernel
	for w.first = 0; w.first < w.count; w.first += w.block {
		w.ready = min(w.block, w.count-w.first)
		on.Each((w.ready+inputSquares-1)/inputSquares, w.inTask)
		on.Each((w.ready+w.part-1)/w.part*w.panels, w.task)
	}
	w.y, w.x, w.v, w.own, w.pack.kernel = nil, nil, nil, nil, nil
}

// inputSquares is how many squares a task transforms.
const inputSquares = 8

func (w *winograd) runInput(worker, task int) {
	buffer := w.own[worker*w.ownSize():]
	for i := task * inputSquares; i < min((task+1)*inputSquares, w.ready); i++ {
		q := w.first + i
		w.set.input(w.v[i*w.c:], w.x[q/w.perImage*w.imageX:], w.zero, buffer, w.inList(q), w.vPlane, w.c, w.c+w.set.lanes, 0,
			w.m*w.c)
	}
}

func (w *winograd) runTask(worker, task int) {
	columns := w.tile.columns
	first, j := task/w.panels*w.part, task%w.panels*columns
	count, wide := min(w.part, w.ready-first), min(columns, w.o-j)
	nPacked, nKernel, _ := w.ownSizes()
	own := w.own[worker*w.ownSize():][:w.ownSize()]
	packed, kernel, result := own[:nPacked], own[nPacked:][:nKernel], own[nPacked+nKernel:]
	kPlane, rPlane := plane(w.depth*columns), plane(w.part*columns)
	for k := 0; k < w.c; k += w.depth {
		depth := min(w.depth, w.c-k)
		w.pack.packPart(packed, 0, j, k, depth)
		w.set.kernel(kernel, packed, kPlane, depth*columns, depth*columns)
		for p := range w.t * w.t {
			for i := 0; i < count; i += w.tile.rows {
				w.tile.gather(result[p*rPlane:], w.v[p*w.vPlane+first*w.c+k:], w.zero, kernel[p*kPlane:], w.place[i:], w.from[i:],
					0,
					1, depth, w.tile.rows*w.c, min(w.tile.rows, count-i), columns, k > 0)
			}
		}
	}
	for i := range count {
		q := w.first + first + i
		w.set.output(w.y[q/w.perImage*w.imageY+j:], w.spill, result[i*columns:], w.outList(q), rPlane, wide, w.m*w.o)
	}
}
