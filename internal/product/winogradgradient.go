package product

import (
	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/vec"
)

// winogradGradient is the gradient in the kernel by Winograd's method.
//
// The squares go by in blocks: those of x and dy are transformed, then each tile of each plane is a sum of outer
// products over the block's squares. A task does a tile in all planes, transforms the sums back to the nine taps, and
// adds them to its part of dw.
type winogradGradient struct {
	squares
	set            winogradSet
	tile           tile
	c, o           int
	group          int // channels of x that lie together: whole vectors and whole strips
	strips, panels int
	block          int

	first, ready   int
	xPlane, yPlane int
	dw, x, dy      []float32
	v, g, own      []float32
	inTask, task   func(worker, task int)
}

// gradientSquares is how many squares a block has.
const gradientSquares = 128

func newWinogradGradient(c Conv, m int) *winogradGradient {
	w := &winogradGradient{squares: newSquares(c, m), set: winogradKernels(m), c: c.C, o: c.OutC}
	w.tile = tileOf(c.OutC, gradientSquares, w.set.lanes)
	w.strips, w.panels = w.tile.strips(c.C), w.tile.panels(c.OutC)
	for w.group = w.set.lanes; w.group%w.tile.rows != 0; {
		w.group += w.set.lanes
	}
	blocks := (w.count + gradientSquares - 1) / gradientSquares
	w.block = (w.count + blocks - 1) / blocks
	w.xPlane = plane((w.c + w.group - 1) / w.group * w.group * w.block)
	w.yPlane = plane(w.panels * w.tile.columns * w.block)
	w.inTask, w.task = w.runInput, w.runTask
	return w
}

func (w *winogradGradient) tilePlane() int { return plane(w.tile.rows * w.tile.columns) }

// ownSize is the floats a worker has for itself: a tile in all planes, and in the nine taps.
func (w *winogradGradient) ownSize() int {
	return max(bufferSize, w.t*w.t*w.tilePlane()+9*w.tile.rows*w.tile.columns)
}

func (w *winogradGradient) Scratch(threads int) int {
	return w.t*w.t*(w.xPlane+w.yPlane) + threads*w.ownSize()
}

func (w *winogradGradient) run(on *pool.Pool, scratch, dw, x, dy []float32) {
	planes := w.t * w.t
	w.v, w.g, w.own = scratch[:planes*w.xPlane], scratch[planes*w.xPlane:][:planes*w.yPlane],
		scratch[planes*(w.xPlane+w.yPlane):]
	w.dw, w.x, w.dy = dw, x, dy
	for w.first = 0; w.first < w.count; w.first += w.block {
		w.ready = min(w.block, w.count-w.first)
		on.Each((w.ready+inputSquares-1)/inputSquares, w.inTask)
		on.Each(w.strips*w.panels, w.task)
	}
	w.dw, w.x, w.dy, w.v, w.g, w.own = nil, nil, nil, nil, nil, nil
}

func (w *winogradGradient) runInput(worker, task int) {
	buffer := w.own[worker*w.ownSize():]
	columns := w.tile.columns
	for i := task * inputSquares; i < min((task+1)*inputSquares, w.ready); i++ {
		q := w.first + i
		w.set.input(w.v[i*w.group:], w.x[q/w.perImage*w.imageX:], w.zero, buffer, w.inList(q), w.xPlane, w.c, w.group,
			(w.block-1)*w.group, w.m*w.c)
		w.set.outputGradient(w.g[i*columns:], w.dy[q/w.perImage*w.imageY:], w.zero, buffer, w.outList(q), w.yPlane, w.o,
			columns, (w.block-1)*columns, w.m*w.o)
	}
}

func (w *winogradGradient) runTask(worker, task int) {
	strip, panel := task%w.strips, task/w.strips
	rows, columns := w.tile.rows, w.tile.columns
	i, j := strip*rows, panel*columns
	own := w.own[worker*w.ownSize():][:w.ownSize()]
	distance := w.tilePlane()
	sums, taps := own[:w.t*w.t*distance], own[w.t*w.t*distance:]
	a, b := i/w.group*w.group*w.block+i%w.group, j*w.block
	for p := range w.t * w.t {
		w.tile.outer(sums[p*distance:], w.v[p*w.xPlane+a:], w.g[p*w.yPlane+b:], columns, 1, 1, w.ready, 0, 0, w.group,
			columns, rows, columns, false)
	}
	w.set.kernelGradient(taps, sums, rows*columns, distance, rows*columns)
	high, wide := min(rows, w.c-i), min(columns, w.o-j)
	for t := range 9 {
		if w.first == 0 && copyRows(w.dw[(t*w.c+i)*w.o+j:], taps[t*rows*columns:], w.o, columns, high, wide) {
			continue
		}
		for r := range high {
			dst, src := w.dw[(t*w.c+i+r)*w.o+j:][:wide], taps[(t*rows+r)*columns:][:wide]
			if w.first == 0 {
				copy(dst, src)
			} else {
				vec.Axpy32(1, src, dst)
			}
		}
	}
}
