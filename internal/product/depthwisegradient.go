package product

import (
	"github.com/bregman-ml/bregman/internal/pool"
	"github.com/bregman-ml/bregman/internal/vec"
)

// depthwiseGradient is the gradient in such kernels. Each image has a sum of its own, in scratch memory; then they are
// added up.
type depthwiseGradient struct {
	conv        Conv
	set         depthwiseSet
	place       []int32
	from        [][]int32 // for each nine taps
	lines       []int32   // or of the lines
	band        int
	zero        []float32
	dw, x, dy   []float32
	sums        []float32
	task, total func(worker, task int)
}

func newDepthwiseGradient(c Conv) *depthwiseGradient {
	d := &depthwiseGradient{conv: c, set: depthwiseKernels(), zero: make([]float32, c.C)}
	oh, ow := c.OutSize()
	d.task, d.total = d.runTask, d.runTotal
	if byLines(c, false) {
		d.lines = lineOffsets(oh, c.StrideH, c.PadTop, c.H, c.W*c.C)
		d.band = min(oh, max(1, bandBytes/(8*c.W*c.C)))
		d.zero = make([]float32, c.W*c.C)
		return d
	}
	for i := range oh * ow {
		d.place = append(d.place, int32(i*c.C))
	}
	for first := 0; first < c.taps(); first += gradientTaps {
		var from []int32
		for i := range oh * ow {
			for t := first; t < first+gradientTaps; t++ {
				if t < c.taps() {
					from = append(from, c.input(0, i/ow, i%ow, t))
				} else {
					from = append(from, -1)
				}
			}
		}
		d.from = append(d.from, from)
	}
	return d
}

func (d *depthwiseGradient) Scratch(int) int { return d.conv.N * d.conv.taps() * d.conv.C }

func (d *depthwiseGradient) run(on *pool.Pool, scratch, dw, x, dy []float32) {
	d.dw, d.x, d.dy, d.sums = dw, x, dy, scratch[:d.Scratch(on.Threads())]
	on.Each(d.conv.N, d.task)
	on.Each(d.conv.taps(), d.total)
	d.dw, d.x, d.dy, d.sums = nil, nil, nil, nil
}

func (d *depthwiseGradient) runTask(_, n int) {
	c := d.conv
	oh, ow := c.OutSize()
	x, dy, sums := d.x[n*c.H*c.W*c.C:], d.dy[n*oh*ow*c.C:], d.sums[n*c.taps()*c.C:]
	for first := 0; d.lines != nil && first < oh; first += d.band {
		for j := 0; j < c.C; j += d.set.lanes {
			d.set.linesGradient[c.StrideW-1](sums[j:], x[j:], d.zero[j:], dy[first*ow*c.C+j:], d.lines[3*first:], c.C,
				min(d.band, oh-first), ow, c.C, min(d.set.lanes, c.C-j), first > 0)
		}
	}
	for f, from := range d.from {
		rows := min(gradientTaps, c.taps()-f*gradientTaps)
		for p := 0; p < len(d.place); p += ow {
			for j := 0; j < c.C; j += d.set.lanes {
				d.set.gradient(sums[f*gradientTaps*c.C+j:], x[j:], d.zero, dy[j:], d.place[p:], from[p*gradientTaps:], c.C, ow,
					min(d.set.lanes, c.C-j), rows, p > 0)
			}
		}
	}
}

// runTotal adds up a tap's sums of the images.
func (d *depthwiseGradient) runTotal(_, tap int) {
	c := d.conv
	dst := d.dw[tap*c.C:][:c.C]
	copy(dst, d.sums[tap*c.C:])
	for n := 1; n < c.N; n++ {
		vec.Axpy32(1, d.sums[(n*c.taps()+tap)*c.C:][:c.C], dst)
	}
}
